//! Upstream's merge tests, replayed.

use std::collections::{BTreeMap, HashMap};

use super::super::managers::{Entry, Identity, Managers, Operation};
use super::super::updater::{self, Apply};
use super::super::{Context, Error, Shape, Versions};
use super::without_empties;
use crate::fieldpath::Set;
use crate::schema::{Field, ListKey, ListMerge, Scalar, Schema, Struct, Type, TypeId};
use serde_json::{Value, json};

/// Recorded answers of upstream; see the file's first line.
const VECTORS: &str = include_str!("../../../testdata/apply.json");

/// Replays every recorded call.
pub(super) fn check() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    let schemas: Vec<Loader> = vectors["schemas"]
        .as_array()
        .unwrap()
        .iter()
        .map(Loader::new)
        .collect();
    for (at, case) in vectors["cases"].as_array().unwrap().iter().enumerate() {
        let mut loader = schemas[case[0].as_u64().unwrap() as usize].clone();
        let root = loader.reference(&case[1]);
        check_case(
            at,
            case,
            Shape {
                schema: &loader.schema,
                root,
            },
        );
    }
}

/// All versions have one shape, and nothing is converted.
struct Same<'a>(Shape<'a>);

impl Versions for Same<'_> {
    fn shape(&self, _: &str) -> Option<Shape<'_>> {
        Some(self.0)
    }

    fn convert(&self, object: &Value, _: &str) -> Result<Option<Value>, String> {
        Ok(Some(object.clone()))
    }
}

fn check_case(at: usize, case: &Value, shape: Shape<'_>) {
    let text = |i: usize| case[i].as_str().unwrap();
    let same = Same(shape);
    let reset_fields = Set::new();
    let ctx = Context {
        shape,
        api_version: text(5),
        kind: "",
        manager: "",
        subresource: "",
        force: false,
        now: "",
        reset_fields: &reset_fields,
        versions: Some(&same),
    };
    let identity = |name: &str| Identity {
        manager: name.into(),
        operation: Operation::Apply,
        api_version: String::new(),
        subresource: String::new(),
    };
    let before = case[8]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, entry)| Entry {
            identity: identity(name),
            api_version: entry[0].as_str().unwrap().into(),
            time: None,
            set: Set::from_fields_v1(&entry[1]).unwrap(),
        });
    let mut managers = Managers(before.collect());
    let (live, new) = (&case[3], &case[4]);
    let who = identity(text(6));
    let result = match text(2) {
        "apply" => {
            let request = Apply {
                live,
                config: new,
                identity: who,
                force: case[7].as_bool().unwrap(),
            };
            updater::apply(&ctx, &request, &mut managers).map(|outcome| outcome.object)
        }
        _ => updater::update(&ctx, live, new, &who, &mut managers).map(|changed| {
            match managers.find_mut(&who) {
                Some(entry) => {
                    entry.set = entry.set.union(&changed);
                    entry.api_version = text(5).into();
                }
                None => managers.0.push(Entry {
                    identity: who,
                    api_version: text(5).into(),
                    time: None,
                    set: changed,
                }),
            }
            managers.drop_empty();
            Some(new.clone())
        }),
    };
    let label = format!("case {at}: {} {live} <- {new} by {}", text(2), text(6));
    match result {
        Ok(object) => {
            assert_eq!(case[9].get("error"), None, "{label}");
            let expect = without_empties(&case[9]["result"]);
            assert_eq!(
                without_empties(&object.unwrap_or_default()),
                expect,
                "{label}"
            );
            let after: BTreeMap<String, Value> = managers
                .0
                .iter()
                .map(|e| {
                    (
                        e.identity.manager.clone(),
                        json!([e.api_version, e.set.to_fields_v1()]),
                    )
                })
                .collect();
            assert_eq!(json!(after), case[9]["managers"], "{label}");
        }
        Err(Error::Conflicts(conflicts)) => {
            let sorted = |mut list: Vec<Value>| {
                list.sort_by_key(ToString::to_string);
                list
            };
            let ours = conflicts
                .iter()
                .map(|c| json!([c.manager(), c.path.to_string()]));
            let theirs = case[9]["conflicts"].as_array().expect(&label).clone();
            assert_eq!(sorted(ours.collect()), sorted(theirs), "{label}");
        }
        Err(error) => panic!("{label}: {error}"),
    }
}

