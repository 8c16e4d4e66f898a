//! CustomResourceDefinitions, generated from the types of this crate.
//!
//! `schemars` describes the Rust types; [`Structural`] turns that into what an API server accepts (no references, no
//! null, no validation words Kubernetes does not know) and into what controller-gen prints for the peer's Go types.
//! Fields whose schema needs a `default` or `format` say so with `x-default` and `x-format`, because serde's own
//! defaults are about absent fields in Rust, not about values an API server should write.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::Transform};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    dns_endpoint::{DnsEndpointSpec, DnsEndpointStatus},
    gslb::{GslbSpec, GslbStatus},
    zone_delegation::{ZoneDelegationSpec, ZoneDelegationStatus},
};

/// One aspect of an object that is true, false or unknown, as in the Kubernetes API conventions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// When the status last changed, RFC 3339 in UTC.
    #[schemars(extend("x-format" = "date-time"))]
    pub last_transition_time: String,
    /// What is so, and what to do about it.
    pub message: String,
    /// Generation of the spec this was decided for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-format" = "int64"))]
    pub observed_generation: Option<i64>,
    /// One word for why.
    pub reason: String,
    /// True, False or Unknown.
    pub status: String,
    /// The aspect.
    #[serde(rename = "type")]
    pub kind: String,
}

/// Every CustomResourceDefinition Flotilla's GSLB needs, in the order of their names.
pub fn crds() -> Vec<CustomResourceDefinition> {
    documents()
        .into_iter()
        .map(|crd| serde_json::from_value(crd).expect("the goldens prove that it is a CRD"))
        .collect()
}

/// The same as [`crds`], as JSON documents.
pub fn documents() -> Vec<Value> {
    let mut legacy_spec = schema::<GslbSpec>();
    if let Some(properties) = legacy_spec["properties"].as_object_mut() {
        properties.remove("serviceHealthPolicy");
    }
    let gslb_columns = json!([
        {"jsonPath": ".spec.strategy.type", "name": "strategy", "type": "string"},
        {"jsonPath": ".status.geoTag", "name": "geoTag", "type": "string"},
        {"jsonPath": ".status.hosts", "name": "hosts", "priority": 1, "type": "string"},
    ]);
    let gslb = |group, spec| Crd {
        group,
        version: "v1beta1",
        names: json!({"kind": "Gslb", "listKind": "GslbList", "plural": "gslbs", "singular": "gslb"}),
        scope: "Namespaced",
        description: "One application that is reachable under the same host names in several clusters",
        columns: Some(gslb_columns.clone()),
        annotations: None,
        spec,
        status: schema::<GslbStatus>(),
    };
    let zone = Crd {
        group: "k8gb.io",
        version: "v1beta1",
        names: json!({"kind": "ZoneDelegation", "listKind": "ZoneDelegationList", "plural": "zonedelegations",
            "shortNames": ["zd"], "singular": "zonedelegation"}),
        scope: "Cluster",
        description: "A zone that the clusters of a fleet answer for together",
        columns: Some(json!([
            {"jsonPath": ".spec.loadBalancedZone", "name": "LoadBalancedZone", "type": "string"},
            {"jsonPath": ".spec.parentZone", "name": "ParentZone", "type": "string"},
            {"jsonPath": ".spec.dnsZoneNegTTL", "name": "NegTTL", "type": "integer"},
        ])),
        annotations: None,
        spec: schema::<ZoneDelegationSpec>(),
        status: schema::<ZoneDelegationStatus>(),
    };
    let endpoint = Crd {
        group: "externaldns.k8s.io",
        version: "v1alpha1",
        names: json!({"kind": "DNSEndpoint", "listKind": "DNSEndpointList", "plural": "dnsendpoints",
            "singular": "dnsendpoint"}),
        scope: "Namespaced",
        description: "DNS records as an object",
        columns: None,
        annotations: Some(
            json!({"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/external-dns/pull/2007"}),
        ),
        spec: schema::<DnsEndpointSpec>(),
        status: schema::<DnsEndpointStatus>(),
    };
    vec![
        endpoint.document(),
        gslb("k8gb.absa.oss", legacy_spec).document(),
        gslb("k8gb.io", schema::<GslbSpec>()).document(),
        zone.document(),
    ]
}

