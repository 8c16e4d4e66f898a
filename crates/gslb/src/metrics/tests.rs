use prometheus_client::{encoding::text::encode, registry::Registry};

use super::Metrics;
use crate::{
    decide::{Decision, HostDecision, Resolved},
    endpoints::HostRecords,
    health::Health,
    key::Key,
    spec,
    world::GslbId,
};

/// A decision about one healthy host.
fn decision(strategy: &str) -> Decision {
    let spec = serde_json::from_str(&format!(r#"{{"strategy":{strategy}}}"#)).unwrap();
    let ip = "10.0.0.1".parse().unwrap();
    let records = HostRecords {
        local: vec![ip],
        targets: [("eu".to_owned(), vec![ip])].into(),
        ..HostRecords::default()
    };
    let host = HostDecision {
        zone: "cloud.example.com".into(),
        health: Health::Healthy,
        records,
        waiting: false,
        why: Default::default(),
        share: 100,
        asking: Default::default(),
        votes: Default::default(),
        sight: None,
    };
    Decision {
        resolved: Resolved {
            rules: spec::rules(&spec, &Default::default(), Default::default()).ok(),
            ..Resolved::default()
        }
        .into(),
        problems: Vec::new(),
        hosts: [("app.cloud.example.com".into(), host.into())].into(),
        again_at: None,
    }
}

#[test]
fn series_have_k8gbs_names_and_go_with_their_gslb() {
    let mut registry = Registry::default();
    let metrics = Metrics::register(&mut registry, "k8gb");
    let page = |registry: &Registry| {
        let mut text = String::new();
        encode(&mut text, registry).unwrap();
        text
    };
    let decision = decision(r#"{"type":"failover","primaryGeoTag":"eu"}"#);
    let id = GslbId {
        legacy: false,
        key: Key::new("test", "app"),
    };
    metrics.decided(&id, Some(&decision), "eu");
    let text = page(&registry);
    for line in [
        r#"k8gb_gslb_reconciliation_loops_total{namespace="test",name="app"} 1"#,
        r#"k8gb_gslb_errors_total{namespace="test",name="app"} 0"#,
        r#"k8gb_gslb_healthy_records{namespace="test",name="app"} 1"#,
        r#"k8gb_gslb_healthy_local_records{namespace="test",name="app",geotag="eu"} 1"#,
        r#"k8gb_gslb_service_status_num{namespace="test",name="app",status="Healthy"} 1"#,
        r#"k8gb_gslb_status_count_for_failover{namespace="test",name="app",status="Healthy_primary"} 1"#,
        r#"k8gb_gslb_status_count_for_failover{namespace="test",name="app",status="Unhealthy_primary"} 0"#,
        r#"k8gb_endpoint_status_num{namespace="test",name="app",dns_name="localtargets-app.cloud.example.com"} 1"#,
        r#"flotilla_gslb_share_percent{namespace="test",name="app"} 100"#,
        r#"flotilla_gslb_kept_clusters{namespace="test",name="app"} 0"#,
        r#"k8gb_runtime_info{namespace="k8gb""#,
    ] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
    metrics.decided(&id, None, "eu");
    assert!(!page(&registry).contains(r#"name="app""#));
}

/// Every metric that a shipped dashboard asks for is one that we have.
#[test]
fn dashboards_ask_for_metrics_that_exist() {
    let mut registry = Registry::default();
    let metrics = Metrics::register(&mut registry, "k8gb");
    metrics.infoblox_request("ZoneRead", true, 0.1);
    let id = GslbId {
        legacy: false,
        key: Key::new("test", "app"),
    };
    for strategy in [
        r#"{"type":"roundRobin"}"#,
        r#"{"type":"geoip"}"#,
        r#"{"type":"failover","primaryGeoTag":"eu"}"#,
    ] {
        metrics.decided(&id, Some(&decision(strategy)), "eu");
    }
    let mut page = String::new();
    encode(&mut page, &registry).unwrap();
    let mut known = std::collections::BTreeSet::new();
    for line in page.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').unwrap();
        let suffixes: &[&str] = match kind {
            "counter" => &["_total"],
            "histogram" => &["_bucket", "_count", "_sum"],
            _ => &[""],
        };
        known.extend(suffixes.iter().map(|suffix| format!("{name}{suffix}")));
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/dashboards");
    let mut n_asked = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let dashboard: serde_json::Value = serde_json::from_str(&text).unwrap();
        let panels = dashboard["panels"].as_array().unwrap();
        let targets = panels
            .iter()
            .flat_map(|panel| panel["targets"].as_array().unwrap());
        for target in targets {
            let expr = target["expr"].as_str().unwrap();
            let words = expr.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            for word in words.filter(|w| w.starts_with("k8gb_") || w.starts_with("flotilla_")) {
                assert!(known.contains(word), "{word} in {expr}");
                n_asked += 1;
            }
        }
    }
    assert!(n_asked >= 10, "{n_asked}");
}
