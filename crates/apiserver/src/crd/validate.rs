//! Whether a value fulfils a schema: types, ranges, patterns, enums and junctors, in upstream's
//! words.
//!
//! An update is held to less than a creation: errors in a part that did not change and can be told
//! apart from its neighbours (fields, map entries, items of map lists) are dropped, so a schema
//! that became stricter does not block writes elsewhere ("ratcheting").
//!
//! The order in which upstream walks maps is random; ours is that of the names.
//!
//! Source: Kubernetes v1.35, kube-openapi `pkg/validation/validate`, apiextensions-apiserver
//! `pkg/apiserver/validation`.

use std::fmt::Write as _;

use flotilla_machinery::status::FieldError;
use serde_json::{Number, Value};

use super::formats::Format;
use super::structural::{Additional, Checks, JsonType, ListType, Node};

/// Most errors that are reported for one object; the rest would tell a reader nothing.
const ERRORS_MAX: usize = 256;

/// Fields of the object itself that are never compared with the old object.
const TYPE_META: [&str; 2] = ["apiVersion", "kind"];

/// Mistakes in a new value that stands at `prefix` (empty for a whole object).
pub fn create(value: &Value, schema: &Node, prefix: &str) -> Vec<FieldError> {
    let mut walk = Walk::new(prefix, "");
    walk.node(value, schema, None);
    walk.finish()
}

/// Mistakes in a changed value; what stays as it was is forgiven.
pub fn update(new: &Value, old: Option<&Value>, schema: &Node, prefix: &str) -> Vec<FieldError> {
    if old == Some(new) {
        return Vec::new();
    }
    let mut walk = Walk::new(prefix, "");
    walk.node(new, schema, old);
    walk.finish()
}

/// The item of an old list that `item` is the successor of, by the keys of a map list.
///
/// Building the index costs O(old), a look-up O(1).
pub struct OldItems<'a> {
    index: std::collections::HashMap<String, &'a Value>,
    keys: &'a [std::sync::Arc<str>],
}

struct Walk<'a> {
    prefix: &'a str,
    path: String,
    errors: Vec<FieldError>,
    /// How much of the schema applied to the value; decides which failed alternative of an `anyOf`
    /// is worth reporting.
    matches: usize,
}

impl<'a> Walk<'a> {
    fn new(prefix: &'a str, path: &str) -> Self {
        Self {
            prefix,
            path: path.to_owned(),
            errors: Vec::new(),
            matches: 0,
        }
    }

    fn finish(self) -> Vec<FieldError> {
        let mut errors: Vec<FieldError> = Vec::with_capacity(self.errors.len());
        for error in self.errors {
            if !errors.contains(&error) {
                errors.push(error);
            }
        }
        errors
    }

    fn node(&mut self, value: &Value, schema: &Node, old: Option<&Value>) {
        let mark = self.errors.len();
        self.matches += 1;
        self.check_type(value, schema);
        let checks = schema.checks.as_deref();
        if value.is_null() {
            self.check_enum(value, checks);
            return;
        }
        if let Some(checks) = checks {
            self.check_junctors(value, checks, old);
        }
        match value {
            Value::String(text) => self.check_text(text, checks),
            Value::Number(number) => self.check_number(number, schema, checks),
            Value::Array(list) => self.check_list(list, schema, checks, old),
            _ => {}
        }
        self.check_enum(value, checks);
        if let Value::Object(fields) = value {
            self.check_object(fields, schema, checks, old);
        }
        if self.errors.len() > mark && old == Some(value) {
            self.errors.truncate(mark);
        }
    }

