use std::{collections::BTreeMap, time::Duration};

use super::{Config, Parsed, Provider, ServiceType, base64};

const BASE: [(&str, &str); 2] = [("CLUSTER_GEO_TAG", "eu"), ("EDGE_DNS_SERVERS", "10.0.0.53")];

fn parse(settings: &[(&str, &str)]) -> Result<Parsed, Vec<String>> {
    let mut env: BTreeMap<&str, &str> = BASE.into();
    env.extend(settings.iter().copied());
    Config::parse(&|name| env.get(name).map(|value| (*value).to_owned()))
        .map_err(|mistakes| mistakes.into_iter().map(|m| m.name.to_owned()).collect())
}

#[test]
fn defaults_are_k8gbs() {
    let Parsed { config, warnings } = parse(&[]).unwrap();
    assert_eq!(warnings, []);
    assert_eq!(config.poll_interval, Duration::from_secs(30));
    assert_eq!(config.zone_interval, Duration::from_secs(300));
    assert_eq!(
        (config.ns_ttl_seconds, config.namespace.as_str()),
        (30, "k8gb")
    );
    assert_eq!(config.service_type, ServiceType::ClusterIp);
    assert_eq!(
        (config.prefix.as_str(), config.provider),
        ("gslb-ns-", Provider::None)
    );
    assert_eq!(config.metrics_address, "0.0.0.0:8080");
    assert_eq!(
        (config.log_level.as_str(), config.log_format.as_str()),
        ("info", "simple")
    );
    assert_eq!(config.edge_servers[0].port, 53);
}

