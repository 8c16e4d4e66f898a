//! The form in which Go writes an object of a built-in kind.
//!
//! A struct that is no pointer is written even when it is empty (`status: {}`), so is what has no `omitempty` (`rules: null`);
//! a zero with `omitempty` is left out (`hostNetwork: false`). Clients see these in answers, and managed fields are computed on
//! them: an owner of `f:spec` never has `.` in it, because the spec was there before.

use serde_json::{Map, Value};

use crate::schema::{Field, Scalar, Schema, Type, TypeId};

/// What happens to a list or map that is always written and has nothing in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    /// It stays `[]`, as in a request that was only decoded.
    AsGiven,
    /// It becomes `null`: protobuf, in which upstream stores objects, cannot tell the two apart.
    Stored,
}

/// Brings an object of the type `ty` to the form in which Go writes it.
pub fn emit(value: &mut Value, schema: &Schema, ty: TypeId, lists: Lists) {
    match (schema.get(ty), value) {
        (Type::Struct(shape), Value::Object(map)) => {
            map.retain(|name, value| {
                shape
                    .field(name)
                    .is_none_or(|field| is_written(field, value, schema))
            });
            for field in shape.fields.iter().filter(|field| field.always) {
                let value = match map.get_mut(&*field.name) {
                    Some(value) => value,
                    None => absent(map, field, schema),
                };
                if lists == Lists::Stored && is_empty(value) && !is_struct(schema, field.ty) {
                    *value = Value::Null;
                }
            }
            for (name, value) in map {
                if let Some(field) = shape.field(name) {
                    emit(value, schema, field.ty, lists);
                }
            }
        }
        (Type::List { item, .. }, Value::Array(items)) => {
            items
                .iter_mut()
                .for_each(|value| emit(value, schema, *item, lists));
        }
        (Type::Map { value: item, .. }, Value::Object(map)) => {
            map.values_mut()
                .for_each(|value| emit(value, schema, *item, lists));
        }
        _ => {}
    }
}

/// Puts the zero of a field into a map.
fn absent<'a>(map: &'a mut Map<String, Value>, field: &Field, schema: &Schema) -> &'a mut Value {
    map.entry(&*field.name)
        .or_insert_with(|| zero(field, schema))
}

fn zero(field: &Field, schema: &Schema) -> Value {
    if is_pointer(field) {
        return Value::Null;
    }
    match schema.get(field.ty) {
        Type::Struct(_) => Value::Object(Map::new()),
        Type::Scalar(Scalar::String) => "".into(),
        Type::Scalar(Scalar::Int32 | Scalar::Int64 | Scalar::IntOrString | Scalar::Number) => {
            0.into()
        }
        Type::Scalar(Scalar::Boolean) => false.into(),
        Type::Scalar(Scalar::Quantity) => "0".into(),
        Type::Scalar(Scalar::Duration) => "0s".into(),
        Type::Scalar(Scalar::Bytes | Scalar::Time | Scalar::MicroTime)
        | Type::Any
        | Type::List { .. }
        | Type::Map { .. } => Value::Null,
    }
}

fn is_written(field: &Field, value: &Value, schema: &Schema) -> bool {
    if field.always || is_pointer(field) {
        return true;
    }
    let is_zero = match (schema.get(field.ty), value) {
        (Type::List { .. } | Type::Map { .. }, value) => is_empty(value),
        (Type::Scalar(Scalar::String | Scalar::Bytes), Value::String(text)) => text.is_empty(),
        (Type::Scalar(Scalar::Int32 | Scalar::Int64), Value::Number(number)) => {
            number.as_i64() == Some(0)
        }
        (Type::Scalar(Scalar::Boolean), value) => *value == Value::Bool(false),
        _ => false,
    };
    !is_zero
}

fn is_pointer(field: &Field) -> bool {
    field.proto.is_some_and(|proto| proto.pointer)
}

fn is_struct(schema: &Schema, ty: TypeId) -> bool {
    matches!(schema.get(ty), Type::Struct(_))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
