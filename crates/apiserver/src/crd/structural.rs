//! The schema of a custom resource, in the form everything at run time works on.
//!
//! [`parse`] turns `openAPIV3Schema` into a tree of [`Node`]s that holds what pruning, defaulting,
//! validation and CEL need, and nothing else: descriptions, titles and examples stay in the stored
//! CRD. Equal subtrees are stored once, also across the versions of a CRD, because a schema that
//! embeds a pod template six times would otherwise cost six times as much; that is what keeps a
//! large CRD within 250 KB.
//!
//! Whether the schema is acceptable at all (the structural rules) is decided on the JSON text in
//! [`super::definition`]; `parse` refuses only what it could not represent.
//!
//! Source: Kubernetes v1.35, apiextensions-apiserver `pkg/apiserver/schema`.

use std::collections::HashMap;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use super::formats::Format;
use super::regexp::Pattern;

/// Known fields, sorted by name.
pub type Properties = Box<[(Arc<str>, Arc<Node>)]>;

/// One place in a schema.
#[derive(Debug, Default, PartialEq)]
pub struct Node {
    /// JSON type; `None` for int-or-string, for "anything", and below junctors.
    pub ty: Option<JsonType>,
    /// Whether `null` is a value.
    pub nullable: bool,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserve_unknown: bool,
    /// `x-kubernetes-embedded-resource`: a whole object with `apiVersion`, `kind`, `metadata`.
    pub embedded: bool,
    /// `x-kubernetes-int-or-string`.
    pub int_or_string: bool,
    /// `x-kubernetes-map-type: atomic`.
    pub map_atomic: bool,
    /// `x-kubernetes-list-type`.
    pub list: ListType,
    /// `x-kubernetes-list-map-keys`, in the author's order.
    pub keys: Box<[Arc<str>]>,
    /// Known fields, sorted by name.
    pub properties: Properties,
    /// What fields that are not listed are.
    pub additional: Additional,
    /// Type of list items.
    pub items: Option<Arc<Node>>,
    /// Value of an absent field.
    pub default: Option<Box<Value>>,
    /// What values must fulfil beyond their type; boxed because most nodes have nothing.
    pub checks: Option<Box<Checks>>,
    /// `x-kubernetes-validations`.
    pub rules: Box<[Rule]>,
}

/// JSON types a schema may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are OpenAPI's")]
pub enum JsonType {
    Array,
    Boolean,
    Integer,
    Number,
    Object,
    String,
}

/// How items of a list are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListType {
    /// Not at all.
    #[default]
    Atomic,
    /// By their value.
    Set,
    /// By their keys.
    Map,
}

/// `additionalProperties`.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Additional {
    /// Not said: unlisted fields are pruned.
    #[default]
    Absent,
    /// `false`: unlisted fields are errors.
    Closed,
    /// `true`: any field, without knowing anything about its value.
    Any,
    /// A map of values of one type.
    Schema(Arc<Node>),
}

/// Value validations.
#[derive(Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the names are OpenAPI's")]
pub struct Checks {
    pub format: Option<Format>,
    pub maximum: Option<f64>,
    pub exclusive_maximum: bool,
    pub minimum: Option<f64>,
    pub exclusive_minimum: bool,
    pub max_length: Option<i64>,
    pub min_length: Option<i64>,
    pub pattern: Option<Pattern>,
    pub max_items: Option<i64>,
    pub min_items: Option<i64>,
    pub multiple_of: Option<f64>,
    pub max_properties: Option<i64>,
    pub min_properties: Option<i64>,
    pub required: Box<[Arc<str>]>,
    pub values: Option<Enum>,
    pub all_of: Box<[Arc<Node>]>,
    pub any_of: Box<[Arc<Node>]>,
    pub one_of: Box<[Arc<Node>]>,
    pub not: Option<Arc<Node>>,
}