/// Source: k8gb v0.21 `resolver_test.go` (about sixty cases), re-expressed: settings, then the variables at fault.
#[test]
fn every_mistake_is_reported_with_its_variable() {
    type Row = (
        &'static [(&'static str, &'static str)],
        &'static [&'static str],
    );
    let table: [Row; 42] = [
        (&[("CLUSTER_GEO_TAG", "")], &["CLUSTER_GEO_TAG"]),
        (&[("CLUSTER_GEO_TAG", "eu.1")], &["CLUSTER_GEO_TAG"]),
        (&[("CLUSTER_GEO_TAG", "e u")], &["CLUSTER_GEO_TAG"]),
        (&[("CLUSTER_GEO_TAG", "eu-west-1")], &[]),
        (&[("CLUSTER_GEO_TAG", "zürich")], &[]),
        (&[("EDGE_DNS_SERVERS", "")], &["EDGE_DNS_SERVERS"]),
        (
            &[("EDGE_DNS_SERVERS", ""), ("EDGE_DNS_SERVER", "10.0.0.1")],
            &[],
        ),
        (
            &[("EDGE_DNS_SERVERS", "10.0.0.1,10.0.0.1")],
            &["EDGE_DNS_SERVERS"],
        ),
        (&[("EDGE_DNS_SERVERS", "10.0.0.1:53,10.0.0.1:54")], &[]),
        (&[("EDGE_DNS_SERVERS", "a:b:c")], &["EDGE_DNS_SERVERS"]),
        (
            &[("EDGE_DNS_SERVERS", "[2001:db8::1]:5353, 2001:db8::2")],
            &[],
        ),
        (&[("EXT_GSLB_CLUSTERS_GEO_TAGS", "us,za")], &[]),
        (
            &[("EXT_GSLB_CLUSTERS_GEO_TAGS", "us,us")],
            &["EXT_GSLB_CLUSTERS_GEO_TAGS"],
        ),
        (
            &[("EXT_GSLB_CLUSTERS_GEO_TAGS", "u.s")],
            &["EXT_GSLB_CLUSTERS_GEO_TAGS"],
        ),
        (&[("EXT_GSLB_CLUSTERS_GEO_TAGS", "us,eu")], &[]),
        (&[("RECONCILE_REQUEUE_SECONDS", "0")], &[]),
        (
            &[("RECONCILE_REQUEUE_SECONDS", "-1")],
            &["RECONCILE_REQUEUE_SECONDS"],
        ),
        (
            &[("RECONCILE_REQUEUE_SECONDS", "soon")],
            &["RECONCILE_REQUEUE_SECONDS"],
        ),
        (&[("NS_RECORD_TTL", "0")], &["NS_RECORD_TTL"]),
        (&[("NS_RECORD_TTL", "1")], &[]),
        (&[("COREDNS_SERVICE_TYPE", "LoadBalancer")], &[]),
        (
            &[("COREDNS_SERVICE_TYPE", "Headless")],
            &["COREDNS_SERVICE_TYPE"],
        ),
        (&[("CLUSTER_EXPOSED_IPS", "10.0.0.1,2001:db8::1")], &[]),
        (
            &[("CLUSTER_EXPOSED_IPS", "10.0.0.1,10.0.0.1")],
            &["CLUSTER_EXPOSED_IPS"],
        ),
        (
            &[("CLUSTER_EXPOSED_IPS", "10.0.0")],
            &["CLUSTER_EXPOSED_IPS"],
        ),
        (&[("EXTDNS_ENABLED", "true")], &[]),
        (&[("EXTDNS_ENABLED", "maybe")], &["EXTDNS_ENABLED"]),
        (
            &[("EXTDNS_ENABLED", "true"), ("INFOBLOX_GRID_HOST", "grid")],
            &["EXTDNS_ENABLED"],
        ),
        (
            &[("INFOBLOX_GRID_HOST", "grid")],
            &["INFOBLOX_WAPI_USERNAME"],
        ),
        (
            &[
                ("INFOBLOX_GRID_HOST", "grid"),
                ("INFOBLOX_WAPI_USERNAME", "u"),
                ("INFOBLOX_WAPI_PASSWORD", "p"),
            ],
            &[],
        ),
        (&[("METRICS_ADDRESS", ":8080")], &["METRICS_ADDRESS"]),
        (&[("METRICS_ADDRESS", "localhost:0")], &["METRICS_ADDRESS"]),
        (&[("METRICS_ADDRESS", "localhost:9090")], &[]),
        (
            &[("TRACING_SAMPLING_RATIO", "1.5")],
            &["TRACING_SAMPLING_RATIO"],
        ),
        (&[("GLUEA_PREFIX", "")], &[]),
        (&[("GLUEA_PREFIX", "bad prefix")], &["GLUEA_PREFIX"]),
        (&[("LOG_LEVEL", "loud")], &["LOG_LEVEL"]),
        (&[("LOG_FORMAT", "json"), ("LOG_LEVEL", "trace")], &[]),
        (
            &[("FLOTILLA_UPDATE_SERVER", "nowhere")],
            &["FLOTILLA_UPDATE_SERVER"],
        ),
        (
            &[("FLOTILLA_UPDATE_SERVER", "10.0.0.1:53")],
            &["FLOTILLA_UPDATE_KEY_NAME", "FLOTILLA_UPDATE_KEY_SECRET"],
        ),
        (
            &[("DNS_ZONES", "example.com:cloud.example.org:30")],
            &["DNS_ZONES"],
        ),
        (
            &[
                ("LOG_LEVEL", "x"),
                ("NS_RECORD_TTL", "x"),
                ("DNS_ZONES", "x"),
            ],
            &["DNS_ZONES", "NS_RECORD_TTL", "LOG_LEVEL"],
        ),
    ];
    for (settings, names) in table {
        let got = parse(settings).err().unwrap_or_default();
        assert_eq!(got, names, "{settings:?}");
    }
}

