//! One cluster or a small fleet, step by step.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::fleet::{Cluster, Fleet, HOST, PARENT, ZONE, application, config, gslb, set_ready};
use crate::{
    expose::Lookup,
    key::Key,
    kinds::Kind,
    view::{Answer, Family},
};

const FLEET: [&str; 3] = ["eu", "us", "za"];
const ADDRESSES: [&str; 3] = ["10.0.0.1", "10.1.0.1", "10.2.0.1"];

pub(super) fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

pub(super) fn app() -> Key {
    Key::new("test", "app")
}

pub(super) fn failover() -> Value {
    json!({"type": "failover", "primaryGeoTag": "eu"})
}

/// A lone cluster with its application.
pub(super) fn lone(strategy: Value) -> Cluster {
    let mut eu = Cluster::new(config("eu", &["eu"], 30));
    eu.start(now());
    eu.lookup(
        "gslb-ns-eu-cloud.example.com",
        Lookup::Addresses(vec![]),
        now(),
    );
    application(&mut eu, "10.0.0.1", true, now());
    eu.put(Kind::Gslb, gslb(strategy), now());
    eu
}

pub(super) fn fleet(strategy: Value, state: &str) -> Fleet {
    let mut fleet = Fleet::new(&FLEET, 5);
    for (index, tag) in FLEET.into_iter().enumerate() {
        let now = fleet.now;
        let ready = state.as_bytes()[index] == b'H';
        let cluster = fleet.cluster(tag);
        application(cluster, ADDRESSES[index], ready, now);
        cluster.put(Kind::Gslb, gslb(strategy.clone()), now);
    }
    fleet.run(15_000, &mut |_| {});
    fleet
}

fn no_check(_: &Fleet) {}

#[test]
fn a_gslb_becomes_records_an_endpoint_and_a_status() {
    let eu = lone(json!({"type": "roundRobin"}));
    assert_eq!(eu.dig(HOST), "10.0.0.1");
    assert_eq!(eu.dig("localtargets-app.cloud.example.com"), "10.0.0.1");
    assert_eq!(eu.dig("localtargets.app.cloud.example.com"), "10.0.0.1");
    let endpoint = &eu.objects[&(Kind::DnsEndpoint, app())];
    assert_eq!(endpoint["spec"]["endpoints"].as_array().unwrap().len(), 2);
    assert_eq!(
        endpoint["metadata"]["ownerReferences"][0]["uid"],
        "uid-gslbs-test/app"
    );
    let status = eu.status(&app());
    assert_eq!(status["healthyRecords"], json!({ HOST: ["10.0.0.1"] }));
    assert_eq!(status["serviceHealth"], json!({ HOST: "Healthy" }));
    assert_eq!(status["geoTag"], "eu");
    assert_eq!(status["hosts"], HOST);
    assert_eq!(status["loadBalancer"]["exposedIps"], json!(["10.0.0.1"]));
    assert_eq!(status["servers"][0]["services"][0]["name"], "app");
    assert_eq!(status["conditions"][0]["status"], "True");
    assert_eq!(eu.warnings, Vec::<String>::new());
}

#[test]
fn a_zone_is_generated_served_and_announced() {
    let mut eu = lone(json!({"type": "roundRobin"}));
    let zone = &eu.objects[&(Kind::ZoneDelegation, Key::new("", "cloud-example-com"))];
    assert_eq!(zone["spec"]["parentZone"], PARENT);
    assert_eq!(zone["metadata"]["finalizers"], json!(["k8gb.io/finalizer"]));
    assert_eq!(
        zone["status"]["dnsServers"][0]["name"],
        "gslb-ns-eu-cloud.example.com"
    );
    let settings = &eu.zone(ZONE).unwrap().settings();
    assert_eq!(
        settings.nameservers[0].name.to_string(),
        "gslb-ns-eu-cloud.example.com"
    );
    assert_eq!(settings.soa.minimum_seconds, 30);
    let own = vec!["127.1.1.1".parse().unwrap()];
    assert_eq!(
        eu.updates.last().unwrap(),
        &("gslb-ns-eu-cloud.example.com".to_owned(), own.clone())
    );
    let n_updates = eu.updates.len();
    eu.lookup(
        "gslb-ns-eu-cloud.example.com",
        Lookup::Addresses(own),
        now(),
    );
    assert_eq!(
        eu.updates.len(),
        n_updates,
        "the parent zone says what it should"
    );
    eu.lookup(
        "gslb-ns-eu-cloud.example.com",
        Lookup::Addresses(vec![]),
        now(),
    );
    assert_eq!(eu.updates.len(), n_updates + 1, "it forgot us");
}

