//! Strategic merge patch: a merge patch that knows which lists are keyed.
//!
//! The [`Schema`] says which lists merge and by which key ([`crate::schema::Patch`]). A
//! patch may also carry directives:
//! - `$patch: replace` and `$patch: delete` in an object or in an item of a merged list,
//! - `$retainKeys: [a, b]`: live keys that are not listed go away (unions),
//! - `$setElementOrder/list: […]`: the order that the merged list shall have,
//! - `$deleteFromPrimitiveList/list: […]`: scalars to remove from a merged list.
//!
//! Nulls delete and are never stored. Only built-in kinds have the needed schema; for custom
//! resources upstream answers 415, which is the caller's to do.
//!
//! Source: Kubernetes v1.35, apimachinery `util/strategicpatch`.

use serde_json::{Map, Value};

use super::{DEPTH_MAX, depth};
use crate::quote::{go_type, plain};
use crate::schema::{Patch, Schema, Struct, Type, TypeId};
use crate::status::{Details, Reason, Status};

mod list;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ORDER: &str = "$setElementOrder";
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";

/// Why a strategic merge patch cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The patch or the object is not a JSON object.
    #[error("invalid JSON document")]
    NotAnObject,
    /// A merged list holds lists.
    #[error("lists of lists are not supported")]
    ListOfLists,
    /// A malformed `$deleteFromPrimitiveList`.
    #[error("invalid patch format of primitive list")]
    PrimitiveList,
    /// A malformed `$retainKeys`, or one that does not list all keys of the patch.
    #[error("invalid patch format of retainKeys")]
    RetainKeys,
    /// A malformed `$setElementOrder`.
    #[error("invalid patch format of setElementOrder list")]
    SetOrder,
    /// An item of a merged list lacks the key.
    #[error("map: {0} does not contain declared merge key: {1}")]
    NoMergeKey(String, String),
    /// A value has the wrong JSON type.
    #[error("expected a {expected}, but received a {found}")]
    WrongType {
        /// Go's name of the type that fits.
        expected: &'static str,
        /// Go's name of the type that came.
        found: &'static str,
    },
    /// An unknown value of `$patch`.
    #[error("unknown patch type: {0} in map: {1}")]
    UnknownDirective(String, String),
    /// The patch nests deeper than [`DEPTH_MAX`].
    #[error("patch nests deeper than {DEPTH_MAX} levels")]
    TooDeep,
    /// Anything else, in upstream's words.
    #[error("{0}")]
    Other(String),
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        match error {
            Error::NotAnObject
            | Error::PrimitiveList
            | Error::RetainKeys
            | Error::SetOrder
            | Error::TooDeep => Self::bad_request(error.to_string()),
            Error::ListOfLists => {
                let text = "the server rejected our request due to an error in our request";
                Self::new(422, Reason::Invalid, text).with_details(Details::default())
            }
            // Upstream lets these through as plain errors, which become a 500 without reason.
            _ => Self::new(500, Reason::None, error.to_string()),
        }
    }
}

/// `live`, an object of type `ty`, with `patch` merged in.
pub fn apply(live: Value, patch: Value, schema: &Schema, ty: TypeId) -> Result<Value, Error> {
    if depth(&patch) > DEPTH_MAX {
        return Err(Error::TooDeep);
    }
    let live = match live {
        Value::Null => Map::new(),
        Value::Object(live) => live,
        _ => return Err(Error::NotAnObject),
    };
    let Value::Object(patch) = patch else {
        return Err(Error::NotAnObject);
    };
    Merger { schema }.map(live, patch, ty).map(Value::Object)
}

/// What Go has left of a patch after merging, as it prints it: merging takes the directives out, and the lists whose order they
/// give. Upstream shows that when the result does not fit.
pub fn unspent(patch: &Value) -> String {
    let mut left = patch.clone();
    spend(&mut left);
    plain(&left)
}

fn spend(patch: &mut Value) {
    let Value::Object(map) = patch else {
        return;
    };
    let ordered: Vec<String> = map
        .keys()
        .filter_map(|key| list_name(key, SET_ORDER).map(str::to_owned))
        .collect();
    map.retain(|key, _| {
        let directive = key == DIRECTIVE || key == RETAIN_KEYS || key.starts_with(SET_ORDER);
        !directive && !ordered.contains(key)
    });
    map.values_mut().for_each(spend);
}

/// The schema at hand while walking.
#[derive(Clone, Copy)]
struct Merger<'a> {
    schema: &'a Schema,
}

impl<'a> Merger<'a> {
    /// Merges two objects of type `ty`.
    fn map(
        self,
        mut live: Map<String, Value>,
        mut patch: Map<String, Value>,
        ty: TypeId,
    ) -> Result<Map<String, Value>, Error> {
        if let Some(directive) = patch.remove(DIRECTIVE) {
            return match directive.as_str() {
                Some("replace") => Ok(patch),
                Some("delete") => Ok(Map::new()),
                _ => Err(unknown_directive(directive, patch)),
            };
        }
        retain_keys(&mut live, &mut patch)?;
        self.ordered_lists(&mut live, &mut patch, ty)?;
        for (key, value) in patch {
            self.field(&mut live, key, value, ty)?;
        }
        Ok(live)
    }

