//! The compiled form: from a requester's name and groups to the rules that apply.

use std::{collections::HashMap, sync::Arc};

use flotilla_machinery::labels::Selector;
use serde::Deserialize;

use super::{GROUP, Rule};
use crate::{
    access::Identity,
    store::{Collection, Object, ObjectKey, ResourceKey, State},
};

/// Roles and bindings of one state of the store, compiled for decisions.
///
/// Immutable. [`Index::follow`] makes the next one and parses only objects that changed.
#[derive(Debug, Default)]
pub struct Index {
    cluster: Grants,
    namespaces: HashMap<Arc<str>, Grants>,
    sources: Sources,
}

/// What one binding gives to one of its subjects.
#[derive(Clone, Debug)]
pub(super) struct Grant {
    /// `ClusterRoleBinding "b" of ClusterRole "r" to Group "g"`.
    pub(super) source: Box<str>,
    /// The rules of the role, or why there are none.
    pub(super) rules: Result<Arc<[Rule]>, Box<str>>,
}

/// Grants by subject name.
#[derive(Debug, Default)]
struct Grants {
    users: HashMap<Box<str>, Vec<Grant>>,
    groups: HashMap<Box<str>, Vec<Grant>>,
}

/// The collections an index was made from, with their parsed objects.
#[derive(Debug, Default)]
struct Sources {
    cluster_roles: Parsed<RoleObject>,
    roles: Parsed<RoleObject>,
    cluster_bindings: Parsed<BindingObject>,
    bindings: Parsed<BindingObject>,
    /// Rules of every ClusterRole by name, with aggregation resolved.
    resolved: HashMap<Arc<str>, Arc<[Rule]>>,
}

/// Parsed objects of one collection. An object that cannot be parsed is left out: it allows nothing.
#[derive(Debug)]
struct Parsed<T> {
    collection: Option<Arc<Collection>>,
    objects: HashMap<ObjectKey, (u64, Arc<T>)>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RoleObject {
    #[serde(default)]
    metadata: Labelled,
    #[serde(default, deserialize_with = "shared")]
    rules: Arc<[Rule]>,
    #[serde(default)]
    aggregation_rule: Option<Aggregation>,
}

#[derive(Debug, Default, Deserialize)]
struct Labelled {
    #[serde(default)]
    labels: Option<serde_json::Map<String, serde_json::Value>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Aggregation {
    #[serde(default)]
    cluster_role_selectors: Vec<serde_json::Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct BindingObject {
    role_ref: RoleRef,
    #[serde(default)]
    subjects: Option<Vec<Subject>>,
}

#[derive(Debug, Deserialize)]
struct RoleRef {
    kind: String,
    name: String,
}

#[derive(Debug, Deserialize)]
struct Subject {
    kind: String,
    name: String,
    #[serde(default)]
    namespace: Option<String>,
}

/// A role that aggregates roles that aggregate … ends here; upstream's own go two levels deep.
const AGGREGATION_DEPTH: usize = 8;

impl Index {
    /// Whether the roles and bindings of `state` are those this index was made from. A few pointer comparisons.
    pub fn is_current(&self, state: &State) -> bool {
        let Sources {
            cluster_roles,
            roles,
            cluster_bindings,
            bindings,
            ..
        } = &self.sources;
        same(&cluster_roles.collection, of(state, "clusterroles"))
            && same(&roles.collection, of(state, "roles"))
            && same(
                &cluster_bindings.collection,
                of(state, "clusterrolebindings"),
            )
            && same(&bindings.collection, of(state, "rolebindings"))
    }

    /// The index of `state`, reusing what did not change. O(bindings), and parsing O(changed objects).
    pub fn follow(&self, state: &State) -> Self {
        let mut sources = Sources {
            resolved: HashMap::new(),
            cluster_roles: self.sources.cluster_roles.follow(of(state, "clusterroles")),
            roles: self.sources.roles.follow(of(state, "roles")),
            cluster_bindings: self
                .sources
                .cluster_bindings
                .follow(of(state, "clusterrolebindings")),
            bindings: self.sources.bindings.follow(of(state, "rolebindings")),
        };
        sources.resolve();
        let mut cluster = Grants::default();
        for (key, binding) in sources.cluster_bindings.sorted() {
            let source = format!("ClusterRoleBinding {:?}", &*key.name);
            cluster.bind(&source, binding, "", sources.rules(&binding.role_ref, ""));
        }
        let mut namespaces: HashMap<Arc<str>, Grants> = HashMap::new();
        for (key, binding) in sources.bindings.sorted() {
            let namespace = &*key.namespace;
            let source = format!("RoleBinding {:?}", format!("{}/{namespace}", key.name));
            let rules = sources.rules(&binding.role_ref, namespace);
            let grants = namespaces.entry(key.namespace.clone()).or_default();
            grants.bind(&source, binding, namespace, rules);
        }
        Self {
            cluster,
            namespaces,
            sources,
        }
    }

    /// What applies to `who` in `namespace`: cluster-wide grants first, those to the name before those to groups.
    pub(super) fn grants<'a>(
        &'a self,
        who: &'a Identity,
        namespace: &str,
    ) -> impl Iterator<Item = &'a Grant> {
        let local = self
            .namespaces
            .get(namespace)
            .filter(|_| !namespace.is_empty());
        std::iter::once(&self.cluster)
            .chain(local)
            .flat_map(|grants| {
                let of_groups = who
                    .groups
                    .iter()
                    .filter_map(|group| grants.groups.get(group.as_str()));
                grants
                    .users
                    .get(who.name.as_str())
                    .into_iter()
                    .chain(of_groups)
                    .flatten()
            })
    }

