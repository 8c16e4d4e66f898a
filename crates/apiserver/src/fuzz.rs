//! Bodies for fuzzers: what the server reads of a request before it knows who sent it, or trusts the sender.
//!
//! Each takes arbitrary bytes and panics only when a law is broken. The normal test run calls them with a small corpus, so
//! that they cannot rot. Selectors, patches, applies and protobuf are [`flotilla_machinery::fuzz`]'s.

use std::sync::{Arc, LazyLock};

use http::Method;

use crate::decode;
use crate::negotiate::Media;
use crate::page;
use crate::params::{DeleteOptions, ListOptions, WriteOptions};
use crate::registry::{Registry, Resource, built_in};
use crate::request;
use crate::store::ObjectKey;

/// Continue tokens: whatever is read names a place from which a token can be made that is read again.
pub fn tokens(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for namespace in [None, Some("a")] {
        let Ok(token) = page::decode(&text, namespace) else {
            continue;
        };
        let again = page::decode(&page::encode(token.rev, &token.start, namespace), namespace);
        if let Ok(again) = again {
            let after = ObjectKey::new(&token.start.namespace, &format!("{}\0", token.start.name));
            assert_eq!((again.rev, again.start), (token.rev, after), "{text:?}");
        }
    }
}

/// Bodies in YAML: what is read is the same when it is written as JSON and read again, and nothing is complained about then.
pub fn yamls(data: &[u8]) {
    bodies(data, Media::Yaml);
}

/// Bodies in JSON, as [`yamls`].
pub fn jsons(data: &[u8]) {
    bodies(data, Media::Json);
}

fn bodies(data: &[u8], media: Media) {
    let Ok(decoded) = decode::object(data, media, &PODS) else {
        return;
    };
    let written = decoded.object.to_string();
    let again = decode::object(written.as_bytes(), Media::Json, &PODS);
    let again = again.unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(again.object, decoded.object, "{written}");
    assert_eq!(again.complaints, [""; 0], "{written}");
}

/// Targets of requests: method, path and query, with all options in the query.
pub fn requests(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (method, target) = text.split_once(' ').unwrap_or(("GET", &text));
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (target, None),
    };
    let method = method.parse().unwrap_or(Method::GET);
    if let Ok(info) = request::parse(&method, path, query) {
        // Only a path that leaves the place of the resource empty names none; such a resource is found nowhere.
        let may_name_none = info.path.contains("//") || info.path.ends_with("/watch");
        let names_one = !info.is_resource || !info.resource.is_empty();
        assert!(names_one || may_name_none, "{text:?}");
    }
    let query = query.unwrap_or("");
    let _ = ListOptions::parse(query, true);
    let _ = ListOptions::parse(query, false);
    let _ = WriteOptions::parse(query, "PatchOptions");
    let _ = DeleteOptions::parse(query, None);
}

static PODS: LazyLock<Arc<Resource>> = LazyLock::new(|| {
    let registry = Registry::new(built_in());
    let pods = registry.get("", "v1", "pods");
    pods.expect("pods are built in").clone()
});

#[cfg(test)]
mod tests;