/// Source: k8gb v0.21 `TestParseDNSZones`, re-expressed.
#[test]
fn zones_have_exactly_three_parts() {
    let zones = |text| {
        parse(&[("DNS_ZONES", text)]).map(|parsed| {
            let line =
                |z: super::ZoneSetting| format!("{}<{}:{}", z.zone, z.parent, z.neg_ttl_seconds);
            parsed
                .config
                .zones
                .into_iter()
                .map(line)
                .collect::<Vec<_>>()
                .join(" ")
        })
    };
    let one = "cloud.example.com<example.com:30";
    let table = [
        ("", Some("")),
        (";;", Some("")),
        ("example.com:cloud.example.com:30", Some(one)),
        ("example.com:cloud.example.com:30;", Some(one)),
        (" example.com : cloud.example.com : 30 ; ", Some(one)),
        ("Example.com:Cloud.example.com.:30", Some(one)),
        (
            "example.com:cloud.example.com:30;example.io:a.b.example.io:5",
            Some("cloud.example.com<example.com:30 a.b.example.io<example.io:5"),
        ),
        ("example.com:cloud.example.com", None),
        ("example.com:cloud.example.com:30:1", None),
        ("example.com:cloud.example.com:x", None),
        ("example.com:cloud.example.com:-1", None),
        ("example.com:example.com:30", None),
        ("example.com:notexample.com:30", None),
        (":cloud.example.com:30", None),
        (
            "example.com:cloud.example.com:30;example.com:cloud.example.com:60",
            None,
        ),
    ];
    for (text, expected) in table {
        assert_eq!(zones(text).ok().as_deref(), expected, "{text:?}");
    }
}

#[test]
fn values_k8gb_drops_or_replaces_are_warned_about() {
    let got = parse(&[("EDGE_DNS_SERVERS", "a:b:c,ns.example.com:dns,10.0.0.1:5053")]).unwrap();
    let servers: Vec<String> = got
        .config
        .edge_servers
        .iter()
        .map(|s| format!("{}:{}", s.host, s.port))
        .collect();
    assert_eq!(servers, ["ns.example.com:53", "10.0.0.1:5053"]);
    assert_eq!(got.warnings.len(), 2);
}

/// Source: research §3.5.
#[test]
fn peers_are_tried_on_the_edge_servers_ports() {
    let table = [
        ("10.0.0.1:53", vec![53]),
        ("10.0.0.1:5053", vec![5053, 53]),
        ("10.0.0.1:53,10.0.0.2:1053", vec![53, 1053]),
        ("10.0.0.1:1053,10.0.0.2:53", vec![1053, 53]),
    ];
    for (servers, ports) in table {
        let config = parse(&[("EDGE_DNS_SERVERS", servers)]).unwrap().config;
        assert_eq!(config.peer_ports(), ports, "{servers}");
    }
}

#[test]
fn our_own_tag_is_no_external_tag() {
    let config = parse(&[("EXT_GSLB_CLUSTERS_GEO_TAGS", "eu, us ,za")])
        .unwrap()
        .config;
    assert_eq!(config.external_tags, ["us", "za"]);
}

#[test]
fn an_update_key_is_base64() {
    let config = parse(&[
        ("FLOTILLA_UPDATE_SERVER", "10.0.0.1:53"),
        ("FLOTILLA_UPDATE_KEY_NAME", "fleet"),
        ("FLOTILLA_UPDATE_KEY_SECRET", "c2VjcmV0"),
    ])
    .unwrap()
    .config;
    assert_eq!(config.update.unwrap().secret, b"secret");
    assert_eq!(base64("YWI=").unwrap(), b"ab");
    assert_eq!(base64("YQ==").unwrap(), b"a");
    for bad in ["YQ=", "YQ", "****", "YWI=="] {
        assert_eq!(base64(bad), None, "{bad}");
    }
}