    /// The rules of a ClusterRole, with aggregation resolved; for escalation checks.
    pub fn cluster_role(&self, name: &str) -> Option<Arc<[Rule]>> {
        self.sources.cluster_role(name)
    }

    /// The rules behind a reference from a binding in `namespace` (`""` for cluster-wide bindings).
    ///
    /// # Errors
    /// Upstream's text when there is no such role.
    pub fn referenced(
        &self,
        kind: &str,
        name: &str,
        namespace: &str,
    ) -> Result<Arc<[Rule]>, Box<str>> {
        let role_ref = RoleRef {
            kind: kind.into(),
            name: name.into(),
        };
        self.sources.rules(&role_ref, namespace)
    }
}

impl Grant {
    /// The part of the source that names the binding.
    pub(super) fn binding(&self) -> &str {
        self.source.split(" to ").next().unwrap_or_default()
    }
}

impl Grants {
    fn bind(
        &mut self,
        source: &str,
        binding: &BindingObject,
        namespace: &str,
        rules: Result<Arc<[Rule]>, Box<str>>,
    ) {
        let RoleRef { kind, name } = &binding.role_ref;
        for subject in binding.subjects.iter().flatten() {
            let Subject {
                kind: subject_kind,
                name: subject_name,
                ..
            } = subject;
            let (by_name, key, shown) = match subject_kind.as_str() {
                "User" => (&mut self.users, subject_name.clone(), subject_name.clone()),
                "Group" => (&mut self.groups, subject_name.clone(), subject_name.clone()),
                "ServiceAccount" => {
                    let own = subject.namespace.as_deref().filter(|own| !own.is_empty());
                    let namespace = own.unwrap_or(namespace);
                    let user = format!("system:serviceaccount:{namespace}:{subject_name}");
                    (&mut self.users, user, format!("{subject_name}/{namespace}"))
                }
                _ => continue,
            };
            let grant = Grant {
                source: format!("{source} of {kind} {name:?} to {subject_kind} {shown:?}").into(),
                rules: rules.clone(),
            };
            by_name.entry(key.into()).or_default().push(grant);
        }
    }
}

impl Sources {
    fn rules(&self, role_ref: &RoleRef, namespace: &str) -> Result<Arc<[Rule]>, Box<str>> {
        let missing = |kind: &str| -> Box<str> {
            format!("{kind}.{GROUP} {:?} not found", role_ref.name).into()
        };
        match role_ref.kind.as_str() {
            "ClusterRole" => self
                .cluster_role(&role_ref.name)
                .ok_or_else(|| missing("clusterrole")),
            "Role" => {
                let key = ObjectKey::new(namespace, &role_ref.name);
                let role = self
                    .roles
                    .objects
                    .get(&key)
                    .ok_or_else(|| missing("role"))?;
                Ok(role.1.rules.clone())
            }
            other => Err(format!("unsupported role reference kind: {other:?}").into()),
        }
    }

