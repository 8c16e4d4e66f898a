//! A set of paths as a tree.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::{Error, Path, PathElement};

/// A set of paths.
///
/// A node can be a member itself, have members below it, or both; nodes that are neither do not
/// exist. All operations cost at most the sum of the sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    /// Sorted by element.
    nodes: Vec<Node>,
}

/// One element of a tree of paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) element: PathElement,
    /// Whether the path that ends here is in the set.
    pub(crate) member: bool,
    /// Longer paths.
    pub(crate) children: Set,
}

impl Set {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The set of these paths.
    pub fn from_paths(paths: impl IntoIterator<Item = Path>) -> Self {
        let mut set = Self::new();
        for path in paths {
            set.insert(&path.0);
        }
        set
    }

    /// Reads the JSON of `fieldsV1`; elements of unknown kinds are skipped.
    pub fn from_fields_v1(fields: &Value) -> Result<Self, Error> {
        let map = fields
            .as_object()
            .ok_or_else(|| Error::NotAnObject(fields.to_string()))?;
        let mut nodes = Vec::with_capacity(map.len());
        for (key, value) in map.iter().filter(|(key, _)| *key != ".") {
            let Some(element) = PathElement::parse(key)? else {
                continue;
            };
            let children = Self::from_fields_v1(value)?;
            let member = value.get(".").is_some() || children.is_empty();
            nodes.push(Node {
                element,
                member,
                children,
            });
        }
        nodes.sort_by(|a, b| a.element.cmp(&b.element));
        nodes.dedup_by(|b, a| {
            let same = a.element == b.element;
            if same {
                a.member |= b.member;
                a.children = a.children.union(&b.children);
            }
            same
        });
        Ok(Self { nodes })
    }

    /// The JSON of `fieldsV1`.
    pub fn to_fields_v1(&self) -> Value {
        let mut map = Map::new();
        for node in &self.nodes {
            let mut children = match node.children.to_fields_v1() {
                Value::Object(map) => map,
                _ => Map::new(),
            };
            if node.member && !children.is_empty() {
                children.insert(".".into(), Value::Object(Map::new()));
            }
            map.insert(node.element.encode(), Value::Object(children));
        }
        Value::Object(map)
    }

    /// Adds a path; the empty path is ignored, because nobody owns whole objects.
    pub fn insert(&mut self, path: &[PathElement]) {
        if let Some((first, rest)) = path.split_first() {
            let node = self.node_mut(first);
            match rest {
                [] => node.member = true,
                _ => node.children.insert(rest),
            }
        }
    }

    /// Whether the path itself is in the set.
    pub fn has(&self, path: &[PathElement]) -> bool {
        match path {
            [] => false,
            [last] => self.node(last).is_some_and(|node| node.member),
            [first, rest @ ..] => self.node(first).is_some_and(|node| node.children.has(rest)),
        }
    }

    /// Whether no path is in the set.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// How many paths are in the set.
    pub fn len(&self) -> usize {
        self.nodes
            .iter()
            .map(|node| usize::from(node.member) + node.children.len())
            .sum()
    }

    /// All paths, at each place first those that end there, then the longer ones.
    ///
    /// This is the order in which upstream lists conflicts.
    pub fn paths(&self) -> Vec<Path> {
        let mut out = Vec::new();
        self.collect(&mut Vec::new(), &mut out);
        out
    }

    /// Paths in either set.
    pub fn union(&self, other: &Self) -> Self {
        self.zip(other, |a, b| match (a, b) {
            (Some(a), Some(b)) => Some(Node {
                element: a.element.clone(),
                member: a.member || b.member,
                children: a.children.union(&b.children),
            }),
            (a, b) => a.or(b).cloned(),
        })
    }