/// Builds our schema from a dump of upstream's.
#[derive(Clone)]
struct Loader {
    schema: Schema,
    dump: Value,
    known: HashMap<String, TypeId>,
}

impl Loader {
    fn new(dump: &Value) -> Self {
        Self {
            schema: Schema::new(),
            dump: dump.clone(),
            known: HashMap::new(),
        }
    }

    /// The type that a reference means: a name, a name with another relationship, or an atom.
    fn reference(&mut self, reference: &Value) -> TypeId {
        match reference {
            Value::String(name) => self.named(name, None),
            Value::Object(map) if map.contains_key("named") => {
                let rel = map["rel"].as_str().map(str::to_owned);
                self.named(map["named"].as_str().unwrap(), rel)
            }
            atom => {
                let ty = self.atom(atom);
                self.schema.add(ty)
            }
        }
    }

    fn named(&mut self, name: &str, rel: Option<String>) -> TypeId {
        let key = format!("{name} {rel:?}");
        if let Some(&id) = self.known.get(&key) {
            return id;
        }
        let id = self.schema.reserve();
        self.known.insert(key, id);
        let mut atom = self.dump[name].clone();
        if let Some(rel) = rel {
            for part in ["map", "list"] {
                if atom.get(part).is_some() {
                    atom[part]["rel"] = json!(rel);
                }
            }
        }
        let ty = self.atom(&atom);
        self.schema.set(id, ty);
        id
    }

    fn atom(&mut self, atom: &Value) -> Type {
        if atom.get("scalar").is_some() && atom.get("map").is_some() {
            return Type::Any;
        }
        if let Some(list) = atom.get("list") {
            let item = self.reference(&list["item"]);
            let keys = list["keys"].as_array().cloned().unwrap_or_default();
            let merge = match (list["rel"].as_str(), keys.is_empty()) {
                (Some("associative"), true) => ListMerge::Set,
                (Some("associative"), false) => ListMerge::Map {
                    keys: keys.iter().map(|k| self.list_key(k, item)).collect(),
                },
                _ => ListMerge::Atomic,
            };
            return Type::List { item, merge };
        }
        let Some(map) = atom.get("map") else {
            return Type::Scalar(match atom["scalar"].as_str().unwrap() {
                "numeric" => Scalar::Number,
                "string" => Scalar::String,
                "boolean" => Scalar::Boolean,
                _ => Scalar::IntOrString,
            });
        };
        let atomic = map["rel"] == "atomic";
        let element = (!map["element"].is_null()).then(|| self.reference(&map["element"]));
        let fields = map["fields"].as_array().unwrap();
        match element {
            Some(value) if fields.is_empty() => Type::Map { value, atomic },
            additional => {
                let fields = fields.iter().map(|field| Field {
                    default: Some(field[2].clone()).filter(|d| !d.is_null()),
                    ..Field::new(field[0].as_str().unwrap(), self.reference(&field[1]))
                });
                let shape = Struct::with_fields(fields.collect());
                Type::Struct(Struct {
                    atomic,
                    additional,
                    ..shape
                })
            }
        }
    }

    fn list_key(&self, key: &Value, item: TypeId) -> ListKey {
        let name = key.as_str().unwrap();
        let default = match self.schema.get(item) {
            Type::Struct(shape) => shape.field(name).and_then(|field| field.default.clone()),
            _ => None,
        };
        ListKey {
            name: name.into(),
            default,
        }
    }
}