    fn check_type(&mut self, value: &Value, schema: &Node) {
        let wanted: &[JsonType] = match (&schema.ty, schema.int_or_string) {
            (_, true) => &[JsonType::Integer, JsonType::String],
            (Some(ty), false) => std::slice::from_ref(ty),
            (None, false) => return,
        };
        self.matches += 2;
        let fits = |ty: &JsonType| match (ty, value) {
            (JsonType::Array, Value::Array(_))
            | (JsonType::Boolean, Value::Bool(_))
            | (JsonType::Number, Value::Number(_))
            | (JsonType::Object, Value::Object(_))
            | (JsonType::String, Value::String(_)) => true,
            (JsonType::Integer, Value::Number(n)) => is_integral(n),
            (_, Value::Null) => schema.nullable,
            _ => false,
        };
        if wanted.iter().any(fits) {
            return;
        }
        let wanted: Vec<&str> = wanted.iter().map(|t| t.as_str()).collect();
        let found = type_name(value);
        let text = self.said(format_args!(
            "must be of type {}: \"{found}\"",
            wanted.join(",")
        ));
        self.push(FieldError::type_invalid(self.field(), found, text));
    }

    fn check_enum(&mut self, value: &Value, checks: Option<&Checks>) {
        self.matches += 1;
        let Some(values) = checks.and_then(|c| c.values.as_ref()) else {
            return;
        };
        if value.is_null() || !values.contains(value) {
            self.push(FieldError::not_supported(
                self.field(),
                value.clone(),
                &values.texts(),
            ));
        }
    }

    fn check_text(&mut self, text: &str, checks: Option<&Checks>) {
        self.matches += 1;
        let Some(checks) = checks else { return };
        if checks.max_length.is_some() || checks.min_length.is_some() {
            let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
            if let Some(max) = checks.max_length.filter(|max| length > *max) {
                let max = usize::try_from(max).unwrap_or(0);
                self.push(FieldError::too_long(self.field(), max));
            }
            if let Some(min) = checks.min_length.filter(|min| length < *min) {
                self.invalid(text, format_args!("should be at least {min} chars long"));
            }
        }
        if let Some(pattern) = &checks.pattern {
            match pattern.is_match(text) {
                Ok(true) => {}
                Ok(false) => {
                    self.invalid(text, format_args!("should match '{}'", pattern.source()));
                }
                Err(why) => {
                    let source = pattern.source();
                    let why = format!("should match '{source}, but pattern is invalid: {why}'");
                    self.invalid(text, format_args!("{why}"));
                }
            }
        }
        if let Some(format) = checks.format
            && !format.is_valid(text)
        {
            let quoted = super::quoted(text);
            let wanted = format.as_str();
            let said = self.said(format_args!("must be of type {wanted}: {quoted}"));
            self.push(FieldError::type_invalid(self.field(), text, said));
        }
    }

