//! Fifteen inputs on which load balancers of this kind stumble. Those that concern one part are tested beside it:
//!
//! | input | test |
//! |---|---|
//! | 1 weights for a geo tag with dashes (D7) | here; `publish::labels_decide_the_order`; in the DNS crate `order::the_first_record_follows_the_weights` |
//! | 2 tags eu with weight 10 and eu1 with weight 0 (D8) | here; `publish::labels_decide_the_order`; `order::groups_of_weight_zero_come_last` |
//! | 3 a question in mixed case (D4) | `answer::case_is_ignored_and_echoed` |
//! | 4 a question for a name above others (D5) | `answer::a_name_above_others_exists_without_data` |
//! | 5 app.mycloud.example.com beside cloud.example.com, nested zones | `zones::a_host_belongs_to_the_longest_zone_label_by_label` |
//! | 6 a first label of 51 characters (k8gb#2366) | here; `names::k8gb_2366_long_first_labels_use_the_form_with_a_dot` |
//! | 7 a peer with 40 addresses | `client::truncation_leads_to_tcp_and_all_records`, `answer::long_answers_are_cut_after_a_whole_record` |
//! | 8 a peer whose last address is dead | `client::one_dead_address_delays_by_the_hedge_and_not_by_the_deadline`, `zones::peers_are_every_address_of_every_other_tag` |
//! | 9 an address that appears later (k8gb#2381) | `scenarios::k8gb_2381_an_address_that_appears_later_is_published_at_once` |
//! | 10 a reference that is deleted | `scenarios::keiretsu_2346_a_deleted_ingress_takes_this_cluster_out_and_says_so` |
//! | 11 lists of addresses with blanks, IPv6 and a dead name | `expose::keiretsu_2348_one_bad_element_leaves_the_others` |
//! | 12 two listeners of one Gateway, an InferencePool (D14) | `refs::routes_hang_on_exactly_one_gateway` |
//! | 13 a dual-stack load balancer (k8gb#2107) | here |
//! | 14 a secondary cut off from the edge; a primary missing or misspelt (D16) | here; `scenarios::broken_specs_publish_nothing_and_name_the_field` |
//! | 15 one host in two namespaces (D19) | `scenarios::two_gslbs_with_one_host_have_one_owner` |
//!
//! | extra | test |
//! |---|---|
//! | a VirtualService's gateway without namespace, an Ingress rule without `http` (D13) | `refs::a_virtual_service_reaches_its_gateway_with_or_without_namespace`, `refs::an_ingress_gives_one_server_per_host` |
//! | all weights zero | here; `order::groups_of_weight_zero_come_last` |
//! | the first edge server answers SERVFAIL | `client::a_refusing_server_is_passed_over_at_once` |
//! | a ZoneDelegation deleted while the provider is away (k8gb#300) | here |
//! | DNS_ZONES with blanks and a final `;` | `config::zones_have_exactly_three_parts` |
//! | a geoip host without a database (D9) | here; in the DNS crate `options` |
//! | a fleet with k8gb clusters in it | here |

use flotilla_dns::zone::Order;
use serde_json::json;

use super::{
    fleet::{Fleet, HOST, ZONE, application, gslb, set_ready},
    scenarios::{app, failover, fleet, lone, now},
};
use crate::{key::Key, kinds::Kind, view::Family};

/// Weights as the DNS server draws by them, with the addresses each share has.
fn shares(fleet: &Fleet, tag: &str) -> Vec<(u32, usize)> {
    match &fleet.clusters[tag].record(HOST).unwrap().sets[0].order {
        Order::Weighted { groups, .. } => groups
            .iter()
            .map(|group| (group.weight, usize::from(group.n_records)))
            .collect(),
        other => panic!("not weighted: {other:?}"),
    }
}

#[test]
fn inputs_1_and_2_weights_belong_to_whole_tags() {
    for (tags, weights, expected) in [
        (
            ["eu", "us-east-1"],
            json!({"eu": 3, "us-east-1": 7}),
            [(3, 1), (7, 1)],
        ),
        (
            ["eu", "eu1"],
            json!({"eu": 10, "eu1": 0}),
            [(10, 1), (0, 1)],
        ),
    ] {
        let mut fleet = Fleet::new(&tags, 5);
        for (tag, address) in tags.into_iter().zip(["10.0.0.1", "10.1.0.1"]) {
            let now = fleet.now;
            let strategy = json!({"type": "roundRobin", "weight": weights});
            application(fleet.cluster(tag), address, true, now);
            fleet.cluster(tag).put(Kind::Gslb, gslb(strategy), now);
        }
        fleet.run(15_000, &mut |_| {});
        for tag in tags {
            assert_eq!(shares(&fleet, tag), expected, "{tag}");
        }
    }
}

#[test]
fn input_6_a_long_first_label_is_vouched_for_in_the_form_with_a_dot() {
    let mut eu = lone(json!({"type": "roundRobin"}));
    let host = format!("{}.cloud.example.com", "a".repeat(51));
    let mut ingress = eu.objects[&(Kind::Ingress, app())].clone();
    ingress["spec"]["rules"][0]["host"] = json!(host);
    eu.put(Kind::Ingress, ingress, now());
    assert_eq!(eu.dig(&host), "10.0.0.1");
    assert_eq!(eu.dig(&format!("localtargets.{host}")), "10.0.0.1");
    let endpoint = &eu.objects[&(Kind::DnsEndpoint, app())];
    let names = endpoint["spec"]["endpoints"].to_string();
    assert!(names.contains(&format!("localtargets.{host}")), "{names}");
    assert_eq!(eu.status(&app())["conditions"][0]["status"], "True");
}

