//! From request bytes to an object of a known shape.
//!
//! Parsing finds duplicate keys; [`shape::conform`] then drops unknown fields, checks types and
//! brings values to the one form they are stored in (quantities, times). What was dropped is
//! reported, and [`FieldValidation`] decides whether that is an error, a warning or nothing.
//!
//! Source: Kubernetes v1.35, apimachinery `pkg/runtime/serializer/json` and `pkg/runtime/error.go`.

mod gotime;
pub mod shape;
mod strict;

use std::fmt;

use flotilla_machinery::{
    builtin,
    group::{GroupKind, split_api_version},
    json_syntax, protobuf,
    status::{FieldError, Status},
};
use serde_json::{Map, Value};

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

/// How much of an unreadable body an error shows, in bytes.
const HEAD_MAX: usize = 30;

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
    const UNREAD: &str = "couldn't get version/kind; json parse error:";
    if text.trim().is_empty() {
        let why = format!("{UNREAD} unexpected end of JSON input");
        return Err(Status::bad_request(why));
    }
    let parsed = match media {
        Media::Json => strict::json(text).map_err(|e| format!("{UNREAD} {}", mistake(text, &e))),
        Media::Yaml | Media::Protobuf => strict::yaml(text),
    };
    parsed.map_err(Status::bad_request)
}

/// Why a text is not JSON, in Go's words where Go sees a mistake too.
fn mistake(text: &str, error: &serde_json::Error) -> String {
    json_syntax::mistake(text.as_bytes()).unwrap_or_else(|| error.to_string())
}

/// Parses the body of a patch in JSON.
///
/// # Errors
/// 400 in Go's words.
pub fn patch(body: &[u8]) -> Result<Parsed, Status> {
    let text = std::str::from_utf8(body).map_err(|e| Status::bad_request(e.to_string()))?;
    strict::json(text).map_err(|e| Status::bad_request(mistake(text, &e)))
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
    if media == Media::Protobuf {
        let mut object = from_protobuf(body)?;
        check_kind(&mut object, resource, body)?;
        let dropped = conform(&mut object, resource)?;
        return Ok(Decoded {
            object,
            complaints: dropped,
        });
    }
    let parsed = parse(body, media).map_err(|e| unrecognized(resource, &e.message, body))?;
    let mut complaints = duplicates(&parsed);
    let mut object = parsed.value;
    if object.is_null() {
        object = Value::Object(Map::new());
    }
    check_kind(&mut object, resource, body)?;
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
    shaped(object, resource).map_err(|e| unhandled(resource, &resource.version, &resource.kind, &e))
}

/// As [`conform`], with the bare mistake.
///
/// # Errors
/// The first value of a built-in kind that has the wrong type.
pub fn shaped(object: &mut Value, resource: &Resource) -> Result<Vec<String>, shape::Error> {
    let lenient = resource.custom.is_some();
    let shape = &resource.shape;
    shape::conform(object, &shape.schema, shape.root, lenient)
}

/// The error of an object that was read but is not what the endpoint takes.
fn unhandled(resource: &Resource, version: &str, kind: &str, why: &dyn fmt::Display) -> Status {
    let want = &resource.kind;
    Status::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {want}: {why}"
    ))
}

/// The error of a body that is no object of any kind; shows how it begins.
fn unrecognized(resource: &Resource, why: &dyn fmt::Display, body: &[u8]) -> Status {
    let want = &resource.kind;
    let head = &body[..body.len().min(HEAD_MAX)];
    let more = if head.len() < body.len() { " ..." } else { "" };
    let shown = match head.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => String::from_utf8_lossy(head).into_owned(),
        Some(_) => head.iter().map(|byte| format!("{byte:02x}")).collect(),
    };
    Status::bad_request(format!(
        "the object provided is unrecognized (must be of type {want}): {why} ({shown}{more})"
    ))
}

/// Turns complaints into what the client asked for: nothing, warnings, or a refusal.
///
/// # Errors
/// 400 under [`FieldValidation::Strict`].
pub fn judge(
    complaints: Vec<String>,
    validation: FieldValidation,
    resource: &Resource,
) -> Result<Vec<String>, Status> {
    weigh(complaints, validation)
        .map_err(|why| unhandled(resource, &resource.version, &resource.kind, &why))
}

