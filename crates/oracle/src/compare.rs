//! Where two answers part.

use serde_json::Value;

use crate::replay::Answer;

/// One place where two answers differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// JSON pointer into the body, or `code`, `type`, `warnings`.
    pub place: String,
    /// What kube-apiserver says there; null if nothing.
    pub theirs: Value,
    /// What we say there; null if nothing.
    pub ours: Value,
}

/// Every place where the answers differ; none if they are equal.
pub fn compare(theirs: &Answer, ours: &Answer) -> Vec<Difference> {
    let mut found = Vec::new();
    let heads: [(&str, Value, Value); 3] = [
        ("code", theirs.code.into(), ours.code.into()),
        (
            "type",
            theirs.content_type.clone().into(),
            ours.content_type.clone().into(),
        ),
        (
            "warnings",
            theirs.warnings.clone().into(),
            ours.warnings.clone().into(),
        ),
    ];
    for (place, theirs, ours) in heads {
        walk(place, &theirs, &ours, &mut found);
    }
    walk("", &theirs.body, &ours.body, &mut found);
    found
}

fn walk(place: &str, theirs: &Value, ours: &Value, found: &mut Vec<Difference>) {
    match (theirs, ours) {
        (Value::Object(left), Value::Object(right)) => {
            for (key, value) in left {
                let place = format!("{place}/{key}");
                walk(&place, value, right.get(key).unwrap_or(&Value::Null), found);
            }
            for (key, value) in right.iter().filter(|(key, _)| !left.contains_key(*key)) {
                walk(&format!("{place}/{key}"), &Value::Null, value, found);
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (at, (theirs, ours)) in left.iter().zip(right).enumerate() {
                walk(&format!("{place}/{at}"), theirs, ours, found);
            }
        }
        (theirs, ours) if theirs != ours => found.push(Difference {
            place: place.to_owned(),
            theirs: theirs.clone(),
            ours: ours.clone(),
        }),
        _ => {}
    }
}
