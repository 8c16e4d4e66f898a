//! Bytes to JSON values.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Number, Value};

use super::wire::{Fields, Raw};
use super::{Error, Limits, MAGIC, Problem, type_of};
use crate::builtin;
use crate::schema::{Field, Scalar, Struct, Type, TypeId};

const V1: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1";

/// Free-form values whose messages are not `{1: JSON}`.
pub(super) struct Unions {
    pub(super) schema: Option<TypeId>,
    pub(super) or_array: Option<TypeId>,
    pub(super) or_bool: Option<TypeId>,
    pub(super) or_strings: Option<TypeId>,
}

pub(super) static UNIONS: LazyLock<Unions> = LazyLock::new(|| {
    let find = |name: &str| builtin::schema().find(&format!("{V1}.{name}"));
    Unions {
        schema: find("JSONSchemaProps"),
        or_array: find("JSONSchemaPropsOrArray"),
        or_bool: find("JSONSchemaPropsOrBool"),
        or_strings: find("JSONSchemaPropsOrStringArray"),
    }
});

pub(super) fn body(body: &[u8], limits: Limits) -> Result<Value, Error> {
    Decoder {
        values_left: limits.values,
    }
    .unknown(body, limits.depth)
}

struct Decoder {
    values_left: usize,
}

impl Decoder {
    fn unknown(&mut self, body: &[u8], depth: usize) -> Result<Value, Error> {
        let depth = depth.checked_sub(1).ok_or(Problem::TooDeep)?;
        let mut envelope = Fields::new(body.strip_prefix(&MAGIC).ok_or(Error::Magic)?);
        let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
        while let Some((number, value)) = envelope.next()? {
            match number {
                1 => {
                    let mut type_meta = Fields::new(value.bytes()?);
                    while let Some((number, value)) = type_meta.next()? {
                        match number {
                            1 => value.text()?.clone_into(&mut api_version),
                            2 => value.text()?.clone_into(&mut kind),
                            _ => {}
                        }
                    }
                }
                2 => raw = value.bytes()?,
                3 if !value.bytes()?.is_empty() => {
                    return Err(Error::ContentEncoding(value.text()?.to_owned()));
                }
                _ => {}
            }
        }
        let Some(id) = type_of(&api_version, &kind) else {
            return Err(Error::UnknownKind { api_version, kind });
        };
        let mut object = Map::new();
        self.message(shape(id)?, &[], raw, &mut object, depth)?;
        object.insert("apiVersion".to_owned(), Value::String(api_version));
        object.insert("kind".to_owned(), Value::String(kind));
        Ok(Value::Object(object))
    }

    /// Reads a message into `out`. `via` is the path of inlined messages walked so far: their fields
    /// land in the same object.
    fn message(
        &mut self,
        shape: &Struct,
        via: &[u8],
        message: &[u8],
        out: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), Error> {
        let mut fields = Fields::new(message);
        while let Some((number, raw)) = fields.next()? {
            if let Some(field) = field_at(shape, via, number) {
                self.field(field, raw, out, depth)
                    .map_err(|error| error.within(&field.name))?;
            } else if let Some(inner) = inlined_at(shape, via, number) {
                let depth = depth.checked_sub(1).ok_or(Problem::TooDeep)?;
                self.message(shape, &inner, raw.bytes()?, out, depth)?;
            }
        }
        Ok(())
    }

    fn field(
        &mut self,
        field: &Field,
        raw: Raw<'_>,
        out: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), Error> {
        match builtin::schema().get(field.ty) {
            Type::List { item, .. } => {
                let list = out
                    .entry(field.name.as_ref())
                    .or_insert_with(|| Value::Array(vec![]));
                let Value::Array(list) = list else {
                    return Err(Problem::Mismatch.into());
                };
                let at = list.len();
                self.items(*item, raw, list, depth)
                    .map_err(|e| e.within(&format!("[{at}]")))
            }
            Type::Map { value, .. } => {
                let map = out
                    .entry(field.name.as_ref())
                    .or_insert_with(|| Map::new().into());
                let Value::Object(map) = map else {
                    return Err(Problem::Mismatch.into());
                };
                self.entry(*value, raw.bytes()?, map, depth)
            }
            Type::Struct(shape) => {
                let depth = depth.checked_sub(1).ok_or(Problem::TooDeep)?;
                // A message may come in several pieces, which merge.
                let mut object = match out.remove(field.name.as_ref()) {
                    Some(Value::Object(object)) => object,
                    _ => Map::new(),
                };
                self.message(shape, &[], raw.bytes()?, &mut object, depth)?;
                if !object.is_empty() || is_kept_when_zero(field) {
                    self.count()?;
                    out.insert(field.name.as_ref().to_owned(), Value::Object(object));
                }
                Ok(())
            }
            Type::Scalar(_) | Type::Any => {
                let value = self.value(field.ty, raw, depth)?;
                if !is_zero(&value) || is_kept_when_zero(field) && !value.is_null() {
                    out.insert(field.name.as_ref().to_owned(), value);
                } else {
                    out.remove(field.name.as_ref());
                }
                Ok(())
            }
        }
    }