    fn cluster_role(&self, name: &str) -> Option<Arc<[Rule]>> {
        self.resolved.get(name).cloned()
    }

    /// Resolves aggregation once for each role, however many bindings name it.
    fn resolve(&mut self) {
        let roles = self.cluster_roles.sorted().map(|(key, role)| {
            let rules = if role.aggregation_rule.is_some() {
                let mut rules = Vec::new();
                self.aggregate(role, AGGREGATION_DEPTH, &mut rules);
                rules.into()
            } else {
                role.rules.clone()
            };
            (key.name.clone(), rules)
        });
        self.resolved = roles.collect();
    }

    fn aggregate(&self, role: &RoleObject, depth: usize, rules: &mut Vec<Rule>) {
        let Some(aggregation) = role.aggregation_rule.as_ref().filter(|_| depth > 0) else {
            for rule in role.rules.iter() {
                if !rules.contains(rule) {
                    rules.push(rule.clone());
                }
            }
            return;
        };
        for (_, other) in self.cluster_roles.sorted() {
            let selectors = &aggregation.cluster_role_selectors;
            let chosen = selectors.iter().any(|selector| selects(selector, other));
            if chosen && !std::ptr::eq(other, role) {
                self.aggregate(other, depth - 1, rules);
            }
        }
    }
}

impl<T: for<'de> Deserialize<'de>> Parsed<T> {
    fn follow(&self, collection: Option<&Arc<Collection>>) -> Self {
        let live = collection
            .into_iter()
            .flat_map(|collection| collection.list(None, None));
        let objects = live.filter_map(|object: &Arc<Object>| {
            let parsed = match self.objects.get(&object.key) {
                Some((rev, parsed)) if *rev == object.rev => parsed.clone(),
                _ => Arc::new(serde_json::from_slice(&object.body).ok()?),
            };
            Some((object.key.clone(), (object.rev, parsed)))
        });
        Self {
            objects: objects.collect(),
            collection: collection.cloned(),
        }
    }

    /// In order of their keys, so that the same state always gives the same reasons.
    fn sorted(&self) -> impl Iterator<Item = (&ObjectKey, &T)> {
        let mut objects: Vec<_> = self
            .objects
            .iter()
            .map(|(key, (_, object))| (key, &**object))
            .collect();
        objects.sort_by_key(|(key, _)| *key);
        objects.into_iter()
    }
}

impl<T> Default for Parsed<T> {
    fn default() -> Self {
        Self {
            collection: None,
            objects: HashMap::new(),
        }
    }
}

fn shared<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Arc<[Rule]>, D::Error> {
    let rules = Option::<Vec<Rule>>::deserialize(deserializer)?;
    Ok(rules.unwrap_or_default().into())
}

fn of<'a>(state: &'a State, plural: &str) -> Option<&'a Arc<Collection>> {
    state.collection(&ResourceKey::new(GROUP, plural))
}

fn same(known: &Option<Arc<Collection>>, found: Option<&Arc<Collection>>) -> bool {
    match (known, found) {
        (None, None) => true,
        (Some(known), Some(found)) => Arc::ptr_eq(known, found),
        _ => false,
    }
}

/// Whether a LabelSelector object matches the labels of a role; one that is malformed matches nothing.
fn selects(selector: &serde_json::Value, role: &RoleObject) -> bool {
    let selector = Selector::from_value(selector);
    selector.is_ok_and(|selector| selector.matches_labels(role.metadata.labels.as_ref()))
}
