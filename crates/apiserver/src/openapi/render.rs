//! Writes a document, piece by piece.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write as _,
};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use flotilla_machinery::builtin;
use serde_json::{Map, Value, json};

use super::{
    Flavor, Id, Syntax, custom, descriptions::Descriptions, gnostic, paths, paths::Bodies,
    schemas::Definitions,
};
use crate::{
    registry::{Registry, Resource, Subresource},
    store::State,
};

/// Renders a document, compressed.
pub(super) fn document(id: &Id, registry: &Registry, state: &State) -> Bytes {
    let mut out = Stream {
        gzip: GzEncoder::new(Vec::new(), Compression::new(4)),
        n_members: 0,
        syntax: id.syntax,
    };
    let info = json!({"title": "Kubernetes", "version": "v1.35"});
    let rows: Vec<&Resource> = registry
        .rows()
        .iter()
        .map(|row| &**row)
        .filter(|row| id.has(row))
        .collect();
    match (id.syntax, id.flavor) {
        (Syntax::Protobuf, _) => out.bytes(&gnostic::head(&info)),
        (_, Flavor::V2) => out.text(&format!(
            "{{\"swagger\":\"2.0\",\"info\":{info},\"paths\":{{"
        )),
        (_, Flavor::V3) => out.text(&format!(
            "{{\"openapi\":\"3.0.0\",\"info\":{info},\"paths\":{{"
        )),
    }
    for (name, path) in paths_of(&rows, id.flavor) {
        out.member(&name, &path, gnostic::path);
    }
    out.n_members = 0;
    out.text(match id.flavor {
        Flavor::V2 => "},\"definitions\":{",
        Flavor::V3 => "},\"components\":{\"schemas\":{",
    });
    definitions(&mut out, &rows, state, id.flavor);
    out.text(match id.flavor {
        Flavor::V2 => "}}",
        Flavor::V3 => "}}}",
    });
    out.gzip
        .finish()
        .expect("writing to memory does not fail")
        .into()
}

fn paths_of(rows: &[&Resource], flavor: Flavor) -> Map<String, Value> {
    let mut out = Map::new();
    for row in rows {
        let [object, list] = if row.custom.is_some() {
            [&row.kind, &row.list_kind]
                .map(|kind| custom::definition_name(&row.group, &row.version, kind))
        } else {
            [&row.kind, &row.list_kind].map(|kind| built_in_name(&row.group, &row.version, kind))
        };
        let kind_of =
            |sub: &Subresource| match builtin::type_name(&sub.group, &sub.version, &sub.kind) {
                Some(name) => Some(name.to_owned()),
                None if sub.kind == row.kind => Some(object.clone()),
                None => None,
            };
        paths::add(
            &mut out,
            flavor,
            row,
            &Bodies {
                object: &object,
                list: &list,
            },
            &kind_of,
        );
    }
    out
}

fn built_in_name(group: &str, version: &str, kind: &str) -> String {
    builtin::type_name(group, version, kind)
        .unwrap_or_default()
        .to_owned()
}

/// Writes every definition the rows need, group by group, so that few descriptions are in memory.
fn definitions(out: &mut Stream, rows: &[&Resource], state: &State, flavor: Flavor) {
    let mut written = BTreeSet::new();
    let mut groups: BTreeMap<(&str, &str), Vec<&Resource>> = BTreeMap::new();
    for row in rows {
        groups
            .entry((&row.group, &row.version))
            .or_default()
            .push(row);
    }
    for ((group, version), rows) in groups {
        let descriptions = Descriptions::of(group, version);
        let definitions = Definitions::new(flavor, &descriptions);
        for name in definitions.reachable(&roots(&rows)) {
            if written.insert(name.to_owned()) {
                let definition = definitions.definition(name, group, version);
                out.member(name, &definition, gnostic::definition);
            }
        }
        let custom: Vec<&Resource> = rows
            .into_iter()
            .filter(|row| row.custom.is_some())
            .collect();
        if custom.is_empty() {
            continue;
        }
        let crds = custom::of_group(state, group);
        for (name, definition) in custom
            .iter()
            .flat_map(|row| custom::definitions(row, &crds, flavor))
        {
            out.member(&name, &definition, gnostic::definition);
        }
    }
}

/// Types that operations of these rows mention.
fn roots(rows: &[&Resource]) -> BTreeSet<&'static str> {
    const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
    let mut roots = BTreeSet::new();
    for row in rows {
        for kind in [&row.kind, &row.list_kind] {
            roots.extend(builtin::type_name(&row.group, &row.version, kind));
        }
        for sub in &row.subresources {
            roots.extend(builtin::type_name(&sub.group, &sub.version, &sub.kind));
        }
    }
    for name in ["DeleteOptions", "ListMeta", "ObjectMeta", "Patch", "Status"] {
        let known = builtin::schema()
            .names()
            .find(|(known, _)| *known == format!("{META}.{name}"));
        roots.extend(known.map(|(name, _)| name));
    }
    roots
}

/// A document on its way into a gzip buffer.
struct Stream {
    gzip: GzEncoder<Vec<u8>>,
    syntax: Syntax,
    n_members: usize,
}

impl Stream {
    fn bytes(&mut self, bytes: &[u8]) {
        self.gzip
            .write_all(bytes)
            .expect("writing to memory does not fail");
    }

    /// Punctuation of JSON; protobuf has none.
    fn text(&mut self, text: &str) {
        if self.syntax == Syntax::Json {
            self.bytes(text.as_bytes());
        }
    }

    /// A member of the object that is open, or what `encode` makes of it.
    fn member(&mut self, name: &str, value: &Value, encode: fn(&str, &Value) -> Vec<u8>) {
        if self.syntax == Syntax::Protobuf {
            self.bytes(&encode(name, value));
            return;
        }
        let comma = if self.n_members > 0 { "," } else { "" };
        self.n_members += 1;
        self.text(&format!("{comma}{}:{value}", Value::from(name)));
    }
}