#[test]
fn input_13_a_dual_stack_load_balancer_is_answered_in_both_families() {
    let mut eu = lone(failover());
    let mut ingress = eu.objects[&(Kind::Ingress, app())].clone();
    ingress["status"]["loadBalancer"]["ingress"] =
        json!([{"ip": "10.0.0.1"}, {"ip": "2001:db8::1"}, {"ip": "0.0.0.0"}]);
    eu.put(Kind::Ingress, ingress, now());
    for name in [HOST, "localtargets-app.cloud.example.com"] {
        assert_eq!(eu.dig(name), "10.0.0.1");
        let v6 = eu.addresses(name, Family::V6);
        assert_eq!(v6, ["2001:db8::1".parse::<std::net::IpAddr>().unwrap()]);
    }
}

#[test]
fn input_14_a_secondary_that_lost_the_edge_still_prefers_the_primary() {
    let mut fleet = fleet(failover(), "HHH");
    fleet.cut("us", "edge");
    fleet.cut("edge", "us");
    fleet.run(900_000, &mut |_| {});
    assert_eq!(fleet.dig(HOST), ["10.0.0.1"; 3]);
}

#[test]
fn input_14_a_misspelt_primary_takes_nobody_out() {
    let everybody = "10.0.0.1 10.1.0.1 10.2.0.1";
    let fleet = fleet(json!({"type": "failover", "primaryGeoTag": "ue"}), "HHH");
    assert_eq!(fleet.dig(HOST), [everybody; 3]);
}

#[test]
fn extra_weights_of_zero_take_nobody_out() {
    let fleet = fleet(
        json!({"type": "roundRobin", "weight": {"eu": 0, "us": 0, "za": 0}}),
        "HHH",
    );
    assert_eq!(shares(&fleet, "us"), [(0, 1), (0, 1), (0, 1)]);
    assert_eq!(fleet.dig(HOST), ["10.0.0.1 10.1.0.1 10.2.0.1"; 3]);
}

#[test]
fn extra_d9_a_geoip_host_is_published_with_all_addresses_for_the_server_to_choose_from() {
    let fleet = fleet(json!({"type": "geoip"}), "HHU");
    let set = &fleet.clusters["za"].record(HOST).unwrap().sets[0];
    assert_eq!((&set.order, set.data.len()), (&Order::Nearest, 2));
}

/// The object waits for the provider, the zone is answered meanwhile, and whoever cannot wait says so.
#[test]
fn extra_k8gb_300_a_zone_deleted_while_the_provider_is_away_can_be_let_go() {
    let mut fleet = fleet(failover(), "HHH");
    let key = (Kind::ZoneDelegation, Key::new("", "cloud-example-com"));
    fleet.cut("us", "edge");
    fleet.cut("edge", "us");
    let now = fleet.now;
    let us = fleet.cluster("us");
    let mut zone = us.objects[&key].clone();
    zone["spec"]["doFinalize"] = json!(true);
    zone["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    us.put(Kind::ZoneDelegation, zone, now);
    fleet.run(60_000, &mut |_| {});
    let us = &fleet.clusters["us"];
    assert!(us.objects.contains_key(&key) && us.zone(ZONE).is_some());
    let mut zone = us.objects[&key].clone();
    zone["spec"]["doFinalize"] = json!(false);
    let now = fleet.now;
    let us = fleet.cluster("us");
    us.put(Kind::ZoneDelegation, zone, now);
    // The finalizer is gone and the object with it; what may be there is what DNS_ZONES made anew.
    let zone = us.objects.get(&key);
    assert!(zone.is_none_or(|zone| zone["metadata"]["deletionTimestamp"].is_null()));
}

/// Ours and k8gb's clusters in one fleet, in each place of a fail-over. Rows: which clusters are k8gb's.
#[test]
fn extra_a_mixed_fleet_fails_over_in_both_directions() {
    for k8gb in [&["eu"][..], &["us"], &["us", "za"], &["eu", "us", "za"]] {
        for options in [json!({}), json!({"flotilla.dev/failover-witness": "true"})] {
            let mut fleet = Fleet::new(&["eu", "us", "za"], 5);
            fleet.k8gb = k8gb.iter().map(|tag| (*tag).to_owned()).collect();
            for (tag, address) in ["eu", "us", "za"]
                .into_iter()
                .zip(["10.0.0.1", "10.1.0.1", "10.2.0.1"])
            {
                let now = fleet.now;
                let mut object = gslb(failover());
                if !k8gb.contains(&tag) {
                    object["metadata"]["annotations"] = options.clone();
                }
                application(fleet.cluster(tag), address, true, now);
                fleet.cluster(tag).put(Kind::Gslb, object, now);
            }
            fleet.run(15_000, &mut |_| {});
            assert_eq!(fleet.dig(HOST), ["10.0.0.1"; 3], "{k8gb:?}");
            let now = fleet.now;
            set_ready(fleet.cluster("eu"), false, now);
            fleet.run(8_000, &mut |_| {});
            assert_eq!(fleet.dig(HOST), ["10.1.0.1 10.2.0.1"; 3], "{k8gb:?}");
            let now = fleet.now;
            set_ready(fleet.cluster("eu"), true, now);
            set_ready(fleet.cluster("us"), false, now);
            fleet.run(8_000, &mut |_| {});
            assert_eq!(fleet.dig(HOST), ["10.0.0.1"; 3], "{k8gb:?}");
        }
    }
}
