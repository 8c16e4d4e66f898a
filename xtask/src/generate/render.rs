//! The table's text: one line per type, one per field.

use std::fmt::Write as _;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

use super::golang::{Flat, GoField, Packages};

const HEADER: &str = "\
# Shapes of the built-in types of Kubernetes v1.35.
# Sources: JSON-schema definitions v1.35.0 (PyPI kubernetes-validate 1.37.0) and the Go API types
#   v0.35.4 (kubernetes/api, apimachinery, apiextensions-apiserver, kube-aggregator); facts only.
# Regenerate: cargo xtask gen --definitions <_definitions.json> --staging <k8s.io source folder>
# Read by flotilla_machinery::builtin, which explains the format.
";

/// Renders every definition, sorted by name.
pub(super) fn table(defs: &Map<String, Value>, packages: &Packages) -> Result<String> {
    let mut out = HEADER.to_owned();
    for (name, def) in defs {
        definition(&mut out, name, def, packages).with_context(|| format!("definition {name}"))?;
    }
    Ok(out)
}

fn definition(out: &mut String, name: &str, def: &Value, packages: &Packages) -> Result<()> {
    if let Some(simple) = simple_type(name) {
        writeln!(out, "= {name} {simple}")?;
        return Ok(());
    }
    write!(out, "struct {name}")?;
    if def["x-kubernetes-map-type"] == "atomic" {
        out.push_str(" atomic");
    }
    let kinds = def["x-kubernetes-group-version-kind"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    match kinds {
        [] => {}
        [one] => write!(
            out,
            " gvk={}/{}/{}",
            text(one, "group"),
            text(one, "version"),
            text(one, "kind")
        )?,
        [first, ..] => write!(out, " gvk=*/*/{}", text(first, "kind"))?,
    }
    out.push('\n');
    let go = packages.flat(name).unwrap_or_default();
    let required = def["required"].as_array().map_or(&[][..], Vec::as_slice);
    for (field, schema) in def["properties"].as_object().into_iter().flatten() {
        let is_required = required.iter().any(|name| name == field);
        property(out, field, schema, is_required, &go).with_context(|| format!("field {field}"))?;
    }
    Ok(())
}

fn property(out: &mut String, name: &str, schema: &Value, required: bool, go: &Flat) -> Result<()> {
    write!(out, " {name} {}", type_of(schema)?)?;
    if let Some((via, field)) = go.get(name)
        && let Some(tag) = field.tag
        && (field.repeated || field.ty.starts_with("[]") || !type_of(schema)?.starts_with("[]"))
    {
        out.push_str(" tag=");
        for outer in via {
            write!(out, "{outer}/")?;
        }
        write!(out, "{tag}")?;
        if field.pointer {
            out.push_str(" ptr");
        }
    }
    if required {
        out.push_str(" required");
    }
    if go
        .get(name)
        .is_some_and(|(_, field)| is_always_written(field, schema))
    {
        out.push_str(" always");
    }
    match schema["x-kubernetes-map-type"].as_str() {
        None => {}
        Some(kind) => write!(out, " {kind}")?,
    }
    match schema["x-kubernetes-list-type"].as_str() {
        None | Some("atomic") => {}
        Some("set") => out.push_str(" list=set"),
        Some("map") => {
            let keys = schema["x-kubernetes-list-map-keys"]
                .as_array()
                .context("no map keys")?;
            let keys: Vec<&str> = keys.iter().filter_map(Value::as_str).collect();
            write!(out, " list=map:{}", keys.join(","))?;
        }
        Some(other) => bail!("unknown list type {other}"),
    }
    if let Some(strategy) = schema["x-kubernetes-patch-strategy"].as_str() {
        write!(out, " patch={strategy}")?;
    }
    if let Some(key) = schema["x-kubernetes-patch-merge-key"].as_str() {
        write!(out, " key={key}")?;
    }
    if let Some(default) = go.get(name).and_then(|(_, field)| field.default.as_ref())
        && !default.is_object()
    {
        write!(out, " default={default}")?;
    }
    out.push('\n');
    Ok(())
}

/// Whether Go writes the field even when nothing is in it.
fn is_always_written(field: &GoField, schema: &Value) -> bool {
    let is_struct = !field.pointer
        && schema["$ref"].is_string()
        && !field.ty.starts_with("[]")
        && !field.ty.starts_with("map[")
        && !NAMED_SCALARS.contains(&field.ty.rsplit('.').next().unwrap_or_default());
    !field.omit_zero && (is_struct || !field.omit_empty)
}

/// Types with a definition of their own that are no structs in Go.
const NAMED_SCALARS: &[&str] = &["FieldsV1", "JSON"];

fn type_of(schema: &Value) -> Result<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.strip_prefix("#/$defs/").context("foreign $ref")?;
        return Ok(scalar_name(name).unwrap_or(name).to_owned());
    }
    let kind = match &schema["type"] {
        Value::Array(alternatives) => alternatives.first().and_then(Value::as_str),
        other => other.as_str(),
    };
    Ok(match (kind, schema["format"].as_str()) {
        (Some("array"), _) => format!("[]{}", type_of(&schema["items"])?),
        (Some("object"), _) if schema["additionalProperties"].is_object() => {
            format!("{{}}{}", type_of(&schema["additionalProperties"])?)
        }
        (Some("object") | None, _) => "any".to_owned(),
        (Some("string"), Some("byte")) => "bytes".to_owned(),
        (Some("string"), _) => "string".to_owned(),
        (Some("boolean"), _) => "boolean".to_owned(),
        (Some("number"), _) => "number".to_owned(),
        (Some("integer"), Some("int32")) => "int32".to_owned(),
        (Some("integer"), _) => "int64".to_owned(),
        (Some(other), _) => bail!("unknown type {other}"),
    })
}

/// Named scalars of the data model.
fn scalar_name(definition: &str) -> Option<&'static str> {
    Some(match definition {
        "io.k8s.apimachinery.pkg.api.resource.Quantity" => "quantity",
        "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime" => "microtime",
        "io.k8s.apimachinery.pkg.apis.meta.v1.Time" => "time",
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString" => "intorstring",
        _ => return None,
    })
}

/// Definitions that are not structs: scalars and free-form values.
fn simple_type(definition: &str) -> Option<&'static str> {
    let short = definition.rsplit('.').next().unwrap_or_default();
    match short {
        "FieldsV1"
        | "RawExtension"
        | "Patch"
        | "JSON"
        | "JSONSchemaPropsOrArray"
        | "JSONSchemaPropsOrBool"
        | "JSONSchemaPropsOrStringArray" => Some("any"),
        _ => scalar_name(definition),
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}
