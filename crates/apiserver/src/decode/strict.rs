//! JSON and YAML into a value, noticing keys that appear twice.
//!
//! One visitor serves both syntaxes. The last of equal keys wins, as in Go; the path of each repeat
//! is reported.

use std::{cell::RefCell, fmt};

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A parsed document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parsed {
    /// Its value.
    pub value: Value,
    /// Paths of repeated keys, such as `spec.replicas`.
    pub duplicates: Vec<String>,
}

/// Parses one JSON document. Nested at most 128 deep (serde_json's own limit).
pub(super) fn json(text: &str) -> Result<Parsed, serde_json::Error> {
    let found = Found::default();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Node { found: &found }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(Parsed {
        value,
        duplicates: found.duplicates.into_inner(),
    })
}

/// Stack for YAML, whose reader takes tens of kilobytes for each level of nesting.
const YAML_STACK_BYTES: usize = 32 << 20;

/// Parses one YAML document, within budgets against alias bombs and deep nesting.
///
/// Text that is JSON, as nearly all apply bodies are, is read as JSON, which is much faster.
pub(super) fn yaml(text: &str) -> Result<Parsed, String> {
    if text.trim_start().starts_with('{')
        && let Ok(parsed) = json(text)
    {
        return Ok(parsed);
    }
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new()
            .name("yaml".into())
            .stack_size(YAML_STACK_BYTES);
        let reading = builder
            .spawn_scoped(scope, || read_yaml(text))
            .map_err(|e| e.to_string())?;
        reading
            .join()
            .map_err(|_| "the document cannot be read".to_owned())?
    })
}

fn read_yaml(text: &str) -> Result<Parsed, String> {
    let found = Found::default();
    let value = serde_saphyr::with_deserializer_from_str_with_options(text, options(), |d| {
        Node { found: &found }.deserialize(d)
    })
    .map_err(|e| e.to_string())?;
    Ok(Parsed {
        value,
        duplicates: found.duplicates.into_inner(),
    })
}

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::PassThrough,
        budget: serde_saphyr::budget! {
            max_depth: 100,
            max_aliases: 1_000,
            max_anchors: 1_000,
        },
    }
}

#[derive(Default)]
struct Found {
    /// Names on the way to the current value; list positions as `[0]`.
    path: RefCell<Vec<String>>,
    duplicates: RefCell<Vec<String>>,
}

#[derive(Clone, Copy)]
struct Node<'a> {
    found: &'a Found,
}

impl Found {
    fn at<T>(&self, step: String, inner: impl FnOnce() -> T) -> T {
        self.path.borrow_mut().push(step);
        let out = inner();
        self.path.borrow_mut().pop();
        out
    }

    fn report(&self, key: &str) {
        let mut text = String::new();
        for step in self.path.borrow().iter() {
            if !text.is_empty() && !step.starts_with('[') {
                text.push('.');
            }
            text.push_str(step);
        }
        if !text.is_empty() {
            text.push('.');
        }
        text.push_str(key);
        self.duplicates.borrow_mut().push(text);
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value);
        number
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut out = Vec::new();
        loop {
            let step = format!("[{}]", out.len());
            match self.found.at(step, || items.next_element_seed(self))? {
                Some(item) => out.push(item),
                None => return Ok(Value::Array(out)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut out = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = self
                .found
                .at(key.clone(), || entries.next_value_seed(self))?;
            if out.contains_key(&key) {
                self.found.report(&key);
            }
            out.insert(key, value);
        }
        Ok(Value::Object(out))
    }
}