    /// Merges one key of a patch into `live`.
    fn field(
        self,
        live: &mut Map<String, Value>,
        mut key: String,
        mut value: Value,
        ty: TypeId,
    ) -> Result<(), Error> {
        let deletes = key.starts_with(DELETE_FROM_LIST);
        if deletes {
            key = list_name(&key, DELETE_FROM_LIST)
                .ok_or(Error::PrimitiveList)?
                .to_owned();
        }
        if value.is_null() {
            live.remove(&key);
            return Ok(());
        }
        let Some(slot) = live.get_mut(&key) else {
            if !deletes {
                drop_nulls(&mut value);
                if drop_directives(&mut value) {
                    live.insert(key, value);
                }
            }
            return Ok(());
        };
        match (slot.take(), value) {
            (Value::Object(old), Value::Object(new)) => {
                let (ty, patch) = self.field_type(ty, &key)?;
                let merged = if patch.replace {
                    new
                } else {
                    self.map(old, new, ty)?
                };
                *slot = Value::Object(merged);
            }
            (Value::Array(old), Value::Array(new)) => {
                let (item, patch) = self.item_type(ty, &key)?;
                *slot = Value::Array(if patch.merge || deletes {
                    self.list(old, new, item, patch.merge_key.as_deref(), deletes)?
                } else {
                    new
                });
            }
            (old, _) if deletes => *slot = old,
            (old, mut new) => {
                if std::mem::discriminant(&old) != std::mem::discriminant(&new) {
                    drop_nulls(&mut new);
                }
                if drop_directives(&mut new) {
                    *slot = new;
                } else {
                    live.remove(&key);
                }
            }
        }
        Ok(())
    }

    /// Type and patch treatment of the field `key` of `ty`.
    fn field_type(self, ty: TypeId, key: &str) -> Result<(TypeId, &'a Patch), Error> {
        let kind = match self.schema.get(ty) {
            Type::Struct(shape) => {
                return match field(shape, key) {
                    Some(field) => Ok((field.ty, &field.patch)),
                    None => Err(self.unknown_field(ty, key)),
                };
            }
            Type::Any => return Err(self.unknown_field(ty, key)),
            Type::Map { .. } => "map",
            Type::List { .. } => "slice",
            Type::Scalar(_) => "string",
        };
        Err(Error::Other(format!(
            "merging an object in json but data type is not struct, instead is: {kind}"
        )))
    }

    /// Type of the items and patch treatment of the list at `key` of `ty`.
    fn item_type(self, ty: TypeId, key: &str) -> Result<(TypeId, &'a Patch), Error> {
        let (list, patch) = self.field_type(ty, key)?;
        match self.schema.get(list) {
            Type::List { item, .. } => Ok((*item, patch)),
            _ => Err(Error::Other(
                "expected slice or array type, but got: struct".into(),
            )),
        }
    }

    fn unknown_field(self, ty: TypeId, key: &str) -> Error {
        let name = self.schema.name_of(ty).and_then(|n| n.rsplit('.').next());
        let name = name.unwrap_or("RawExtension");
        Error::Other(format!(
            "unable to find api field in struct {name} for the json field \"{key}\""
        ))
    }
}

/// The field called `key`, in whatever case.
fn field<'a>(shape: &'a Struct, key: &str) -> Option<&'a crate::schema::Field> {
    let fold = || {
        shape
            .fields
            .iter()
            .find(|f| f.name.eq_ignore_ascii_case(key))
    };
    shape.field(key).or_else(fold)
}

/// Takes `$retainKeys` out of the patch and drops the live keys that it does not list.
fn retain_keys(live: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Result<(), Error> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let keys = keys.as_array().ok_or(Error::RetainKeys)?;
    let listed = |key: &str| keys.iter().any(|k| k.as_str() == Some(key));
    let exempt = |key: &str| key.starts_with(DELETE_FROM_LIST) || key.starts_with(SET_ORDER);
    if patch
        .iter()
        .any(|(key, value)| !value.is_null() && !exempt(key) && !listed(key))
    {
        return Err(Error::RetainKeys);
    }
    live.retain(|key, _| listed(key));
    Ok(())
}

/// The list that a directive such as `$setElementOrder/list` is about.
fn list_name<'k>(key: &'k str, directive: &str) -> Option<&'k str> {
    key.strip_prefix(directive)?.strip_prefix('/')
}

/// Removes null values from objects, at every depth.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// Removes objects that carry `$patch`; says whether `value` itself may stay.
fn drop_directives(value: &mut Value) -> bool {
    match value {
        Value::Object(map) if map.contains_key(DIRECTIVE) => return false,
        Value::Object(map) => map.retain(|_, value| drop_directives(value)),
        Value::Array(items) => items.retain_mut(drop_directives),
        _ => {}
    }
    true
}

fn unknown_directive(directive: Value, mut patch: Map<String, Value>) -> Error {
    let name = match &directive {
        Value::String(name) => name.clone(),
        Value::Null => go_type(&directive).into(),
        other => format!("%!s({}={})", go_type(other), plain(other)),
    };
    patch.insert(DIRECTIVE.into(), directive);
    Error::UnknownDirective(name, plain(&Value::Object(patch)))
}

fn wrong_type(expected: &'static str, found: &Value) -> Error {
    Error::WrongType {
        expected,
        found: go_type(found),
    }
}

#[cfg(test)]
mod tests;
