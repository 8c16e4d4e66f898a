//! From stored objects to response bytes.
//!
//! The common case copies nothing: a stored body of the storage version is the response. Other
//! versions, metadata-only objects and tables are made from it. Members come in the order people
//! expect: `kind`, `apiVersion`, `metadata`, the rest.

use bytes::{BufMut, Bytes, BytesMut};
use flotilla_machinery::status::{FieldError, Status};
use http::{Response, StatusCode, header::CONTENT_TYPE};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Value, json};

use crate::{
    body::{self, Body},
    call::Call,
    negotiate::{Accepted, As, Media},
    registry::{Conversion, Resource},
    request::query_pairs,
    store::{Object, TypeOrder},
    table::{Columns, Include},
    versions,
};

/// The body of `object` in the version of `resource`.
pub(crate) fn body(resource: &Resource, object: &Object) -> Bytes {
    if !versions::is_current(resource, object) {
        return to_bytes(&value(resource, object));
    }
    match resource.conversion {
        Conversion::None | Conversion::Webhook => object.body.clone(),
        Conversion::Rename => {
            let rest = &object.body[object.prefix_len as usize..];
            let mut out = BytesMut::with_capacity(object.body.len() + 64);
            out.put_slice(prefix(resource).as_bytes());
            out.put_slice(rest);
            out.freeze()
        }
        Conversion::Rewrite => to_bytes(&value(resource, object)),
    }
}

/// `object` parsed, in the version of `resource`.
pub(crate) fn value(resource: &Resource, object: &Object) -> Value {
    versions::from_stored(resource, versions::parse(object))
}

/// A stored object as an item of a list: built-in kinds leave out `kind` and `apiVersion` there.
pub(crate) fn put_item(out: &mut BytesMut, resource: &Resource, object: &Object) {
    match resource.conversion {
        _ if resource.custom.is_some() => out.put_slice(&body(resource, object)),
        Conversion::Rewrite => out.put_slice(&to_bytes(&item(resource, object))),
        _ => {
            out.put_u8(b'{');
            out.put_slice(&object.body[object.prefix_len as usize..]);
        }
    }
}

/// The same, parsed.
pub(crate) fn item(resource: &Resource, object: &Object) -> Value {
    let mut value = value(resource, object);
    if resource.custom.is_none()
        && let Some(members) = value.as_object_mut()
    {
        members.remove("kind");
        members.remove("apiVersion");
    }
    value
}

/// PartialObjectMetadata of `version` for a stored object.
pub(crate) fn metadata(resource: &Resource, version: &str, object: &Object) -> Bytes {
    if resource.strategy.hidden_annotation().is_some() {
        return to_bytes(&partial(resource, version, &value(resource, object)));
    }
    let rest = &object.body[object.prefix_len as usize..];
    let metadata = rest
        .strip_prefix(b"\"metadata\":")
        .map_or(&b"{}"[..], first_object);
    let mut out = BytesMut::with_capacity(metadata.len() + 96);
    out.put_slice(b"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/");
    out.put_slice(version.as_bytes());
    out.put_slice(b"\",\"metadata\":");
    out.put_slice(metadata);
    out.put_u8(b'}');
    out.freeze()
}

/// The same, of an object in whatever form.
pub(crate) fn partial(resource: &Resource, version: &str, object: &Value) -> Value {
    let mut metadata = object["metadata"].clone();
    if let Some(hidden) = resource.strategy.hidden_annotation()
        && let Some(annotations) = metadata["annotations"].as_object_mut()
    {
        annotations.remove(hidden);
        if annotations.is_empty()
            && let Some(metadata) = metadata.as_object_mut()
        {
            metadata.remove("annotations");
        }
    }
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": metadata,
    })
}

/// The response that shows one stored object.
pub(crate) fn object(call: &Call, code: StatusCode, object: &Object) -> Response<Body> {
    let bytes = match &call.accepted.shape {
        As::Object => body(&call.resource, object),
        As::Metadata(version) => metadata(&call.resource, version, object),
        As::Table(version) => {
            let rows = [value(&call.resource, object)];
            let metadata = json!({"resourceVersion": object.rev.to_string()});
            to_bytes(&table(call, version, &rows, metadata, true))
        }
    };
    reply(code, call, bytes)
}

/// The response that shows a value made for this request.
pub(crate) fn made(call: &Call, code: StatusCode, value: &Value) -> Response<Body> {
    reply(code, call, to_bytes(value))
}

