//! Bringing a parsed object to the shape of its kind.
//!
//! What Go does by decoding into a struct, in one walk over the schema: unknown fields go, `null`
//! means absent, numbers and text must be what the field says, and quantities and times take the
//! one form in which they are stored and compared.
//!
//! Source: Kubernetes v1.35, `sigs.k8s.io/json`, apimachinery `pkg/api/resource` and
//! `pkg/apis/meta/v1/{time,micro_time,duration}.go`.

use base64::{Engine, engine::general_purpose::STANDARD};
use flotilla_machinery::{
    quantity::Quantity,
    schema::{Scalar, Schema, Type, TypeId},
};
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::gotime::{self, Layout};

/// A value of the wrong type, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Text where a number should be, and so on.
    #[error("json: cannot unmarshal {found} into Go struct field {path} of type {want}")]
    Type {
        /// What JSON has; a number with its value where an integer should be.
        found: String,
        /// What that is in Go.
        kind: &'static str,
        /// The struct that has the field, and where it stands, as dotted names.
        path: String,
        /// What Go wants.
        want: String,
    },
    /// Text that does not parse as what the field holds; Go does not say where.
    #[error("{0}")]
    Text(String),
}

impl Error {
    /// The same mistake in the words of the reader that takes values instead of text, which strategic merge patches go through.
    ///
    /// Source: apimachinery v0.35, `pkg/runtime/converter.go`.
    pub fn converted(&self) -> String {
        let Self::Type { kind, want, .. } = self else {
            return self.to_string();
        };
        match want.as_str() {
            want if want.starts_with("[]") => format!("cannot restore slice from {kind}"),
            want if want.starts_with("map[") => format!("cannot restore map from {kind}"),
            want if want.contains('.') => format!("cannot restore struct from: {kind}"),
            // Go turns a whole number into a text of one letter, if it is let.
            "string" if *kind == "int64" => format!("cannot convert {kind} to {want}"),
            want => format!("unrecognized type: {want}"),
        }
    }
}

/// Drops unknown fields, checks types and normalises values, in place. Returns a complaint
/// `unknown field "spec.foo"` for each dropped field, in document order.
///
/// With `lenient` (custom resources) types are left to schema validation, and `null` stays where
/// the field is nullable.
///
/// # Errors
/// The first value of a wrong type.
pub fn conform(
    value: &mut Value,
    schema: &Schema,
    root: TypeId,
    lenient: bool,
) -> Result<Vec<String>, Error> {
    let mut walk = Walk {
        schema,
        lenient,
        path: Vec::new(),
        structs: Vec::new(),
        unknown: Vec::new(),
    };
    walk.value(value, root)?;
    Ok(walk.unknown)
}

struct Walk<'a> {
    schema: &'a Schema,
    lenient: bool,
    path: Vec<Step>,
    /// The structs around the value, outermost first.
    structs: Vec<TypeId>,
    unknown: Vec<String>,
}

/// One step into a value.
enum Step {
    Field(String),
    Key(String),
    Index(usize),
}

