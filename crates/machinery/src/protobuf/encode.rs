//! JSON values to bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::decode::{UNIONS, path};
use super::wire::Writer;
use super::{Error, MAGIC, Problem, type_of};
use crate::builtin;
use crate::schema::{Field, Scalar, Struct, Type, TypeId};

/// Messages inside messages; stored objects were decoded with a smaller limit.
const DEPTH_MAX: usize = 256;

pub(super) fn body(object: &Value) -> Result<Vec<u8>, Error> {
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let unknown = || Error::UnknownKind {
        api_version: api_version.into(),
        kind: kind.into(),
    };
    let id = type_of(api_version, kind).ok_or_else(unknown)?;
    let raw = value(id, object, DEPTH_MAX)?;
    let mut type_meta = Writer::default();
    type_meta.bytes_field(1, api_version.as_bytes());
    type_meta.bytes_field(2, kind.as_bytes());
    let mut envelope = Writer {
        out: MAGIC.to_vec(),
    };
    envelope.bytes_field(1, &type_meta.out);
    envelope.bytes_field(2, &raw);
    envelope.bytes_field(3, b"");
    envelope.bytes_field(4, b"");
    Ok(envelope.out)
}

fn message(shape: &Struct, object: &Map<String, Value>, depth: usize) -> Result<Vec<u8>, Error> {
    let depth = depth.checked_sub(1).ok_or(Problem::TooDeep)?;
    let mut present: Vec<(&Field, &Value)> = Vec::new();
    for (name, value) in object.iter().filter(|(_, value)| !value.is_null()) {
        present.extend(
            shape
                .field(name)
                .filter(|f| f.proto.is_some())
                .map(|f| (f, value)),
        );
    }
    inlined(&present, &[], depth)
}

/// The message reached through the inlined messages `via`, from the fields in and below it.
fn inlined(present: &[(&Field, &Value)], via: &[u8], depth: usize) -> Result<Vec<u8>, Error> {
    let mut out = Writer::default();
    let mut inner: Vec<u8> = Vec::new();
    for &(field, value) in present {
        let Some(proto) = field.proto else { continue };
        match path(&proto.via).strip_prefix(via) {
            Some([]) => one_field(&mut out, field.ty, proto.tag, value, depth)
                .map_err(|error| error.within(&field.name))?,
            Some([next, ..]) if !inner.contains(next) => inner.push(*next),
            _ => {}
        }
    }
    for next in inner {
        let message = inlined(present, &[via, &[next]].concat(), depth)?;
        out.bytes_field(u32::from(next), &message);
    }
    Ok(out.out)
}

fn one_field(
    out: &mut Writer,
    ty: TypeId,
    tag: u32,
    json: &Value,
    depth: usize,
) -> Result<(), Error> {
    match builtin::schema().get(ty) {
        Type::List { item, .. } => {
            for (at, json) in json.as_array().ok_or(Problem::Mismatch)?.iter().enumerate() {
                single(out, *item, tag, json, depth)
                    .map_err(|error| error.within(&format!("[{at}]")))?;
            }
            Ok(())
        }
        Type::Map { value: ty, .. } => {
            for (key, json) in json.as_object().ok_or(Problem::Mismatch)? {
                let mut entry = Writer::default();
                entry.bytes_field(1, key.as_bytes());
                let written = match builtin::schema().get(*ty) {
                    Type::List { .. } => {
                        let mut list = Writer::default();
                        one_field(&mut list, *ty, 1, json, depth)
                            .map(|()| entry.bytes_field(2, &list.out))
                    }
                    _ => single(&mut entry, *ty, 2, json, depth),
                };
                written.map_err(|error| error.within(&format!("[{key}]")))?;
                out.bytes_field(tag, &entry.out);
            }
            Ok(())
        }
        _ => single(out, ty, tag, json, depth),
    }
}

/// A field that holds one value.
fn single(out: &mut Writer, ty: TypeId, tag: u32, json: &Value, depth: usize) -> Result<(), Error> {
    match builtin::schema().get(ty) {
        Type::Scalar(Scalar::Int32 | Scalar::Int64) => {
            out.varint_field(tag, json.as_i64().ok_or(Problem::Mismatch)?);
        }
        Type::Scalar(Scalar::Boolean) => {
            out.varint_field(tag, i64::from(json.as_bool().ok_or(Problem::Mismatch)?));
        }
        Type::Scalar(Scalar::Number) => {
            out.double_field(tag, json.as_f64().ok_or(Problem::Mismatch)?);
        }
        _ => out.bytes_field(tag, &value(ty, json, depth)?),
    }
    Ok(())
}

/// The bytes of a length-prefixed value.
fn value(ty: TypeId, json: &Value, depth: usize) -> Result<Vec<u8>, Error> {
    match builtin::schema().get(ty) {
        Type::Struct(shape) => message(shape, json.as_object().ok_or(Problem::Mismatch)?, depth),
        Type::Scalar(scalar) => Ok(scalar_bytes(*scalar, json)?),
        Type::Any => free_form(ty, json, depth),
        Type::List { .. } | Type::Map { .. } => Err(Problem::Mismatch.into()),
    }
}

fn scalar_bytes(scalar: Scalar, json: &Value) -> Result<Vec<u8>, Problem> {
    let text = || json.as_str().ok_or(Problem::Mismatch);
    let mut out = Writer::default();
    match scalar {
        Scalar::String | Scalar::Duration => return Ok(text()?.as_bytes().to_vec()),
        Scalar::Bytes => return STANDARD.decode(text()?).map_err(|_| Problem::Mismatch),
        Scalar::IntOrString => match json {
            Value::String(text) => {
                out.varint_field(1, 1);
                out.varint_field(2, 0);
                out.bytes_field(3, text.as_bytes());
            }
            number => {
                out.varint_field(1, 0);
                out.varint_field(2, number.as_i64().ok_or(Problem::Mismatch)?);
                out.bytes_field(3, b"");
            }
        },
        Scalar::Quantity => match json {
            Value::Number(number) => out.bytes_field(1, number.to_string().as_bytes()),
            _ => out.bytes_field(1, text()?.as_bytes()),
        },
        Scalar::Time | Scalar::MicroTime => {
            let time: Timestamp = text()?.parse().map_err(|_| Problem::Time)?;
            out.varint_field(1, time.as_second());
            out.varint_field(2, i64::from(time.subsec_nanosecond()));
        }
        Scalar::Int32 | Scalar::Int64 | Scalar::Number | Scalar::Boolean => {
            return Err(Problem::Mismatch);
        }
    }
    Ok(out.out)
}

fn free_form(ty: TypeId, json: &Value, depth: usize) -> Result<Vec<u8>, Error> {
    let unions = &*UNIONS;
    let mut out = Writer::default();
    let is_union = [unions.or_array, unions.or_bool, unions.or_strings].contains(&Some(ty));
    let schema = |json: &Value| value(unions.schema.ok_or(Problem::Mismatch)?, json, depth);
    match json {
        _ if !is_union => {
            out.bytes_field(1, &serde_json::to_vec(json).map_err(|_| Problem::Json)?);
        }
        Value::Bool(flag) => out.varint_field(1, i64::from(*flag)),
        Value::Array(items) => {
            for item in items {
                match item {
                    Value::String(text) => out.bytes_field(2, text.as_bytes()),
                    other => out.bytes_field(2, &schema(other)?),
                }
            }
        }
        other if Some(ty) == unions.or_bool => {
            out.varint_field(1, 1);
            out.bytes_field(2, &schema(other)?);
        }
        other => out.bytes_field(1, &schema(other)?),
    }
    Ok(out.out)
}