/// A Status as a response.
pub(crate) fn status(status: &Status, accepted: &Accepted, pretty: bool) -> Response<Body> {
    let code = StatusCode::from_u16(status.code()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut bytes = to_bytes(&status.to_value()).to_vec();
    bytes.push(b'\n');
    let mut response = syntax(code, accepted, pretty, bytes.into());
    if let Some(seconds) = status.retry_after_seconds() {
        response
            .headers_mut()
            .insert(http::header::RETRY_AFTER, seconds.into());
    }
    response
}

/// A response with JSON bytes, in the syntax the client accepts.
pub(crate) fn reply(code: StatusCode, call: &Call, bytes: Bytes) -> Response<Body> {
    syntax(code, &call.accepted, call.pretty, bytes)
}

fn syntax(code: StatusCode, accepted: &Accepted, pretty: bool, bytes: Bytes) -> Response<Body> {
    let bytes = match accepted.media {
        Media::Yaml => yaml(&bytes),
        _ if pretty => indented(&bytes),
        _ => bytes,
    };
    with_type(code, accepted.content_type(), body::full(bytes))
}

/// A response of a given media type.
pub(crate) fn with_type(code: StatusCode, media: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    let media = http::HeaderValue::from_static(media);
    response.headers_mut().insert(CONTENT_TYPE, media);
    response
}

/// Compact JSON in the order people expect.
pub(crate) fn to_bytes(value: &Value) -> Bytes {
    serde_json::to_vec(&Ordered::new(value)).map_or_else(|_| Bytes::new(), Bytes::from)
}

/// A Table of these objects; `columns` says whether their definitions are sent.
pub(crate) fn table(
    call: &Call,
    version: &str,
    objects: &[Value],
    metadata: Value,
    columns: bool,
) -> Value {
    let table = Columns::of(&call.resource);
    let include = included(call);
    let rows = objects
        .iter()
        .map(|object| table.row(object, include, version, call.now));
    let rows: Vec<Value> = rows.collect();
    let definitions = if columns {
        table.definitions()
    } else {
        Value::Null
    };
    json!({
        "kind": "Table",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": rows,
    })
}

/// A Table up to its first row.
pub(crate) fn table_head(call: &Call, version: &str, metadata: &Value) -> String {
    let definitions = Columns::of(&call.resource).definitions();
    format!(
        "{{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/{version}\",\"metadata\":{metadata},\
         \"columnDefinitions\":{definitions},\"rows\":["
    )
}

/// How much of each object the client wants beside the cells.
pub(crate) fn included(call: &Call) -> Include {
    let asked = query_pairs(&call.query).find(|(name, _)| name == "includeObject");
    asked
        .and_then(|(_, word)| Include::parse(&word))
        .unwrap_or_default()
}

/// Refuses an `includeObject` that nobody knows, where a Table is asked for.
///
/// # Errors
/// 400 with the words that are known.
pub(crate) fn check_included(call: &Call) -> Result<(), Status> {
    let asked = query_pairs(&call.query).find(|(name, _)| name == "includeObject");
    match (asked, &call.accepted.shape) {
        (Some((_, word)), As::Table(_)) if !word.is_empty() && Include::parse(&word).is_none() => {
            let why = "must be 'Metadata', 'Object', 'None', or empty";
            let error = FieldError::invalid("includeObject", &*word, why);
            Err(Status::bad_request(format!(
                "Unable to convert to Table as requested: {error}"
            )))
        }
        _ => Ok(()),
    }
}

fn yaml(json: &[u8]) -> Bytes {
    let value: Value = serde_json::from_slice(json).unwrap_or_default();
    serde_saphyr::to_string(&Ordered::new(&value)).map_or_else(|_| Bytes::new(), Bytes::from)
}

fn indented(json: &[u8]) -> Bytes {
    let value: Value = serde_json::from_slice(json).unwrap_or_default();
    let mut bytes = serde_json::to_vec_pretty(&Ordered::new(&value)).unwrap_or_default();
    bytes.push(b'\n');
    bytes.into()
}

fn prefix(resource: &Resource) -> String {
    let (kind, version) = (&resource.kind, resource.api_version());
    match resource.type_order() {
        TypeOrder::KindFirst => format!("{{\"kind\":\"{kind}\",\"apiVersion\":\"{version}\","),
        TypeOrder::ByName => format!("{{\"apiVersion\":\"{version}\",\"kind\":\"{kind}\","),
    }
}

/// The JSON object at the beginning of `json`, found without parsing.
fn first_object(json: &[u8]) -> &[u8] {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for (at, byte) in json.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return &json[..=at];
                }
            }
            _ => {}
        }
    }
    b"{}"
}

/// Which members of an object come first, and how those inside them are ordered; the rest follow by name.
struct Order(&'static [(&'static str, Option<&'static Order>)]);

const OBJECT: Order = Order(&[("kind", None), ("apiVersion", None), ("metadata", None)]);
/// The order of upstream's struct: clients show the text of an error as it came.
const STATUS: Order = Order(&[
    ("kind", None),
    ("apiVersion", None),
    ("metadata", None),
    ("status", None),
    ("message", None),
    ("reason", None),
    ("details", Some(&DETAILS)),
    ("code", None),
]);
const DETAILS: Order = Order(&[
    ("name", None),
    ("group", None),
    ("kind", None),
    ("uid", None),
    ("causes", Some(&CAUSE)),
    ("retryAfterSeconds", None),
]);
const CAUSE: Order = Order(&[("reason", None), ("message", None), ("field", None)]);

/// A value written in the order of upstream's structs.
struct Ordered<'a>(&'a Value, &'static Order);

impl<'a> Ordered<'a> {
    fn new(value: &'a Value) -> Self {
        let status = value.get("kind").and_then(Value::as_str) == Some("Status");
        Self(value, if status { &STATUS } else { &OBJECT })
    }
}

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(value, Order(first)) = *self;
        let members = match value {
            Value::Object(members) => members,
            Value::Array(items) => {
                return serializer.collect_seq(items.iter().map(|item| Ordered(item, self.1)));
            }
            _ => return value.serialize(serializer),
        };
        let mut map = serializer.serialize_map(Some(members.len()))?;
        for (name, inner) in *first {
            match (members.get(*name), inner) {
                (Some(value), Some(order)) => map.serialize_entry(name, &Ordered(value, order))?,
                (Some(value), None) => map.serialize_entry(name, value)?,
                (None, _) => {}
            }
        }
        let named = |name: &String| first.iter().any(|(n, _)| n == name);
        for (name, value) in members.iter().filter(|(name, _)| !named(name)) {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests;