impl Walk<'_> {
    fn value(&mut self, value: &mut Value, ty: TypeId) -> Result<(), Error> {
        match self.schema.get(ty) {
            Type::Any => Ok(()),
            Type::Scalar(scalar) => self.scalar(value, *scalar),
            Type::Struct(shape) => match value {
                Value::Object(fields) => {
                    self.structs.push(ty);
                    let result = self.fields(fields, shape);
                    self.structs.pop();
                    result
                }
                other => self.mismatch(other, &go_type(self.schema, ty)),
            },
            Type::Map { value: item, .. } => match value {
                Value::Object(entries) => self.entries(entries, *item),
                other => self.mismatch(other, &go_type(self.schema, ty)),
            },
            Type::List { item, .. } => match value {
                Value::Array(items) => {
                    for (at, entry) in items.iter_mut().enumerate() {
                        self.step(Step::Index(at), |walk| walk.value(entry, *item))?;
                    }
                    Ok(())
                }
                other => self.mismatch(other, &go_type(self.schema, ty)),
            },
        }
    }

    fn fields(
        &mut self,
        fields: &mut Map<String, Value>,
        shape: &flotilla_machinery::schema::Struct,
    ) -> Result<(), Error> {
        let mut drop = Vec::new();
        for (name, value) in fields.iter_mut() {
            let Some(field) = shape.field(name) else {
                match shape.additional {
                    Some(ty) => self.step(Step::Key(name.clone()), |walk| walk.value(value, ty))?,
                    None if shape.preserve_unknown => {}
                    None => {
                        self.unknown
                            .push(format!("unknown field \"{}\"", self.shown(name)));
                        drop.push(name.clone());
                    }
                }
                continue;
            };
            if value.is_null() {
                // A custom resource keeps null for its schema to judge, default or drop.
                if !self.lenient {
                    drop.push(name.clone());
                }
                continue;
            }
            self.step(Step::Field(name.clone()), |walk| {
                walk.value(value, field.ty)
            })?;
        }
        for name in drop {
            fields.remove(&name);
        }
        Ok(())
    }

    fn entries(&mut self, entries: &mut Map<String, Value>, item: TypeId) -> Result<(), Error> {
        for (name, value) in entries.iter_mut() {
            if value.is_null() {
                if !self.lenient
                    && matches!(self.schema.get(item), Type::Scalar(s) if *s == Scalar::String)
                {
                    *value = Value::String(String::new());
                }
                continue;
            }
            self.step(Step::Key(name.clone()), |walk| walk.value(value, item))?;
        }
        Ok(())
    }

    fn scalar(&mut self, value: &mut Value, scalar: Scalar) -> Result<(), Error> {
        if self.is_free() {
            return Ok(());
        }
        match scalar {
            Scalar::String if value.is_string() => Ok(()),
            Scalar::String => self.mismatch(value, "string"),
            Scalar::Boolean if value.is_boolean() => Ok(()),
            Scalar::Boolean => self.mismatch(value, "bool"),
            Scalar::Int32 if value.as_i64().is_some_and(|n| i32::try_from(n).is_ok()) => Ok(()),
            Scalar::Int32 => self.mismatch(value, "int32"),
            Scalar::Int64 if value.is_i64() => Ok(()),
            Scalar::Int64 => self.mismatch(value, "int64"),
            Scalar::Number if value.is_number() => Ok(()),
            Scalar::Number => self.mismatch(value, "float64"),
            Scalar::IntOrString if value.is_string() => Ok(()),
            Scalar::IntOrString if value.as_i64().is_some_and(|n| i32::try_from(n).is_ok()) => {
                Ok(())
            }
            // Go reads whatever is no text as a number.
            Scalar::IntOrString => self.mismatch(value, "int32"),
            Scalar::Bytes => self.bytes(value),
            Scalar::Quantity => self.quantity(value),
            Scalar::Time => self.time(value, Layout::Seconds),
            Scalar::MicroTime => self.time(value, Layout::Micros),
            Scalar::Duration if value.is_string() => Ok(()),
            Scalar::Duration => self.mismatch(value, "string"),
        }
    }

    fn bytes(&mut self, value: &Value) -> Result<(), Error> {
        let Value::String(text) = value else {
            return self.mismatch(value, "[]uint8");
        };
        match STANDARD.decode(text.replace(['\r', '\n'], "")) {
            Ok(_) => Ok(()),
            Err(base64::DecodeError::InvalidByte(at, _)) => Err(Error::Text(format!(
                "illegal base64 data at input byte {at}"
            ))),
            Err(_) => {
                let at = text.len();
                Err(Error::Text(format!(
                    "illegal base64 data at input byte {at}"
                )))
            }
        }
    }

    fn quantity(&mut self, value: &mut Value) -> Result<(), Error> {
        let text = match &*value {
            Value::String(text) => text.trim().to_owned(),
            Value::Number(number) => number.to_string(),
            other => return self.mismatch(other, "resource.Quantity"),
        };
        match text.parse::<Quantity>() {
            Ok(quantity) => {
                *value = quantity.to_string().into();
                Ok(())
            }
            Err(error) => Err(Error::Text(error.to_string())),
        }
    }

    fn time(&mut self, value: &mut Value, layout: Layout) -> Result<(), Error> {
        let Value::String(text) = &*value else {
            return self.mismatch(value, "string");
        };
        let time = gotime::parse(text, layout).map_err(Error::Text)?;
        *value = match layout {
            Layout::Seconds => seconds(time),
            Layout::Micros => micros(time),
        }
        .into();
        Ok(())
    }

    /// Whether the types of values are the schema's to judge: in custom resources, but for their metadata.
    fn is_free(&self) -> bool {
        let in_metadata =
            matches!(self.path.first(), Some(Step::Field(name)) if name == "metadata");
        self.lenient && !in_metadata
    }

    fn mismatch(&self, value: &Value, want: &str) -> Result<(), Error> {
        if self.is_free() {
            return Ok(());
        }
        let found = match value {
            Value::Null => "null".to_owned(),
            Value::Bool(_) => "bool".to_owned(),
            Value::Number(number) if want.starts_with("int") => format!("number {number}"),
            Value::Number(_) => "number".to_owned(),
            Value::String(_) => "string".to_owned(),
            Value::Array(_) => "array".to_owned(),
            Value::Object(_) => "object".to_owned(),
        };
        let kind = match value {
            Value::Null => "invalid",
            Value::Bool(_) => "bool",
            Value::Number(number) if number.is_f64() => "float64",
            Value::Number(_) => "int64",
            Value::String(_) => "string",
            Value::Array(_) => "slice",
            Value::Object(_) => "map",
        };
        let names = self.structs.iter().map(|ty| {
            let name = self.schema.name_of(*ty).unwrap_or_default();
            name.rsplit('.').next().unwrap_or_default()
        });
        let fields = self.path.iter().filter_map(|step| match step {
            Step::Field(name) => Some(name.as_str()),
            Step::Key(_) | Step::Index(_) => None,
        });
        let mut path: Vec<&str> = names.clone().next_back().into_iter().collect();
        for (owner, field) in names.zip(fields) {
            path.extend(embedding(owner, field));
            path.push(field);
        }
        Err(Error::Type {
            found,
            kind,
            path: path.join("."),
            want: want.to_owned(),
        })
    }

    fn shown(&self, last: &str) -> String {
        let mut out = String::new();
        for step in &self.path {
            match step {
                Step::Index(at) => out.push_str(&format!("[{at}]")),
                Step::Field(name) | Step::Key(name) => add_name(&mut out, name),
            }
        }
        add_name(&mut out, last);
        out
    }

    fn step<T>(&mut self, step: Step, inner: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(step);
        let out = inner(self);
        self.path.pop();
        out
    }
}