    /// Paths in both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        self.zip(other, |a, b| {
            let (a, b) = a.zip(b)?;
            Node::new(
                &a.element,
                a.member && b.member,
                a.children.intersection(&b.children),
            )
        })
    }

    /// Paths in this set only; longer paths below a path of `other` stay.
    pub fn difference(&self, other: &Self) -> Self {
        self.zip(other, |a, b| match (a?, b) {
            (a, None) => Some(a.clone()),
            (a, Some(b)) => Node::new(
                &a.element,
                a.member && !b.member,
                a.children.difference(&b.children),
            ),
        })
    }

    /// Paths in this set that neither are in `other` nor start with a path in it.
    pub fn recursive_difference(&self, other: &Self) -> Self {
        self.zip(other, |a, b| match (a?, b) {
            (a, None) => Some(a.clone()),
            (_, Some(b)) if b.member => None,
            (a, Some(b)) => Node::new(
                &a.element,
                a.member,
                a.children.recursive_difference(&b.children),
            ),
        })
    }

    /// Takes out the paths of `other`; longer paths below them stay.
    pub fn subtract(&mut self, other: &Self) {
        self.subtract_with(other, |node, other| {
            node.member &= !other.member;
            node.children.subtract(&other.children);
        });
    }

    /// Takes out the paths of `other` and all that start with one of them.
    pub fn subtract_recursive(&mut self, other: &Self) {
        self.subtract_with(other, |node, other| match other.member {
            true => (node.member, node.children) = (false, Self::new()),
            false => node.children.subtract_recursive(&other.children),
        });
    }

    /// Paths with no longer path in the set.
    pub fn leaves(&self) -> Self {
        let leaf = |node: &Node| Node {
            element: node.element.clone(),
            member: node.member && node.children.is_empty(),
            children: node.children.leaves(),
        };
        Self {
            nodes: self.nodes.iter().map(leaf).collect(),
        }
    }

    /// Whether every path of this set is in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.nodes
            .iter()
            .all(|node| match other.node(&node.element) {
                Some(found) => {
                    (!node.member || found.member) && node.children.is_subset(&found.children)
                }
                None => false,
            })
    }

    /// What stands below `element`.
    pub fn below(&self, element: &PathElement) -> Option<&Self> {
        self.node(element)
            .map(|node| &node.children)
            .filter(|set| !set.is_empty())
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub(crate) fn node(&self, element: &PathElement) -> Option<&Node> {
        let at = self
            .nodes
            .binary_search_by(|node| node.element.cmp(element))
            .ok()?;
        Some(&self.nodes[at])
    }

    /// The node of the field called `name`, found without making an element of it.
    pub(crate) fn field(&self, name: &str) -> Option<&Node> {
        let order = |node: &Node| match &node.element {
            PathElement::Field(field) => field.as_str().cmp(name),
            _ => Ordering::Greater,
        };
        let at = self.nodes.binary_search_by(order).ok()?;
        Some(&self.nodes[at])
    }

    /// A set of these nodes in any order, without empty ones.
    pub(crate) fn from_nodes(mut nodes: Vec<Node>) -> Self {
        nodes.retain(|node| node.member || !node.children.is_empty());
        if !nodes.is_sorted_by(|a, b| a.element < b.element) {
            nodes.sort_by(|a, b| a.element.cmp(&b.element));
            nodes.dedup_by(|b, a| {
                let same = a.element == b.element;
                if same {
                    a.member |= b.member;
                    a.children = a.children.union(&b.children);
                }
                same
            });
        }
        Self { nodes }
    }

    fn subtract_with(&mut self, other: &Self, take: impl Fn(&mut Node, &Node)) {
        if other.is_empty() {
            return;
        }
        self.nodes.retain_mut(|node| {
            if let Some(other) = other.node(&node.element) {
                take(node, other);
            }
            node.member || !node.children.is_empty()
        });
    }

    fn node_mut(&mut self, element: &PathElement) -> &mut Node {
        let at = match self
            .nodes
            .binary_search_by(|node| node.element.cmp(element))
        {
            Ok(at) => at,
            Err(at) => {
                let element = element.clone();
                self.nodes.insert(
                    at,
                    Node {
                        element,
                        member: false,
                        children: Self::new(),
                    },
                );
                at
            }
        };
        &mut self.nodes[at]
    }

    /// Walks both node lists in order and keeps what `join` makes of each element.
    fn zip(
        &self,
        other: &Self,
        mut join: impl FnMut(Option<&Node>, Option<&Node>) -> Option<Node>,
    ) -> Self {
        let (mut left, mut right) = (self.nodes.iter().peekable(), other.nodes.iter().peekable());
        let mut nodes = Vec::with_capacity(self.nodes.len());
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => return Self { nodes },
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(a), Some(b)) => a.element.cmp(&b.element),
            };
            let joined = match order {
                Ordering::Less => join(left.next(), None),
                Ordering::Equal => join(left.next(), right.next()),
                Ordering::Greater => join(None, right.next()),
            };
            nodes.extend(joined);
        }
    }

    fn collect(&self, prefix: &mut Vec<PathElement>, out: &mut Vec<Path>) {
        for node in self.nodes.iter().filter(|node| node.member) {
            let path = prefix.iter().chain([&node.element]);
            out.push(Path(path.cloned().collect()));
        }
        for node in &self.nodes {
            prefix.push(node.element.clone());
            node.children.collect(prefix, out);
            prefix.pop();
        }
    }
}

impl Node {
    /// A node, unless nothing is left of it.
    fn new(element: &PathElement, member: bool, children: Set) -> Option<Self> {
        (member || !children.is_empty()).then(|| Self {
            element: element.clone(),
            member,
            children,
        })
    }
}