#[test]
fn what_applies_to_every_gslb_can_be_set_for_the_cluster() {
    let parse = |name: &'static str, value: &'static str| {
        Config::parse(&move |asked| match asked {
            "CLUSTER_GEO_TAG" => Some("eu".to_owned()),
            "EDGE_DNS_SERVERS" => Some("10.0.0.53".to_owned()),
            _ if asked == name => Some(value.to_owned()),
            _ => None,
        })
    };
    let defaults = |name, value| parse(name, value).unwrap().config.defaults;
    assert_eq!(defaults("NONE", ""), crate::options::Defaults::default());
    assert!(defaults("FLOTILLA_FAILOVER_WITNESS", "true").witness);
    assert_eq!(
        defaults("FLOTILLA_FAILBACK_HOLD_SECONDS", "60").hold_seconds,
        60
    );
    assert_eq!(defaults("FLOTILLA_DRAIN_SECONDS", "300").drain_seconds, 300);
    for (name, value) in [
        ("FLOTILLA_FAILOVER_WITNESS", "maybe"),
        ("FLOTILLA_FAILBACK_HOLD_SECONDS", "1m"),
        ("FLOTILLA_DRAIN_SECONDS", "700000"),
    ] {
        assert_eq!(parse(name, value).unwrap_err()[0].name, name);
    }
}

#[test]
fn route_53_needs_credentials_and_is_the_only_provider() {
    let keys = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "s")];
    let with = |more: &[(&'static str, &'static str)]| {
        parse(&[&[("FLOTILLA_ROUTE53", "true")], more].concat())
    };
    let config = with(&[&keys[..], &[("AWS_REGION", "eu-west-1")]].concat())
        .unwrap()
        .config;
    assert!(config.keeps_delegation());
    let Provider::Route53(settings) = config.provider else {
        panic!("Route 53 was asked for");
    };
    assert_eq!(
        (
            settings.endpoint.as_str(),
            settings.sts_endpoint.as_str(),
            settings.hosted_zone_id
        ),
        (
            "https://route53.amazonaws.com",
            "https://sts.eu-west-1.amazonaws.com",
            None
        )
    );
    let id = [
        ("FLOTILLA_ROUTE53_HOSTED_ZONE_ID", "/hostedzone/Z1"),
        ("AWS_ENDPOINT_URL_ROUTE_53", "http://x"),
    ];
    let Provider::Route53(settings) = with(&[&keys[..], &id].concat()).unwrap().config.provider
    else {
        panic!("Route 53 was asked for");
    };
    assert_eq!(
        (
            settings.hosted_zone_id.as_deref(),
            settings.endpoint.as_str()
        ),
        (Some("Z1"), "http://x")
    );
    assert_eq!(with(&[]).unwrap_err(), ["FLOTILLA_ROUTE53"]);
    assert_eq!(
        with(&[("EXTDNS_ENABLED", "true")]).unwrap_err(),
        ["EXTDNS_ENABLED"]
    );
    assert_eq!(
        with(&[("INFOBLOX_GRID_HOST", "g")]).unwrap_err(),
        ["FLOTILLA_ROUTE53"]
    );
}

#[test]
fn the_geo_database_has_fields_in_order() {
    let geo = |settings: &[(&'static str, &'static str)]| parse(settings).unwrap().config.geo;
    assert_eq!(
        geo(&[("FLOTILLA_GEO_FIELDS", "a")]),
        None,
        "no database, no places"
    );
    let path = ("FLOTILLA_GEO_DATABASE", "/geoip.mmdb");
    assert_eq!(geo(&[path]).unwrap().fields, ["datacenter"]);
    let two = geo(&[
        path,
        ("FLOTILLA_GEO_FIELDS", "city.names.en, country.iso_code"),
    ])
    .unwrap();
    assert_eq!(two.fields, ["city.names.en", "country.iso_code"]);
    let wrong = parse(&[path, ("FLOTILLA_GEO_FIELDS", "city..en")]).unwrap_err();
    assert_eq!(wrong, ["FLOTILLA_GEO_FIELDS"]);
}

#[test]
fn replicas_elect_a_leader_unless_told_otherwise() {
    assert!(parse(&[]).unwrap().config.leader_election);
    assert!(
        !parse(&[("FLOTILLA_LEADER_ELECTION", "false")])
            .unwrap()
            .config
            .leader_election
    );
    assert!(parse(&[("FLOTILLA_LEADER_ELECTION", "maybe")]).is_err());
}

