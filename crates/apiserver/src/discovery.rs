//! Which groups, versions and resources there are, in the two forms clients ask for.
//!
//! Old clients walk a tree: `/api`, `/apis`, `/apis/{group}` and one list per group and version. New
//! ones (kubectl, client-go since 1.26) ask `/api` and `/apis` for everything at once with
//! `Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList`. Both are rendered from
//! the [`Registry`] when asked for: that takes well under a millisecond and nothing is kept.
//!
//! Built-in groups come in the order of their registration, then those of custom resources by name;
//! versions from most to least stable.
//!
//! Source: Kubernetes v1.35, apiserver `pkg/endpoints/discovery` and `api/discovery/*.json`.

use std::{cmp::Reverse, collections::BTreeMap};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::{
    negotiate::{JSON, ranges},
    registry::{Registry, Resource, Subresource, Verbs},
};

/// Content type of the aggregated form; clients compare the parameters with what they asked for.
pub const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// A rendered document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// JSON.
    pub body: Bytes,
    /// Value for Content-Type.
    pub content_type: &'static str,
    /// Quoted validator for `If-None-Match`; only the aggregated form has one. Replies then also
    /// say `Vary: Accept`.
    pub etag: Option<String>,
}

/// The document at a discovery path, `None` when the path is another or names an unserved group or
/// version. `address` is `host:port` for clients that ask where the server is.
pub fn document(
    registry: &Registry,
    path: &str,
    accept: Option<&str>,
    address: &str,
) -> Option<Document> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let value = match parts.as_slice() {
        ["api" | "apis"] if wants_aggregated(accept) => {
            return Some(aggregated(registry, parts[0] == "api"));
        }
        ["api"] => versions(address),
        ["apis"] => groups(registry),
        ["apis", group] => group_document(registry, group)?,
        ["api", version] => resources(registry, "", version)?,
        ["apis", group, version] => resources(registry, group, version)?,
        _ => return None,
    };
    Some(Document {
        body: render(&value),
        content_type: JSON,
        etag: None,
    })
}

/// What discovery calls the storage version of a resource: it changes exactly when stored bodies do.
pub fn storage_version_hash(group: &str, version: &str, kind: &str) -> String {
    STANDARD.encode(&Sha256::digest(format!("{group}/{version}/{kind}"))[..8])
}

/// How stable a version is: `v2` > `v1` > `v1beta2` > `v1alpha1` > anything else by name.
pub fn version_priority(version: &str) -> (u8, u64, u64, Reverse<&str>) {
    parse_version(version).unwrap_or((0, 0, 0, Reverse(version)))
}

fn parse_version(version: &str) -> Option<(u8, u64, u64, Reverse<&str>)> {
    let rest = version.strip_prefix('v')?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let major = rest[..end].parse().ok()?;
    let (stability, minor) = match &rest[end..] {
        "" => (3, "0"),
        tail => match (tail.strip_prefix("beta"), tail.strip_prefix("alpha")) {
            (Some(minor), _) => (2, minor),
            (_, Some(minor)) => (1, minor),
            _ => return None,
        },
    };
    Some((stability, major, minor.parse().ok()?, Reverse("")))
}

/// Whether the best acceptable form is the aggregated one. Protobuf is not offered, so ranges that
/// want it are passed over.
fn wants_aggregated(accept: Option<&str>) -> bool {
    for range in ranges(accept.unwrap_or_default()) {
        match (range.param("as"), range.param("g"), range.param("v")) {
            _ if !range.covers(JSON) => {}
            ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2") => return true,
            ("", ..) => return false,
            _ => {}
        }
    }
    false
}

/// Rows by version, the most stable version first.
type Versions<'a> = Vec<(&'a str, Vec<&'a Resource>)>;

/// Rows by group and version, in the order of the documents.
fn tree(registry: &Registry) -> Vec<(&str, Versions<'_>)> {
    let mut order: Vec<&str> = Vec::new();
    let mut by_group: BTreeMap<&str, BTreeMap<&str, Vec<&Resource>>> = BTreeMap::new();
    for row in registry.rows() {
        if !by_group.contains_key(&*row.group) && row.custom.is_none() {
            order.push(&row.group);
        }
        let versions = by_group.entry(&row.group).or_default();
        versions.entry(&row.version).or_default().push(row);
    }
    let custom: Vec<&str> = by_group
        .keys()
        .copied()
        .filter(|g| !order.contains(g))
        .collect();
    order.extend(custom);
    let mut tree = Vec::new();
    for group in order {
        let mut versions: Vec<_> = by_group
            .remove(group)
            .unwrap_or_default()
            .into_iter()
            .collect();
        versions.sort_by_key(|(version, _)| Reverse(version_priority(version)));
        for (_, rows) in &mut versions {
            rows.sort_by(|a, b| a.plural.cmp(&b.plural));
        }
        tree.push((group, versions));
    }
    tree
}

fn versions(address: &str) -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    })
}

