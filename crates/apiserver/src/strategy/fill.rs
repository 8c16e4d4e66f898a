//! Small tools for defaulting: reach into a JSON value and set what is not set.

use flotilla_machinery::{
    builtin,
    schema::{Type, TypeId},
};
use serde_json::{Map, Value};

/// Sets `key` when it is absent, null or an empty string. Does nothing to a value that is no object.
pub(super) fn fill(object: &mut Value, key: &str, value: impl Into<Value>) {
    if let Value::Object(map) = object
        && is_unset(map.get(key))
    {
        map.insert(key.to_owned(), value.into());
    }
}

/// Whether a value counts as not set.
pub(super) fn is_unset(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(_) => false,
    }
}

/// The value at a dotted path, when every step is there.
pub(super) fn at_mut<'a>(object: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    path.split('.')
        .try_fold(object, |at, key| at.get_mut(key))
        .filter(|value| !value.is_null())
}

/// The items of a list.
pub(super) fn items<'a>(
    object: &'a mut Value,
    key: &str,
) -> impl Iterator<Item = &'a mut Value> + use<'a> {
    object
        .get_mut(key)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
}

/// The object's map at `key`, made when it is not there; `None` when `object` is no object.
pub(super) fn map_at<'a>(object: &'a mut Value, key: &str) -> Option<&'a mut Map<String, Value>> {
    let value = object.as_object_mut()?.entry(key).or_insert(Value::Null);
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut()
}

/// Text at a dotted path, empty when absent.
pub(super) fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    at(object, path).as_str().unwrap_or_default()
}

/// The value at a dotted path, null when absent.
pub(super) fn at<'a>(object: &'a Value, path: &str) -> &'a Value {
    path.split('.')
        .fold(object, |at, key| at.get(key).unwrap_or(&Value::Null))
}

/// The list at a dotted path, empty when absent.
pub(super) fn list<'a>(object: &'a Value, path: &str) -> &'a [Value] {
    at(object, path).as_array().map_or(&[], Vec::as_slice)
}

/// Fills in the defaults that the built-in schema declares, in everything that is there.
///
/// A zero default of a field that is not a pointer in Go is left out, as Go's JSON would.
pub(super) fn schema_defaults(value: &mut Value, ty: TypeId) {
    match (builtin::schema().get(ty), value) {
        (Type::Struct(shape), Value::Object(map)) => {
            for field in &shape.fields {
                let Some(default) = &field.default else {
                    continue;
                };
                let is_zero = default == "" || default == 0 || default == false;
                let is_pointer = field.proto.is_some_and(|proto| proto.pointer);
                if (is_pointer || !is_zero) && is_unset(map.get(&*field.name)) {
                    map.insert(field.name.to_string(), default.clone());
                }
            }
            for (name, value) in map {
                if let Some(field) = shape.field(name) {
                    schema_defaults(value, field.ty);
                }
            }
        }
        (Type::List { item, .. }, Value::Array(items)) => {
            items
                .iter_mut()
                .for_each(|value| schema_defaults(value, *item));
        }
        (Type::Map { value: ty, .. }, Value::Object(map)) => {
            map.values_mut()
                .for_each(|value| schema_defaults(value, *ty));
        }
        _ => {}
    }
}
