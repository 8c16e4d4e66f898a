//! Applies and updates of built-in kinds, replayed step by step.

use serde_json::{Value, json};

use super::super::{Context, Shape, apply, track_update};
use super::without_empties;
use crate::builtin;
use crate::fieldpath::{Path, Set};
use crate::status::Status;

/// Recorded answers of upstream; see the file's first line.
const VECTORS: &str = include_str!("../../../testdata/managed_fields.json");

/// Replays every object.
pub(super) fn check() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    for (at, object) in vectors["objects"].as_array().unwrap().iter().enumerate() {
        check_object(at, object);
    }
}

fn check_object(at: usize, object: &Value) {
    let text = |value: &'static str| object[value].as_str().unwrap();
    let schema = builtin::schema();
    let root = schema.find(text("type")).unwrap();
    let main = Set::from_paths([Path::fields(&["status"])]);
    let status = Set::from_paths([Path::fields(&["spec"])]);
    let mut live: Option<Value> = None;
    for (n, step) in object["steps"].as_array().unwrap().iter().enumerate() {
        let subresource = step["subresource"].as_str().unwrap();
        let ctx = Context {
            shape: Shape { schema, root },
            api_version: text("apiVersion"),
            kind: text("kind"),
            manager: step["manager"].as_str().unwrap(),
            subresource,
            force: step["force"].as_bool().unwrap(),
            now: "T",
            reset_fields: if subresource.is_empty() {
                &main
            } else {
                &status
            },
            versions: None,
        };
        let label = format!("object {at} step {n}: {step} on {live:?}");
        let new = if step["apply"] == true {
            match apply(live.clone(), &step["object"], &ctx) {
                Ok(applied) => {
                    assert_eq!(
                        applied.changed,
                        live.as_ref() != Some(&applied.object),
                        "{label}"
                    );
                    applied.object
                }
                Err(error) => {
                    let status = Status::from(error);
                    let expect = step["error"].as_str().expect(&label);
                    assert_eq!(lines(&status.message), lines(expect), "{label}");
                    assert_eq!(json!(status.code), step["code"], "{label}");
                    continue;
                }
            }
        } else {
            track_update(live.as_ref(), step["object"].clone(), &ctx)
        };
        let mut new = new;
        new["metadata"]["uid"] = json!("u");
        let mut expect = step["result"].clone();
        expect["metadata"]["uid"] = json!("u");
        assert_eq!(step.get("error"), None, "{label}");
        let (ours, theirs) = (entries(&new), entries(&expect));
        assert_eq!(ours, theirs, "{label}");
        let rest = |object: &Value| {
            let mut rest = object.clone();
            rest["metadata"]["managedFields"] = Value::Null;
            without_empties(&rest)
        };
        assert_eq!(rest(&new), rest(&expect), "{label}");
        // Go on with upstream's object, which has nulls where something became empty.
        live = Some(expect);
    }
}

/// Lines in one order: upstream's visits maps in any.
fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// The entries of an object in one order: upstream's depends on the clock of the recording.
fn entries(object: &Value) -> Vec<Value> {
    let entries = object
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array);
    let mut entries = entries.cloned().unwrap_or_default();
    entries.sort_by_key(ToString::to_string);
    entries
}
