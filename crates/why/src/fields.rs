//! Who owns which fields of an object.

use std::fmt;

use flotilla_machinery::fieldpath::Set;
use serde::Serialize;
use serde_json::Value;

use crate::facts::{list, text};

/// The fields of one manager.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Owned {
    /// Who.
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// Endpoint below the object, or empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subresource: String,
    /// Version in which the fields are meant.
    pub api_version: String,
    /// Last change.
    pub time: String,
    /// The fields.
    pub fields: Vec<String>,
}

/// `managedFields`, readable.
pub(crate) fn owned(object: &Value) -> Vec<Owned> {
    let entries = list(object, "/metadata/managedFields").iter();
    entries
        .map(|entry| {
            let set = Set::from_fields_v1(&entry["fieldsV1"]).unwrap_or_default();
            let fields = set
                .leaves()
                .paths()
                .into_iter()
                .map(|path| path.to_string());
            let text = |name: &str| text(entry, name).to_owned();
            Owned {
                manager: text("/manager"),
                operation: text("/operation"),
                subresource: text("/subresource"),
                api_version: text("/apiVersion"),
                time: text("/time"),
                fields: fields.collect(),
            }
        })
        .collect()
}

/// A row for each field, under the columns of the table.
pub(crate) fn show(f: &mut fmt::Formatter<'_>, owned: &[Owned]) -> fmt::Result {
    writeln!(f, "\nFields")?;
    if owned.is_empty() {
        return writeln!(f, "  nobody is tracked");
    }
    let titles = ["FIELD", "MANAGER", "OPERATION", "VERSION", "SINCE"].map(str::to_owned);
    let mut rows = vec![titles];
    for owner in owned {
        let operation = match owner.subresource.as_str() {
            "" => owner.operation.clone(),
            subresource => format!("{} /{subresource}", owner.operation),
        };
        rows.extend(owner.fields.iter().map(|field| {
            [
                field.clone(),
                owner.manager.clone(),
                operation.clone(),
                owner.api_version.clone(),
                owner.time.clone(),
            ]
        }));
    }
    rows[1..].sort();
    let width = |column: usize| {
        let lengths = rows.iter().map(|row| row[column].chars().count());
        lengths.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..4).map(width).collect();
    for [field, manager, operation, version, since] in &rows {
        writeln!(
            f,
            "  {field:w0$}  {manager:w1$}  {operation:w2$}  {version:w3$}  {since}",
            w0 = widths[0],
            w1 = widths[1],
            w2 = widths[2],
            w3 = widths[3],
        )?;
    }
    Ok(())
}