/// The values of an `enum`, in the author's order.
#[derive(Debug)]
pub struct Enum {
    values: Box<[Value]>,
    /// Built on first use and only for long lists, so that a list of n items against an enum of m
    /// values costs n, not n·m.
    index: OnceLock<HashSet<Box<str>>>,
}

/// One entry of `x-kubernetes-validations`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// CEL expression that must be true.
    pub rule: Box<str>,
    /// What to say when it is not; empty means a text made from the rule.
    pub message: Box<str>,
    /// CEL expression for that text; empty means none.
    pub message_expression: Box<str>,
    /// Which kind of error to report.
    pub reason: Reason,
    /// Field to blame, relative to where the rule stands; empty means that place itself.
    pub field_path: Box<str>,
    /// Whether the rule runs, with an empty `oldSelf`, when there is nothing to compare with.
    pub optional_old_self: bool,
}

/// `reason` of a [`Rule`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are upstream's")]
pub enum Reason {
    #[default]
    Invalid,
    Forbidden,
    Required,
    Duplicate,
}

/// Why a schema cannot be represented.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    /// A keyword that structural schemas do not have.
    #[error("OpenAPIV3Schema '{0}' is not supported")]
    Unsupported(&'static str),
    /// `items` with a schema per position.
    #[error("OpenAPIV3Schema 'items' must be a schema, but is an array")]
    ItemsArray,
    /// A keyword whose value has the wrong JSON type.
    #[error("OpenAPIV3Schema '{0}' has a value of the wrong type")]
    WrongType(&'static str),
    /// Upstream tells "true" from "not said".
    #[error("internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined")]
    PreserveFalse,
}

/// Longest enum that is searched by comparing one value after the other.
const ENUM_SCAN_MAX: usize = 16;

/// Parses one schema; `pool` shares equal subtrees with schemas parsed before.
///
/// # Errors
/// The first keyword that cannot be represented.
pub fn parse(schema: &Value, pool: &mut Pool) -> Result<Arc<Node>, Error> {
    let fields = schema.as_object().ok_or(Error::WrongType("schema"))?;
    let mut hash = DefaultHasher::new();
    pool.node(fields, &mut hash)
}

/// Subtrees seen so far.
#[derive(Default)]
pub struct Pool {
    nodes: HashMap<u64, Vec<Arc<Node>>>,
    names: HashSet<Arc<str>>,
}

// === impl Pool ===

impl Pool {
    /// An empty pool.
    pub fn new() -> Self {
        Self::default()
    }

    fn node(
        &mut self,
        s: &Map<String, Value>,
        outer: &mut impl Hasher,
    ) -> Result<Arc<Node>, Error> {
        for keyword in ["id", "$schema", "$ref"] {
            if s.get(keyword).is_some_and(|v| !is_zero(v)) {
                return Err(Error::Unsupported(keyword.trim_start_matches('$'))).map_err(|e| {
                    if keyword == "$ref" {
                        Error::Unsupported("$ref")
                    } else {
                        e
                    }
                });
            }
        }
        for keyword in ["patternProperties", "dependencies", "definitions"] {
            if s.get(keyword).is_some_and(|v| !is_zero(v)) {
                return Err(Error::Unsupported(keyword));
            }
        }
        if s.get("additionalItems").is_some_and(|v| !v.is_null()) {
            return Err(Error::Unsupported("additionalItems"));
        }
        let mut hash = DefaultHasher::new();
        let node = Node {
            ty: text(s, "type")?.and_then(JsonType::parse),
            nullable: flag(s, "nullable")?,
            preserve_unknown: match s.get("x-kubernetes-preserve-unknown-fields") {
                None | Some(Value::Null) => false,
                Some(Value::Bool(true)) => true,
                Some(_) => return Err(Error::PreserveFalse),
            },
            embedded: flag(s, "x-kubernetes-embedded-resource")?,
            int_or_string: flag(s, "x-kubernetes-int-or-string")?,
            map_atomic: text(s, "x-kubernetes-map-type")? == Some("atomic"),
            list: match text(s, "x-kubernetes-list-type")? {
                Some("set") => ListType::Set,
                Some("map") => ListType::Map,
                _ => ListType::Atomic,
            },
            keys: self.texts(s, "x-kubernetes-list-map-keys")?,
            properties: self.properties(s, &mut hash)?,
            additional: self.additional(s, &mut hash)?,
            items: match s.get("items") {
                None | Some(Value::Null) => None,
                Some(Value::Object(items)) => Some(self.node(items, &mut hash)?),
                Some(Value::Array(_)) => return Err(Error::ItemsArray),
                Some(_) => return Err(Error::WrongType("items")),
            },
            default: s
                .get("default")
                .filter(|v| !v.is_null())
                .cloned()
                .map(Box::new),
            checks: self.checks(s, &mut hash)?,
            rules: rules(s)?,
        };
        hash_own(s, &mut hash);
        let code = hash.finish();
        code.hash(&mut HasherRef(outer));
        let seen = self.nodes.entry(code).or_default();
        if let Some(same) = seen.iter().find(|n| ***n == node) {
            return Ok(Arc::clone(same));
        }
        let node = Arc::new(node);
        seen.push(Arc::clone(&node));
        Ok(node)
    }

    fn properties(
        &mut self,
        s: &Map<String, Value>,
        hash: &mut impl Hasher,
    ) -> Result<Properties, Error> {
        let Some(Value::Object(fields)) = s.get("properties") else {
            return Ok(Box::default());
        };
        // serde_json's maps are sorted, so the result is.
        fields
            .iter()
            .map(|(name, schema)| {
                let schema = schema.as_object().ok_or(Error::WrongType("properties"))?;
                name.hash(&mut HasherRef(hash));
                Ok((self.name(name), self.node(schema, hash)?))
            })
            .collect()
    }

    fn additional(
        &mut self,
        s: &Map<String, Value>,
        hash: &mut impl Hasher,
    ) -> Result<Additional, Error> {
        Ok(match s.get("additionalProperties") {
            None | Some(Value::Null) => Additional::Absent,
            Some(Value::Bool(false)) => Additional::Closed,
            Some(Value::Bool(true)) => Additional::Any,
            Some(Value::Object(schema)) => Additional::Schema(self.node(schema, hash)?),
            Some(_) => return Err(Error::WrongType("additionalProperties")),
        })
    }

    fn checks(
        &mut self,
        s: &Map<String, Value>,
        hash: &mut impl Hasher,
    ) -> Result<Option<Box<Checks>>, Error> {
        let ty = text(s, "type")?.and_then(JsonType::parse);
        let checks = Checks {
            format: text(s, "format")?.and_then(|name| Format::parse(name, ty)),
            maximum: number(s, "maximum")?,
            exclusive_maximum: flag(s, "exclusiveMaximum")?,
            minimum: number(s, "minimum")?,
            exclusive_minimum: flag(s, "exclusiveMinimum")?,
            max_length: integer(s, "maxLength")?,
            min_length: integer(s, "minLength")?,
            pattern: text(s, "pattern")?
                .filter(|p| !p.is_empty())
                .map(Pattern::new),
            max_items: integer(s, "maxItems")?,
            min_items: integer(s, "minItems")?,
            multiple_of: number(s, "multipleOf")?,
            max_properties: integer(s, "maxProperties")?,
            min_properties: integer(s, "minProperties")?,
            required: self.texts(s, "required")?,
            values: match s.get("enum") {
                None | Some(Value::Null) => None,
                Some(Value::Array(values)) if values.is_empty() => None,
                Some(Value::Array(values)) => Some(Enum::new(values.clone())),
                Some(_) => return Err(Error::WrongType("enum")),
            },
            all_of: self.branches(s, "allOf", hash)?,
            any_of: self.branches(s, "anyOf", hash)?,
            one_of: self.branches(s, "oneOf", hash)?,
            not: match s.get("not") {
                None | Some(Value::Null) => None,
                Some(Value::Object(schema)) => Some(self.node(schema, hash)?),
                Some(_) => return Err(Error::WrongType("not")),
            },
        };
        Ok((checks != Checks::default()).then(|| Box::new(checks)))
    }

    fn branches(
        &mut self,
        s: &Map<String, Value>,
        keyword: &'static str,
        hash: &mut impl Hasher,
    ) -> Result<Box<[Arc<Node>]>, Error> {
        match s.get(keyword) {
            None | Some(Value::Null) => Ok(Box::default()),
            Some(Value::Array(list)) => list
                .iter()
                .map(|schema| {
                    let schema = schema.as_object().ok_or(Error::WrongType(keyword))?;
                    keyword.hash(&mut HasherRef(hash));
                    self.node(schema, hash)
                })
                .collect(),
            Some(_) => Err(Error::WrongType(keyword)),
        }
    }

    fn texts(
        &mut self,
        s: &Map<String, Value>,
        keyword: &'static str,
    ) -> Result<Box<[Arc<str>]>, Error> {
        match s.get(keyword) {
            None | Some(Value::Null) => Ok(Box::default()),
            Some(Value::Array(list)) => list
                .iter()
                .map(|v| {
                    v.as_str()
                        .map(|t| self.name(t))
                        .ok_or(Error::WrongType(keyword))
                })
                .collect(),
            Some(_) => Err(Error::WrongType(keyword)),
        }
    }

    fn name(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = name.into();
        self.names.insert(Arc::clone(&name));
        name
    }
}

/// Lets `Hash::hash`, which wants a sized hasher, write to a borrowed one.
struct HasherRef<'a, H: Hasher + ?Sized>(&'a mut H);