#[test]
fn readiness_changes_the_answer_at_once() {
    let mut eu = lone(failover());
    set_ready(&mut eu, false, now());
    assert_eq!(
        (eu.dig(HOST), eu.dig("localtargets-app.cloud.example.com")),
        (String::new(), String::new())
    );
    assert_eq!(
        eu.status(&app())["serviceHealth"],
        json!({ HOST: "Unhealthy" })
    );
    set_ready(&mut eu, true, now());
    assert_eq!(eu.dig(HOST), "10.0.0.1");
    eu.delete(Kind::Service, &app(), now());
    assert_eq!(
        eu.status(&app())["serviceHealth"],
        json!({ HOST: "NotFound" })
    );
}

#[test]
fn nothing_is_written_when_nothing_changes() {
    let mut eu = lone(json!({"type": "roundRobin"}));
    let n_writes = eu.n_writes;
    for (at, object) in eu.objects.clone() {
        eu.put(at.0, object, now());
    }
    eu.start(now());
    assert_eq!(eu.n_writes, n_writes);
}

/// Source: research §3.2, by the whole engine over a simulated network. Cuts are one-way losses of datagrams.
#[test]
fn the_failover_truth_table_holds_in_a_fleet() {
    let [eu, us, za] = ADDRESSES;
    let both = format!("{us} {za}");
    let none = String::new();
    type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], [&'a str; 3]);
    let table: [Row<'_>; 8] = [
        ("HHH", &[], [eu, eu, eu]),
        ("UHH", &[], [&both, &both, &both]),
        ("UHU", &[], [us, us, us]),
        ("UUU", &[], [&none, &none, &none]),
        ("HUU", &[], [eu, eu, eu]),
        ("HHH", &[("us", "eu")], [eu, &both, eu]),
        ("UHH", &[("us", "eu"), ("za", "eu")], [&none, &both, &both]),
        (
            "HHH",
            &[
                ("us", "eu"),
                ("eu", "us"),
                ("za", "eu"),
                ("eu", "za"),
                ("us", "za"),
                ("za", "us"),
            ],
            [eu, us, za],
        ),
    ];
    for (state, cuts, expected) in table {
        let mut fleet = fleet(failover(), state);
        for (from, to) in cuts {
            fleet.cut(from, to);
        }
        fleet.run(8_000, &mut no_check);
        assert_eq!(fleet.dig(HOST), expected, "{state} {cuts:?}");
    }
}

#[test]
fn peers_agree_within_the_poll_interval_after_a_flip() {
    let mut fleet = fleet(failover(), "HHH");
    let now = fleet.now;
    set_ready(fleet.cluster("eu"), false, now);
    assert_eq!(
        fleet.clusters["eu"].dig(HOST),
        "10.1.0.1 10.2.0.1",
        "eu itself at once"
    );
    fleet.run(6_000, &mut no_check);
    let both = "10.1.0.1 10.2.0.1";
    assert_eq!(fleet.dig(HOST), [both, both, both]);
}

#[test]
fn a_silent_primary_is_held_for_the_threshold_and_no_longer() {
    let mut strategy = failover();
    strategy["splitBrainThresholdSeconds"] = json!(60);
    let mut fleet = fleet(strategy, "HHH");
    fleet.cut("us", "eu");
    fleet.run(30_000, &mut no_check);
    assert_eq!(
        fleet.clusters["us"].dig(HOST),
        "10.0.0.1",
        "silence is not illness"
    );
    fleet.run(45_000, &mut no_check);
    assert_eq!(fleet.clusters["us"].dig(HOST), "10.1.0.1 10.2.0.1");
    fleet.cuts.clear();
    fleet.run(7_000, &mut no_check);
    assert_eq!(fleet.clusters["us"].dig(HOST), "10.0.0.1");
}

