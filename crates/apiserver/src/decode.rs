//! From request bytes to an object of a known shape.
//!
//! Parsing finds duplicate keys; [`shape::conform`] then drops unknown fields, checks types and
//! brings values to the one form they are stored in (quantities, times). What was dropped is
//! reported, and [`FieldValidation`] decides whether that is an error, a warning or nothing.
//!
//! Source: Kubernetes v1.35, apimachinery `pkg/runtime/serializer/json` and `pkg/runtime/error.go`.

pub mod shape;
mod strict;

use flotilla_machinery::{protobuf, status::Status};
use serde_json::Value;

pub use self::strict::Parsed;
use crate::{negotiate::Media, params::FieldValidation, registry::Resource};

/// Largest request body in bytes (upstream's `MaxRequestBodyBytes`).
pub const BODY_BYTES_MAX: usize = 3 << 20;
/// How many unknown or duplicate fields are reported before the rest is summed up. Upstream: 100.
pub const REPORTS_MAX: usize = 100;

/// Bounds of a protobuf body: twice the depth of any built-in kind, and about as many values as a
/// body of that size can hold when it is not an attack.
const LIMITS: protobuf::Limits = protobuf::Limits {
    depth: 100,
    values: 1_000_000,
};

/// A decoded object and what was wrong with its text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decoded {
    /// The object, in the shape of its kind.
    pub object: Value,
    /// Upstream's words for each unknown or duplicate field: `unknown field "spec.foo"`.
    pub complaints: Vec<String>,
}

/// Parses a body without looking at its shape.
///
/// # Errors
/// 400 when the text is not UTF-8, empty, not one document, or nested deeper or larger than the
/// budgets allow.
pub fn parse(body: &[u8], media: Media) -> Result<Parsed, Status> {
    let text = std::str::from_utf8(body).map_err(|e| {
        let at = e.valid_up_to();
        Status::bad_request(format!(
            "the request body is not valid UTF-8 (at byte {at})"
        ))
    })?;
    if text.trim().is_empty() {
        return Err(Status::bad_request("the request body is empty"));
    }
    let parsed = match media {
        Media::Json => strict::json(text).map_err(|e| e.to_string()),
        Media::Yaml | Media::Protobuf => strict::yaml(text),
    };
    parsed.map_err(|e| Status::bad_request(format!("the request body cannot be parsed: {e}")))
}

/// One complaint for each repeated key.
pub fn duplicates(parsed: &Parsed) -> Vec<String> {
    parsed
        .duplicates
        .iter()
        .map(|path| format!("duplicate field \"{path}\""))
        .collect()
}

/// Decodes a body as an object of `resource` in the version of the endpoint.
///
/// # Errors
/// 400 when it cannot be read, is of another kind or version, or a value has the wrong type.
pub fn object(body: &[u8], media: Media, resource: &Resource) -> Result<Decoded, Status> {
    let kind = (resource.api_version(), resource.kind.as_ref());
    if media == Media::Protobuf {
        let mut object = from_protobuf(body)?;
        check_kind(&mut object, &kind.0, kind.1)?;
        let dropped = conform(&mut object, resource)?;
        return Ok(Decoded {
            object,
            complaints: dropped,
        });
    }
    let parsed = parse(body, media)?;
    let mut complaints = duplicates(&parsed);
    let mut object = parsed.value;
    check_kind(&mut object, &kind.0, kind.1)?;
    complaints.extend(conform(&mut object, resource)?);
    Ok(Decoded { object, complaints })
}

/// Decodes a body of another kind than the endpoint's own (options, scale, eviction); its shape is
/// left alone.
///
/// # Errors
/// 400 when it cannot be read.
pub fn untyped(body: &[u8], media: Media) -> Result<Value, Status> {
    match media {
        Media::Protobuf => from_protobuf(body),
        _ => parse(body, media).map(|p| p.value),
    }
}

/// Brings an object to the shape of its resource; returns a complaint for each dropped field.
///
/// # Errors
/// 400 when a value of a built-in kind has the wrong type. Values of custom resources are checked
/// with their schema later, which says it better.
pub fn conform(object: &mut Value, resource: &Resource) -> Result<Vec<String>, Status> {
    let lenient = resource.custom.is_some();
    let shape = &resource.shape;
    shape::conform(object, &shape.schema, shape.root, lenient).map_err(|e| {
        Status::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {kind}: {e}",
            kind = resource.kind,
            version = resource.version,
        ))
    })
}

/// Turns complaints into what the client asked for: nothing, warnings, or a refusal.
///
/// # Errors
/// 400 under [`FieldValidation::Strict`].
pub fn judge(complaints: Vec<String>, validation: FieldValidation) -> Result<Vec<String>, Status> {
    match validation {
        FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Warn => Ok(limited(complaints)),
        FieldValidation::Strict if complaints.is_empty() => Ok(complaints),
        FieldValidation::Strict => {
            let all = limited(complaints).join(", ");
            Err(Status::bad_request(format!("strict decoding error: {all}")))
        }
    }
}

/// Makes sure that an object is of this kind; absent type fields are filled in.
///
/// # Errors
/// 400 in upstream's words.
pub fn check_kind(object: &mut Value, api_version: &str, kind: &str) -> Result<(), Status> {
    if !object.is_object() {
        return Err(Status::bad_request("the request body must be one object"));
    }
    let found = |name| object.get(name).and_then(Value::as_str).unwrap_or("");
    let (found_version, found_kind) = (found("apiVersion"), found("kind"));
    if !found_version.is_empty() && found_version != api_version {
        return Err(Status::bad_request(format!(
            "the API version in the data ({found_version}) does not match the expected API \
             version ({api_version})"
        )));
    }
    if !found_kind.is_empty() && found_kind != kind {
        return Err(Status::bad_request(format!(
            "the kind in the data ({found_kind}) does not match the expected kind ({kind})"
        )));
    }
    object["apiVersion"] = api_version.into();
    object["kind"] = kind.into();
    Ok(())
}

fn from_protobuf(body: &[u8]) -> Result<Value, Status> {
    protobuf::decode(body, LIMITS)
        .map_err(|e| Status::bad_request(format!("the protobuf body cannot be decoded: {e}")))
}

fn limited(mut complaints: Vec<String>) -> Vec<String> {
    let n = complaints.len();
    if n > REPORTS_MAX {
        complaints.truncate(REPORTS_MAX);
        complaints.push(format!("and {} more", n - REPORTS_MAX));
    }
    complaints
}

#[cfg(test)]
mod tests;
