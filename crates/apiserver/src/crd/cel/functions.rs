//! Functions the rewritten syntax trees call: cost metering and what `kube-cel` lacks.
//!
//! Their names begin with `@`, so no expression can call them by itself; `matches`, `find` and
//! `findAll` replace the crate's own, because CEL means RE2 as Go reads it.

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::common::ast::Expr;
use kube_cel::cel::extractors::This;
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{Context, ExecutionError, FunctionContext, Value};

use super::engine::charge;
use crate::crd::regexp;

type Result<T> = std::result::Result<T, ExecutionError>;
type Raw = Box<dyn Fn(&mut FunctionContext<'_, '_>) -> Result<Value> + Send + Sync>;

/// A loop: `@loop(kind, weight of a turn, range, name…, body, filter)`, with one or two names.
pub(super) const LOOP: &str = "@loop";
/// Passes a value on and charges for its size.
pub(super) const COST: &str = "@cost";
/// Passes the first value on and charges for the product of both sizes.
pub(super) const PRODUCT: &str = "@product";
/// Passes a number on and charges for as many items.
pub(super) const COUNT: &str = "@count";
/// The first list ordered by the second.
pub(super) const SORT_BY: &str = "@sortBy";
/// The type of a value, comparable with the values of type names.
pub(super) const TYPE: &str = "@type";

/// Names of types, as expressions write them.
pub(super) const TYPE_NAMES: &[&str] = &[
    "bool",
    "bytes",
    "double",
    "dyn",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "type",
    "uint",
    "google.protobuf.Duration",
    "google.protobuf.Timestamp",
];

/// What a loop makes of its turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loop {
    /// Whether the body is always true.
    All,
    /// Whether it is ever true.
    Exists,
    /// Whether it is true exactly once.
    ExistsOne,
    /// A list of the body's values.
    Collect,
    /// A map from the range's keys to the body's values.
    CollectMap,
    /// One map of all the body's maps.
    CollectEntries,
}

impl Loop {
    const ALL: [Self; 6] = [
        Self::All,
        Self::Exists,
        Self::ExistsOne,
        Self::Collect,
        Self::CollectMap,
        Self::CollectEntries,
    ];

    /// The first argument of [`LOOP`].
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Exists => "exists",
            Self::ExistsOne => "existsOne",
            Self::Collect => "collect",
            Self::CollectMap => "collectMap",
            Self::CollectEntries => "collectEntries",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    fn collects(self) -> bool {
        matches!(
            self,
            Self::Collect | Self::CollectMap | Self::CollectEntries
        )
    }
}

/// Adds the functions to a context.
pub(super) fn register(ctx: &mut Context<'_>) {
    let run: Raw = Box::new(|call| run_loop(call));
    ctx.add_function(LOOP, run);
    ctx.add_function(COST, |value: Value| -> Result<Value> {
        charge(units(size(&value)))?;
        Ok(value)
    });
    ctx.add_function(PRODUCT, |value: Value, by: Value| -> Result<Value> {
        charge(units(size(&value).saturating_mul(size(&by).max(1))))?;
        Ok(value)
    });
    ctx.add_function(COUNT, |count: Value| -> Result<Value> {
        if let Value::Int(n) = count {
            charge(u64::try_from(n).unwrap_or(0))?;
        }
        Ok(count)
    });
    ctx.add_function(SORT_BY, sort_by);
    ctx.add_function(TYPE, |value: Value| -> Result<Value> {
        Ok(type_value(type_name(&value)))
    });
    ctx.add_function("matches", matches);
    ctx.add_function("find", find);
    ctx.add_function("findAll", find_all);
}

/// The value a type's name stands for.
pub(super) fn type_text(name: &str) -> String {
    format!("@type:{name}")
}

fn type_value(name: &str) -> Value {
    Value::String(Arc::new(type_text(name)))
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::List(_) => "list",
        Value::Map(_) => "map",
        Value::Int(_) => "int",
        Value::UInt(_) => "uint",
        Value::Float(_) => "double",
        Value::String(text) if text.starts_with("@type:") => "type",
        Value::String(_) => "string",
        Value::Bytes(_) => "bytes",
        Value::Bool(_) => "bool",
        Value::Duration(_) => "google.protobuf.Duration",
        Value::Timestamp(_) => "google.protobuf.Timestamp",
        Value::Null => "null_type",
        _ => "dyn",
    }
}

