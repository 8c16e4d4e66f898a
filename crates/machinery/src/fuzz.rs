//! Bodies for fuzzers: everything here that reads what strangers send.
//!
//! Each takes arbitrary bytes and panics only when a law is broken. The normal test run calls them
//! with a small corpus, so that they cannot rot.

use serde_json::Value;

use crate::apply::{self, Context, Shape};
use crate::builtin;
use crate::fieldpath::Set;
use crate::jsonpath::{JsonPath, Missing};
use crate::patch;
use crate::quantity::Quantity;
use crate::{fields, json_syntax, labels, protobuf};

/// Selectors: what parses prints as something that parses to the same.
pub fn selectors(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(selector) = labels::Selector::parse(&text) {
        let again = labels::Selector::parse(&selector.to_string());
        assert_eq!(again.as_ref(), Ok(&selector), "{text:?}");
    }
    if let Ok(selector) = fields::Selector::parse(&text) {
        let _ = (selector.matches(|_| Some("x")), selector.to_string());
    }
}

/// Quantities: the canonical text means the same amount.
pub fn quantities(data: &[u8]) {
    if let Ok(quantity) = Quantity::parse(&String::from_utf8_lossy(data))
        && let Ok(again) = Quantity::parse(&quantity.canonical())
        && !quantity.canonical().ends_with('i')
    {
        assert_eq!(again, quantity);
    }
}

/// JSONPath: the first line is the expression, the rest the document.
pub fn json_paths(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (expression, document) = text.split_once('\n').unwrap_or((&text, "{}"));
    let document: Value = serde_json::from_str(document).unwrap_or_default();
    if let Ok(path) = JsonPath::parse(expression) {
        let _ = path.find(&document, Missing::Skip);
    }
}

/// Mistakes in JSON: none is found in what parses. (The other way round a lone half of a surrogate pair is a mistake of the parser only.)
pub fn mistakes(data: &[u8]) {
    if serde_json::from_slice::<Value>(data).is_ok() {
        assert_eq!(json_syntax::mistake(data), None);
    } else {
        let _ = json_syntax::mistake(data);
    }
}

/// Bodies in protobuf: what was read and can be written is read as the same again.
pub fn protobufs(data: &[u8]) {
    let limits = protobuf::Limits {
        depth: 100,
        values: 100_000,
    };
    if let Ok(object) = protobuf::decode(data, limits)
        && let Ok(written) = protobuf::encode(&object)
    {
        let again = protobuf::decode(&written, limits);
        let again = again.and_then(|object| protobuf::encode(&object));
        assert_eq!(again.ok(), Some(written), "{object}");
    }
}

/// Patches of a pod: the first line is the live object, the second the patch, of any kind.
pub fn patches(data: &[u8]) {
    let Some((live, patch)) = two_documents(data) else {
        return;
    };
    let _ = patch::json::apply(live.clone(), &patch);
    if let Ok(merged) = patch::merge::apply(live.clone(), patch.clone()) {
        let again = patch::merge::apply(merged.clone(), patch.clone());
        assert_eq!(again, Ok(merged), "{patch}");
    }
    let _ = patch::strategic::apply(live, patch, builtin::schema(), pod());
}

/// Applies to a pod: what was applied can be applied again without a change.
pub fn applies(data: &[u8]) {
    let Some((mut live, mut config)) = two_documents(data) else {
        return;
    };
    for object in [&mut live, &mut config] {
        if let Value::Object(map) = object {
            map.insert("apiVersion".into(), "v1".into());
            map.insert("kind".into(), "Pod".into());
        }
    }
    let reset_fields = Set::new();
    let ctx = Context {
        shape: Shape {
            schema: builtin::schema(),
            root: pod(),
        },
        api_version: "v1",
        kind: "Pod",
        manager: "fuzz",
        subresource: "",
        force: true,
        now: "2026-01-01T00:00:00Z",
        reset_fields: &reset_fields,
        versions: None,
    };
    let _ = apply::track_update(Some(&live), config.clone(), &ctx);
    let applied = |object: Value| apply::apply(Some(object), &config, &ctx).ok();
    let Some(mut once) = applied(live).map(|done| done.object) else {
        return;
    };
    // Who applies nothing but empty lists owns nothing. The next one finds an object that nobody owns, and gives what is
    // there to `before-first-apply`.
    if once["metadata"]["managedFields"].is_null()
        && let Some(owned) = applied(once.clone())
    {
        once = owned.object;
    }
    if let Some(twice) = applied(once.clone()) {
        assert_eq!(twice.object, once, "{config}");
    }
}

fn two_documents(data: &[u8]) -> Option<(Value, Value)> {
    let text = std::str::from_utf8(data).ok()?;
    let (first, second) = text.split_once('\n')?;
    Some((
        serde_json::from_str(first).ok()?,
        serde_json::from_str(second).ok()?,
    ))
}

fn pod() -> crate::schema::TypeId {
    builtin::schema()
        .find("io.k8s.api.core.v1.Pod")
        .expect("pods are built in")
}

#[cfg(test)]
mod tests;