#[test]
fn a_drained_cluster_leaves_the_answers_of_the_whole_fleet() {
    let mut fleet = fleet(failover(), "HHH");
    let now = fleet.now;
    let mut object = gslb(failover());
    object["metadata"]["annotations"] = json!({"flotilla.dev/drain": "true"});
    fleet.cluster("eu").put(Kind::Gslb, object, now);
    fleet.run(6_000, &mut no_check);
    let both = "10.1.0.1 10.2.0.1";
    assert_eq!(fleet.dig(HOST), [both, both, both]);
}

#[test]
fn keiretsu_2346_a_deleted_ingress_takes_this_cluster_out_and_says_so() {
    let mut fleet = fleet(failover(), "HHH");
    let now = fleet.now;
    fleet.cluster("eu").delete(Kind::Ingress, &app(), now);
    fleet.run(6_000, &mut no_check);
    let both = "10.1.0.1 10.2.0.1";
    assert_eq!(fleet.dig(HOST), [both, both, both]);
    let eu = &fleet.clusters["eu"];
    let condition = &eu.status(&app())["conditions"][0];
    assert_eq!(
        (condition["status"].as_str(), condition["reason"].as_str()),
        (Some("False"), Some("ReferenceNotFound"))
    );
    assert!(
        eu.warnings
            .iter()
            .any(|w| w.contains("ReconcileError") && w.contains("test/app"))
    );
}

#[test]
fn k8gb_2381_an_address_that_appears_later_is_published_at_once() {
    let mut eu = lone(json!({"type": "roundRobin"}));
    let mut ingress = eu.objects[&(Kind::Ingress, app())].clone();
    let status = ingress["status"].take();
    eu.put(Kind::Ingress, ingress.clone(), now());
    assert_eq!(eu.dig(HOST), "");
    assert_eq!(eu.status(&app())["conditions"][0]["reason"], "NoAddress");
    let endpoint = &eu.objects[&(Kind::DnsEndpoint, app())];
    assert_eq!(endpoint["spec"], json!({}), "no record without targets");
    ingress["status"] = status;
    eu.put(Kind::Ingress, ingress, now());
    assert_eq!(eu.dig(HOST), "10.0.0.1");
}

#[test]
fn two_gslbs_with_one_host_have_one_owner() {
    let mut eu = lone(json!({"type": "roundRobin"}));
    let mut second = gslb(json!({"type": "roundRobin", "dnsTtlSeconds": 5}));
    second["metadata"]["namespace"] = json!("other");
    second["metadata"]["creationTimestamp"] = json!("2026-06-01T00:00:00Z");
    second["spec"]["resourceRef"]["namespace"] = json!("test");
    eu.put(Kind::Gslb, second, now());
    let other = Key::new("other", "app");
    assert_eq!(eu.status(&other)["conditions"][0]["reason"], "HostTaken");
    assert_eq!(eu.record(HOST).unwrap().sets[0].ttl_seconds, 30);
    eu.delete(Kind::Gslb, &app(), now());
    assert_eq!(eu.status(&other)["conditions"][0]["reason"], "Published");
    assert_eq!(eu.record(HOST).unwrap().sets[0].ttl_seconds, 5);
}

#[test]
fn broken_specs_publish_nothing_and_name_the_field() {
    for (strategy, field) in [
        (json!({"type": ""}), "spec.strategy.type"),
        (json!({"type": "nearest"}), "spec.strategy.type"),
        (json!({"type": "failover"}), "spec.strategy.primaryGeoTag"),
        (
            json!({"type": "geoip", "weight": {"eu": 1}}),
            "spec.strategy.weight",
        ),
    ] {
        let eu = lone(strategy.clone());
        assert_eq!(eu.dig(HOST), "", "{strategy}");
        let condition = &eu.status(&app())["conditions"][0];
        assert_eq!(condition["reason"], "InvalidSpec");
        assert!(
            condition["message"].as_str().unwrap().contains(field),
            "{condition}"
        );
        assert!(
            eu.warnings.iter().any(|w| w.contains(field)),
            "{:?}",
            eu.warnings
        );
    }
}

