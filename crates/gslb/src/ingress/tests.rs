use serde_json::json;

use super::{annotated, embedded, spec_of};
use crate::{
    key::Key,
    packed::Packed,
    world::{GslbView, IngressView},
};

fn key() -> Key {
    Key::new("test", "app")
}

fn ingress(annotations: &[(&str, &str)]) -> IngressView {
    let annotations = annotations
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    IngressView {
        annotations: annotations.collect(),
        uid: "u".into(),
        ..IngressView::default()
    }
}

/// Source: research §3.8b; k8gb terratest `broken-ingress-annotation`.
#[test]
fn annotations_that_say_too_little_make_no_gslb() {
    let table: [(&[(&str, &str)], bool); 7] = [
        (&[], false),
        (&[("k8gb.io/primary-geotag", "eu")], false),
        (&[("k8gb.io/strategy", "roundRobin")], true),
        (&[("k8gb.io/strategy", "failover")], false),
        (
            &[
                ("k8gb.io/strategy", "failover"),
                ("k8gb.io/primary-geotag", "eu"),
            ],
            true,
        ),
        (
            &[
                ("k8gb.io/strategy", "roundRobin"),
                ("k8gb.io/dns-ttl-seconds", "x"),
            ],
            false,
        ),
        (
            &[
                ("k8gb.io/strategy", "roundRobin"),
                ("k8gb.io/dns-ttl-seconds", "60"),
            ],
            true,
        ),
    ];
    for (annotations, made) in table {
        let got = annotated(&key(), &ingress(annotations), None);
        assert_eq!(got.is_some(), made, "{annotations:?}");
    }
    let owned = IngressView {
        owned_by_gslb: true,
        ..ingress(&[("k8gb.io/strategy", "roundRobin")])
    };
    assert_eq!(annotated(&key(), &owned, None), None);
}

#[test]
fn both_exposed_annotations_are_handed_on_and_others_are_not() {
    let view = ingress(&[
        ("k8gb.io/strategy", "roundRobin"),
        ("k8gb.io/exposed-ip-addresses", "192.0.2.1"),
        ("k8gb.io/exposed-hostnames", "lb.example.net"),
        ("k8gb.io/other", "x"),
    ]);
    let made = annotated(&key(), &view, None).unwrap();
    let annotations = made["metadata"]["annotations"].as_object().unwrap();
    assert_eq!(annotations.len(), 2);
    let existing = GslbView {
        spec: serde_json::from_value(made["spec"].clone()).unwrap(),
        annotations: crate::refs::string_map(&made["metadata"]["annotations"]),
        ..GslbView::default()
    };
    assert_eq!(
        annotated(&key(), &view, Some(&existing)),
        None,
        "nothing to write twice"
    );
}

#[test]
fn an_embedded_ingress_is_written_when_it_differs_in_what_we_say() {
    let spec = json!({"strategy": {"type": "roundRobin"}, "ingress": {"backend": {"service": {"name": "b"}},
        "rules": [{"host": "h", "http": {"paths": [{"pathType": "Prefix", "path": "/",
            "backend": {"service": {"name": "a"}}}]}}]}});
    let gslb = GslbView {
        spec: serde_json::from_value(spec).unwrap(),
        ..GslbView::default()
    };
    let wanted = spec_of(&gslb.spec.ingress);
    assert_eq!(wanted["defaultBackend"]["service"]["name"], "b");
    assert!(wanted.get("backend").is_none());
    let existing = |spec: serde_json::Value| IngressView {
        spec: Packed::of(&spec),
        ..IngressView::default()
    };
    let write =
        |existing: Option<&IngressView>| embedded(&key(), &gslb, &json!({}), existing).is_some();
    assert!(write(None));
    assert!(!write(Some(&existing(wanted.clone()))));
    let mut filled = wanted.clone();
    filled["rules"][0]["http"]["paths"][0]["added"] = json!(1);
    assert!(!write(Some(&existing(filled))));
    let mut other = wanted;
    other["rules"][0]["host"] = json!("i");
    assert!(write(Some(&existing(other))));
    let deleting = GslbView {
        deleting: true,
        ..gslb
    };
    assert_eq!(embedded(&key(), &deleting, &json!({}), None), None);
}
