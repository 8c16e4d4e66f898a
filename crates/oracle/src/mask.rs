//! Takes away what no two servers can agree on.
//!
//! Addresses become numbers in the order of their first appearance in a story, the versions of an object in the order of theirs,
//! so that what is equal stays equal: a write that must keep its resourceVersion shows the same number twice. Identities and times
//! become one word. A list's own version says where the server stands and becomes one word too.

use std::{collections::HashMap, sync::LazyLock};

use regex::{Captures, Regex};
use serde_json::{Map, Value};

/// What was seen in a story so far.
#[derive(Debug, Default)]
pub struct Mask {
    seen: HashMap<(&'static str, String), usize>,
    counts: HashMap<&'static str, usize>,
    versions: HashMap<String, Vec<String>>,
}

/// Patterns inside of texts, and what each stands for. Numbered ones keep equality.
static PATTERNS: LazyLock<Vec<(Regex, &'static str, bool)>> = LazyLock::new(|| {
    [
        (
            r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
            "UID",
            false,
        ),
        (
            r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)",
            "TIME",
            false,
        ),
        (
            r"\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+",
            "TOKEN",
            false,
        ),
        (
            r"kube-api-access-[a-z0-9]{5}",
            "kube-api-access-SUFFIX",
            false,
        ),
        (r"\b10\.96\.\d+\.\d+\b", "IP", true),
        (r"\b\d+\.\d+\.\d+\.\d+:\d{4,5}\b", "ADDRESS", false),
        (r"\((?:\d{2,})\)", "(NUMBER)", false),
        (r"current: \d+", "current: NUMBER", false),
        (
            r"ResourceVersion in precondition: \d+",
            "ResourceVersion in precondition: NUMBER",
            false,
        ),
        (
            r"ResourceVersion in object meta: \d+",
            "ResourceVersion in object meta: NUMBER",
            false,
        ),
        // The generated name of the one object whose prefix is refused.
        (r"\bUPPER[a-z0-9]{5}\b", "UPPERSUFFIX", false),
        // An object inside of a message; the order of its managers depends on when seconds end.
        (
            r#"resourceVersion\\":\\"\d+"#,
            r#"resourceVersion\":\"VERSION"#,
            false,
        ),
        (
            r#"managedFields\\":\[.*?\],\\"name\\""#,
            r#"managedFields\":MANAGERS,\"name\""#,
            false,
        ),
    ]
    .into_iter()
    .map(|(pattern, word, numbered)| {
        (
            Regex::new(pattern).expect("patterns above compile, a test uses each"),
            word,
            numbered,
        )
    })
    .collect()
});

/// Cells of tables that say how long ago something was.
static AGE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(\d+ms|\d+y(\d+d)?|\d+d(\d+h)?|\d+h(\d+m)?|\d+m(\d+s)?|\d+s)$")
        .expect("compiles, a test uses it")
});

impl Mask {
    /// The answer's body without what differs between servers.
    pub fn body(&mut self, mut body: Value) -> Value {
        self.value(&mut body);
        body
    }

    /// The same for a line of text.
    pub fn text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (pattern, word, numbered) in PATTERNS.iter() {
            if !pattern.is_match(&text) {
                continue;
            }
            let replaced = pattern.replace_all(&text, |found: &Captures<'_>| match numbered {
                true => self.number(word, &found[0]),
                false => (*word).to_owned(),
            });
            text = replaced.into_owned();
        }
        text
    }

    fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(map) => self.map(map),
            _ => {}
        }
    }

    fn map(&mut self, map: &mut Map<String, Value>) {
        let is_list = map.contains_key("items") || map.contains_key("rows");
        if let Some(Value::Object(metadata)) = map.get_mut("metadata") {
            self.metadata(metadata, is_list);
        }
        if let Some(Value::Array(columns)) = map.get_mut("columnDefinitions") {
            // Sentences that no client shows; ours are empty for built-in kinds.
            columns
                .iter_mut()
                .filter_map(Value::as_object_mut)
                .for_each(|column| {
                    column.remove("description");
                });
        }
        if map.contains_key("incomplete") {
            // What somebody may do; kube-apiserver walks a map of bindings to find out.
            for rules in ["resourceRules", "nonResourceRules"] {
                if let Some(Value::Array(rules)) = map.get_mut(rules) {
                    rules.sort_by_key(Value::to_string);
                }
            }
        }
        if let Some(Value::Array(rows)) = map.get_mut("rows") {
            for cell in rows
                .iter_mut()
                .filter_map(|row| row.get_mut("cells"))
                .flat_map(cells)
            {
                if cell.as_str().is_some_and(|text| AGE.is_match(text)) {
                    *cell = Value::from("AGE");
                }
            }
        }
        for (key, value) in map.iter_mut() {
            match (key.as_str(), &*value) {
                ("nodePort" | "healthCheckNodePort", Value::Number(port)) => {
                    *value = Value::from(self.number("PORT", &port.to_string()));
                }
                _ => self.value(value),
            }
        }
    }

    fn metadata(&mut self, metadata: &mut Map<String, Value>, is_list: bool) {
        if let Some(version) = metadata.get("resourceVersion").and_then(Value::as_str) {
            let object = metadata
                .get("uid")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let masked = match is_list {
                true => "HERE".to_owned(),
                false => self.version(object, version),
            };
            metadata.insert("resourceVersion".to_owned(), masked.into());
        }
        if metadata
            .get("continue")
            .and_then(Value::as_str)
            .is_some_and(|token| !token.is_empty())
        {
            metadata.insert("continue".to_owned(), "TOKEN".into());
        }
        if let (Some(Value::String(prefix)), Some(Value::String(name))) =
            (metadata.get("generateName"), metadata.get("name"))
            && let kept = name.len().saturating_sub(5)
            && prefix.starts_with(&name[..kept])
        {
            let name = format!("{}SUFFIX", &name[..kept]);
            metadata.insert("name".to_owned(), name.into());
        }
        if let Some(Value::Array(owners)) = metadata.get_mut("managedFields") {
            // Their order among equals depends on whether a second ended in between.
            owners.sort_by_key(|owner| {
                ["manager", "operation", "subresource", "apiVersion"]
                    .map(|key| owner[key].as_str().unwrap_or_default().to_owned())
            });
        }
    }

    /// Versions count for each object by itself, so that one object too many does not shift all that follows.
    fn version(&mut self, object: &str, version: &str) -> String {
        let versions = self.versions.entry(object.to_owned()).or_default();
        let known = versions.iter().position(|seen| seen == version);
        let at = known.unwrap_or_else(|| {
            versions.push(version.to_owned());
            versions.len() - 1
        });
        format!("RV{}", at + 1)
    }

    fn number(&mut self, word: &'static str, value: &str) -> String {
        let counts = &mut self.counts;
        let number = *self
            .seen
            .entry((word, value.to_owned()))
            .or_insert_with(|| {
                let count = counts.entry(word).or_default();
                *count += 1;
                *count
            });
        format!("{word}{number}")
    }
}

fn cells(row: &mut Value) -> impl Iterator<Item = &mut Value> {
    row.as_array_mut().into_iter().flatten()
}

#[cfg(test)]
mod tests;