#[test]
fn a_spec_that_breaks_later_withdraws_what_it_published() {
    let mut eu = lone(json!({"type": "roundRobin"}));
    eu.put(Kind::Gslb, gslb(json!({"type": "failover"})), now());
    assert_eq!(eu.dig(HOST), "");
    assert_eq!(eu.objects[&(Kind::DnsEndpoint, app())]["spec"], json!({}));
}

#[test]
fn an_unreadable_object_blinds_us_to_nothing_else() {
    let mut eu = lone(json!({"type": "roundRobin"}));
    let broken =
        json!({"metadata": {"namespace": "test", "name": "broken"}, "spec": {"strategy": {}}});
    eu.put(Kind::Gslb, broken, now());
    assert_eq!(eu.dig(HOST), "10.0.0.1");
    assert!(
        eu.warnings.iter().any(|w| w.contains("type")),
        "{:?}",
        eu.warnings
    );
}

#[test]
fn after_a_restart_the_old_answer_stays_until_the_peers_were_asked() {
    let fleet = fleet(failover(), "HHH");
    let old = &fleet.clusters["us"];
    let mut us = Cluster::new(config("us", &FLEET, 5));
    us.objects = old.objects.clone();
    us.start(fleet.now);
    assert_eq!(us.dig(HOST), "10.0.0.1", "not a false fail-over to itself");
    assert_eq!(us.dig("localtargets-app.cloud.example.com"), "10.1.0.1");
    assert_eq!(us.n_writes, 0);
    for tag in ["eu", "za"] {
        for family in Family::BOTH {
            us.answer(HOST, tag, family, Answer::Silence, fleet.now);
        }
    }
    assert_eq!(us.dig(HOST), "10.1.0.1");
}

#[test]
fn foreign_endpoints_are_served_under_both_labels() {
    let mut eu = lone(json!({"type": "roundRobin"}));
    for (name, label, value) in [
        ("a", "k8gb.io/dnstype", "local"),
        ("b", "k8gb.absa.oss/dnstype", "local"),
        ("c", "k8gb.io/dnstype", "extdns"),
    ] {
        let dns_name = format!("{name}.cloud.example.com");
        eu.put(
            Kind::DnsEndpoint,
            json!({"metadata": {"namespace": "x", "name": name, "labels": {label: value}},
                "spec": {"endpoints": [{"dnsName": dns_name, "recordType": "A", "targets": ["192.0.2.1"]}]}}),
            now(),
        );
    }
    assert_eq!(eu.dig("a.cloud.example.com"), "192.0.2.1");
    assert_eq!(eu.dig("b.cloud.example.com"), "192.0.2.1");
    assert_eq!(eu.dig("c.cloud.example.com"), "");
    eu.delete(Kind::DnsEndpoint, &Key::new("x", "a"), now());
    assert_eq!(eu.dig("a.cloud.example.com"), "");
}

