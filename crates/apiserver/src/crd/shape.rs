//! A custom resource's schema as the shape that patches, server-side apply, strict decoding and
//! manager tracking work on.
//!
//! Metadata, of the object and of embedded ones, gets the shape every object's metadata has, with
//! the same merge rules. What the schema leaves open becomes [`Type::Any`], which apply deduces.
//!
//! Source: Kubernetes v1.35, apiextensions-apiserver `pkg/controller/openapi/builder` and
//! apimachinery `util/managedfields`.

use std::collections::HashMap;
use std::sync::Arc;

use flotilla_machinery::builtin;
use flotilla_machinery::schema::{Field, ListKey, ListMerge, Scalar, Schema, Struct, Type, TypeId};

use super::formats::Format;
use super::meta::OBJECT_META;
use super::structural::{Additional, JsonType, ListType, Node};

/// Where the type of a whole custom resource stands in what [`of`] returns.
pub const ROOT: TypeId = TypeId(0);

/// The arena and, at [`ROOT`], the type of a whole custom resource.
pub fn of(root: &Arc<Node>) -> Schema {
    let mut shaper = Shaper::default();
    let place = shaper.schema.reserve();
    let id = shaper.resource(root);
    let object = shaper.schema.get(id).clone();
    shaper.schema.set(place, object);
    shaper.schema
}

#[derive(Default)]
struct Shaper {
    schema: Schema,
    /// Shared nodes become shared types.
    known: HashMap<*const Node, TypeId>,
    meta: Option<TypeId>,
}

impl Shaper {
    /// A node with `apiVersion`, `kind` and `metadata` around it.
    fn resource(&mut self, node: &Node) -> TypeId {
        let text = self.schema.add(Type::Scalar(Scalar::String));
        let metadata = self.metadata();
        let mut shape = self.fields(node);
        for (name, ty) in [("apiVersion", text), ("kind", text), ("metadata", metadata)] {
            shape.fields.retain(|f| f.name.as_ref() != name);
            shape.fields.push(Field::new(name, ty));
        }
        shape.fields.sort_by(|a, b| a.name.cmp(&b.name));
        self.schema.add(Type::Struct(shape))
    }

    fn node(&mut self, node: &Arc<Node>) -> TypeId {
        let key = Arc::as_ptr(node);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let id = match node.ty {
            _ if node.embedded => self.resource(node),
            _ if node.int_or_string => self.schema.add(Type::Scalar(Scalar::IntOrString)),
            Some(JsonType::Array) => self.list(node),
            Some(JsonType::Object) => self.object(node),
            Some(JsonType::Boolean) => self.schema.add(Type::Scalar(Scalar::Boolean)),
            Some(JsonType::Integer) => self.schema.add(Type::Scalar(integer(node))),
            Some(JsonType::Number) => self.schema.add(Type::Scalar(Scalar::Number)),
            Some(JsonType::String) => self.schema.add(Type::Scalar(Scalar::String)),
            None => self.schema.add(Type::Any),
        };
        self.known.insert(key, id);
        id
    }

    fn object(&mut self, node: &Arc<Node>) -> TypeId {
        if node.properties.is_empty() {
            return match &node.additional {
                Additional::Schema(values) => {
                    let value = self.node(values);
                    self.schema.add(Type::Map {
                        value,
                        atomic: node.map_atomic,
                    })
                }
                Additional::Any => {
                    let value = self.schema.add(Type::Any);
                    self.schema.add(Type::Map {
                        value,
                        atomic: node.map_atomic,
                    })
                }
                _ if node.preserve_unknown && !node.map_atomic => self.schema.add(Type::Any),
                _ => {
                    let shape = self.fields(node);
                    self.schema.add(Type::Struct(shape))
                }
            };
        }
        let shape = self.fields(node);
        self.schema.add(Type::Struct(shape))
    }

    fn fields(&mut self, node: &Node) -> Struct {
        let mut fields = Vec::with_capacity(node.properties.len());
        let required = node.checks.as_ref().map_or(&[][..], |c| &c.required);
        for (name, property) in &node.properties {
            let mut field = Field::new(&**name, self.node(property));
            field.required = required.contains(name);
            field.nullable = property.nullable;
            field.default = property.default.as_deref().cloned();
            fields.push(field);
        }
        let mut shape = Struct::with_fields(fields);
        shape.preserve_unknown = node.preserve_unknown;
        shape.atomic = node.map_atomic;
        shape.additional = match &node.additional {
            Additional::Schema(values) if !node.preserve_unknown => Some(self.node(values)),
            _ => None,
        };
        shape
    }

    fn list(&mut self, node: &Arc<Node>) -> TypeId {
        let item = match &node.items {
            Some(items) => self.node(items),
            None => self.schema.add(Type::Any),
        };
        let merge = match node.list {
            ListType::Atomic => ListMerge::Atomic,
            ListType::Set => ListMerge::Set,
            ListType::Map => ListMerge::Map {
                keys: node
                    .keys
                    .iter()
                    .map(|name| ListKey {
                        name: (**name).into(),
                        default: node
                            .items
                            .as_ref()
                            .and_then(|items| items.property(name))
                            .and_then(|key| key.default.as_deref().cloned()),
                    })
                    .collect(),
            },
        };
        self.schema.add(Type::List { item, merge })
    }

    /// The shape of metadata, copied from the built-in one on first use.
    fn metadata(&mut self) -> TypeId {
        if let Some(meta) = self.meta {
            return meta;
        }
        let source = builtin::schema();
        let meta = match source.find(OBJECT_META) {
            Some(root) => self.copy(source, root, &mut HashMap::new()),
            None => self.schema.add(Type::Any),
        };
        self.meta = Some(meta);
        meta
    }

    fn copy(&mut self, source: &Schema, id: TypeId, done: &mut HashMap<TypeId, TypeId>) -> TypeId {
        if let Some(copied) = done.get(&id) {
            return *copied;
        }
        let place = self.schema.reserve();
        done.insert(id, place);
        let copied = match source.get(id) {
            Type::Any => Type::Any,
            Type::Scalar(scalar) => Type::Scalar(*scalar),
            Type::Map { value, atomic } => Type::Map {
                value: self.copy(source, *value, done),
                atomic: *atomic,
            },
            Type::List { item, merge } => Type::List {
                item: self.copy(source, *item, done),
                merge: merge.clone(),
            },
            Type::Struct(shape) => {
                let mut shape = shape.clone();
                for field in &mut shape.fields {
                    field.ty = self.copy(source, field.ty, done);
                }
                shape.additional = shape.additional.map(|ty| self.copy(source, ty, done));
                Type::Struct(shape)
            }
        };
        self.schema.set(place, copied);
        place
    }
}

fn integer(node: &Node) -> Scalar {
    match node.checks.as_ref().and_then(|c| c.format) {
        Some(Format::Int32) => Scalar::Int32,
        _ => Scalar::Int64,
    }
}

#[cfg(test)]
mod tests;