impl<H: Hasher + ?Sized> Hasher for HasherRef<'_, H> {
    fn finish(&self) -> u64 {
        self.0.finish()
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }
}

/// Hashes what belongs to this schema alone; children were hashed when they were parsed.
fn hash_own(s: &Map<String, Value>, hash: &mut impl Hasher) {
    for (keyword, value) in s {
        match keyword.as_str() {
            "description" | "title" | "example" | "externalDocs" | "properties" | "items"
            | "allOf" | "anyOf" | "oneOf" | "not" => {}
            "additionalProperties" if value.is_object() => {}
            _ => {
                keyword.hash(&mut HasherRef(hash));
                value.hash(&mut HasherRef(hash));
            }
        }
    }
}

fn rules(s: &Map<String, Value>) -> Result<Box<[Rule]>, Error> {
    const KEYWORD: &str = "x-kubernetes-validations";
    let list = match s.get(KEYWORD) {
        None | Some(Value::Null) => return Ok(Box::default()),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(Error::WrongType(KEYWORD)),
    };
    list.iter()
        .map(|rule| {
            let fields = rule.as_object().ok_or(Error::WrongType(KEYWORD))?;
            let field = |name| text(fields, name).map(|t| t.unwrap_or_default().into());
            Ok(Rule {
                rule: field("rule")?,
                message: field("message")?,
                message_expression: field("messageExpression")?,
                reason: match text(fields, "reason")? {
                    Some("FieldValueForbidden") => Reason::Forbidden,
                    Some("FieldValueRequired") => Reason::Required,
                    Some("FieldValueDuplicate") => Reason::Duplicate,
                    _ => Reason::Invalid,
                },
                field_path: field("fieldPath")?,
                optional_old_self: flag(fields, "optionalOldSelf")?,
            })
        })
        .collect()
}

