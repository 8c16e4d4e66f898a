//! Label selectors: which objects a query or a controller means, by their labels.
//!
//! `app=web,tier in (front, back),!canary` is a conjunction of [`Requirement`]s. Selectors come
//! from query strings ([`Selector::parse`]) or from LabelSelector objects
//! ([`Selector::from_value`]); grammar, order of requirements and error texts are upstream's.
//!
//! Source: Kubernetes v1.35, apimachinery `labels/selector.go`.

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};

use crate::names::{label_value, qualified_name};
use crate::quote::quote;
use crate::status::{FieldError, aggregate};

mod parse;

/// A conjunction of requirements on labels.
///
/// The default selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Selector {
    /// Sorted by key; several may name the same key.
    requirements: Vec<Requirement>,
    /// Selects no object, whatever the requirements say.
    nothing: bool,
}

/// One condition on one label.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

/// How the values of a requirement relate to the label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `key in (a,b)`.
    In,
    /// `key notin (a,b)`; also matches when the label is absent.
    NotIn,
    /// `key=a`.
    Equals,
    /// `key==a`, the same as `key=a` but printed as it was written.
    DoubleEquals,
    /// `key!=a`; also matches when the label is absent.
    NotEquals,
    /// `key`.
    Exists,
    /// `!key`.
    DoesNotExist,
    /// `key>1`, both sides as integers.
    GreaterThan,
    /// `key<1`, both sides as integers.
    LessThan,
}

/// A selector that cannot be understood, in upstream's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

// === impl Selector ===

impl Selector {
    /// Selects every object.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Selects no object.
    pub fn nothing() -> Self {
        Self {
            requirements: Vec::new(),
            nothing: true,
        }
    }

    /// A selector from these requirements.
    pub fn new(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Self {
            requirements,
            nothing: false,
        }
    }

    /// Reads the text form, as in `?labelSelector=`; empty text selects everything.
    pub fn parse(text: &str) -> Result<Self, Error> {
        parse::parse(text).map(Self::new).map_err(Error)
    }

    /// A selector for exactly these labels (a Service's `spec.selector`), unchecked.
    pub fn from_labels(labels: &Map<String, Value>) -> Self {
        let equals = |(key, value): (&String, &Value)| Requirement {
            key: key.clone(),
            operator: Operator::Equals,
            values: vec![value.as_str().unwrap_or_default().to_owned()],
        };
        Self::new(labels.iter().map(equals).collect())
    }

    /// Reads a LabelSelector object; null selects nothing and `{}` everything.
    pub fn from_value(selector: &Value) -> Result<Self, Error> {
        if selector.is_null() {
            return Ok(Self::nothing());
        }
        let mut requirements = Vec::new();
        if let Some(labels) = selector.get("matchLabels").and_then(Value::as_object) {
            for (key, value) in labels {
                let values = vec![value.as_str().unwrap_or_default().to_owned()];
                requirements.push(Requirement::new(key, Operator::Equals, values)?);
            }
        }
        let expressions = selector.get("matchExpressions").and_then(Value::as_array);
        for expression in expressions.into_iter().flatten() {
            let (key, word, values) = expression_parts(expression);
            let operator = Operator::from_expression(word).ok_or_else(|| {
                Error(format!(
                    "{} is not a valid label selector operator",
                    quote(word)
                ))
            })?;
            requirements.push(Requirement::new(key, operator, values)?);
        }
        Ok(Self::new(requirements))
    }

    /// Whether the labels that `lookup` finds satisfy every requirement.
    pub fn matches<'a>(&self, lookup: impl Fn(&str) -> Option<&'a str>) -> bool {
        !self.nothing && self.requirements.iter().all(|r| r.matches(lookup(&r.key)))
    }

    /// Whether `metadata.labels`, if there are any, satisfy every requirement.
    pub fn matches_labels(&self, labels: Option<&Map<String, Value>>) -> bool {
        self.matches(|key| labels?.get(key)?.as_str())
    }

    /// Whether every object is selected.
    pub fn is_everything(&self) -> bool {
        !self.nothing && self.requirements.is_empty()
    }

    /// Whether no object can be selected.
    pub fn is_nothing(&self) -> bool {
        self.nothing
    }

    /// The requirements, sorted by key.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// The one value that the label `key` must have, if the selector pins it.
    pub fn exact(&self, key: &str) -> Option<&str> {
        let found = self.requirements.iter().find(|r| r.key == key)?;
        let pins = matches!(
            found.operator,
            Operator::Equals | Operator::DoubleEquals | Operator::In
        );
        match found.values.as_slice() {
            [value] if pins => Some(value),
            _ => None,
        }
    }
}

impl FromStr for Selector {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text)
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, requirement) in self.requirements.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            requirement.fmt(f)?;
        }
        Ok(())
    }
}

// === impl Requirement ===

impl Requirement {
    /// A checked requirement; values are sorted and freed of repetitions.
    pub fn new(key: &str, operator: Operator, mut values: Vec<String>) -> Result<Self, Error> {
        values.sort();
        values.dedup();
        let errors = complaints(key, operator, &values);
        if !errors.is_empty() {
            return Err(Error(aggregate(&errors)));
        }
        Ok(Self {
            key: key.to_owned(),
            operator,
            values,
        })
    }

