use std::collections::BTreeSet;

use serde_json::json;

use super::{Facts, Phase, Step, is_carried_out, phase, steps};
use crate::{
    key::Key,
    world::{EndpointView, GslbView, IngressView},
};

const UID: &str = "legacy";

/// A legacy object from flags: r requested, m migrated, n migrated set to false, p protected, d being deleted.
fn legacy(flags: &str) -> GslbView {
    let label = |flag: char, key: &str, value: &str| {
        flags
            .contains(flag)
            .then(|| (key.to_owned(), value.to_owned()))
    };
    GslbView {
        spec: serde_json::from_value(json!({
            "strategy": {"type": "roundRobin", "dnsTtlSeconds": 5},
            "ingress": {"rules": [{"host": "app.cloud.example.com", "http": {"paths": []}}]},
        }))
        .unwrap(),
        labels: [
            label('r', "k8gb.io/migration-requested", "true"),
            label('m', "k8gb.io/migrated-to-k8gb-io", "true"),
            label('n', "k8gb.io/migrated-to-k8gb-io", "false"),
        ]
        .into_iter()
        .flatten()
        .collect(),
        annotations: [
            ("k8gb.io/exposed-ip-addresses", "192.0.2.1"),
            ("kubectl.kubernetes.io/last-applied-configuration", "{}"),
        ]
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .into(),
        uid: UID.into(),
        protected: flags.contains('p'),
        deleting: flags.contains('d'),
        ..GslbView::default()
    }
}

/// Names of the steps, for flags of the legacy object and of what is around it: c a copy, i an owned Ingress, e an owned
/// DNSEndpoint; capitals for ones somebody else owns.
fn names(flags: &str, around: &str) -> String {
    let legacy = legacy(flags);
    let canonical = GslbView::default();
    let owners = |mine| BTreeSet::from([if mine { UID } else { "other" }.to_owned()]);
    let ingress = |mine| IngressView {
        owners: owners(mine),
        ..IngressView::default()
    };
    let endpoint = |mine| EndpointView {
        owners: owners(mine),
        ..EndpointView::default()
    };
    let find = |small: char, large: char| match (around.contains(small), around.contains(large)) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    let (ingress, endpoint) = (find('i', 'I').map(ingress), find('e', 'E').map(endpoint));
    let facts = Facts {
        legacy: &legacy,
        canonical: around.contains('c').then_some(&canonical),
        ingress: ingress.as_ref(),
        endpoint: endpoint.as_ref(),
    };
    let names = steps(&Key::new("test", "app"), facts)
        .into_iter()
        .map(|step| match step {
            Step::Protect => "protect",
            Step::Release => "release",
            Step::Create(_) => "create",
            Step::DetachIngress => "ingress",
            Step::DetachEndpoint => "endpoint",
            Step::Mark => "mark",
        });
    names.collect::<Vec<_>>().join(" ")
}

/// Source: research §3.8.
#[test]
fn every_state_has_its_next_steps() {
    let table = [
        // Nobody asked.
        ("", "", ""),
        ("", "cie", ""),
        ("n", "", ""),
        // Asked for: protect, create, hand over, mark.
        ("r", "", "protect"),
        ("r", "cie", "protect"),
        ("rp", "ie", "create"),
        ("rp", "cie", "ingress endpoint"),
        ("rp", "cIe", "endpoint"),
        ("rp", "ciE", "ingress"),
        ("rp", "cIE", "mark"),
        ("rp", "c", "mark"),
        // Done, and what turns up later.
        ("rpm", "cIE", ""),
        ("rpm", "ce", "endpoint"),
        ("m", "i", "ingress"),
        ("m", "", ""),
        // Set back to false: once more, without harm.
        ("rpn", "cIE", "mark"),
        ("rpn", "", "create"),
        // Deleted: detach, then let go. Without our finalizer it is not ours to hold.
        ("rpmd", "cie", "ingress endpoint"),
        ("rpmd", "cIE", "release"),
        ("rpd", "e", "endpoint"),
        ("pd", "", "release"),
        ("rd", "ie", ""),
        ("d", "ie", ""),
    ];
    for (flags, around, expected) in table {
        assert_eq!(names(flags, around), expected, "{flags:?} {around:?}");
    }
}

#[test]
fn a_legacy_object_is_carried_out_until_its_copy_is_there() {
    let copy = GslbView::default();
    let table = [
        ("", true, false),
        ("rp", true, false),
        ("rpm", false, false),
        ("rpd", false, false),
        ("d", true, false),
    ];
    for (flags, alone, beside_a_copy) in table {
        let legacy = legacy(flags);
        assert_eq!(is_carried_out(&legacy, None), alone, "{flags:?}");
        assert_eq!(
            is_carried_out(&legacy, Some(&copy)),
            beside_a_copy,
            "{flags:?}"
        );
    }
    assert_eq!(phase(&legacy("rm"), None), Phase::Migrated);
    assert_eq!(phase(&legacy(""), Some(&copy)), Phase::Ignored);
}

#[test]
fn a_copy_refers_to_the_ingress_it_embedded() {
    let legacy = legacy("rp");
    let facts = Facts {
        legacy: &legacy,
        canonical: None,
        ingress: None,
        endpoint: None,
    };
    let expected = json!({
        "apiVersion": "k8gb.io/v1beta1",
        "kind": "Gslb",
        "metadata": {"name": "app", "namespace": "test",
            "annotations": {"k8gb.io/exposed-ip-addresses": "192.0.2.1"}},
        "spec": {
            "resourceRef": {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "app",
                "namespace": "test"},
            "strategy": {"type": "roundRobin", "dnsTtlSeconds": 5},
        },
    });
    assert_eq!(
        steps(&Key::new("test", "app"), facts),
        [Step::Create(expected)]
    );
}