#[test]
fn serving_only_is_asked_for() {
    assert!(!parse(&[]).unwrap().config.serve_only);
    let config = parse(&[("FLOTILLA_SERVE_ONLY", "true")]).unwrap().config;
    assert!(config.serve_only);
    assert_eq!(config.kinds().count(), 4);
}

/// Source: k8gb v0.21 `resolver_test.go`, TestConfigurations, for the variables that the other tables leave out.
#[test]
fn every_setting_reaches_its_place() {
    type Row<'a> = (&'a [(&'a str, &'a str)], fn(&Config) -> String, &'a str);
    let edge = |c: &Config| {
        let texts = c
            .edge_servers
            .iter()
            .map(|s| format!("{}:{}", s.host, s.port));
        texts.collect::<Vec<_>>().join(" ")
    };
    let infoblox = |c: &Config| match &c.provider {
        Provider::Infoblox(i) => format!(
            "{}:{} {} {} {:?} {}",
            i.grid_host, i.port, i.version, i.view, i.request_timeout, i.n_connections
        ),
        other => format!("{other:?}"),
    };
    const GRID: [(&str, &str); 3] = [
        ("INFOBLOX_GRID_HOST", "grid"),
        ("INFOBLOX_WAPI_USERNAME", "u"),
        ("INFOBLOX_WAPI_PASSWORD", "p"),
    ];
    let whole_grid = [
        &GRID[..],
        &[
            ("INFOBLOX_WAPI_PORT", "8443"),
            ("INFOBLOX_WAPI_VERSION", "2.3.1"),
            ("INFOBLOX_DNS_VIEW", "inside"),
            ("INFOBLOX_HTTP_REQUEST_TIMEOUT", "5"),
            ("INFOBLOX_HTTP_POOL_CONNECTIONS", "3"),
        ],
    ]
    .concat();
    let both = [
        ("EDGE_DNS_SERVERS", "10.0.0.9"),
        ("EDGE_DNS_SERVER", "10.0.0.1"),
    ];
    let table: [Row<'_>; 22] = [
        (
            &[("EDGE_DNS_SERVERS", ""), ("EDGE_DNS_SERVER", "10.0.0.1")],
            edge,
            "10.0.0.1:53",
        ),
        (
            &[
                ("EDGE_DNS_SERVERS", ""),
                ("EDGE_DNS_SERVER", "ns.example.com"),
                ("EDGE_DNS_SERVER_PORT", "5053"),
            ],
            edge,
            "ns.example.com:5053",
        ),
        (&both, edge, "10.0.0.9:53"),
        (
            &[("EDGE_DNS_SERVERS", "10.0.0.1, ns.example.com:5053")],
            edge,
            "10.0.0.1:53 ns.example.com:5053",
        ),
        (
            &[("EDGE_DNS_SERVERS", "[2001:db8::1]:5053")],
            edge,
            "2001:db8::1:5053",
        ),
        (
            &[("RECONCILE_REQUEUE_SECONDS", "7")],
            |c| format!("{:?}", c.poll_interval),
            "7s",
        ),
        (
            &[("ZONE_DELEGATION_RECONCILE_REQUEUE_SECONDS", "60")],
            |c| format!("{:?}", c.zone_interval),
            "60s",
        ),
        (
            &[("ZONE_DELEGATION_RECOVERY_SECONDS", "60")],
            |c| format!("{:?}", c.zone_interval),
            "300s",
        ),
        (
            &[("NS_RECORD_TTL", "5")],
            |c| c.ns_ttl_seconds.to_string(),
            "5",
        ),
        (&[("POD_NAMESPACE", "dns")], |c| c.namespace.clone(), "dns"),
        (
            &[("COREDNS_EXPOSED", "true")],
            |c| c.namespace.clone(),
            "k8gb",
        ),
        (
            &[("COREDNS_SERVICE_TYPE", "NodePort")],
            |c| format!("{:?}", c.service_type),
            "NodePort",
        ),
        (
            &[("COREDNS_SERVICE_TYPE", "ExternalName")],
            |c| format!("{:?}", c.service_type),
            "ExternalName",
        ),
        (
            &[("COREDNS_SERVICE_TYPE", "ClusterIP")],
            |c| format!("{:?}", c.service_type),
            "ClusterIp",
        ),
        (
            &[("CLUSTER_EXPOSED_IPS", "10.0.0.1, 10.0.0.2")],
            |c| format!("{:?}", c.cluster_exposed_ips),
            "[10.0.0.1, 10.0.0.2]",
        ),
        (&[("GLUEA_PREFIX", "ns-")], |c| c.prefix.clone(), "ns-"),
        (
            &[("METRICS_ADDRESS", "0.0.0.0:9090")],
            |c| c.metrics_address.clone(),
            "0.0.0.0:9090",
        ),
        (
            &[("TRACING_ENABLED", "true")],
            |c| c.tracing.to_string(),
            "true",
        ),
        (
            &[("TRACING_SAMPLING_RATIO", "0.25")],
            |c| c.sampling_ratio.clone(),
            "0.25",
        ),
        (
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", "otel:4318")],
            |c| c.otlp_endpoint.clone(),
            "otel:4318",
        ),
        (&GRID, infoblox, "grid:443 v2 default 20s 10"),
        (&whole_grid, infoblox, "grid:8443 2.3.1 inside 5s 3"),
    ];
    for (settings, read, expected) in table {
        assert_eq!(
            read(&parse(settings).unwrap().config),
            expected,
            "{settings:?}"
        );
    }
    for (name, value) in [
        ("TRACING_ENABLED", "maybe"),
        ("TRACING_SAMPLING_RATIO", "-0.1"),
        ("LOG_FORMAT", "xml"),
        ("NO_COLOR", "perhaps"),
        ("METRICS_ADDRESS", "localhost"),
        ("EDGE_DNS_SERVER_PORT", "dns"),
        ("ZONE_DELEGATION_RECOVERY_SECONDS", "soon"),
        ("ZONE_DELEGATION_RECONCILE_REQUEUE_SECONDS", "-5"),
        ("INFOBLOX_WAPI_PORT", "https"),
        ("INFOBLOX_HTTP_REQUEST_TIMEOUT", "0"),
        ("INFOBLOX_HTTP_POOL_CONNECTIONS", "none"),
    ] {
        assert_eq!(parse(&[(name, value)]).unwrap_err(), [name], "{value}");
    }
}

