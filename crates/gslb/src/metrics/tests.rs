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

#[test]
fn series_have_k8gbs_names_and_go_with_their_gslb() {
    let mut registry = Registry::default();
    let metrics = Metrics::register(&mut registry, "k8gb");
    let page = |registry: &Registry| {
        let mut text = String::new();
        encode(&mut text, registry).unwrap();
        text
    };
    let spec =
        serde_json::from_str(r#"{"strategy":{"type":"failover","primaryGeoTag":"eu"}}"#).unwrap();
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
    let decision = Decision {
        resolved: Resolved {
            rules: spec::rules(&spec, &Default::default(), Default::default()).ok(),
            ..Resolved::default()
        },
        hosts: [("app.cloud.example.com".to_owned(), host)].into(),
        again_at: None,
    };
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
        r#"k8gb_runtime_info{namespace="k8gb""#,
    ] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
    metrics.decided(&id, None, "eu");
    assert!(!page(&registry).contains(r#"name="app""#));
}
