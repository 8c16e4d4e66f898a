//! Sets and keyed lists, whose order means nothing to `==`, `!=` and `+`.
//!
//! The schema says which lists these are (`x-kubernetes-list-type`), and the evaluator knows no schema. So comparisons and sums
//! whose left side is surely such a list, or has one inside, become calls of functions that look at a [`Shape`].
//!
//! Source: Kubernetes v1.35, apiserver `pkg/cel/common/values.go`: the left side decides, a sum of sets is their union, and a
//! sum of keyed lists has the right side's items in the places of those with their keys.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kube_cel::cel::common::ast::{Expr, operators};
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{Context, ExecutionError, IdedExpr, Value};

use super::engine::{charge, shape_of_running};
use super::functions::{size, units};
use super::rewrite::{call, each_child_mut, integer};
use super::value::escape;
use crate::crd::structural::{Additional, JsonType, ListType, Node};

type Result<T> = std::result::Result<T, ExecutionError>;

/// `@same(shape, left, right)`: equality.
const SAME: &str = "@same";
/// `@merged(shape, left, right)`: a sum.
const MERGED: &str = "@merged";

/// Where in a value order means nothing.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// The items are a set.
    Set,
    /// The items are told apart by these fields, as CEL names them.
    Keyed(Box<[Key]>, Option<Arc<Shape>>),
    /// Inside the items of a list.
    Items(Arc<Shape>),
    /// Inside these fields, as CEL names them.
    Fields(HashMap<Key, Arc<Shape>>),
    /// Inside the values of a map.
    Values(Arc<Shape>),
}

/// The shape of what a place of the schema holds; `None` where order means something everywhere.
pub(super) fn shape(node: &Node) -> Option<Arc<Shape>> {
    let found = match node.ty {
        Some(JsonType::Array) => {
            let items = node.items.as_deref().and_then(shape);
            match node.list {
                ListType::Set => Shape::Set,
                ListType::Map => Shape::Keyed(
                    node.keys.iter().filter_map(|key| name(key)).collect(),
                    items,
                ),
                ListType::Atomic => Shape::Items(items?),
            }
        }
        Some(JsonType::Object) => match &node.additional {
            Additional::Schema(values) if node.properties.is_empty() => {
                Shape::Values(shape(values)?)
            }
            _ => {
                let fields = node.properties.iter();
                let fields: HashMap<_, _> = fields
                    .filter_map(|(field, node)| Some((name(field)?, shape(node)?)))
                    .collect();
                if fields.is_empty() {
                    return None;
                }
                Shape::Fields(fields)
            }
        },
        _ => return None,
    };
    Some(Arc::new(found))
}

fn name(field: &str) -> Option<Key> {
    escape(field).map(|name| Key::String(Arc::new(name)))
}

/// Replaces the comparisons and sums with these ids by calls that look at shapes; what it returns they look at.
pub(super) fn rewrite(tree: &mut IdedExpr, places: Vec<(u64, Arc<Shape>)>) -> Arc<[Arc<Shape>]> {
    let numbers: HashMap<u64, usize> = (places.iter().enumerate())
        .map(|(number, (id, _))| (*id, number))
        .collect();
    replace(tree, &numbers);
    places.into_iter().map(|(_, shape)| shape).collect()
}

fn replace(tree: &mut IdedExpr, numbers: &HashMap<u64, usize>) {
    each_child_mut(tree, &mut |child| replace(child, numbers));
    let (Some(number), Expr::Call(found)) = (numbers.get(&tree.id), &mut tree.expr) else {
        return;
    };
    let mut args = vec![integer(i64::try_from(*number).unwrap_or(i64::MAX))];
    args.append(&mut found.args);
    *tree = match found.func_name.as_str() {
        operators::ADD => call(MERGED, args),
        operators::NOT_EQUALS => call(operators::LOGICAL_NOT, vec![call(SAME, args)]),
        _ => call(SAME, args),
    };
}

/// Adds the functions to a context.
pub(super) fn register(ctx: &mut Context<'_>) {
    ctx.add_function(SAME, |shape: i64, left: Value, right: Value| {
        charge(units(size(&left).saturating_add(size(&right))))?;
        let shape = shape_of_running(shape).ok_or(ExecutionError::NoSuchOverload)?;
        same(Some(&shape), &left, &right).map(Value::Bool)
    });
    ctx.add_function(MERGED, |shape: i64, left: Value, right: Value| {
        let (Value::List(left), Value::List(right)) = (left, right) else {
            return Err(ExecutionError::NoSuchOverload);
        };
        let shape = shape_of_running(shape).ok_or(ExecutionError::NoSuchOverload)?;
        merged(&shape, &left, &right).map(|list| Value::List(Arc::new(list)))
    });
}