    /// One item, or several packed numbers.
    fn items(
        &mut self,
        item: TypeId,
        raw: Raw<'_>,
        list: &mut Vec<Value>,
        depth: usize,
    ) -> Result<(), Error> {
        let scalar = match builtin::schema().get(item) {
            Type::Scalar(scalar) => Some(*scalar),
            _ => None,
        };
        if let (Some(Scalar::Int32 | Scalar::Int64 | Scalar::Boolean), Raw::Bytes(packed)) =
            (scalar, raw)
        {
            let mut packed = Fields::new(packed);
            while let Some(number) = packed.next_packed()? {
                list.push(self.value(item, Raw::Varint(number), depth)?);
            }
            return Ok(());
        }
        list.push(self.value(item, raw, depth)?);
        Ok(())
    }

    fn entry(
        &mut self,
        ty: TypeId,
        entry: &[u8],
        map: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), Error> {
        let depth = depth.checked_sub(1).ok_or(Problem::TooDeep)?;
        let (mut key, mut raw) = ("", None);
        let mut fields = Fields::new(entry);
        while let Some((number, value)) = fields.next()? {
            match number {
                1 => key = value.text()?,
                2 => raw = Some(value),
                _ => {}
            }
        }
        let raw = raw.unwrap_or(Raw::Bytes(&[]));
        let value = match builtin::schema().get(ty) {
            // A list cannot be a map's value on the wire: it hides in a message {1: items}.
            Type::List { item, .. } => {
                let mut list = Vec::new();
                let mut items = Fields::new(raw.bytes()?);
                while let Some((_, raw)) = items.next()? {
                    self.items(*item, raw, &mut list, depth)
                        .map_err(|error| error.within(&format!("[{key}]")))?;
                }
                self.count()?;
                Value::Array(list)
            }
            _ => {
                let value = self.value(ty, raw, depth);
                value.map_err(|error| error.within(&format!("[{key}]")))?
            }
        };
        map.insert(key.to_owned(), value);
        Ok(())
    }

    /// A value that is not a list or map of its own.
    fn value(&mut self, ty: TypeId, raw: Raw<'_>, depth: usize) -> Result<Value, Error> {
        self.count()?;
        match builtin::schema().get(ty) {
            Type::Struct(shape) => {
                let depth = depth.checked_sub(1).ok_or(Problem::TooDeep)?;
                let mut object = Map::new();
                self.message(shape, &[], raw.bytes()?, &mut object, depth)?;
                Ok(Value::Object(object))
            }
            Type::Scalar(scalar) => Ok(scalar_value(*scalar, raw)?),
            Type::Any => self.free_form(ty, raw.bytes()?, depth),
            Type::List { .. } | Type::Map { .. } => Err(Problem::Mismatch.into()),
        }
    }

    fn free_form(&mut self, ty: TypeId, message: &[u8], depth: usize) -> Result<Value, Error> {
        let depth = depth.checked_sub(1).ok_or(Problem::TooDeep)?;
        let unions = &*UNIONS;
        let mut value = Value::Null;
        let mut fields = Fields::new(message);
        while let Some((number, raw)) = fields.next()? {
            match (Some(ty), number) {
                (t, 1) if t == unions.or_bool => {
                    let allows = Value::Bool(raw.integer()? != 0);
                    value = if value.is_null() { allows } else { value };
                }
                (t, 1) if t == unions.or_array || t == unions.or_strings => {
                    value = self.schema_value(raw, depth)?;
                }
                (t, 2) if t == unions.or_bool => value = self.schema_value(raw, depth)?,
                (t, 2) if t == unions.or_array => {
                    let item = self.schema_value(raw, depth)?;
                    push(&mut value, item);
                }
                (t, 2) if t == unions.or_strings => {
                    let item = Value::String(raw.text()?.to_owned());
                    self.count()?;
                    push(&mut value, item);
                }
                (_, 1) => value = self.embedded(raw.bytes()?, depth)?,
                _ => {}
            }
        }
        Ok(value)
    }

    fn schema_value(&mut self, raw: Raw<'_>, depth: usize) -> Result<Value, Error> {
        self.value(UNIONS.schema.ok_or(Problem::Mismatch)?, raw, depth)
    }

    /// The content of a RawExtension, FieldsV1 or JSON: JSON text, or an object in protobuf.
    fn embedded(&mut self, raw: &[u8], depth: usize) -> Result<Value, Error> {
        if raw.is_empty() {
            return Ok(Value::Null);
        }
        if raw.starts_with(&MAGIC) {
            return self.unknown(raw, depth);
        }
        Ok(serde_json::from_slice(raw).map_err(|_| Problem::Json)?)
    }