    /// Whole numbers are compared as such, with what is left of the factor then.
    ///
    /// Source: kube-openapi, `pkg/validation/validate/values.go`, `MultipleOfNativeType`.
    fn check_factor(&mut self, number: &Number, factor: f64) {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "as Go does; a factor beyond 2^63 divides nothing"
        )]
        let is_multiple = match number.as_i64() {
            Some(whole) => match factor as i64 {
                least @ ..=0 => {
                    let text = format!(
                        "factor MultipleOf declared for {} must be positive: {least}",
                        self.path
                    );
                    self.push(FieldError::invalid(self.field(), number.clone(), text));
                    return;
                }
                factor => whole.checked_rem(factor) == Some(0),
            },
            None => is_multiple(number.as_f64().unwrap_or(f64::NAN), factor),
        };
        if !is_multiple {
            let factor = match number.as_i64() {
                Some(_) => go_float(factor.trunc()),
                None => go_float(factor),
            };
            self.invalid(
                number.clone(),
                format_args!("should be a multiple of {factor}"),
            );
        }
    }

    fn check_number(&mut self, number: &Number, schema: &Node, checks: Option<&Checks>) {
        self.matches += 2;
        let format = checks.and_then(|c| c.format);
        let ty = schema.ty.filter(|_| !schema.int_or_string);
        // What has a fraction is no integer at all, which was said already.
        let is_whole = number.as_f64().is_some_and(|value| value.fract() == 0.0);
        if let Some(kind) = out_of_range(number, ty, format).filter(|_| is_whole) {
            let text = format!("Checked value must be of type {kind} in {}", self.path);
            self.push(FieldError::invalid(self.prefix, "", text));
        }
        let Some(checks) = checks else { return };
        let value = number.as_f64().unwrap_or(f64::NAN);
        if let Some(factor) = checks.multiple_of {
            self.check_factor(number, factor);
        }
        if let Some(max) = checks.maximum {
            let excess = match checks.exclusive_maximum {
                true => (value >= max).then_some("less than"),
                false => (value > max).then_some("less than or equal to"),
            };
            if let Some(relation) = excess {
                let max = go_float(max);
                self.invalid(number.clone(), format_args!("should be {relation} {max}"));
            }
        }
        if let Some(min) = checks.minimum {
            let excess = match checks.exclusive_minimum {
                true => (value <= min).then_some("greater than"),
                false => (value < min).then_some("greater than or equal to"),
            };
            if let Some(relation) = excess {
                let min = go_float(min);
                self.invalid(number.clone(), format_args!("should be {relation} {min}"));
            }
        }
    }

    fn check_list(
        &mut self,
        list: &[Value],
        schema: &Node,
        checks: Option<&Checks>,
        old: Option<&Value>,
    ) {
        self.matches += 1;
        if let Some(items) = &schema.items {
            let old_items = old.and_then(|old| OldItems::new(schema, old));
            let mark = self.path.len();
            for (at, value) in list.iter().enumerate() {
                // Writing to a String cannot fail.
                let _ = write!(self.path, "[{at}]");
                let old = old_items.as_ref().and_then(|o| o.find(value));
                self.node(value, items, old);
                self.path.truncate(mark);
            }
        }
        let Some(checks) = checks else { return };
        let n = i64::try_from(list.len()).unwrap_or(i64::MAX);
        if let Some(min) = checks.min_items.filter(|min| n < *min) {
            self.invalid(n, format_args!("should have at least {min} items"));
        }
        if let Some(max) = checks.max_items.filter(|max| n > *max) {
            let max = usize::try_from(max).unwrap_or(0);
            self.push(FieldError::too_many(self.field(), list.len(), max));
        }
    }

    fn check_object(
        &mut self,
        fields: &serde_json::Map<String, Value>,
        schema: &Node,
        checks: Option<&Checks>,
        old: Option<&Value>,
    ) {
        self.matches += 1;
        if let Some(checks) = checks {
            let n = i64::try_from(fields.len()).unwrap_or(i64::MAX);
            if let Some(min) = checks.min_properties.filter(|min| n < *min) {
                self.invalid(n, format_args!("should have at least {min} properties"));
            }
            if let Some(max) = checks.max_properties.filter(|max| n > *max) {
                let max = usize::try_from(max).unwrap_or(0);
                self.push(FieldError::too_many(self.field(), fields.len(), max));
            }
        }
        let is_root = self.path.is_empty();
        let mark = self.path.len();
        for (name, value) in fields {
            let inner = match (schema.property(name), &schema.additional) {
                (Some(property), _) => property,
                (None, Additional::Schema(values)) => values,
                (None, Additional::Closed) => {
                    let text = format!("{}.{name} in body is a forbidden property", self.path);
                    self.push(FieldError::invalid(self.field(), name.as_str(), text));
                    continue;
                }
                (None, Additional::Absent | Additional::Any) => continue,
            };
            let old = match is_root && TYPE_META.contains(&name.as_str()) {
                true => None,
                false => old.and_then(|o| o.get(name)),
            };
            // Upstream joins map keys to an empty path with a dot, fields without.
            if mark > 0 || schema.property(name).is_none() {
                self.path.push('.');
            }
            self.path.push_str(name);
            self.node(value, inner, old);
            self.path.truncate(mark);
        }
        let Some(checks) = checks else { return };
        for name in &checks.required {
            if !fields.contains_key(name.as_ref()) {
                self.path.push('.');
                self.path.push_str(name);
                self.push(FieldError::required(self.field(), ""));
                self.path.truncate(mark);
            }
        }
    }

    fn check_junctors(&mut self, value: &Value, checks: &Checks, old: Option<&Value>) {
        self.matches += 2;
        if !checks.any_of.is_empty() {
            self.check_any_of(value, checks, old);
        }
        if !checks.one_of.is_empty() {
            self.check_one_of(value, checks, old);
        }
        if !checks.all_of.is_empty() {
            self.check_all_of(value, checks, old);
        }
        if let Some(not) = &checks.not
            && self.branch(value, not, old).errors.is_empty()
        {
            self.junctor("must not validate the schema (not)");
        }
    }

    fn check_any_of(&mut self, value: &Value, checks: &Checks, old: Option<&Value>) {
        let mut best: Option<Walk<'_>> = None;
        for schema in &checks.any_of {
            let result = self.branch(value, schema, old);
            if result.errors.is_empty() {
                self.matches += result.matches;
                return;
            }
            if best.as_ref().is_none_or(|b| result.matches > b.matches) {
                best = Some(result);
            }
        }
        self.junctor("must validate at least one schema (anyOf)");
        self.merge(best);
    }

    fn check_one_of(&mut self, value: &Value, checks: &Checks, old: Option<&Value>) {
        let mut best: Option<Walk<'_>> = None;
        let mut n_valid = 0;
        for schema in &checks.one_of {
            let result = self.branch(value, schema, old);
            if result.errors.is_empty() {
                n_valid += 1;
                best = None;
            } else if n_valid == 0 && best.as_ref().is_none_or(|b| result.matches > b.matches) {
                best = Some(result);
            }
        }
        match n_valid {
            1 => return,
            0 => self.junctor("must validate one and only one schema (oneOf). Found none valid"),
            n => self.junctor(&format!(
                "must validate one and only one schema (oneOf). Found {n} valid alternatives"
            )),
        }
        self.merge(best);
    }

    fn check_all_of(&mut self, value: &Value, checks: &Checks, old: Option<&Value>) {
        let mut n_valid = 0;
        for schema in &checks.all_of {
            let result = self.branch(value, schema, old);
            n_valid += usize::from(result.errors.is_empty());
            self.merge(Some(result));
        }
        if n_valid != checks.all_of.len() {
            let more = if n_valid == 0 { ". None validated" } else { "" };
            self.junctor(&format!("must validate all the schemas (allOf){more}"));
        }
    }

    /// Validates the same value against one branch of a junctor, apart.
    fn branch(&self, value: &Value, schema: &Node, old: Option<&Value>) -> Walk<'a> {
        let mut walk = Walk::new(self.prefix, &self.path);
        // The branch itself is not compared with the old value, only what is inside.
        walk.node_unforgiven(value, schema, old);
        walk
    }

    fn node_unforgiven(&mut self, value: &Value, schema: &Node, old: Option<&Value>) {
        match old {
            Some(old) if old == value => self.node(value, schema, None),
            _ => self.node(value, schema, old),
        }
    }

    fn merge(&mut self, other: Option<Walk<'_>>) {
        let Some(other) = other else { return };
        self.matches += other.matches;
        other.errors.into_iter().for_each(|e| self.push(e));
    }

    fn junctor(&mut self, what: &str) {
        let text = format!("{} {what}", super::quoted(&self.path));
        self.push(FieldError::invalid(self.prefix, "", text));
    }

    fn invalid(&mut self, value: impl Into<Value>, what: std::fmt::Arguments<'_>) {
        let text = self.said(what);
        self.push(FieldError::invalid(self.field(), value, text));
    }

    fn said(&self, what: std::fmt::Arguments<'_>) -> String {
        format!("{} in body {what}", self.path)
    }

    /// Full path of where we are.
    fn field(&self) -> String {
        let path = self.path.strip_prefix('.').unwrap_or(&self.path);
        match (self.prefix.is_empty(), path.is_empty()) {
            (true, _) => path.to_owned(),
            (false, true) => self.prefix.to_owned(),
            (false, false) => format!("{}.{path}", self.prefix),
        }
    }

    fn push(&mut self, error: FieldError) {
        if self.errors.len() < ERRORS_MAX {
            self.errors.push(error);
        }
    }
}

