//! Settings from the values of k8gb's Helm chart.
//!
//! A team that moves over has one file that says how its k8gb runs. [`import`] turns it into our settings, which are
//! k8gb's environment variables, and names every value that has no meaning here, so that nothing is lost silently.
//!
//! Source: k8gb v0.21 `chart/k8gb/values.yaml`; research §2.9. Old charts' `dnsZone`, `edgeDNSZone` and `edgeDNSServer`
//! are understood too.

use serde_json::Value;

/// What an import gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Variables and their values, in the order of the table.
    pub settings: Vec<(&'static str, String)>,
    /// Paths of values that mean nothing here, sorted; a whole section is named once.
    pub ignored: Vec<String>,
}

/// Values that are a setting as they stand. Lists become comma lists.
const TABLE: [(&str, &str); 23] = [
    ("k8gb.clusterGeoTag", "CLUSTER_GEO_TAG"),
    ("k8gb.extGslbClustersGeoTags", "EXT_GSLB_CLUSTERS_GEO_TAGS"),
    ("k8gb.edgeDNSServers", "EDGE_DNS_SERVERS"),
    ("k8gb.edgeDNSServer", "EDGE_DNS_SERVER"),
    ("k8gb.clusterExposedIPs", "CLUSTER_EXPOSED_IPS"),
    ("k8gb.glueAPrefix", "GLUEA_PREFIX"),
    ("k8gb.reconcileRequeueSeconds", "RECONCILE_REQUEUE_SECONDS"),
    (
        "k8gb.zoneDelegationReconcileRequeueSeconds",
        "ZONE_DELEGATION_RECONCILE_REQUEUE_SECONDS",
    ),
    (
        "k8gb.zoneDelegationRecoverySeconds",
        "ZONE_DELEGATION_RECOVERY_SECONDS",
    ),
    ("k8gb.nsRecordTTL", "NS_RECORD_TTL"),
    ("k8gb.log.format", "LOG_FORMAT"),
    ("k8gb.log.level", "LOG_LEVEL"),
    ("k8gb.metricsAddress", "METRICS_ADDRESS"),
    ("coredns.serviceType", "COREDNS_SERVICE_TYPE"),
    ("extdns.enabled", "EXTDNS_ENABLED"),
    ("tracing.enabled", "TRACING_ENABLED"),
    ("route53.enabled", "FLOTILLA_ROUTE53"),
    ("route53.hostedZoneID", "FLOTILLA_ROUTE53_HOSTED_ZONE_ID"),
    ("infoblox.gridHost", "INFOBLOX_GRID_HOST"),
    ("infoblox.wapiPort", "INFOBLOX_WAPI_PORT"),
    ("infoblox.wapiVersion", "INFOBLOX_WAPI_VERSION"),
    (
        "infoblox.httpRequestTimeout",
        "INFOBLOX_HTTP_REQUEST_TIMEOUT",
    ),
    (
        "infoblox.httpPoolConnections",
        "INFOBLOX_HTTP_POOL_CONNECTIONS",
    ),
];

/// Turns chart values into settings.
pub fn import(values: &Value) -> Imported {
    let mut settings = Vec::new();
    let infoblox = values["infoblox"]["enabled"].as_bool().unwrap_or(false);
    for (path, name) in TABLE {
        if path.starts_with("infoblox.") && !infoblox {
            continue;
        }
        if let Some(text) = text(at(values, path)) {
            settings.push((name, text));
        }
    }
    if let Some(zones) = zones(&values["k8gb"]) {
        settings.push(("DNS_ZONES", zones));
    }
    let listed = values["k8gb"]["dnsZones"].as_array().into_iter().flatten();
    // One database serves every zone here; the first one that is named is it.
    for (key, name) in [
        ("geoDataFilePath", "FLOTILLA_GEO_DATABASE"),
        ("geoDataField", "FLOTILLA_GEO_FIELDS"),
    ] {
        if let Some(text) = listed.clone().find_map(|zone| text(&zone[key])) {
            settings.push((name, text));
        }
    }
    let mut ignored = Vec::new();
    leftovers("", values, infoblox, &mut ignored);
    ignored.sort();
    Imported { settings, ignored }
}

fn at<'a>(values: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(values, |value, step| &value[step])
}

/// A scalar, or a list of scalars as a comma list. Nothing for what is absent or empty.
fn text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(items) => items.iter().filter_map(text).collect::<Vec<_>>().join(","),
        Value::Null | Value::Object(_) => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// `parent:zone:negativeTTL;…` from `dnsZones`, or from the three values of old charts.
fn zones(k8gb: &Value) -> Option<String> {
    let zone = |parent: &Value, zone: &Value, ttl: &Value| {
        let ttl = text(ttl).unwrap_or_else(|| "30".to_owned());
        Some(format!("{}:{}:{ttl}", text(parent)?, text(zone)?))
    };
    let listed: Vec<String> = k8gb["dnsZones"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|z| {
            zone(
                &z["parentZone"],
                &z["loadBalancedZone"],
                &z["dnsZoneNegTTL"],
            )
        })
        .collect();
    if listed.is_empty() {
        return zone(
            &k8gb["edgeDNSZone"],
            &k8gb["dnsZone"],
            &k8gb["dnsZoneNegTTL"],
        );
    }
    Some(listed.join(";"))
}

/// Names what is not understood: a section of which nothing is, once; otherwise its values.
fn leftovers(path: &str, value: &Value, infoblox: bool, ignored: &mut Vec<String>) {
    let Some(fields) = value.as_object() else {
        return;
    };
    for (key, child) in fields {
        let path = if path.is_empty() {
            key.clone()
        } else {
            format!("{path}.{key}")
        };
        match () {
            () if child.is_null() || is_known(&path, infoblox) => {}
            () if is_section(&path) => leftovers(&path, child, infoblox, ignored),
            () => ignored.push(path),
        }
    }
}

fn is_known(path: &str, infoblox: bool) -> bool {
    const ZONES: [&str; 4] = [
        "k8gb.dnsZones",
        "k8gb.dnsZone",
        "k8gb.edgeDNSZone",
        "k8gb.dnsZoneNegTTL",
    ];
    let switch = path == "infoblox.enabled" || (!infoblox && path == "infoblox");
    switch || ZONES.contains(&path) || TABLE.iter().any(|(known, _)| *known == path)
}

fn is_section(path: &str) -> bool {
    TABLE.iter().any(|(known, _)| {
        known
            .strip_prefix(path)
            .is_some_and(|rest| rest.starts_with('.'))
    })
}

#[cfg(test)]
mod tests;