    fn count(&mut self) -> Result<(), Problem> {
        self.values_left = self.values_left.checked_sub(1).ok_or(Problem::TooMany)?;
        Ok(())
    }
}

fn shape(id: TypeId) -> Result<&'static Struct, Problem> {
    match builtin::schema().get(id) {
        Type::Struct(shape) => Ok(shape),
        _ => Err(Problem::Mismatch),
    }
}

/// The field with this number directly in the message reached through `via`.
fn field_at<'s>(shape: &'s Struct, via: &[u8], number: u32) -> Option<&'s Field> {
    shape.fields.iter().find(|field| {
        field
            .proto
            .is_some_and(|proto| proto.tag == number && path(&proto.via) == via)
    })
}

/// The path of the inlined message with this number, if some field lives in or below it.
fn inlined_at(shape: &Struct, via: &[u8], number: u32) -> Option<Vec<u8>> {
    let number = u8::try_from(number).ok()?;
    let inner = [via, &[number]].concat();
    let exists = |field: &Field| {
        field
            .proto
            .is_some_and(|p| path(&p.via).starts_with(&inner))
    };
    shape.fields.iter().any(exists).then_some(inner)
}

/// The used part of [`crate::schema::Proto::via`].
pub(super) fn path(via: &[u8; 2]) -> &[u8] {
    let used = via.iter().take_while(|number| **number != 0).count();
    &via[..used]
}

/// Whether a zero on the wire is a value for this field.
fn is_kept_when_zero(field: &Field) -> bool {
    field.required || field.proto.is_some_and(|proto| proto.pointer)
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(_) | Value::Object(_) => false,
    }
}

fn scalar_value(scalar: Scalar, raw: Raw<'_>) -> Result<Value, Problem> {
    Ok(match scalar {
        Scalar::String | Scalar::Duration => Value::String(raw.text()?.to_owned()),
        Scalar::Bytes => Value::String(STANDARD.encode(raw.bytes()?)),
        // Go truncates too: numbers of 32-bit fields travel as 64 bits.
        Scalar::Int32 => Value::from(raw.integer()? as i32),
        Scalar::Int64 => Value::from(raw.integer()?),
        Scalar::Boolean => Value::Bool(raw.integer()? != 0),
        Scalar::Number => Number::from_f64(raw.double()?).map_or(Value::Null, Value::Number),
        Scalar::IntOrString => int_or_string(raw.bytes()?)?,
        Scalar::Quantity => quantity(raw.bytes()?)?,
        Scalar::Time => time(raw.bytes()?, "%Y-%m-%dT%H:%M:%SZ", 0)?,
        Scalar::MicroTime => time(raw.bytes()?, "%Y-%m-%dT%H:%M:%S.%6fZ", 1)?,
    })
}

fn int_or_string(message: &[u8]) -> Result<Value, Problem> {
    let (mut is_text, mut number, mut text) = (false, 0, "");
    let mut fields = Fields::new(message);
    while let Some((tag, raw)) = fields.next()? {
        match tag {
            1 => is_text = raw.integer()? == 1,
            2 => number = raw.integer()? as i32,
            3 => text = raw.text()?,
            _ => {}
        }
    }
    Ok(if is_text {
        Value::from(text)
    } else {
        Value::from(number)
    })
}

fn quantity(message: &[u8]) -> Result<Value, Problem> {
    let mut text = "0";
    let mut fields = Fields::new(message);
    while let Some((tag, raw)) = fields.next()? {
        if tag == 1 {
            text = raw.text()?;
        }
    }
    Ok(Value::from(text))
}

/// An empty message is Go's zero time, which JSON writes as null; one that spells out zeros is the year 1970. Of the
/// nanoseconds only `micros` times the whole microseconds count. Source: apimachinery `meta/v1/time_proto.go`,
/// `micro_time_proto.go`.
fn time(message: &[u8], format: &str, micros: i64) -> Result<Value, Problem> {
    if message.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanos) = (0, 0);
    let mut fields = Fields::new(message);
    while let Some((tag, raw)) = fields.next()? {
        match tag {
            1 => seconds = raw.integer()?,
            2 => nanos = raw.integer()? as i32,
            _ => {}
        }
    }
    let fraction = SignedDuration::from_micros(micros * i64::from(nanos / 1000));
    let time = Timestamp::from_second(seconds)
        .and_then(|time| time.checked_add(fraction))
        .map_err(|_| Problem::Time)?;
    if time.as_second() < -62_135_596_800 {
        return Err(Problem::Time); // before the year 1
    }
    Ok(Value::String(time.strftime(format).to_string()))
}

fn push(list: &mut Value, item: Value) {
    match list {
        Value::Array(items) => items.push(item),
        _ => *list = Value::Array(vec![item]),
    }
}
