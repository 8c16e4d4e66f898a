//! Everything one can do to an object, in an order that leaves nothing behind.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{Request, request};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const PARTIAL: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const PARTIAL_LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

/// The requests of one life. `path` is that of the collection, `change` a merge patch that is valid for the object.
pub(super) fn of(path: &str, object: &Value, change: &Value) -> Result<Vec<Request>> {
    let name = object.pointer("/metadata/name").and_then(Value::as_str);
    let name = name.context("the object of a life has a name")?;
    let one = format!("{path}/{name}");
    let mut life = Life::default();

    life.send(&format!("POST {path}?dryRun=All"), object.clone())?;
    life.send(&format!("POST {path}"), object.clone())?.keep = [
        ("rv", "/metadata/resourceVersion"),
        ("uid", "/metadata/uid"),
    ]
    .map(|(name, at)| (name.to_owned(), at.to_owned()))
    .into();
    life.send(&format!("POST {path}"), object.clone())?;
    life.send(
        &format!("POST {path}?fieldValidation=Strict"),
        with(object, "/spelledWrong", 1),
    )?;
    life.send(
        &format!("POST {path}"),
        with(object, "/metadata/name", "Not_A_Name"),
    )?;
    life.send(&format!("POST {path}"), without_name(object))?;
    life.send(&format!("POST {path}"), with(object, "/kind", "Unheard"))?;

    life.send(&format!("GET {one}"), Value::Null)?;
    life.accept(&format!("GET {one}"), TABLE)?;
    life.accept(&format!("GET {one}"), PARTIAL)?;
    let only = format!("{path}?fieldSelector=metadata.name%3D{name}");
    life.send(&format!("GET {only}"), Value::Null)?;
    life.accept(&format!("GET {only}"), TABLE)?;
    life.accept(&format!("GET {only}"), PARTIAL_LIST)?;
    life.send(
        &format!("GET {path}?fieldSelector=spec.unheard%3Da"),
        Value::Null,
    )?;
    life.send(&format!("GET {path}?labelSelector=o%3Dnobody"), Value::Null)?;

    life.send(&format!("PATCH+merge {one}"), change.clone())?;
    life.send(&format!("PATCH+merge {one}"), change.clone())?;
    life.send(
        &format!("PATCH+strategic {one}"),
        json!({"metadata": {"labels": {"o": "s"}}}),
    )?;
    let replace = json!([{"op": "replace", "path": "/metadata/labels/o", "value": "j"}]);
    life.send(&format!("PATCH+json {one}"), replace)?;
    let test = json!([{"op": "test", "path": "/metadata/labels/o", "value": "nobody"}]);
    life.send(&format!("PATCH+json {one}"), test)?;
    let stale = json!({"metadata": {"resourceVersion": "${rv}", "labels": {"o": "t"}}});
    life.send(&format!("PATCH+merge {one}"), stale)?;
    let applied = json!({
        "apiVersion": object["apiVersion"], "kind": object["kind"],
        "metadata": {"name": name, "labels": {"o": "a"}},
    });
    life.send(
        &format!("PATCH+apply {one}?fieldManager=applier"),
        applied.clone(),
    )?;
    life.send(
        &format!("PATCH+apply {one}?fieldManager=applier&force=true"),
        applied,
    )?;

    life.send(
        &format!("PUT {one}"),
        with(object, "/metadata/resourceVersion", "${rv}"),
    )?;
    life.send(
        &format!("PUT {one}"),
        with(object, "/metadata/name", "another"),
    )?;
    life.send(
        &format!("PUT {one}"),
        with(
            object,
            "/metadata/uid",
            "11111111-2222-3333-4444-555555555555",
        ),
    )?;
    life.send(&format!("PUT {one}"), object.clone())?;

    let precondition = json!({"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"resourceVersion": "${rv}"}});
    life.send(&format!("DELETE {one}"), precondition)?;
    life.send(&format!("DELETE {one}?dryRun=All"), Value::Null)?;
    life.send(&format!("DELETE {one}?gracePeriodSeconds=0"), Value::Null)?;
    life.send(&format!("GET {one}"), Value::Null)?;
    life.send(&format!("DELETE {one}"), Value::Null)?;
    life.send(&format!("PATCH+merge {one}"), change.clone())?;
    Ok(life.0)
}

#[derive(Default)]
struct Life(Vec<Request>);

impl Life {
    fn send(&mut self, line: &str, body: Value) -> Result<&mut Request> {
        self.0.push(request(line, body)?);
        self.0.last_mut().context("just pushed")
    }

    fn accept(&mut self, line: &str, accept: &str) -> Result<()> {
        self.send(line, Value::Null)?.accept = Some(accept.to_owned());
        Ok(())
    }
}

fn with(object: &Value, pointer: &str, value: impl Into<Value>) -> Value {
    let mut object = object.clone();
    // The pointers above lead to places that every object has.
    let _ = super::put(&mut object, pointer, value.into());
    object
}

fn without_name(object: &Value) -> Value {
    with(object, "/metadata/name", Value::Null)
}