fn groups(registry: &Registry) -> Value {
    let named = tree(registry)
        .into_iter()
        .filter(|(group, _)| !group.is_empty());
    let groups: Vec<Value> = named
        .map(|(group, versions)| Value::Object(group_entry(group, &versions)))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

fn group_document(registry: &Registry, group: &str) -> Option<Value> {
    let (group, versions) = tree(registry)
        .into_iter()
        .find(|(name, _)| *name == group && !name.is_empty())?;
    let mut entry = group_entry(group, &versions);
    entry.insert("kind".to_owned(), "APIGroup".into());
    entry.insert("apiVersion".to_owned(), "v1".into());
    Some(Value::Object(entry))
}

fn group_entry(group: &str, versions: &Versions<'_>) -> Map<String, Value> {
    let versions: Vec<Value> = versions
        .iter()
        .map(|(v, _)| json!({"groupVersion": format!("{group}/{v}"), "version": v}))
        .collect();
    let mut entry = Map::new();
    entry.insert("name".to_owned(), group.into());
    entry.insert(
        "preferredVersion".to_owned(),
        versions.first().cloned().unwrap_or_default(),
    );
    entry.insert("versions".to_owned(), versions.into());
    entry
}

fn resources(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let mut rows: Vec<&Resource> = registry
        .rows()
        .iter()
        .map(|row| &**row)
        .filter(|row| &*row.group == group && &*row.version == version)
        .collect();
    rows.sort_by(|a, b| a.plural.cmp(&b.plural));
    let api_version = rows.first()?.api_version();
    let mut entries = Vec::new();
    for row in rows {
        entries.push(resource(row));
        let subresources = in_order(row);
        entries.extend(subresources.iter().map(|sub| subresource(row, sub)));
    }
    let mut list = json!({
        "kind": "APIResourceList",
        "groupVersion": api_version,
        "resources": entries,
    });
    if !group.is_empty() {
        list["apiVersion"] = "v1".into();
    }
    Some(list)
}

fn resource(row: &Resource) -> Value {
    let mut entry = json!({
        "name": row.plural,
        "singularName": row.singular,
        "namespaced": row.namespaced,
        "kind": row.kind,
        "verbs": own_verbs(row),
    });
    names(&mut entry, row);
    if !row.storage_version_hash.is_empty() {
        entry["storageVersionHash"] = (*row.storage_version_hash).into();
    }
    entry
}

fn subresource(row: &Resource, sub: &Subresource) -> Value {
    let mut entry = json!({
        "name": format!("{}/{}", row.plural, sub.name),
        "singularName": "",
        "namespaced": row.namespaced,
        "kind": sub.kind,
        "verbs": verbs(sub.verbs),
    });
    if is_foreign(row, sub) {
        entry["group"] = (*sub.group).into();
        entry["version"] = (*sub.version).into();
    }
    entry
}

fn names(entry: &mut Value, row: &Resource) {
    for (key, values) in [
        ("shortNames", &row.short_names),
        ("categories", &row.categories),
    ] {
        if !values.is_empty() {
            entry[key] = values.iter().map(|name| Value::from(&**name)).collect();
        }
    }
}

fn aggregated(registry: &Registry, is_core: bool) -> Document {
    let items: Vec<Value> = tree(registry)
        .into_iter()
        .filter(|(group, _)| group.is_empty() == is_core)
        .map(|(group, versions)| {
            let versions: Vec<Value> = versions
                .iter()
                .map(|(version, rows)| {
                    let rows: Vec<Value> =
                        rows.iter().map(|row| aggregated_resource(row)).collect();
                    json!({"version": version, "resources": rows, "freshness": "Current"})
                })
                .collect();
            let mut metadata = json!({"creationTimestamp": null});
            if !group.is_empty() {
                metadata["name"] = group.into();
            }
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    let body = render(&json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }));
    let digest = Sha256::digest(&body);
    let hex: String = digest.iter().map(|byte| format!("{byte:02X}")).collect();
    Document {
        body,
        content_type: AGGREGATED,
        etag: Some(format!("\"{hex}\"")),
    }
}

fn aggregated_resource(row: &Resource) -> Value {
    let mut entry = json!({
        "resource": row.plural,
        "responseKind": response_kind(row, &row.group, &row.version, &row.kind),
        "scope": if row.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": row.singular,
        "verbs": own_verbs(row),
    });
    names(&mut entry, row);
    let subresources: Vec<Value> = in_order(row)
        .iter()
        .map(|sub| {
            json!({
                "subresource": sub.name,
                "responseKind": response_kind(row, &sub.group, &sub.version, &sub.kind),
                "verbs": verbs(sub.verbs),
            })
        })
        .collect();
    if !subresources.is_empty() {
        entry["subresources"] = subresources.into();
    }
    entry
}

/// Subresources as documents list them.
fn in_order(row: &Resource) -> Vec<&Subresource> {
    let mut subresources: Vec<&Subresource> = row.subresources.iter().collect();
    if row.custom.is_some() {
        // Upstream puts together what custom resources have by hand: status, then scale.
        subresources.sort_by_key(|sub| &*sub.name != "status");
    }
    subresources
}

/// Built-in resources leave out the group and version of the list they stand in.
fn response_kind(row: &Resource, group: &str, version: &str, kind: &str) -> Value {
    let is_own = row.custom.is_none() && *row.group == *group && *row.version == *version;
    let (group, version) = if is_own { ("", "") } else { (group, version) };
    json!({"group": group, "version": version, "kind": kind})
}

fn is_foreign(row: &Resource, sub: &Subresource) -> bool {
    (&sub.group, &sub.version) != (&row.group, &row.version)
}

fn verbs(verbs: Verbs) -> Vec<&'static str> {
    verbs.iter().map(|verb| verb.as_str()).collect()
}

/// The verbs of a resource. Custom resources have theirs in the order in which upstream's code happens to list them.
fn own_verbs(row: &Resource) -> Vec<&'static str> {
    let mut verbs = verbs(row.verbs);
    if row.custom.is_some() {
        let last = |verb: &str| {
            ["create", "update", "watch"]
                .iter()
                .position(|v| *v == verb)
        };
        verbs.sort_by_key(|verb| last(verb).map_or(0, |at| at + 1));
    }
    verbs
}

fn render(value: &Value) -> Bytes {
    let bytes = serde_json::to_vec(value).expect("a value of strings and lists renders");
    Bytes::from(bytes)
}

#[cfg(test)]
mod tests;