/// Whether Go would see a keyword with this value as not set.
pub(crate) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(b) => !b,
        Value::Number(n) => n.as_f64() == Some(0.0),
        Value::String(s) => s.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

fn text<'a>(s: &'a Map<String, Value>, keyword: &'static str) -> Result<Option<&'a str>, Error> {
    match s.get(keyword) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Error::WrongType(keyword)),
    }
}

fn flag(s: &Map<String, Value>, keyword: &'static str) -> Result<bool, Error> {
    match s.get(keyword) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(b)) => Ok(*b),
        Some(_) => Err(Error::WrongType(keyword)),
    }
}

fn number(s: &Map<String, Value>, keyword: &'static str) -> Result<Option<f64>, Error> {
    match s.get(keyword) {
        None | Some(Value::Null) => Ok(None),
        Some(v) => v.as_f64().map(Some).ok_or(Error::WrongType(keyword)),
    }
}

fn integer(s: &Map<String, Value>, keyword: &'static str) -> Result<Option<i64>, Error> {
    match s.get(keyword) {
        None | Some(Value::Null) => Ok(None),
        Some(v) => v.as_i64().map(Some).ok_or(Error::WrongType(keyword)),
    }
}

// === impl Node ===

impl Node {
    /// The field called `name`.
    pub fn property(&self, name: &str) -> Option<&Arc<Node>> {
        let at = self
            .properties
            .binary_search_by(|(n, _)| n.as_ref().cmp(name))
            .ok()?;
        Some(&self.properties[at].1)
    }

