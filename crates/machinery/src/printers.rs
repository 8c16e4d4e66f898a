//! The columns that `kubectl get` shows for built-in kinds, and the cells of one object.
//!
//! The server, not kubectl, decides what a table holds. A [`Printer`] has the column definitions of a
//! kind and turns one object into cells; it looks at the JSON value only and gets the time as an
//! argument. Columns with a priority above zero are shown with `-o wide`. Kinds without a printer of
//! their own get name and age.
//!
//! Source: Kubernetes v1.35, `pkg/printers/internalversion`, and the registries of apiextensions and
//! kube-aggregator. Column descriptions are left out.

mod admin;
mod core;
mod format;
mod network;
mod pod;
mod storage;
mod workloads;

use std::collections::HashMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use serde_json::{Value, json};

use self::format::View;

pub use self::format::human_duration;

/// Definition of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Heading.
    pub name: &'static str,
    /// OpenAPI type: `string`, `integer`, `boolean` or `date`.
    pub ty: &'static str,
    /// OpenAPI format; `name` marks the column that identifies the object.
    pub format: &'static str,
    /// 0 is always shown, greater only with `-o wide`.
    pub priority: i32,
}

/// How objects of one kind are shown.
#[derive(Clone, Copy)]
pub struct Printer {
    group: &'static str,
    kind: &'static str,
    columns: &'static [Column],
    cells: fn(&View<'_>) -> Vec<Value>,
}

/// What a row says about its object as a whole: it has run to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    /// One word, the pod's phase.
    pub reason: &'static str,
    /// A sentence.
    pub message: &'static str,
}

const fn column(name: &'static str, ty: &'static str, priority: i32) -> Column {
    Column {
        name,
        ty,
        format: "",
        priority,
    }
}

const fn text(name: &'static str) -> Column {
    column(name, "string", 0)
}

const fn integer(name: &'static str) -> Column {
    column(name, "integer", 0)
}

const fn wide(name: &'static str) -> Column {
    column(name, "string", 1)
}

const NAME: Column = Column {
    format: "name",
    ..text("Name")
};
const AGE: Column = text("Age");
const CREATED_AT: Column = column("Created At", "date", 0);

const DEFAULT: Printer = Printer {
    group: "",
    kind: "",
    columns: &[NAME, AGE],
    cells: |view| vec![view.name(), view.age()],
};

static PRINTERS: LazyLock<HashMap<(&'static str, &'static str), &'static Printer>> =
    LazyLock::new(|| {
        all()
            .map(|printer| ((printer.group, printer.kind), printer))
            .collect()
    });

fn all() -> impl Iterator<Item = &'static Printer> {
    let groups = [
        pod::PRINTERS,
        core::PRINTERS,
        workloads::PRINTERS,
        network::PRINTERS,
        storage::PRINTERS,
        admin::PRINTERS,
    ];
    groups.into_iter().flatten()
}

/// How objects of a kind are shown.
pub fn printer(group: &str, kind: &str) -> &'static Printer {
    PRINTERS.get(&(group, kind)).copied().unwrap_or(&DEFAULT)
}

/// Whether an object has run to its end, which tables mark with a row condition.
pub fn completed(group: &str, kind: &str, object: &Value) -> Option<Completed> {
    match (group, kind, object["status"]["phase"].as_str()?) {
        ("", "Pod", "Succeeded") => Some(Completed {
            reason: "Succeeded",
            message: "The pod has completed successfully.",
        }),
        ("", "Pod", "Failed") => Some(Completed {
            reason: "Failed",
            message: "The pod failed.",
        }),
        _ => None,
    }
}

/// The cell of an age column for a point in time in RFC 3339: how long ago that was, `<unknown>`
/// when there is none.
pub fn since(time: Option<&str>, now: Timestamp) -> String {
    format::since(time.unwrap_or_default(), now)
}

// === impl Column ===

impl Column {
    /// As a `TableColumnDefinition`.
    pub fn to_value(self) -> Value {
        json!({
            "name": self.name,
            "type": self.ty,
            "format": self.format,
            "description": "",
            "priority": self.priority,
        })
    }
}

// === impl Printer ===

impl Printer {
    /// Definitions of the columns, in order.
    pub fn columns(&self) -> &'static [Column] {
        self.columns
    }

    /// Cells of one object, as many as there are columns.
    pub fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let cells = (self.cells)(&View { object, now });
        debug_assert_eq!(
            cells.len(),
            self.columns.len(),
            "{} {}",
            self.group,
            self.kind
        );
        cells
    }
}

#[cfg(test)]
mod tests;
