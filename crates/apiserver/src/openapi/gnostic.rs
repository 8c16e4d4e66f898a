//! OpenAPI version 2 in protobuf, which is the only form client-go's `OpenAPISchema` asks for.
//!
//! Messages are written from the JSON of one path or definition at a time; parts of a message may
//! follow each other on the wire, so a document needs no whole in memory.
//!
//! Source: github.com/google/gnostic-models `openapiv2/OpenAPIv2.proto` (field numbers).

use flotilla_machinery::protobuf::Writer;
use serde_json::{Map, Value};

/// The document's beginning: version and title.
pub(super) fn head(info: &Value) -> Vec<u8> {
    let mut about = Writer::default();
    text(&mut about, 1, &info["title"]);
    text(&mut about, 2, &info["version"]);
    let mut document = Writer::default();
    document.bytes_field(1, b"2.0");
    message(&mut document, 2, about);
    document.into_bytes()
}

/// One entry of `definitions`, as a piece of the document.
pub(super) fn definition(name: &str, value: &Value) -> Vec<u8> {
    let mut definitions = Writer::default();
    message(&mut definitions, 1, named(name, schema(value)));
    let mut document = Writer::default();
    message(&mut document, 9, definitions);
    document.into_bytes()
}

/// One entry of `paths`, as a piece of the document.
pub(super) fn path(name: &str, value: &Value) -> Vec<u8> {
    let mut item = Writer::default();
    for (method, number) in [
        ("get", 2),
        ("put", 3),
        ("post", 4),
        ("delete", 5),
        ("patch", 8),
    ] {
        if value[method].is_object() {
            message(&mut item, number, operation(&value[method]));
        }
    }
    for entry in list(&value["parameters"]) {
        message(&mut item, 9, parameter(entry));
    }
    let mut paths = Writer::default();
    message(&mut paths, 2, named(name, item));
    let mut document = Writer::default();
    message(&mut document, 8, paths);
    document.into_bytes()
}

fn operation(value: &Value) -> Writer {
    let mut out = Writer::default();
    for (key, number) in [("tags", 1), ("produces", 6), ("consumes", 7)] {
        list(&value[key])
            .iter()
            .for_each(|entry| text(&mut out, number, entry));
    }
    for entry in list(&value["parameters"]) {
        message(&mut out, 8, parameter(entry));
    }
    let mut responses = Writer::default();
    for (code, response) in value["responses"].as_object().into_iter().flatten() {
        let mut body = Writer::default();
        text(&mut body, 1, &response["description"]);
        if response["schema"].is_object() {
            let mut item = Writer::default();
            message(&mut item, 1, schema(&response["schema"]));
            message(&mut body, 2, item);
        }
        let mut either = Writer::default();
        message(&mut either, 1, body);
        message(&mut responses, 1, named(code, either));
    }
    message(&mut out, 9, responses);
    list(&value["schemes"])
        .iter()
        .for_each(|entry| text(&mut out, 10, entry));
    extensions(&mut out, 13, value);
    out
}

/// A ParametersItem: one of body, query and path.
fn parameter(value: &Value) -> Writer {
    let mut inner = Writer::default();
    let mut parameter = Writer::default();
    if value["in"] == "body" {
        text(&mut inner, 2, &value["name"]);
        text(&mut inner, 3, &value["in"]);
        flag(&mut inner, 4, &value["required"]);
        message(&mut inner, 5, schema(&value["schema"]));
        message(&mut parameter, 1, inner);
    } else {
        // Query and path parameters differ in where the type stands.
        let (which, ty) = if value["in"] == "query" {
            (3, 6)
        } else {
            (4, 5)
        };
        flag(&mut inner, 1, &value["required"]);
        text(&mut inner, 2, &value["in"]);
        text(&mut inner, 4, &value["name"]);
        text(&mut inner, ty, &value["type"]);
        let mut plain = Writer::default();
        message(&mut plain, which, inner);
        message(&mut parameter, 2, plain);
    }
    let mut item = Writer::default();
    message(&mut item, 1, parameter);
    item
}

fn schema(value: &Value) -> Writer {
    let mut out = Writer::default();
    for (key, number) in [
        ("$ref", 1),
        ("format", 2),
        ("title", 3),
        ("description", 4),
        ("pattern", 13),
    ] {
        text(&mut out, number, &value[key]);
    }
    if !value["default"].is_null() {
        message(&mut out, 5, any(&value["default"]));
    }
    for (key, number) in [("multipleOf", 6), ("maximum", 7), ("minimum", 9)] {
        if let Some(limit) = value[key].as_f64() {
            out.double_field(number, limit);
        }
    }
    for (key, number) in [
        ("exclusiveMaximum", 8),
        ("exclusiveMinimum", 10),
        ("uniqueItems", 16),
    ] {
        flag(&mut out, number, &value[key]);
    }
    for (key, number) in [
        ("maxLength", 11),
        ("minLength", 12),
        ("maxItems", 14),
        ("minItems", 15),
        ("maxProperties", 17),
        ("minProperties", 18),
    ] {
        if let Some(limit) = value[key].as_i64() {
            out.varint_field(number, limit);
        }
    }
    list(&value["required"])
        .iter()
        .for_each(|entry| text(&mut out, 19, entry));
    list(&value["enum"])
        .iter()
        .for_each(|entry| message(&mut out, 20, any(entry)));
    match &value["additionalProperties"] {
        Value::Bool(allowed) => {
            let mut item = Writer::default();
            item.varint_field(2, i64::from(*allowed));
            message(&mut out, 21, item);
        }
        inner @ Value::Object(_) => {
            let mut item = Writer::default();
            message(&mut item, 1, schema(inner));
            message(&mut out, 21, item);
        }
        _ => {}
    }
    if value["type"].is_string() {
        let mut item = Writer::default();
        text(&mut item, 1, &value["type"]);
        message(&mut out, 22, item);
    }
    if value["items"].is_object() {
        let mut item = Writer::default();
        message(&mut item, 1, schema(&value["items"]));
        message(&mut out, 23, item);
    }
    let properties = value["properties"]
        .as_object()
        .filter(|map| !map.is_empty());
    if let Some(properties) = properties {
        message(&mut out, 25, all_named(properties));
    }
    extensions(&mut out, 31, value);
    out
}

fn all_named(properties: &Map<String, Value>) -> Writer {
    let mut out = Writer::default();
    for (name, value) in properties {
        message(&mut out, 1, named(name, schema(value)));
    }
    out
}

/// `x-…` members, as YAML; JSON is YAML too.
fn extensions(out: &mut Writer, number: u32, value: &Value) {
    let members = value.as_object().into_iter().flatten();
    for (key, value) in members.filter(|(key, _)| key.starts_with("x-")) {
        message(out, number, named(key, any(value)));
    }
}

fn any(value: &Value) -> Writer {
    let mut out = Writer::default();
    out.bytes_field(2, format!("{value}\n").as_bytes());
    out
}

fn named(name: &str, value: Writer) -> Writer {
    let mut out = Writer::default();
    out.bytes_field(1, name.as_bytes());
    message(&mut out, 2, value);
    out
}

fn message(out: &mut Writer, number: u32, inner: Writer) {
    out.bytes_field(number, &inner.into_bytes());
}

fn text(out: &mut Writer, number: u32, value: &Value) {
    if let Some(text) = value.as_str().filter(|text| !text.is_empty()) {
        out.bytes_field(number, text.as_bytes());
    }
}

fn flag(out: &mut Writer, number: u32, value: &Value) {
    if value == true {
        out.varint_field(number, 1);
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