/// The Go struct inside of `owner` that has the field, where it is not the owner itself; Go's errors name it on the way.
///
/// Source: Kubernetes v1.35, `staging/src/k8s.io/api`.
fn embedding(owner: &str, field: &str) -> Option<&'static str> {
    match (owner, field) {
        ("Probe", "exec" | "httpGet" | "tcpSocket" | "grpc") => Some("ProbeHandler"),
        ("Volume", field) if field != "name" => Some("VolumeSource"),
        ("EphemeralContainer", field) if field != "targetContainerName" => {
            Some("EphemeralContainerCommon")
        }
        (
            "ConfigMapKeySelector"
            | "SecretKeySelector"
            | "ConfigMapEnvSource"
            | "SecretEnvSource"
            | "ConfigMapProjection"
            | "SecretProjection"
            | "ConfigMapVolumeSource",
            "name",
        ) => Some("LocalObjectReference"),
        ("RuleWithOperations", field) if field != "operations" => Some("Rule"),
        _ => None,
    }
}

fn add_name(path: &mut String, name: &str) {
    if !path.is_empty() && !name.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

/// The type as Go's JSON errors name it.
fn go_type(schema: &Schema, ty: TypeId) -> String {
    match schema.get(ty) {
        Type::Any => "interface {}".to_owned(),
        Type::Struct(_) => {
            let name = schema.name_of(ty).unwrap_or_default();
            let mut parts = name.rsplit('.');
            let (kind, package) = (parts.next(), parts.next());
            format!("{}.{}", package.unwrap_or("v1"), kind.unwrap_or("object"))
        }
        Type::Map { value, .. } => format!("map[string]{}", go_type(schema, *value)),
        Type::List { item, .. } => format!("[]{}", go_type(schema, *item)),
        Type::Scalar(scalar) => match scalar {
            Scalar::Int32 => "int32",
            Scalar::Int64 => "int64",
            Scalar::Number => "float64",
            Scalar::Boolean => "bool",
            Scalar::Bytes => "[]uint8",
            Scalar::Quantity => "resource.Quantity",
            Scalar::Time => "v1.Time",
            Scalar::MicroTime => "v1.MicroTime",
            Scalar::IntOrString => "intstr.IntOrString",
            Scalar::String | Scalar::Duration => "string",
        }
        .to_owned(),
    }
}

/// RFC 3339 in UTC with whole seconds, as `metav1.Time` is written.
pub fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// RFC 3339 in UTC with six digits, as `metav1.MicroTime` is written.
pub fn micros(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}
