//! What is said to a conversion webhook, and what its answer is worth.
//!
//! A webhook gets objects in the version they are stored in and answers with the same objects in
//! another one. It may change everything below the metadata, and labels and annotations in it; all
//! other metadata stays what it was, whatever the answer says. An answer that leaves out objects or
//! turns one into another is refused as a whole.
//!
//! Source: Kubernetes v1.35, apiextensions-apiserver `pkg/apiserver/conversion`.

use flotilla_machinery::group::split_api_version;
use flotilla_machinery::names::{validate_annotations, validate_labels};
use flotilla_machinery::status::aggregate;
use serde_json::{Map, Value, json};

use super::quoted;

/// Versions of ConversionReview that are understood.
const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];

/// One question to a webhook.
#[derive(Clone, Copy, Debug)]
pub struct Review<'a> {
    /// Version of the envelope, see [`review_version`].
    pub version: &'a str,
    /// What the answer has to repeat.
    pub uid: &'a str,
    /// `group/version` the objects are wanted in.
    pub desired: &'a str,
}

/// The version of ConversionReview to use: the first of the definition's list that is understood.
pub fn review_version(definition: &Value) -> Option<&str> {
    let list =
        definition["spec"]["conversion"]["webhook"]["conversionReviewVersions"].as_array()?;
    let mut names = list.iter().filter_map(Value::as_str);
    names.find(|name| REVIEW_VERSIONS.contains(name))
}

/// `group/version, Kind=kind`, as messages name the type of an object.
pub fn describe(object: &Value) -> String {
    let (group, version) = split_api_version(text(object, "apiVersion")).unwrap_or_default();
    format!("{group}/{version}, Kind={}", text(object, "kind"))
}

impl Review<'_> {
    /// The body of the request.
    pub fn request(&self, objects: &[Value]) -> Value {
        json!({
            "kind": "ConversionReview",
            "apiVersion": format!("apiextensions.k8s.io/{}", self.version),
            "request": {
                "uid": self.uid,
                "desiredAPIVersion": self.desired,
                "objects": objects,
            },
        })
    }

    /// The objects of an answer, checked against those that were sent and with their metadata.
    ///
    /// # Errors
    /// Upstream's text, beginning with what was to be converted.
    pub fn accept(&self, sent: &[Value], answer: &[u8]) -> Result<Vec<Value>, String> {
        let what = sent.first().map(describe).unwrap_or_default();
        let mut converted = self
            .objects(answer)
            .map_err(|why| format!("conversion webhook for {what} failed: {why}"))?;
        if converted.len() != sent.len() {
            return Err(format!(
                "conversion for {what} returned {} objects, expected {}",
                converted.len(),
                sent.len()
            ));
        }
        for (at, (original, object)) in sent.iter().zip(&mut converted).enumerate() {
            let what = describe(original);
            let said = format!("conversion for {what} returned invalid");
            // Upstream counts from one here.
            let at = at + 1;
            self.check(original, object)
                .map_err(|why| format!("{said} converted object at index {at}: {why}"))?;
            restore_metadata(original, object)
                .map_err(|why| format!("{said} metadata in object at index {at}: {why}"))?;
        }
        Ok(converted)
    }

    fn objects(&self, answer: &[u8]) -> Result<Vec<Value>, String> {
        let mut answer: Value = serde_json::from_slice(answer)
            .map_err(|error| format!("the answer is not JSON: {error}"))?;
        if self.version == "v1" {
            let got = describe(&answer);
            let expected = "apiextensions.k8s.io/v1, Kind=ConversionReview";
            if got != expected {
                return Err(format!(
                    "expected webhook response of {expected}, got {got}"
                ));
            }
        }
        let response = &mut answer["response"];
        if !response.is_object() {
            return Err("no response provided".to_owned());
        }
        // The older version never asked for the uid, so its webhooks do not send it.
        let uid = text(response, "uid");
        if self.version == "v1" && uid != self.uid {
            return Err(format!(
                "expected response.uid={}, got {}",
                quoted(self.uid),
                quoted(uid)
            ));
        }
        let result = &response["result"];
        let status = text(result, "status");
        if status != "Success" {
            return Err(match text(result, "message") {
                "" => format!("response.result.status was '{status}', not 'Success'"),
                message => message.to_owned(),
            });
        }
        match response["convertedObjects"].take() {
            Value::Array(objects) => Ok(objects),
            _ => Ok(Vec::new()),
        }
    }

    fn check(&self, original: &Value, converted: &Value) -> Result<(), String> {
        let got = text(converted, "apiVersion");
        if got != self.desired {
            return Err(format!(
                "invalid groupVersion (expected {}, received {got})",
                self.desired
            ));
        }
        let (expected, got) = (text(original, "kind"), text(converted, "kind"));
        if expected != got {
            return Err(format!(
                "invalid kind (expected {expected}, received {got})"
            ));
        }
        for (member, name) in [("name", "name"), ("namespace", "namespace"), ("uid", "UID")] {
            let before = text(&original["metadata"], member);
            let after = text(&converted["metadata"], member);
            if before != after {
                return Err(format!("must have the same {name}: {before} != {after}"));
            }
        }
        Ok(())
    }
}

/// Puts the original metadata back, with the labels and annotations of the converted object.
fn restore_metadata(original: &Value, converted: &mut Value) -> Result<(), String> {
    let Some(answered) = converted.get_mut("metadata").map(Value::take) else {
        if original.get("metadata").is_none() {
            return Ok(());
        }
        return Err("missing metadata in converted object".to_owned());
    };
    let Value::Object(mut answered) = answered else {
        let ty = go_type(&answered);
        return Err(format!("invalid metadata of type {ty} in converted object"));
    };
    let mut metadata = match original.get("metadata") {
        Some(Value::Object(metadata)) => metadata.clone(),
        _ => Map::new(),
    };
    for member in ["labels", "annotations"] {
        let before = metadata.remove(member);
        match answered.remove(member) {
            None | Some(Value::Null) => {}
            Some(Value::Object(pairs)) => {
                check_pairs(member, &pairs, before.as_ref())?;
                metadata.insert(member.to_owned(), pairs.into());
            }
            Some(other) => {
                let ty = go_type(&other);
                return Err(format!(
                    "invalid metadata.{member} of type {ty} in converted object"
                ));
            }
        }
    }
    converted["metadata"] = metadata.into();
    Ok(())
}

fn check_pairs(
    member: &str,
    pairs: &Map<String, Value>,
    before: Option<&Value>,
) -> Result<(), String> {
    for (key, value) in pairs {
        if !value.is_string() {
            let ty = go_type(value);
            return Err(format!(
                "metadata.{member}[{key}] must be a string, but is {ty} in converted object"
            ));
        }
    }
    if before.and_then(Value::as_object) == Some(pairs) {
        return Ok(());
    }
    let errors = match member {
        "labels" => validate_labels(pairs, "metadata.labels"),
        _ => validate_annotations(pairs, "metadata.annotation"),
    };
    if errors.is_empty() {
        return Ok(());
    }
    Err(aggregate(&errors))
}

/// What upstream calls the type of a decoded value.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(n) if n.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or("")
}

#[cfg(test)]
mod tests;