/// What k8gb's operator writes for its Gslbs is answered when we only serve; without that it would be taken for ours, left behind.
#[test]
fn another_operators_endpoints_are_served_by_those_who_only_serve() {
    let mut config = config("eu", &["eu"], 30);
    config.serve_only = true;
    let mut eu = Cluster::new(config);
    let zone = json!({"metadata": {"name": "cloud-example-com"}, "spec":
        {"loadBalancedZone": "cloud.example.com", "parentZone": "example.com", "dnsZoneNegTTL": 30}});
    let owner = json!({"apiVersion": "k8gb.io/v1beta1", "kind": "Gslb", "name": "app", "uid": "1", "controller": true});
    let mut endpoint = json!({
    "metadata": {"namespace": "test", "name": "app", "labels": {"k8gb.io/dnstype": "local"}, "ownerReferences": [owner]},
    "spec": {"endpoints": [
        {"dnsName": "localtargets-app.cloud.example.com", "recordType": "A", "recordTTL": 5, "targets": ["10.0.0.1"]},
        {"dnsName": "app.cloud.example.com", "recordType": "A", "recordTTL": 5, "targets": ["10.0.0.1", "10.0.0.2"],
         "labels": {"strategy": "roundRobin"}},
    ]}});
    eu.put(Kind::ZoneDelegation, zone, now());
    eu.put(Kind::DnsEndpoint, endpoint.clone(), now());
    eu.start(now());
    assert_eq!(eu.dig("localtargets-app.cloud.example.com"), "10.0.0.1");
    assert_eq!(eu.dig(HOST), "10.0.0.1 10.0.0.2");
    endpoint["spec"]["endpoints"][1]["targets"] = json!(["10.0.0.2"]);
    eu.put(Kind::DnsEndpoint, endpoint, now());
    assert_eq!(eu.dig(HOST), "10.0.0.2");
}

#[test]
fn an_annotated_ingress_makes_a_gslb_and_keeps_what_users_set() {
    let mut eu = Cluster::new(config("eu", &["eu"], 30));
    eu.start(now());
    application(&mut eu, "10.0.0.1", true, now());
    let mut ingress = eu.objects[&(Kind::Ingress, app())].clone();
    ingress["metadata"]["annotations"] = json!({"k8gb.io/strategy": "failover",
        "k8gb.io/primary-geotag": "eu", "k8gb.io/dns-ttl-seconds": "5", "foreign": "x"});
    eu.put(Kind::Ingress, ingress.clone(), now());
    let made = eu.objects[&(Kind::Gslb, app())].clone();
    assert_eq!(
        made["spec"]["strategy"],
        json!({"type": "failover", "primaryGeoTag": "eu", "dnsTtlSeconds": 5})
    );
    assert_eq!(made["metadata"]["ownerReferences"][0]["kind"], "Ingress");
    assert_eq!(eu.record(HOST).unwrap().sets[0].ttl_seconds, 5);

    let mut edited = made;
    edited["spec"]["serviceHealthPolicy"] = json!("All");
    eu.put(Kind::Gslb, edited, now());
    ingress["metadata"]["annotations"]["k8gb.io/dns-ttl-seconds"] = json!("6");
    eu.put(Kind::Ingress, ingress, now());
    let spec = &eu.objects[&(Kind::Gslb, app())]["spec"];
    assert_eq!(
        (
            &spec["serviceHealthPolicy"],
            &spec["strategy"]["dnsTtlSeconds"]
        ),
        (&json!("All"), &json!(6))
    );
}

#[test]
fn an_embedded_ingress_is_created_and_owned() {
    let mut eu = Cluster::new(config("eu", &["eu"], 30));
    eu.start(now());
    let object = json!({
        "metadata": {"namespace": "test", "name": "app", "generation": 1},
        "spec": {"strategy": {"type": "roundRobin"}, "ingress": {"ingressClassName": "nginx",
            "backend": {"service": {"name": "fallback", "port": {"number": 80}}},
            "rules": [{"host": HOST, "http": {"paths": [{"path": "/", "pathType": "Prefix",
                "backend": {"service": {"name": "app", "port": {"name": "http"}}}}]}}]}},
    });
    eu.put(Kind::Gslb, object, now());
    let ingress = eu.objects[&(Kind::Ingress, app())].clone();
    assert_eq!(
        ingress["metadata"]["labels"],
        json!({"app.k8gb.io/managed-by": "gslb"})
    );
    assert_eq!(
        ingress["spec"]["defaultBackend"]["service"]["name"],
        "fallback"
    );
    assert_eq!(ingress["metadata"]["ownerReferences"][0]["kind"], "Gslb");
    assert_eq!(
        eu.status(&app())["serviceHealth"],
        json!({ HOST: "NotFound" })
    );
    let n_writes = eu.n_writes;
    let mut defaulted = ingress;
    defaulted["spec"]["rules"][0]["http"]["paths"][0]["extra"] = json!("by the server");
    eu.put(Kind::Ingress, defaulted, now());
    assert_eq!(
        eu.n_writes, n_writes,
        "fields the server adds are no difference"
    );
}