    /// What is known about the field `name` of an object of this type: its property, else the type
    /// of additional ones.
    pub fn field(&self, name: &str) -> Option<&Arc<Node>> {
        self.property(name).or(match &self.additional {
            Additional::Schema(schema) => Some(schema),
            _ => None,
        })
    }

    /// Whether a whole object is embedded here or below.
    pub fn has_embedded(&self) -> bool {
        self.embedded
            || self.properties.iter().any(|(_, n)| n.has_embedded())
            || self.items.as_ref().is_some_and(|n| n.has_embedded())
            || matches!(&self.additional, Additional::Schema(n) if n.has_embedded())
    }

    /// Whether any rule stands here or below (junctors included).
    pub fn has_rules(&self) -> bool {
        !self.rules.is_empty()
            || self.properties.iter().any(|(_, n)| n.has_rules())
            || self.items.as_ref().is_some_and(|n| n.has_rules())
            || matches!(&self.additional, Additional::Schema(n) if n.has_rules())
    }
}

// === impl JsonType ===

impl JsonType {
    /// The type called `name` in OpenAPI.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "array" => Self::Array,
            "boolean" => Self::Boolean,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "object" => Self::Object,
            "string" => Self::String,
            _ => return None,
        })
    }

    /// The name in OpenAPI.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Array => "array",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Object => "object",
            Self::String => "string",
        }
    }
}

// === impl Enum ===

impl Enum {
    /// An enum of these values.
    pub fn new(values: Vec<Value>) -> Self {
        Self {
            values: values.into(),
            index: OnceLock::new(),
        }
    }

    /// Whether `value` is one of them; numbers are compared by value (`1` is `1.0`).
    pub fn contains(&self, value: &Value) -> bool {
        if self.values.len() <= ENUM_SCAN_MAX {
            return self.values.iter().any(|v| same(v, value));
        }
        let index = self
            .index
            .get_or_init(|| self.values.iter().map(canonical).collect());
        index.contains(canonical(value).as_ref())
    }

    /// The values as error texts list them: strings as they are, anything else as JSON.
    pub fn texts(&self) -> Vec<String> {
        self.values
            .iter()
            .map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned))
            .collect()
    }

    /// The values, in the author's order.
    pub fn values(&self) -> &[Value] {
        &self.values
    }
}

impl PartialEq for Enum {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

/// JSON equality where `1` and `1.0` are the same.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y))
        }
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|((k, x), (l, y))| k == l && same(x, y))
        }
        _ => a == b,
    }
}

fn canonical(value: &Value) -> Box<str> {
    match value {
        Value::Number(n) => match n.as_f64() {
            Some(float) if n.is_f64() && float.fract() == 0.0 => format!("{float:.0}").into(),
            _ => n.to_string().into(),
        },
        other => other.to_string().into(),
    }
}

#[cfg(test)]
mod tests;
