use std::sync::Arc;

use super::*;
use crate::registry::{Custom, built_in, tests::row};

fn now() -> Timestamp {
    "2026-03-10T12:00:00Z".parse().unwrap()
}

fn ask(registry: &Registry, ask: &Ask<'_>) -> Option<Answer> {
    OpenApi::default().answer(ask, registry, &State::new(1), now())
}

fn document(path: &str) -> Value {
    let registry = Registry::new(built_in());
    let answer = ask(
        &registry,
        &Ask {
            path,
            ..Ask::default()
        },
    )
    .unwrap();
    assert_eq!(answer.code, 200);
    serde_json::from_slice(&answer.body).unwrap()
}

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer
        .headers
        .iter()
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value.as_str())
}

/// Every `$ref` in a document.
fn references<'v>(value: &'v Value, out: &mut BTreeSet<&'v str>) {
    match value {
        Value::Object(map) => {
            out.extend(map.get("$ref").and_then(Value::as_str));
            map.values().for_each(|value| references(value, out));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, out)),
        _ => {}
    }
}

#[test]
fn kubectl_finds_what_it_looks_for_before_apply() {
    let apps = document("/openapi/v3/apis/apps/v1");
    let patch = &apps["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
    let gvk = json!({"group": "apps", "version": "v1", "kind": "Deployment"});
    assert_eq!(patch["x-kubernetes-group-version-kind"], gvk);
    let names: Vec<&str> = patch["parameters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["name"].as_str().unwrap())
        .collect();
    for wanted in ["dryRun", "fieldManager", "fieldValidation", "force"] {
        assert!(names.contains(&wanted), "{names:?}");
    }
    let containers =
        &apps["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"];
    assert_eq!(containers["x-kubernetes-patch-strategy"], "merge");
    assert_eq!(containers["x-kubernetes-patch-merge-key"], "name");
    assert_eq!(containers["x-kubernetes-list-map-keys"], json!(["name"]));
    let deployment = &apps["components"]["schemas"]["io.k8s.api.apps.v1.Deployment"];
    assert_eq!(deployment["x-kubernetes-group-version-kind"], json!([gvk]));
}

#[test]
fn explain_finds_descriptions_of_types_and_fields() {
    let core = document("/openapi/v3/api/v1");
    let schemas = &core["components"]["schemas"];
    assert!(schemas["io.k8s.api.core.v1.Pod"]["description"].is_string());
    let spec = &schemas["io.k8s.api.core.v1.Pod"]["properties"]["spec"];
    assert!(spec["description"].is_string());
    assert_eq!(
        spec["allOf"],
        json!([{"$ref": "#/components/schemas/io.k8s.api.core.v1.PodSpec"}])
    );
    assert!(core["paths"]["/api/v1/namespaces/{namespace}/pods"]["get"].is_object());
}

#[test]
fn every_reference_has_a_definition() {
    let registry = Registry::new(built_in());
    let documents = registry.rows().iter().map(|row| match &*row.group {
        "" => format!("/openapi/v3/api/{}", row.version),
        group => format!("/openapi/v3/apis/{group}/{}", row.version),
    });
    let documents: BTreeSet<String> = documents.chain(["/openapi/v2".to_owned()]).collect();
    for path in documents {
        let document = document(&path);
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        for reference in found {
            let pointer = reference.trim_start_matches('#');
            assert!(document.pointer(pointer).is_some(), "{path}: {reference}");
        }
    }
}

#[test]
fn hashed_links_are_immutable_and_wrong_hashes_are_redirected() {
    let registry = Registry::new(built_in());
    let index = ask(
        &registry,
        &Ask {
            path: "/openapi/v3",
            ..Ask::default()
        },
    )
    .unwrap();
    let index: Value = serde_json::from_slice(&index.body).unwrap();
    let link = index["paths"]["apis/batch/v1"]["serverRelativeURL"]
        .as_str()
        .unwrap();
    let (path, hash) = link.split_once("?hash=").unwrap();
    let right = Ask {
        path,
        hash: Some(hash),
        ..Ask::default()
    };
    let answer = ask(&registry, &right).unwrap();
    assert_eq!(answer.code, 200);
    assert_eq!(header(&answer, "cache-control"), Some("public, immutable"));
    assert_eq!(
        header(&answer, "expires"),
        Some("Wed, 10 Mar 2027 12:00:00 GMT")
    );
    let etag = header(&answer, "etag").unwrap();
    let again = ask(
        &registry,
        &Ask {
            if_none_match: Some(etag),
            ..right
        },
    )
    .unwrap();
    assert_eq!((again.code, again.body.len()), (304, 0));
    let wrong = ask(
        &registry,
        &Ask {
            hash: Some("AA"),
            ..right
        },
    )
    .unwrap();
    assert_eq!((wrong.code, header(&wrong, "location")), (301, Some(link)));
    let none = Ask {
        path: "/openapi/v3/apis/none/v1",
        ..Ask::default()
    };
    assert_eq!(ask(&registry, &none), None);
    let proto = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    assert_eq!(
        ask(
            &registry,
            &Ask {
                accept: Some(proto),
                ..right
            }
        )
        .unwrap()
        .code,
        406
    );
}

#[test]
fn documents_are_forgotten_when_idle() {
    let registry = Registry::new(built_in());
    let (api, state) = (OpenApi::default(), State::new(1));
    let ask = Ask {
        path: "/openapi/v3/api/v1",
        gzip: true,
        ..Ask::default()
    };
    let answer = api.answer(&ask, &registry, &state, now()).unwrap();
    assert_eq!(header(&answer, "content-encoding"), Some("gzip"));
    api.drop_idle(now());
    assert_eq!(api.kept.lock().unwrap().len(), 1);
    api.drop_idle(now() + IDLE);
    assert!(api.kept.lock().unwrap().is_empty());
}

#[test]
fn custom_resources_are_described_as_their_definition_says() {
    let mut thing = row("a.example.com", "things", "Thing", true);
    thing.custom = Some(Custom::default());
    let registry = Registry::new(built_in()).with_custom([Arc::new(thing)], 1);
    let path = "/openapi/v3/apis/a.example.com/v1";
    let answer = ask(
        &registry,
        &Ask {
            path,
            ..Ask::default()
        },
    )
    .unwrap();
    let document: Value = serde_json::from_slice(&answer.body).unwrap();
    let schema = &document["components"]["schemas"]["com.example.a.v1.Thing"];
    assert_eq!(schema["x-kubernetes-preserve-unknown-fields"], true);
    assert_eq!(
        schema["x-kubernetes-group-version-kind"][0]["kind"],
        "Thing"
    );
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    for reference in found {
        assert!(
            document
                .pointer(reference.trim_start_matches('#'))
                .is_some(),
            "{reference}"
        );
    }
}

/// The fields of a message by number, for messages of length-prefixed fields only.
fn fields(mut message: &[u8]) -> Vec<(u8, &[u8])> {
    let mut out = Vec::new();
    while let [key, rest @ ..] = message {
        let (mut length, mut shift, mut used) = (0_usize, 0, 0);
        for byte in rest {
            length |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            used += 1;
            if byte & 0x80 == 0 {
                break;
            }
        }
        assert_eq!(key & 7, 2, "a length-prefixed field");
        out.push((key >> 3, &rest[used..used + length]));
        message = &rest[used + length..];
    }
    out
}

#[test]
fn client_go_gets_version_two_in_protobuf() {
    let registry = Registry::new(built_in());
    for accept in [
        "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
        "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    ] {
        let asked = Ask {
            path: "/openapi/v2",
            accept: Some(accept),
            ..Ask::default()
        };
        let answer = ask(&registry, &asked).unwrap();
        assert_eq!(header(&answer, "content-type"), Some(PROTOBUF));
        let document = fields(&answer.body);
        assert_eq!(document[0], (1, &b"2.0"[..]));
        let definitions = document.iter().filter(|(number, _)| *number == 9);
        let names: BTreeSet<&[u8]> = definitions
            .map(|(_, entry)| fields(fields(entry)[0].1)[0].1)
            .collect();
        assert!(names.contains(&b"io.k8s.api.core.v1.Pod"[..]));
        let paths = document.iter().filter(|(number, _)| *number == 8);
        assert!(paths.count() > 150);
    }
}
