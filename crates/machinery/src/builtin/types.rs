//! Reads `tables/types.txt`.
//!
//! ```text
//! = NAME TYPE                        another name for a type
//! struct NAME [atomic] [gvk=G/V/K]   a struct; its fields follow, sorted by name
//!  FIELD TYPE [tag=[N/[N/]]N] [ptr] [required] [always] [atomic|granular] [list=set|list=map:KEY,…]
//!      [patch=STRATEGY] [key=MERGEKEY] [default=JSON]
//! ```
//! `TYPE` is a scalar's name, `any`, the name of a struct, `[]TYPE` or `{}TYPE` (a map). Numbers
//! before the last in `tag` are those of inlined messages around the field.

use std::collections::HashMap;

use serde_json::Value;

use super::Types;
use crate::schema::{
    Field, ListKey, ListMerge, Patch, Proto, Scalar, Schema, Struct, Type, TypeId,
};

const MALFORMED: &str = "the committed table is well-formed (a test parses it)";

/// Builds the arena.
///
/// # Panics
/// On malformed text, which is always the committed table.
pub(super) fn parse(text: &'static str) -> Types {
    let mut reader = Reader::default();
    let lines = || text.lines().filter(|line| !line.starts_with('#'));
    for line in lines() {
        reader.declare(line);
    }
    let mut fields = Vec::new();
    let mut open: Option<&'static str> = None;
    for line in lines() {
        match line.strip_prefix(' ') {
            Some(field) => fields.push(field),
            None => {
                reader.define(open.take(), &mut fields);
                open = line.strip_prefix("struct ");
            }
        }
    }
    reader.define(open, &mut fields);
    reader.list_key_defaults();
    Types {
        schema: reader.schema,
        kinds: reader.kinds,
    }
}

#[derive(Default)]
struct Reader {
    schema: Schema,
    kinds: HashMap<(&'static str, &'static str, &'static str), &'static str>,
    /// Types without a name of their own, by their text, so that each exists once.
    composed: HashMap<String, TypeId>,
}

impl Reader {
    /// Reserves a place for every named type, because structs refer to later ones.
    fn declare(&mut self, line: &'static str) {
        let mut words = line.split(' ');
        match words.next() {
            Some("struct") => {
                let name = words.next().expect(MALFORMED);
                let id = self.schema.reserve();
                self.schema.name(name, id);
                if let Some(gvk) = words.find_map(|word| word.strip_prefix("gvk=")) {
                    let mut parts = gvk.split('/');
                    let mut part = || parts.next().expect(MALFORMED);
                    let (group, version, kind) = (part(), part(), part());
                    self.kinds.insert((kind, version, group), name);
                }
            }
            Some("=") => {
                let name = words.next().expect(MALFORMED);
                let ty = words.next().expect(MALFORMED);
                // An alias of a free-form type keeps its own place: protobuf tells them apart.
                let id = self.schema.add(simple(ty).expect(MALFORMED));
                self.schema.name(name, id);
            }
            _ => {}
        }
    }

    fn define(&mut self, header: Option<&'static str>, lines: &mut Vec<&'static str>) {
        let Some(header) = header else { return };
        let mut words = header.split(' ');
        let name = words.next().expect(MALFORMED);
        let fields = lines.drain(..).map(|line| self.field(line)).collect();
        let mut shape = Struct::with_fields(fields);
        shape.atomic = words.any(|word| word == "atomic");
        let id = self.schema.find(name).expect(MALFORMED);
        self.schema.set(id, Type::Struct(shape));
    }

    fn field(&mut self, line: &'static str) -> Field {
        // A default is JSON and may hold spaces, so it is last on the line and cut off first.
        let (line, default) = match line.split_once(" default=") {
            Some((line, json)) => (line, Some(serde_json::from_str(json).expect(MALFORMED))),
            None => (line, None),
        };
        let mut words = line.split(' ');
        let name = words.next().expect(MALFORMED);
        let ty = words.next().expect(MALFORMED);
        let mut field = Field::new(name, TypeId(0));
        field.default = default;
        let (mut list, mut granularity) = ("", "");
        for word in words {
            match word.split_once('=') {
                Some(("tag", path)) => field.proto = Some(proto(path)),
                Some(("list", merge)) => list = merge,
                Some(("patch", strategy)) => strategies(strategy, &mut field.patch),
                Some(("key", key)) => field.patch.merge_key = Some(key.into()),
                None if word == "required" => field.required = true,
                None if word == "always" => field.always = true,
                None if word == "ptr" => {
                    if let Some(proto) = &mut field.proto {
                        proto.pointer = true;
                    }
                }
                None if word == "atomic" || word == "granular" => granularity = word,
                _ => panic!("unknown word {word} in the types table"),
            }
        }
        field.ty = self.type_at(ty, list, granularity);
        field
    }