fn same(shape: Option<&Shape>, left: &Value, right: &Value) -> Result<bool> {
    match (shape, left, right) {
        (Some(Shape::Set), Value::List(left), Value::List(right)) => {
            let items = Items::new(left);
            Ok(left.len() == right.len() && all(right.iter(), |item| items.contains(item))?)
        }
        (Some(Shape::Keyed(keys, inner)), Value::List(left), Value::List(right)) => {
            if left.len() != right.len() {
                return Ok(false);
            }
            let known: HashMap<_, _> = left.iter().map(|item| (id(keys, item), item)).collect();
            all(right.iter(), |item| match known.get(&id(keys, item)) {
                Some(left) => same(inner.as_deref(), left, item),
                None => Ok(false),
            })
        }
        (Some(Shape::Items(inner)), Value::List(left), Value::List(right)) => {
            let mut pairs = left.iter().zip(right.iter());
            Ok(left.len() == right.len()
                && all(&mut pairs, |(left, right)| same(Some(inner), left, right))?)
        }
        (Some(Shape::Fields(fields)), Value::Map(left), Value::Map(right)) => {
            same_maps(left, right, |key| fields.get(key).map(AsRef::as_ref))
        }
        (Some(Shape::Values(values)), Value::Map(left), Value::Map(right)) => {
            same_maps(left, right, |_| Some(values))
        }
        _ => Ok(left == right),
    }
}

fn same_maps<'s>(
    left: &Map,
    right: &Map,
    shape: impl Fn(&Key) -> Option<&'s Shape>,
) -> Result<bool> {
    Ok(left.map.len() == right.map.len()
        && all(left.map.iter(), |(key, left)| match right.map.get(key) {
            Some(right) => same(shape(key), left, right),
            None => Ok(false),
        })?)
}

fn all<T>(items: impl Iterator<Item = T>, holds: impl Fn(T) -> Result<bool>) -> Result<bool> {
    for item in items {
        if !holds(item)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn merged(shape: &Shape, left: &[Value], right: &[Value]) -> Result<Vec<Value>> {
    let mut out = left.to_vec();
    match shape {
        Shape::Set => {
            let mut items = Items::new(left);
            for item in right {
                if !items.contains(item)? {
                    items.add(item);
                    out.push(item.clone());
                }
            }
        }
        Shape::Keyed(keys, _) => {
            let places: HashMap<_, _> = (left.iter().enumerate())
                .map(|(at, item)| (id(keys, item), at))
                .collect();
            for item in right {
                match places.get(&id(keys, item)) {
                    Some(at) => out[*at] = item.clone(),
                    None => out.push(item.clone()),
                }
            }
        }
        _ => return Err(ExecutionError::NoSuchOverload),
    }
    Ok(out)
}

/// The items of a set, to be looked up.
struct Items<'v> {
    scalars: HashSet<Scalar<'v>>,
    /// Those that only `==` can tell apart.
    others: Vec<&'v Value>,
}

impl<'v> Items<'v> {
    fn new(items: &'v [Value]) -> Self {
        let mut out = Self {
            scalars: HashSet::with_capacity(items.len()),
            others: Vec::new(),
        };
        items.iter().for_each(|item| out.add(item));
        out
    }

    fn add(&mut self, item: &'v Value) {
        match scalar(item) {
            Some(scalar) => drop(self.scalars.insert(scalar)),
            None => self.others.push(item),
        }
    }

    fn contains(&self, item: &Value) -> Result<bool> {
        match scalar(item) {
            Some(scalar) => Ok(self.scalars.contains(&scalar)),
            None => {
                charge(units(self.others.len() as u64))?;
                Ok(self.others.contains(&item))
            }
        }
    }
}

/// A value that can be looked up.
#[derive(PartialEq, Eq, Hash)]
enum Scalar<'v> {
    Int(i64),
    Uint(u64),
    /// The bits of the number.
    Float(u64),
    Bool(bool),
    Text(&'v str),
    Bytes(&'v [u8]),
}

fn scalar(value: &Value) -> Option<Scalar<'_>> {
    Some(match value {
        Value::Int(n) => Scalar::Int(*n),
        Value::UInt(n) => Scalar::Uint(*n),
        // Zero has two signs and is one number.
        Value::Float(n) => Scalar::Float((n + 0.0).to_bits()),
        Value::Bool(b) => Scalar::Bool(*b),
        Value::String(text) => Scalar::Text(text),
        Value::Bytes(bytes) => Scalar::Bytes(bytes),
        _ => return None,
    })
}

/// What an item of a keyed list goes by.
fn id<'v>(keys: &[Key], item: &'v Value) -> Vec<Option<Scalar<'v>>> {
    let value = |key| match item {
        Value::Map(map) => map.map.get(key).and_then(scalar),
        _ => None,
    };
    keys.iter().map(value).collect()
}