// === impl OldItems ===

impl<'a> OldItems<'a> {
    /// An index of `old`, if items of this list can be told apart.
    pub fn new(schema: &'a Node, old: &'a Value) -> Option<Self> {
        let list = old.as_array()?;
        if schema.list != ListType::Map {
            return None;
        }
        let mut index = std::collections::HashMap::with_capacity(list.len());
        for item in list {
            // Of items with the same keys the first counts.
            if let Some(key) = item_key(item, &schema.keys) {
                index.entry(key).or_insert(item);
            }
        }
        Some(Self {
            index,
            keys: &schema.keys,
        })
    }

    /// The old item with the keys of `item`.
    pub fn find(&self, item: &Value) -> Option<&'a Value> {
        self.index.get(&item_key(item, self.keys)?).copied()
    }
}

/// The values of an item's keys, as one text.
fn item_key(item: &Value, keys: &[std::sync::Arc<str>]) -> Option<String> {
    let fields = item.as_object()?;
    let mut text = String::new();
    for key in keys {
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "{}\u{0}",
            fields.get(key.as_ref()).unwrap_or(&Value::Null)
        );
    }
    Some(text)
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_integral(number: &Number) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|f| f.fract() == 0.0)
}

/// The type and format a number does not fit into, as error texts name them.
fn out_of_range(number: &Number, ty: Option<JsonType>, format: Option<Format>) -> Option<String> {
    let value = number.as_f64().unwrap_or(f64::NAN);
    let whole = number.as_i64().or_else(|| {
        let fits = value.fract() == 0.0 && value.abs() < 9.2e18 && !number.is_u64();
        #[expect(
            clippy::cast_possible_truncation,
            reason = "checked to be whole and in range"
        )]
        fits.then_some(value as i64)
    });
    match (ty?, format) {
        (JsonType::Integer, Some(Format::Int32)) => match whole.map(i32::try_from) {
            Some(Ok(_)) => None,
            _ => Some("integer with format int32".into()),
        },
        (JsonType::Integer, Some(Format::Int64)) => {
            whole.is_none().then(|| "integer with format int64".into())
        }
        (JsonType::Integer, _) => whole.is_none().then(|| "integer (default format)".into()),
        (JsonType::Number, Some(Format::Float)) if value.abs() > f64::from(f32::MAX) => {
            Some("number with format float".into())
        }
        _ => None,
    }
}

fn is_multiple(value: f64, factor: f64) -> bool {
    if factor <= 0.0 {
        return false;
    }
    let quotient = if factor < 1.0 {
        1.0 / factor * value
    } else {
        value / factor
    };
    // Tolerance of `swag.IsFloat64AJSONInteger`.
    let difference = (quotient - quotient.trunc()).abs();
    quotient.is_finite()
        && (difference == 0.0 || difference / (quotient.abs() + quotient.trunc().abs()) < 1e-9)
}

/// A float as Go's `%v` prints it.
pub(crate) fn go_float(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let text = format!("{value:e}");
    let exponent: i32 = text
        .split_once('e')
        .and_then(|(_, e)| e.parse().ok())
        .unwrap_or(0);
    if (-4..21).contains(&exponent) {
        return value.to_string();
    }
    let (mantissa, _) = text.split_once('e').unwrap_or((&text, ""));
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests;