/// As [`judge`], with the bare reason.
///
/// # Errors
/// All complaints in one sentence, under [`FieldValidation::Strict`].
pub fn weigh(complaints: Vec<String>, validation: FieldValidation) -> Result<Vec<String>, String> {
    match validation {
        FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Warn => Ok(limited(complaints)),
        FieldValidation::Strict if complaints.is_empty() => Ok(complaints),
        FieldValidation::Strict => {
            let all = limited(complaints).join(", ");
            Err(format!("strict decoding error: {all}"))
        }
    }
}

/// Makes sure that an object is of the endpoint's kind and version; what it does not say is filled in, except for custom
/// resources, whose kind must be there.
///
/// # Errors
/// 400 in upstream's words; 422 for a custom resource of another kind. `body` is what was sent, to be shown.
pub fn check_kind(object: &mut Value, resource: &Resource, body: &[u8]) -> Result<(), Status> {
    let Some(members) = object.as_object_mut() else {
        let why = "couldn't get version/kind; the request body must be one object";
        return Err(unrecognized(resource, &why, body));
    };
    let found = |name| members.get(name).and_then(Value::as_str).unwrap_or("");
    let (api_version, kind) = (found("apiVersion"), found("kind"));
    if resource.custom.is_some() && kind.is_empty() {
        let shown = String::from_utf8_lossy(body);
        let why = format!("Object 'Kind' is missing in '{}'", shown.trim_end());
        return Err(unrecognized(resource, &why, body));
    }
    let want = resource.api_version();
    let kind_fits = kind.is_empty() || kind == &*resource.kind;
    if !kind_fits && resource.custom.is_some() {
        let why = format!("must be {}", resource.kind);
        let errors = vec![FieldError::invalid("kind", kind, why)];
        let kind = GroupKind::new(&*resource.group, kind);
        let name = object.pointer("/metadata/name").and_then(Value::as_str);
        return Err(Status::invalid(&kind, name.unwrap_or(""), errors));
    }
    if !kind_fits || !(api_version.is_empty() || api_version == want) {
        return Err(misfit(resource, api_version, kind, body));
    }
    members.insert("apiVersion".to_owned(), want.into());
    members.insert("kind".to_owned(), (&*resource.kind).into());
    Ok(())
}

/// Makes sure that the body of a DELETE, if it says what it is, is `DeleteOptions`.
///
/// # Errors
/// 400 in upstream's words.
pub fn check_options_kind(body: &Value) -> Result<(), Status> {
    let found = |name| body.get(name).and_then(Value::as_str).unwrap_or("");
    let (api_version, kind) = (found("apiVersion"), found("kind"));
    if matches!(kind, "" | "DeleteOptions") {
        return Ok(());
    }
    Err(Status::bad_request(format!(
        "no kind {kind:?} is registered for version {api_version:?} in scheme {SCHEME:?}"
    )))
}

/// Where upstream's list of kinds was made, which its errors name.
const SCHEME: &str = "pkg/runtime/scheme.go:111";

/// Why a built-in object is of the wrong kind or version.
fn misfit(resource: &Resource, api_version: &str, kind: &str, body: &[u8]) -> Status {
    let want = resource.api_version();
    if resource.custom.is_some() {
        return Status::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({want})"
        ));
    }
    let api_version = if api_version.is_empty() {
        &want
    } else {
        api_version
    };
    let kind = if kind.is_empty() {
        &resource.kind
    } else {
        kind
    };
    let Some((group, version)) = split_api_version(api_version) else {
        let why = format!("unexpected GroupVersion string: {api_version}");
        return unrecognized(resource, &why, body);
    };
    if builtin::type_name(group, version, kind).is_none() {
        let why = format!(
            "no kind {kind:?} is registered for version {api_version:?} in scheme {SCHEME:?}"
        );
        return unhandled(resource, version, kind, &why);
    }
    if kind == &*resource.kind {
        return Status::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({want})"
        ));
    }
    let package = match resource.group.split('.').next() {
        None | Some("") => "core",
        Some(package) => package,
    };
    let why = format!(
        "converting ({version}.{kind}) to ({package}.{}): unknown conversion",
        resource.kind
    );
    unhandled(resource, version, kind, &why)
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
