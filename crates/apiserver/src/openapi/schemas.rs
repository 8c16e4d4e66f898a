//! Definitions of built-in types, rendered from the tables.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use flotilla_machinery::{
    builtin,
    schema::{Field, ListMerge, Scalar, Struct, Type, TypeId},
};
use serde_json::{Map, Value, json};

use super::{Flavor, descriptions::Descriptions};

/// Turns types into definitions.
pub(super) struct Definitions<'a> {
    flavor: Flavor,
    descriptions: &'a Descriptions,
    names: HashMap<TypeId, &'static str>,
    kinds: BTreeMap<&'static str, (&'static str, &'static str, &'static str)>,
}

impl<'a> Definitions<'a> {
    pub(super) fn new(flavor: Flavor, descriptions: &'a Descriptions) -> Self {
        let names = builtin::schema()
            .names()
            .map(|(name, id)| (id, name))
            .collect();
        let kinds = builtin::kinds()
            .map(|(group, version, kind, name)| (name, (group, version, kind)))
            .collect();
        Self {
            flavor,
            descriptions,
            names,
            kinds,
        }
    }

    /// `roots` and everything they refer to, sorted.
    pub(super) fn reachable(&self, roots: &BTreeSet<&'static str>) -> BTreeSet<&'static str> {
        let mut found = BTreeSet::new();
        let mut open: Vec<TypeId> = roots
            .iter()
            .filter_map(|name| builtin::schema().find(name))
            .collect();
        let mut seen = BTreeSet::new();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            found.extend(self.names.get(&id).copied());
            match builtin::schema().get(id) {
                Type::Struct(shape) => open.extend(shape.fields.iter().map(|field| field.ty)),
                Type::Map { value, .. } => open.push(*value),
                Type::List { item, .. } => open.push(*item),
                Type::Scalar(scalar) => found.extend(scalar_name(*scalar)),
                Type::Any => {}
            }
        }
        found
    }

    /// The definition called `name`. `group` and `version` are those of the document, which stand
    /// for the many that options have.
    pub(super) fn definition(&self, name: &str, group: &str, version: &str) -> Value {
        let id = builtin::schema().find(name);
        let mut out = match id.map(|id| builtin::schema().get(id)) {
            Some(Type::Struct(shape)) => self.structure(name, shape),
            Some(Type::Scalar(scalar)) => self.named_scalar(*scalar),
            Some(Type::Any) if name.contains(".JSON") => json!({}),
            _ => json!({"type": "object"}),
        };
        if let Some(text) = self.descriptions.of_type(name) {
            out["description"] = text.into();
        }
        if let Some((g, v, kind)) = self.kinds.get(name) {
            let (g, v) = if *g == "*" {
                (group, version)
            } else {
                (*g, *v)
            };
            out["x-kubernetes-group-version-kind"] =
                json!([{"group": g, "version": v, "kind": kind}]);
        }
        out
    }

    fn structure(&self, name: &str, shape: &Struct) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for field in &shape.fields {
            properties.insert(field.name.to_string(), self.property(name, field));
            if field.required {
                required.push(Value::from(&*field.name));
            }
        }
        let mut out = json!({"type": "object"});
        if !properties.is_empty() {
            out["properties"] = properties.into();
        }
        if !required.is_empty() {
            out["required"] = required.into();
        }
        if shape.atomic {
            out["x-kubernetes-map-type"] = "atomic".into();
        }
        out
    }

    fn property(&self, owner: &str, field: &Field) -> Value {
        let mut out = self.schema(field.ty);
        if let Some(text) = self.descriptions.of_field(owner, &field.name) {
            out = self.annotatable(out);
            out["description"] = text.into();
        }
        if let Some(default) = &field.default {
            out = self.annotatable(out);
            out["default"] = default.clone();
        }
        let strategy = match (field.patch.merge, field.patch.retain_keys) {
            (true, true) => "merge,retainKeys",
            (true, false) => "merge",
            (false, true) => "retainKeys",
            (false, false) => return out,
        };
        out = self.annotatable(out);
        out["x-kubernetes-patch-strategy"] = strategy.into();
        if let Some(key) = &field.patch.merge_key {
            out["x-kubernetes-patch-merge-key"] = (**key).into();
        }
        out
    }

    /// In OpenAPI v3 nothing may stand beside a `$ref`, so it moves into `allOf`.
    fn annotatable(&self, schema: Value) -> Value {
        if self.flavor == Flavor::V3 && schema.get("$ref").is_some() {
            return json!({"allOf": [schema]});
        }
        schema
    }

    fn schema(&self, id: TypeId) -> Value {
        match builtin::schema().get(id) {
            _ if self.names.contains_key(&id) => self.flavor.reference(self.names[&id]),
            Type::Any => json!({"type": "object"}),
            Type::Scalar(scalar) => match scalar_name(*scalar) {
                Some(name) => self.flavor.reference(name),
                None => plain_scalar(*scalar),
            },
            // Only a struct that is more granular than its definition has no name.
            Type::Struct(shape) => self.structure("", shape),
            Type::Map { value, atomic } => {
                let mut out =
                    json!({"type": "object", "additionalProperties": self.schema(*value)});
                if *atomic {
                    out["x-kubernetes-map-type"] = "atomic".into();
                }
                out
            }
            Type::List { item, merge } => {
                let mut out = json!({"type": "array", "items": self.schema(*item)});
                match merge {
                    ListMerge::Atomic => {}
                    ListMerge::Set => out["x-kubernetes-list-type"] = "set".into(),
                    ListMerge::Map { keys } => {
                        out["x-kubernetes-list-type"] = "map".into();
                        out["x-kubernetes-list-map-keys"] =
                            keys.iter().map(|key| Value::from(&*key.name)).collect();
                    }
                }
                out
            }
        }
    }

    fn named_scalar(&self, scalar: Scalar) -> Value {
        match (scalar, self.flavor) {
            (Scalar::Quantity, Flavor::V3) => {
                json!({"oneOf": [{"type": "string"}, {"type": "number"}]})
            }
            (Scalar::IntOrString, Flavor::V3) => {
                json!({"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"})
            }
            (Scalar::IntOrString, Flavor::V2) => {
                json!({"type": "string", "format": "int-or-string"})
            }
            (Scalar::Time | Scalar::MicroTime, _) => {
                json!({"type": "string", "format": "date-time"})
            }
            _ => json!({"type": "string"}),
        }
    }
}

/// Scalars that have a definition of their own.
fn scalar_name(scalar: Scalar) -> Option<&'static str> {
    Some(match scalar {
        Scalar::Quantity => "io.k8s.apimachinery.pkg.api.resource.Quantity",
        Scalar::IntOrString => "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        Scalar::Time => "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
        Scalar::MicroTime => "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
        _ => return None,
    })
}

fn plain_scalar(scalar: Scalar) -> Value {
    match scalar {
        Scalar::Bytes => json!({"type": "string", "format": "byte"}),
        Scalar::Int32 => json!({"type": "integer", "format": "int32"}),
        Scalar::Int64 => json!({"type": "integer", "format": "int64"}),
        Scalar::Number => json!({"type": "number", "format": "double"}),
        Scalar::Boolean => json!({"type": "boolean"}),
        _ => json!({"type": "string"}),
    }
}
