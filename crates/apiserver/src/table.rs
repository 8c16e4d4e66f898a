//! Tables: the rows and columns that `kubectl get` shows.
//!
//! Built-in kinds have their printers in `machinery`; a custom resource names its columns in its
//! definition. Columns are chosen once for a response, then objects become rows one after another.
//!
//! Source: Kubernetes v1.35, `meta.k8s.io` Table, apiextensions `pkg/registry/customresource/
//! tableconvertor`.

use std::sync::Arc;

use flotilla_machinery::{
    jsonpath::JsonPath,
    printers::{self, Printer},
};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    registry::{PrinterColumn, Resource},
    render,
};

/// How much of its object each row carries (`includeObject`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Include {
    /// Nothing.
    None,
    /// PartialObjectMetadata, the default.
    #[default]
    Metadata,
    /// Everything.
    Object,
}

/// The columns of one resource.
pub struct Columns {
    resource: Arc<Resource>,
    source: Source,
}

enum Source {
    Printer(&'static Printer),
    Custom(Vec<(PrinterColumn, Option<JsonPath>)>),
}

// === impl Include ===

impl Include {
    /// Reads the query parameter; `None` when it is none of upstream's words.
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "None" => Self::None,
            "Metadata" | "" => Self::Metadata,
            "Object" => Self::Object,
            _ => return None,
        })
    }
}

// === impl Columns ===

impl Columns {
    /// The columns of a resource. Paths are compiled here.
    pub fn of(resource: &Arc<Resource>) -> Self {
        let custom = resource.custom.as_ref().map(|custom| &custom.columns);
        let source = match custom.filter(|columns| !columns.is_empty()) {
            Some(columns) => Source::Custom(
                columns
                    .iter()
                    .map(|column| (column.clone(), JsonPath::parse(&column.json_path).ok()))
                    .collect(),
            ),
            None => Source::Printer(printers::printer(&resource.group, &resource.kind)),
        };
        Self {
            resource: resource.clone(),
            source,
        }
    }

    /// Definitions for `columnDefinitions`.
    pub fn definitions(&self) -> Value {
        match &self.source {
            Source::Printer(printer) => printer.columns().iter().map(|c| c.to_value()).collect(),
            Source::Custom(columns) => {
                let name = json!({
                    "name": "Name", "type": "string", "format": "name", "description": "",
                    "priority": 0,
                });
                let own = columns.iter().map(|(column, _)| {
                    json!({
                        "name": column.name,
                        "type": column.ty,
                        "format": column.format,
                        "description": column.description,
                        "priority": column.priority,
                    })
                });
                std::iter::once(name).chain(own).collect()
            }
        }
    }

    /// The row of one object; `version` is that of the table (`v1` or `v1beta1`).
    pub fn row(&self, object: &Value, include: Include, version: &str, now: Timestamp) -> Value {
        let cells = match &self.source {
            Source::Printer(printer) => printer.cells(object, now),
            Source::Custom(columns) => {
                let name = object["metadata"]["name"].clone();
                let own = columns.iter().map(|(column, path)| {
                    let found = path.as_ref().and_then(|path| path.first(object));
                    cell(&column.ty, found.as_deref().unwrap_or(&Value::Null), now)
                });
                std::iter::once(name).chain(own).collect()
            }
        };
        let mut row = json!({"cells": cells});
        let completed = printers::completed(&self.resource.group, &self.resource.kind, object);
        if let Some(completed) = completed {
            row["conditions"] = json!([{
                "type": "Completed",
                "status": "True",
                "reason": completed.reason,
                "message": completed.message,
            }]);
        }
        match include {
            Include::None => {}
            Include::Object => row["object"] = object.clone(),
            Include::Metadata => row["object"] = render::partial(&self.resource, version, object),
        }
        row
    }
}

/// A value as a cell of a column of this type; null when it has another type.
fn cell(ty: &str, value: &Value, now: Timestamp) -> Value {
    match (ty, value) {
        (_, Value::Null) => Value::Null,
        ("integer", Value::Number(number)) => match (number.as_i64(), number.as_f64()) {
            (None, Some(number)) => json!(number as i64),
            _ => value.clone(),
        },
        ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => value.clone(),
        ("date", Value::String(time)) => match time.parse::<Timestamp>() {
            Ok(_) => printers::since(Some(time), now).into(),
            Err(_) => "<unknown>".into(),
        },
        ("string", Value::String(_)) => value.clone(),
        ("string", other) => other.to_string().into(),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests;
