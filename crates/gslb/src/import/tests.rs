use serde_json::json;

use super::import;
use crate::config::Config;

#[test]
fn chart_values_become_settings_that_parse() {
    let values = json!({
        "k8gb": {
            "clusterGeoTag": "eu", "extGslbClustersGeoTags": "us,za", "edgeDNSServers": ["10.0.0.53:5053", "10.0.0.54"],
            "dnsZones": [
                {"parentZone": "example.com", "loadBalancedZone": "cloud.example.com", "dnsZoneNegTTL": 30,
                    "geoDataFilePath": "/geoip.mmdb", "geoDataField": "datacenter"},
                {"parentZone": "example.org", "loadBalancedZone": "cloud.example.org", "dnsZoneNegTTL": 60}],
            "clusterExposedIPs": [], "nsRecordTTL": 30, "reconcileRequeueSeconds": 10,
            "log": {"level": "debug", "format": "json"}, "imageTag": "v0.21", "deployCrds": true,
        },
        "coredns": {"serviceType": "LoadBalancer", "image": {"tag": "x"}},
        "extdns": {"enabled": true, "interval": "20s"},
        "infoblox": {"enabled": false, "gridHost": "10.0.0.1"},
        "istio": {"enabled": false},
    });
    let imported = import(&values);
    assert_eq!(
        imported.ignored,
        [
            "coredns.image",
            "extdns.interval",
            "istio",
            "k8gb.deployCrds",
            "k8gb.imageTag"
        ]
    );
    let source = |name: &str| {
        imported
            .settings
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.clone())
    };
    let config = Config::parse(&source).unwrap().config;
    assert_eq!(config.geo.as_ref().unwrap().fields, ["datacenter"]);
    assert_eq!(
        (config.geo_tag.as_str(), config.external_tags.len()),
        ("eu", 2)
    );
    assert_eq!(config.zones[1].zone, "cloud.example.org");
    assert_eq!(config.edge_servers[0].port, 5053);
    assert_eq!(config.poll_interval.as_secs(), 10);
}

#[test]
fn old_charts_and_infoblox_are_understood() {
    let values = json!({
        "k8gb": {"dnsZone": "cloud.example.com", "edgeDNSZone": "example.com", "edgeDNSServer": "1.1.1.1", "clusterGeoTag": "eu"},
        "infoblox": {"enabled": true, "gridHost": "10.0.0.1", "wapiPort": 443, "sslVerify": true},
    });
    let imported = import(&values);
    let lines: Vec<String> = imported
        .settings
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(
        lines,
        [
            "CLUSTER_GEO_TAG=eu",
            "EDGE_DNS_SERVER=1.1.1.1",
            "INFOBLOX_GRID_HOST=10.0.0.1",
            "INFOBLOX_WAPI_PORT=443",
            "DNS_ZONES=example.com:cloud.example.com:30",
        ]
    );
    assert_eq!(imported.ignored, ["infoblox.sslVerify"]);
    assert_eq!(import(&json!({})), super::Imported::default());
}