/// Bytes of a text, items of a collection.
pub(super) fn size(value: &Value) -> u64 {
    let n = match value {
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        // A list of texts is as long as they are together.
        Value::List(list) => list
            .iter()
            .map(|v| match v {
                Value::String(text) => text.len().max(1),
                _ => 1,
            })
            .sum(),
        Value::Map(map) => map.map.len(),
        _ => 0,
    };
    n as u64
}

/// What touching so much costs.
pub(super) fn units(size: u64) -> u64 {
    1 + size / 10
}

/// Runs a loop; see [`LOOP`].
///
/// A turn that fails does not matter when another one decides (`all` that met a false one).
fn run_loop(call: &FunctionContext<'_, '_>) -> Result<Value> {
    let [kind, cost, range, names @ .., body, filter] = call.args else {
        return Err(ExecutionError::NoSuchOverload);
    };
    let (Value::String(kind), Value::Int(cost)) =
        (call.ptx.resolve(kind)?, call.ptx.resolve(cost)?)
    else {
        return Err(ExecutionError::NoSuchOverload);
    };
    let kind = Loop::parse(&kind).ok_or(ExecutionError::NoSuchOverload)?;
    let cost = u64::try_from(cost).unwrap_or(1);
    let names: Vec<&str> = names
        .iter()
        .filter_map(|n| match &n.expr {
            Expr::Ident(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    let range = call.ptx.resolve(range)?;
    charge(units(size(&range)))?;
    let mut outcome = Outcome::new(kind);
    let mut scope = call.ptx.new_inner_scope();
    for (key, value) in turns(&range)? {
        charge(cost)?;
        match names.as_slice() {
            [both] if matches!(range, Value::Map(_)) => {
                scope.add_variable_from_value(*both, key.clone());
            }
            [one] => scope.add_variable_from_value(*one, value),
            [first, second, ..] => {
                scope.add_variable_from_value(*first, key.clone());
                scope.add_variable_from_value(*second, value);
            }
            [] => {}
        }
        if kind.collects() && !truth(scope.resolve(filter))? {
            continue;
        }
        let result = scope.resolve(body);
        if kind.collects()
            && let Ok(value) = &result
        {
            charge(units(size(value)))?;
        }
        if outcome.take(key, result)? {
            break;
        }
    }
    outcome.finish()
}

/// Index and item of a list, key and value of a map (in the order of keys).
fn turns(range: &Value) -> Result<Vec<(Value, Value)>> {
    match range {
        Value::List(list) => Ok((0_i64..)
            .zip(list.iter())
            .map(|(at, item)| (Value::Int(at), item.clone()))
            .collect()),
        Value::Map(map) => {
            let mut entries: Vec<(&Key, &Value)> = map.map.iter().collect();
            entries.sort_by(|a, b| a.0.cmp(b.0));
            Ok(entries
                .into_iter()
                .map(|(key, item)| (key_value(key), item.clone()))
                .collect())
        }
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

fn truth(value: Result<Value>) -> Result<bool> {
    match value? {
        Value::Bool(b) => Ok(b),
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

/// What the loop has found so far.
struct Outcome {
    kind: Loop,
    n_true: u64,
    decided: bool,
    failed: Option<ExecutionError>,
    list: Vec<Value>,
    map: HashMap<Key, Value>,
}

impl Outcome {
    fn new(kind: Loop) -> Self {
        let (list, map) = (Vec::new(), HashMap::new());
        Self {
            kind,
            n_true: 0,
            decided: false,
            failed: None,
            list,
            map,
        }
    }

    /// Takes the result of one turn; true ends the loop.
    fn take(&mut self, key: Value, result: Result<Value>) -> Result<bool> {
        match self.kind {
            Loop::All | Loop::Exists => match truth(result) {
                Ok(found) => {
                    self.decided = found == (self.kind == Loop::Exists);
                    return Ok(self.decided);
                }
                Err(error) => {
                    self.failed.get_or_insert(error);
                }
            },
            Loop::ExistsOne => self.n_true += u64::from(truth(result)?),
            Loop::Collect => self.list.push(result?),
            Loop::CollectMap => {
                self.map.insert(map_key(key)?, result?);
            }
            Loop::CollectEntries => {
                let Value::Map(entries) = result? else {
                    return Err(ExecutionError::NoSuchOverload);
                };
                for (key, value) in entries.map.iter() {
                    self.map.insert(key.clone(), value.clone());
                }
            }
        }
        Ok(false)
    }

    fn finish(self) -> Result<Value> {
        Ok(match self.kind {
            Loop::All | Loop::Exists => match (self.decided, self.failed) {
                (false, Some(error)) => return Err(error),
                (decided, _) => Value::Bool(decided == (self.kind == Loop::Exists)),
            },
            Loop::ExistsOne => Value::Bool(self.n_true == 1),
            Loop::Collect => Value::List(Arc::new(self.list)),
            Loop::CollectMap | Loop::CollectEntries => Value::Map(Map {
                map: Arc::new(self.map),
            }),
        })
    }
}

fn key_value(key: &Key) -> Value {
    match key {
        Key::Int(i) => Value::Int(*i),
        Key::Uint(u) => Value::UInt(*u),
        Key::Bool(b) => Value::Bool(*b),
        Key::String(text) => Value::String(Arc::clone(text)),
    }
}

fn map_key(value: Value) -> Result<Key> {
    match value {
        Value::Int(i) => Ok(Key::Int(i)),
        Value::UInt(u) => Ok(Key::Uint(u)),
        Value::Bool(b) => Ok(Key::Bool(b)),
        Value::String(text) => Ok(Key::String(text)),
        other => Err(ExecutionError::unsupported_key_type(other)),
    }
}

fn sort_by(list: Value, keys: Value) -> Result<Value> {
    let (Value::List(list), Value::List(keys)) = (list, keys) else {
        return Err(ExecutionError::NoSuchOverload);
    };
    let mut order: Vec<usize> = (0..list.len().min(keys.len())).collect();
    let mut wrong = false;
    order.sort_by(|a, b| {
        keys[*a].partial_cmp(&keys[*b]).unwrap_or_else(|| {
            wrong = true;
            std::cmp::Ordering::Equal
        })
    });
    if wrong {
        return Err(ExecutionError::NoSuchOverload);
    }
    Ok(Value::List(Arc::new(
        order.into_iter().map(|at| list[at].clone()).collect(),
    )))
}

fn matches(This(text): This<Arc<String>>, pattern: Arc<String>) -> Result<bool> {
    charge(units(
        (text.len() as u64 + 1) * (1 + pattern.len() as u64 / 4),
    ))?;
    Ok(compiled(&pattern)?.is_match(&text))
}

fn find(This(text): This<Arc<String>>, pattern: Arc<String>) -> Result<Value> {
    charge(units(
        (text.len() as u64 + 1) * (1 + pattern.len() as u64 / 4),
    ))?;
    let found = compiled(&pattern)?
        .find(&text)
        .map_or("", |m| m.as_str())
        .to_owned();
    Ok(Value::String(Arc::new(found)))
}

fn find_all(call: &FunctionContext<'_, '_>, This(text): This<Arc<String>>) -> Result<Value> {
    let mut arguments = Vec::new();
    for argument in call.args.iter().skip(usize::from(call.this.is_none())) {
        arguments.push(call.ptx.resolve(argument)?);
    }
    let (pattern, limit) = match arguments.as_slice() {
        [Value::String(pattern)] => (pattern, usize::MAX),
        [Value::String(pattern), Value::Int(n)] => {
            (pattern, usize::try_from(*n).unwrap_or(usize::MAX))
        }
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    charge(units(
        (text.len() as u64 + 1) * (1 + pattern.len() as u64 / 4),
    ))?;
    let compiled = compiled(pattern)?;
    let found = compiled.find_iter(&text).take(limit);
    let found = found
        .map(|m| Value::String(Arc::new(m.as_str().to_owned())))
        .collect();
    Ok(Value::List(Arc::new(found)))
}

/// Compiled patterns; expressions name few, mostly literal ones.
fn compiled(pattern: &str) -> Result<regex::Regex> {
    const CACHED_MAX: usize = 64;
    thread_local! {
        static CACHE: std::cell::RefCell<Vec<(Box<str>, regex::Regex)>> =
            const { std::cell::RefCell::new(Vec::new()) };
    }
    CACHE.with_borrow_mut(|cache| {
        if let Some(at) = cache.iter().position(|(p, _)| p.as_ref() == pattern) {
            return Ok(cache[at].1.clone());
        }
        charge(units(pattern.len() as u64 * 10))?;
        let regex = regexp::compile(pattern)
            .map_err(|why| ExecutionError::function_error("matches", why))?;
        if cache.len() == CACHED_MAX {
            cache.remove(0);
        }
        cache.push((pattern.into(), regex.clone()));
        Ok(regex)
    })
}
