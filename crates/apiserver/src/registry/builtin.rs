//! Registry rows of built-in kinds, from the generated tables.

use std::sync::Arc;

use flotilla_machinery::{
    builtin::{self, ResourceRow},
    schema::TypeId,
};

use super::{Conversion, Resource, SchemaRef, Shape, Subresource, Verb, Verbs};
use crate::{store::ResourceKey, strategy};

/// One row for each built-in resource and version, in discovery order.
pub fn built_in() -> impl Iterator<Item = Arc<Resource>> {
    builtin::resources()
        .iter()
        .map(|row| Arc::new(resource(row)))
}

fn resource(row: &ResourceRow) -> Resource {
    let (storage_group, storage_version) = row.storage;
    Resource {
        group: row.group.into(),
        version: row.version.into(),
        plural: row.plural.into(),
        singular: row.singular.into(),
        kind: row.kind.into(),
        list_kind: row.list_kind.clone(),
        short_names: row.short_names.iter().map(|n| (*n).into()).collect(),
        categories: row.categories.iter().map(|n| (*n).into()).collect(),
        namespaced: row.namespaced,
        verbs: verbs(&row.verbs),
        subresources: row
            .subresources
            .iter()
            .map(|sub| subresource(row, sub))
            .collect(),
        shape: Shape {
            schema: SchemaRef::Static(builtin::schema()),
            root: root(row),
        },
        storage: ResourceKey::new(storage_group, row.plural),
        storage_api_version: api_version(storage_group, storage_version).into(),
        conversion: if row.storage == (row.group, row.version) {
            Conversion::None
        } else {
            Conversion::Rewrite
        },
        storage_version_hash: row.storage_version_hash.into(),
        tracks_generation: row.tracks_generation,
        has_status: row.has_status,
        strategy: strategy::of(row),
        deprecation: deprecation(row),
        custom: None,
        defaults: None,
        webhook: None,
    }
}

fn subresource(row: &ResourceRow, sub: &builtin::SubresourceRow) -> Subresource {
    Subresource {
        name: sub.name.into(),
        group: sub.group.unwrap_or(row.group).into(),
        version: sub.version.unwrap_or(row.version).into(),
        kind: sub.kind.into(),
        verbs: verbs(&sub.verbs),
    }
}

fn root(row: &ResourceRow) -> TypeId {
    builtin::schema()
        .find(row.type_name)
        .expect("a test finds the type of every row")
}

fn verbs(words: &[&str]) -> Verbs {
    let verbs: Vec<Verb> = words.iter().filter_map(|word| Verb::parse(word)).collect();
    Verbs::of(&verbs)
}

fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

/// What every request for a deprecated resource is warned with.
fn deprecation(row: &ResourceRow) -> Option<Box<str>> {
    let text = match (row.group, row.plural) {
        ("", "endpoints") => {
            "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
        }
        ("", "componentstatuses") => "v1 ComponentStatus is deprecated in v1.19+",
        _ => return None,
    };
    Some(text.into())
}