    /// Label key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// How the label relates to the values.
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// Values, sorted.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Whether a label with this value (`None` when absent) satisfies the requirement.
    pub fn matches(&self, label: Option<&str>) -> bool {
        let listed = |label: &str| self.values.iter().any(|v| v == label);
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => label.is_some_and(listed),
            Operator::NotIn | Operator::NotEquals => !label.is_some_and(listed),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan => self.compares(label, |label, bound| label > bound),
            Operator::LessThan => self.compares(label, |label, bound| label < bound),
        }
    }

    fn compares(&self, label: Option<&str>, holds: fn(i64, i64) -> bool) -> bool {
        let label = label.and_then(|l| l.parse().ok());
        let bound = self.values.first().and_then(|v| v.parse().ok());
        label
            .zip(bound)
            .is_some_and(|(label, bound)| holds(label, bound))
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = self.values.join(",");
        match (self.operator, self.key.as_str()) {
            (Operator::In, key) => write!(f, "{key} in ({values})"),
            (Operator::NotIn, key) => write!(f, "{key} notin ({values})"),
            (Operator::Equals, key) => write!(f, "{key}={values}"),
            (Operator::DoubleEquals, key) => write!(f, "{key}=={values}"),
            (Operator::NotEquals, key) => write!(f, "{key}!={values}"),
            (Operator::Exists, key) => f.write_str(key),
            (Operator::DoesNotExist, key) => write!(f, "!{key}"),
            (Operator::GreaterThan, key) => write!(f, "{key}>{values}"),
            (Operator::LessThan, key) => write!(f, "{key}<{values}"),
        }
    }
}

// === impl Operator ===

impl Operator {
    fn from_expression(word: &str) -> Option<Self> {
        match word {
            "In" => Some(Self::In),
            "NotIn" => Some(Self::NotIn),
            "Exists" => Some(Self::Exists),
            "DoesNotExist" => Some(Self::DoesNotExist),
            _ => None,
        }
    }
}

/// Complaints about a LabelSelector object at `path`, as validation of built-in kinds makes them.
pub fn validate_label_selector(selector: &Value, path: &str) -> Vec<FieldError> {
    let mut out = Vec::new();
    if let Some(labels) = selector.get("matchLabels").and_then(Value::as_object) {
        out.extend(crate::names::validate_labels(
            labels,
            &format!("{path}.matchLabels"),
        ));
    }
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    for (i, expression) in expressions.into_iter().flatten().enumerate() {
        validate_expression(
            expression,
            &format!("{path}.matchExpressions[{i}]"),
            &mut out,
        );
    }
    out
}

fn validate_expression(expression: &Value, path: &str, out: &mut Vec<FieldError>) {
    let (key, word, values) = expression_parts(expression);
    match Operator::from_expression(word) {
        Some(Operator::In | Operator::NotIn) if values.is_empty() => {
            out.push(FieldError::required(
                format!("{path}.values"),
                "must be specified when `operator` is 'In' or 'NotIn'",
            ))
        }
        Some(Operator::Exists | Operator::DoesNotExist) if !values.is_empty() => {
            out.push(FieldError::forbidden(
                format!("{path}.values"),
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            ))
        }
        Some(_) => {}
        None => out.push(FieldError::invalid(
            format!("{path}.operator"),
            word,
            "not a valid selector operator",
        )),
    }
    let bad_key = qualified_name(key).into_iter();
    out.extend(bad_key.map(|m| FieldError::invalid(format!("{path}.key"), key, m)));
    for (i, value) in values.iter().enumerate() {
        let at = format!("{path}.values[{i}]");
        let complaints = label_value(value).into_iter();
        out.extend(complaints.map(|m| FieldError::invalid(at.as_str(), value.as_str(), m)));
    }
}

/// Key, operator and values of one entry of matchExpressions.
fn expression_parts(expression: &Value) -> (&str, &str, Vec<String>) {
    let text = |name: &str| {
        expression
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let values = expression
        .get("values")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let values = values
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    (text("key"), text("operator"), values)
}

/// What is wrong with a requirement; the paths are upstream's.
fn complaints(key: &str, operator: Operator, values: &[String]) -> Vec<FieldError> {
    let mut out = Vec::new();
    let bad_key = qualified_name(key);
    if !bad_key.is_empty() {
        out.push(FieldError::invalid("key", key, bad_key.join("; ")));
    }
    let one = values.len() == 1;
    let text = match operator {
        Operator::In | Operator::NotIn if values.is_empty() => {
            "for 'in', 'notin' operators, values set can't be empty"
        }
        Operator::Equals | Operator::DoubleEquals | Operator::NotEquals if !one => {
            "exact-match compatibility requires one single value"
        }
        Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
            "values set must be empty for exists and does not exist"
        }
        Operator::GreaterThan | Operator::LessThan if !one => {
            "for 'Gt', 'Lt' operators, exactly one value is required"
        }
        _ => "",
    };
    if !text.is_empty() {
        out.push(FieldError::invalid("values", values.to_vec(), text));
    }
    for (i, value) in values.iter().enumerate() {
        let compares = matches!(operator, Operator::GreaterThan | Operator::LessThan);
        if compares && value.parse::<i64>().is_err() {
            let text = "for 'Gt', 'Lt' operators, the value must be an integer";
            out.push(FieldError::invalid(
                format!("values[{i}]"),
                value.as_str(),
                text,
            ));
        }
    }
    for (i, value) in values.iter().enumerate() {
        let bad = label_value(value);
        if !bad.is_empty() {
            let path = format!("values[{i}][{key}]");
            out.push(FieldError::invalid(path, value.as_str(), bad.join("; ")));
        }
    }
    out
}

#[cfg(test)]
mod tests;