/// The objects that docs/gslb.md shows for each way into the parent zone are settings that say so.
#[test]
fn the_documented_providers_are_understood() {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/gslb.md"));
    let (_, block) = text.split_once("```yaml\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    let mut found: Vec<BTreeMap<String, String>> = Vec::new();
    for document in block.split("---\n") {
        let object: serde_json::Value = serde_saphyr::from_str(document).unwrap();
        let settings = match object["kind"].as_str() {
            Some("ConfigMap") => {
                found.push(BTreeMap::new());
                &object["data"]
            }
            _ => &object["stringData"],
        };
        let settings: BTreeMap<String, String> = serde_json::from_value(settings.clone()).unwrap();
        found.last_mut().unwrap().extend(settings);
    }
    let provider = |settings: &BTreeMap<String, String>| {
        let settings: Vec<(&str, &str)> = settings
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let config = parse(&settings).unwrap().config;
        match (config.provider, config.update) {
            (Provider::None, Some(_)) => "updates",
            (Provider::ExternalDns, None) => "external-dns",
            (Provider::Route53(_), None) => "Route 53",
            (Provider::Infoblox(_), None) => "Infoblox",
            other => panic!("{other:?}"),
        }
    };
    let found: Vec<&str> = found.iter().map(provider).collect();
    assert_eq!(found, ["updates", "external-dns", "Route 53", "Infoblox"]);
}