/// A legacy Gslb that embeds its Ingress, with the Ingress it made and that has an address.
fn legacy() -> (Cluster, Value) {
    let mut eu = lone(json!({"type": "roundRobin"}));
    eu.delete(Kind::Gslb, &app(), now());
    eu.delete(Kind::Ingress, &app(), now());
    eu.delete(Kind::DnsEndpoint, &app(), now());
    let object = json!({
        "metadata": {"namespace": "test", "name": "app", "generation": 1, "labels": {},
            "annotations": {"k8gb.io/exposed-ip-addresses": "10.0.0.1"}},
        "spec": {"strategy": {"type": "roundRobin", "dnsTtlSeconds": 7}, "ingress": {"rules": [{"host": HOST,
            "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "app"}}}]}}]}},
    });
    eu.put(Kind::LegacyGslb, object, now());
    let legacy = eu.objects[&(Kind::LegacyGslb, app())].clone();
    (eu, legacy)
}

#[test]
fn a_legacy_gslb_moves_when_asked_and_is_answered_all_the_time() {
    let (mut eu, mut legacy) = legacy();
    assert_eq!(eu.dig(HOST), "10.0.0.1");
    let owner =
        |eu: &Cluster, kind| eu.objects[&(kind, app())]["metadata"]["ownerReferences"].clone();
    assert_eq!(
        owner(&eu, Kind::Ingress)[0]["uid"],
        legacy["metadata"]["uid"]
    );

    eu.withdrawn.clear();
    legacy["metadata"]["labels"]["k8gb.io/migration-requested"] = json!("true");
    eu.put(Kind::LegacyGslb, legacy, now());
    let copy = &eu.objects[&(Kind::Gslb, app())];
    assert_eq!(copy["spec"]["resourceRef"]["name"], "app");
    assert_eq!(copy["spec"]["ingress"], Value::Null);
    let uid = copy["metadata"]["uid"].clone();
    let moved = eu.objects[&(Kind::LegacyGslb, app())].clone();
    assert_eq!(
        moved["metadata"]["labels"]["k8gb.io/migrated-to-k8gb-io"],
        "true"
    );
    assert_eq!(owner(&eu, Kind::Ingress), json!([]));
    assert_eq!(owner(&eu, Kind::DnsEndpoint)[0]["uid"], uid);
    assert_eq!(owner(&eu, Kind::DnsEndpoint).as_array().unwrap().len(), 1);
    assert_eq!(
        (eu.dig(HOST), eu.record(HOST).unwrap().sets[0].ttl_seconds),
        ("10.0.0.1".into(), 7)
    );
    assert!(!eu.withdrawn.contains(HOST), "never without an answer");
    let reasons: Vec<_> = eu
        .warnings
        .iter()
        .filter_map(|w| w.split(' ').next())
        .filter(|reason| reason.starts_with("Legacy"))
        .collect();
    assert_eq!(
        reasons,
        ["LegacyDeprecated", "LegacyMigrated", "LegacyIgnored"]
    );

    let mut deleted = moved;
    deleted["metadata"]["deletionTimestamp"] = json!("2026-02-01T00:00:00Z");
    eu.put(Kind::LegacyGslb, deleted, now());
    assert!(!eu.objects.contains_key(&(Kind::LegacyGslb, app())));
    assert!(eu.objects.contains_key(&(Kind::Ingress, app())));
    assert_eq!(eu.dig(HOST), "10.0.0.1");
}

#[test]
fn an_existing_gslb_is_never_overwritten_by_a_migration() {
    let (mut eu, mut legacy) = legacy();
    let mut existing = gslb(json!({"type": "roundRobin", "dnsTtlSeconds": 99}));
    existing["metadata"]["creationTimestamp"] = json!("2026-06-01T00:00:00Z");
    existing["metadata"]["annotations"] = json!({"k8gb.io/exposed-ip-addresses": "10.0.0.1"});
    eu.put(Kind::Gslb, existing, now());
    legacy["metadata"]["labels"]["k8gb.io/migration-requested"] = json!("true");
    eu.put(Kind::LegacyGslb, legacy, now());
    let kept = &eu.objects[&(Kind::Gslb, app())]["spec"]["strategy"]["dnsTtlSeconds"];
    assert_eq!(
        (kept, eu.record(HOST).unwrap().sets[0].ttl_seconds),
        (&json!(99), 99)
    );
    assert!(eu.warnings.iter().any(|w| w.starts_with("LegacyIgnored")));
}

#[test]
fn a_deleted_zone_leaves_when_the_parent_forgot_us() {
    let mut fleet = fleet(failover(), "HHH");
    let key = (Kind::ZoneDelegation, Key::new("", "cloud-example-com"));
    let now = fleet.now;
    let us = fleet.cluster("us");
    let mut zone = us.objects[&key].clone();
    zone["spec"]["doFinalize"] = json!(true);
    zone["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    us.put(Kind::ZoneDelegation, zone, now);
    assert!(
        us.zone(ZONE).is_some(),
        "still answering while the delegation names us"
    );
    fleet.run(5_000, &mut no_check);
    assert!(
        !fleet.edge.contains_key("gslb-ns-us-cloud.example.com")
            || fleet.clusters["us"].objects.contains_key(&key)
    );
    assert!(fleet.edge.contains_key("gslb-ns-eu-cloud.example.com"));
}

#[test]
fn a_zone_deleted_right_after_it_was_announced_is_withdrawn_all_the_same() {
    let mut eu = lone(failover());
    let key = (Kind::ZoneDelegation, Key::new("", "cloud-example-com"));
    let name = "gslb-ns-eu-cloud.example.com";
    assert!(!eu.updates.last().unwrap().1.is_empty(), "announced");
    let mut zone = eu.objects[&key].clone();
    zone["spec"]["doFinalize"] = json!(true);
    zone["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    eu.put(Kind::ZoneDelegation, zone, now());
    assert_eq!(eu.updates.last().unwrap(), &(name.to_owned(), vec![]));
    assert!(
        eu.objects.contains_key(&key),
        "it waits until the parent forgot us"
    );
    eu.lookup(name, Lookup::Addresses(vec![]), now());
    let zone = eu.objects.get(&key);
    assert!(zone.is_none_or(|zone| zone["metadata"]["deletionTimestamp"].is_null()));
}

#[test]
fn an_event_costs_work_for_the_gslbs_it_concerns_only() {
    let mut eu = lone(json!({"type": "roundRobin"}));
    for n in 0..500 {
        let mut other = gslb(json!({"type": "roundRobin"}));
        other["metadata"]["name"] = json!(format!("other-{n}"));
        other["spec"]["resourceRef"]["name"] = json!(format!("other-{n}"));
        eu.put(Kind::Gslb, other, now());
    }
    let n_decisions = eu.engine.n_decisions();
    set_ready(&mut eu, false, now());
    assert_eq!(
        eu.engine.n_decisions(),
        n_decisions + 1,
        "what it wrote itself comes back without being decided again"
    );
    eu.put(
        Kind::Service,
        json!({"metadata": {"namespace": "test", "name": "unrelated"}, "spec": {}}),
        now(),
    );
    let zone = |name: &str| {
        json!({"metadata": {"name": name.replace('.', "-")},
            "spec": {"loadBalancedZone": name, "parentZone": PARENT, "dnsZoneNegTTL": 5}})
    };
    eu.put(Kind::ZoneDelegation, zone("other.example.com"), now());
    assert!(eu.zone("other.example.com").is_some());
    assert_eq!(eu.engine.n_decisions(), n_decisions + 1);
    eu.put(Kind::ZoneDelegation, zone("app.cloud.example.com"), now());
    assert_eq!(
        eu.engine.n_decisions(),
        n_decisions + 1,
        "the host is the apex of the new zone and not below it"
    );
}