/// What one definition says beyond its two schemas.
struct Crd {
    group: &'static str,
    version: &'static str,
    names: Value,
    scope: &'static str,
    description: &'static str,
    columns: Option<Value>,
    annotations: Option<Value>,
    spec: Value,
    status: Value,
}

impl Crd {
    fn document(self) -> Value {
        let schema = json!({
            "description": self.description,
            "type": "object",
            "properties": {
                "apiVersion": {"type": "string",
                    "description": "Group and version of the schema this object is written in."},
                "kind": {"type": "string", "description": "Kind of this object."},
                "metadata": {"type": "object"},
                "spec": self.spec,
                "status": self.status,
            },
        });
        let mut version = json!({
            "name": self.version,
            "schema": {"openAPIV3Schema": schema},
            "served": true,
            "storage": true,
            "subresources": {"status": {}},
        });
        if let Some(columns) = self.columns {
            version["additionalPrinterColumns"] = columns;
        }
        let name = format!(
            "{}.{}",
            self.names["plural"].as_str().unwrap_or_default(),
            self.group
        );
        let mut metadata = json!({ "name": name });
        if let Some(annotations) = self.annotations {
            metadata["annotations"] = annotations;
        }
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": metadata,
            "spec": {
                "group": self.group,
                "names": self.names,
                "scope": self.scope,
                "versions": [version],
            },
        })
    }
}

/// The structural schema of a type.
fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3()
        .with(|s| {
            s.inline_subschemas = true;
            s.meta_schema = None;
        })
        .with_transform(Structural);
    let mut value = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    if let Some(root) = value.as_object_mut() {
        root.remove("title");
    }
    value
}

/// Rewrites a generated schema into what controller-gen would print.
#[derive(Clone)]
struct Structural;

impl Transform for Structural {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(object) = schema.as_object_mut() {
            rewrite(object);
        }
    }
}

/// Depth first, so that a parent sees finished children.
fn rewrite(object: &mut Map<String, Value>) {
    for child in object.values_mut() {
        descend(child);
    }
    if let Some(variant) = object.remove("anyOf").and_then(|any| {
        any.as_array()
            .and_then(|any| any.iter().find(|v| v["type"] != "null").cloned())
    }) && let Value::Object(variant) = variant
    {
        for (key, value) in variant {
            object.entry(key).or_insert(value);
        }
    }
    enumerate_variants(object);
    for word in ["default", "format", "nullable", "minimum", "title"] {
        if object.get(word).is_some_and(|v| !v.is_object()) || word == "default" {
            object.remove(word);
        }
    }
    if let Some(Value::Array(required)) = object.get_mut("required") {
        required.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
    }
    for (from, to) in [("x-default", "default"), ("x-format", "format")] {
        if let Some(value) = object.remove(from) {
            object.insert(to.into(), value);
        }
    }
}

/// A `oneOf` of documented constants is an `enum` to Kubernetes.
fn enumerate_variants(object: &mut Map<String, Value>) {
    let Some(Value::Array(variants)) = object.remove("oneOf") else {
        return;
    };
    let names: Vec<Value> = variants
        .iter()
        .filter_map(|v| {
            v.get("const")
                .cloned()
                .or_else(|| v.get("enum").map(|e| e[0].clone()))
        })
        .collect();
    object.insert("type".into(), json!("string"));
    object.insert("enum".into(), Value::Array(names));
}

fn descend(value: &mut Value) {
    match value {
        Value::Object(object) => rewrite(object),
        Value::Array(items) => items.iter_mut().for_each(descend),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
