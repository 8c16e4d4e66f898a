use serde_json::json;

use super::{detached, merged};
use crate::{engine::Target, key::Key};

#[test]
fn a_dns_endpoint_is_replaced_wholesale_and_an_ingress_keeps_what_others_wrote() {
    let before = json!({
        "metadata": {"name": "app", "labels": {"theirs": "1"}, "annotations": {"theirs": "1"},
            "ownerReferences": [{"uid": "old", "controller": true}, {"uid": "other"}]},
        "spec": {"old": true},
    });
    let wanted = json!({
        "metadata": {"name": "app", "labels": {"ours": "2"},
            "ownerReferences": [{"uid": "gslb", "controller": true}]},
        "spec": {"new": true},
    });
    let key = Key::new("test", "app");
    let owners = json!([{"uid": "other"}, {"uid": "gslb", "controller": true}]);
    assert_eq!(
        merged(&before, &wanted, &Target::Endpoint(key.clone())),
        json!({"metadata": {"name": "app", "labels": {"ours": "2"}, "ownerReferences": owners},
            "spec": {"new": true}})
    );
    assert_eq!(
        merged(&before, &wanted, &Target::Ingress(key)),
        json!({"metadata": {"name": "app", "labels": {"ours": "2", "theirs": "1"},
            "annotations": {"theirs": "1"}, "ownerReferences": owners}, "spec": {"new": true}})
    );
}

#[test]
fn a_zone_keeps_the_fields_that_belong_to_its_user() {
    let before = json!({"metadata": {}, "spec": {"doFinalize": true, "dnsZoneNegTTL": 30}});
    let wanted = json!({"metadata": {}, "spec": {"dnsZoneNegTTL": 60}});
    let after = merged(&before, &wanted, &Target::Zone("z".into()));
    assert_eq!(
        after["spec"],
        json!({"doFinalize": true, "dnsZoneNegTTL": 60})
    );
}

#[test]
fn an_owner_leaves_and_its_successor_takes_over_what_has_no_controller() {
    let object = |owners: serde_json::Value| json!({"metadata": {"ownerReferences": owners}});
    let heir = json!({"uid": "new", "controller": true});
    let old = json!({"uid": "old", "controller": true});
    let cases = [
        (json!([old]), Some(&heir), json!([heir])),
        (
            json!([old, {"uid": "x"}]),
            Some(&heir),
            json!([{"uid": "x"}, heir]),
        ),
        (
            json!([{"uid": "old"}, {"uid": "x", "controller": true}]),
            Some(&heir),
            json!([{"uid": "x", "controller": true}]),
        ),
        (json!([old, {"uid": "x"}]), None, json!([{"uid": "x"}])),
    ];
    for (before, to, after) in cases {
        assert_eq!(detached(&object(before), "old", to), object(after));
    }
    let alone = detached(&object(json!([old])), "old", None);
    assert_eq!(alone, json!({"metadata": {}}));
}