    fn type_at(&mut self, text: &str, list: &str, granularity: &str) -> TypeId {
        if granularity.is_empty()
            && let Some(id) = self.schema.find(text)
        {
            return id;
        }
        let spelled = format!("{text} {list} {granularity}");
        if let Some(&id) = self.composed.get(&spelled) {
            return id;
        }
        let ty = if let Some(item) = text.strip_prefix("[]") {
            Type::List {
                item: self.type_at(item, "", ""),
                merge: merge(list),
            }
        } else if let Some(value) = text.strip_prefix("{}") {
            Type::Map {
                value: self.type_at(value, "", ""),
                atomic: granularity == "atomic",
            }
        } else if let Some(ty) = simple(text) {
            ty
        } else {
            // A struct whose granularity differs from that of its definition: a copy, made when the
            // definition is already there because the table is sorted by name.
            let id = self.schema.find(text).expect(MALFORMED);
            let Type::Struct(shape) = self.schema.get(id) else {
                panic!("{MALFORMED}")
            };
            assert!(
                !shape.fields.is_empty(),
                "{text} stands before its definition"
            );
            Type::Struct(Struct {
                atomic: granularity == "atomic",
                ..shape.clone()
            })
        };
        let id = self.schema.add(ty);
        self.composed.insert(spelled, id);
        id
    }

    /// What an absent key stands for: the schema's default, or nothing of its type when the field
    /// is required (published schemas give those a zero default).
    fn key_default(&self, field: &Field) -> Option<Value> {
        let zero = || match self.schema.get(field.ty) {
            Type::Scalar(Scalar::String) => Some(Value::from("")),
            Type::Scalar(Scalar::Int32 | Scalar::Int64) => Some(Value::from(0)),
            _ => None,
        };
        let zero = if field.required { zero() } else { None };
        field.default.clone().or(zero)
    }

    /// Copies the defaults of item fields to the keys of lists that use them.
    fn list_key_defaults(&mut self) {
        for at in 0..self.schema.len() {
            let id = TypeId(u32::try_from(at).expect("an arena's length fits"));
            let Type::List {
                item,
                merge: ListMerge::Map { keys },
            } = self.schema.get(id)
            else {
                continue;
            };
            let (item, mut keys) = (*item, keys.clone());
            let Type::Struct(shape) = self.schema.get(item) else {
                continue;
            };
            for key in &mut keys {
                key.default = shape.field(&key.name).and_then(|f| self.key_default(f));
            }
            self.schema.set(
                id,
                Type::List {
                    item,
                    merge: ListMerge::Map { keys },
                },
            );
        }
    }
}

fn simple(text: &str) -> Option<Type> {
    Some(Type::Scalar(match text {
        "any" => return Some(Type::Any),
        "string" => Scalar::String,
        "bytes" => Scalar::Bytes,
        "int32" => Scalar::Int32,
        "int64" => Scalar::Int64,
        "number" => Scalar::Number,
        "boolean" => Scalar::Boolean,
        "intorstring" => Scalar::IntOrString,
        "quantity" => Scalar::Quantity,
        "time" => Scalar::Time,
        "microtime" => Scalar::MicroTime,
        "duration" => Scalar::Duration,
        _ => return None,
    }))
}

fn merge(text: &str) -> ListMerge {
    match text.strip_prefix("map:") {
        Some(keys) => ListMerge::Map {
            keys: keys
                .split(',')
                .map(|name| ListKey {
                    name: name.into(),
                    default: None,
                })
                .collect(),
        },
        None if text == "set" => ListMerge::Set,
        None => ListMerge::Atomic,
    }
}

fn strategies(text: &str, patch: &mut Patch) {
    for strategy in text.split(',') {
        match strategy {
            "merge" => patch.merge = true,
            "retainKeys" => patch.retain_keys = true,
            "replace" => patch.replace = true,
            _ => {}
        }
    }
}

fn proto(path: &str) -> Proto {
    let mut via = [0; 2];
    let mut numbers = path.rsplit('/');
    let tag = numbers
        .next()
        .and_then(|n| n.parse().ok())
        .expect(MALFORMED);
    let outer: Vec<&str> = numbers.rev().collect();
    for (slot, number) in via.iter_mut().zip(&outer) {
        *slot = number.parse().expect(MALFORMED);
    }
    assert!(
        outer.len() <= via.len(),
        "deeper inlining than the schema model holds"
    );
    Proto {
        tag,
        via,
        pointer: false,
    }
}
