//! `x-kubernetes-validations`: rules in CEL that objects must fulfil.
//!
//! [`compile`] turns the rules of a schema into [`Rules`] once; [`Rules::check`] evaluates them
//! against an object, with the old one beside it for transition rules. What a rule says on failure,
//! when it runs, which old value it sees and what it may cost follows upstream; the evaluator
//! itself is behind [`engine`]. What it cannot do is listed in docs/differences.md, "CEL".
//!
//! Source: Kubernetes v1.35, apiextensions-apiserver `pkg/apiserver/schema/cel`.

mod check;
pub mod engine;
mod functions;
mod rewrite;
mod unordered;
pub mod value;

use std::collections::HashMap;
use std::sync::Arc;

use flotilla_machinery::status::FieldError;
use serde_json::Value;

use self::engine::{Answer, Bound, Expression, Failure, Interrupt};
use super::fieldpath;
use super::path::Path;
use super::structural::{Additional, Node, Reason, Rule};
use super::validate::OldItems;

/// What one evaluation of one rule may cost.
pub const CALL_COST_MAX: u64 = 1_000_000;
/// What all rules of one object may cost together.
pub const OBJECT_COST_MAX: u64 = 10_000_000;
/// Longest text a message expression may produce, in bytes.
const MESSAGE_BYTES_MAX: usize = 5 * 1024;
/// Variables a rule may read.
const VARIABLES: [&str; 2] = ["self", "oldSelf"];

/// The compiled rules of one schema.
pub struct Rules {
    root: Arc<Place>,
}

/// A place in the schema with rules at it or below.
struct Place {
    node: Arc<Node>,
    rules: Box<[Compiled]>,
    properties: Box<[(Arc<str>, Arc<Place>)]>,
    additional: Option<Arc<Place>>,
    items: Option<Arc<Place>>,
}

struct Compiled {
    rule: Rule,
    program: Result<Expression, String>,
    message: Option<Expression>,
    uses_old_self: bool,
    /// `fieldPath` in the notation of errors; empty when absent or wrong.
    field_path: String,
}

/// A mistake in a rule, found when it is compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleError {
    /// In the rule, as upstream says it.
    Rule(String),
    /// In its `messageExpression`.
    Message(String),
    /// The rule could cost too much.
    TooExpensive(String),
}

/// Compiles the rules of a schema; `None` when it has none.
pub fn compile(root: &Arc<Node>) -> Option<Rules> {
    let mut done = HashMap::new();
    place(root, &mut done).map(|root| Rules { root })
}

/// Most a rule may cost for the largest object the schema allows (upstream's limit).
const ESTIMATE_MAX: u64 = 10_000_000;
/// How far over the limit an estimate must be before we trust it.
const ESTIMATE_SLACK: u64 = 100;

/// Compiles one rule only to see whether that works, and whether it reads `oldSelf`.
///
/// `times` is how often the place can occur in one object; `None` when that has no bound.
///
/// # Errors
/// The first mistake.
pub fn try_rule(
    rule: &Rule,
    node: &Arc<Node>,
    is_root: bool,
    times: Option<u64>,
) -> Result<bool, RuleError> {
    let invalid = |why: String| RuleError::Rule(format!("compilation failed: {why}"));
    let program = Expression::compile(&rule.rule, &VARIABLES).map_err(invalid)?;
    let found = check::check(program.tree(), node, is_root, rule.optional_old_self);
    if let Some(problem) = found.problems.first() {
        return Err(invalid(issue(
            &rule.rule,
            problem.find(&rule.rule),
            &problem.text,
        )));
    }
    if !matches!(found.ty, check::Ty::Bool | check::Ty::Any) {
        return Err(RuleError::Rule(
            "cel expression must evaluate to a bool".into(),
        ));
    }
    let times = times.unwrap_or_else(|| (3 << 20) / (check::bytes_min(node) + 1));
    let cost = found.cost.saturating_mul(times);
    if cost / ESTIMATE_SLACK > ESTIMATE_MAX {
        return Err(RuleError::TooExpensive(
            "estimated rule cost exceeds budget by factor of more than 100x (try simplifying the \
             rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings \
             are declared)"
                .into(),
        ));
    }
    let source = &*rule.message_expression;
    if !source.trim().is_empty() {
        let invalid = |why: String| {
            RuleError::Message(format!("messageExpression compilation failed: {why}"))
        };
        let message = Expression::compile(source, &VARIABLES).map_err(invalid)?;
        let found = check::check(message.tree(), node, is_root, rule.optional_old_self);
        if let Some(problem) = found.problems.first() {
            return Err(invalid(issue(source, problem.find(source), &problem.text)));
        }
        if !matches!(found.ty, check::Ty::String | check::Ty::Any) {
            let why = "messageExpression must evaluate to a string";
            return Err(RuleError::Message(why.into()));
        }
    }
    Ok(program.uses("oldSelf"))
}

/// How often a list's items or a map's values can occur, given how often it can itself.
pub fn times_inside(node: &Node, times: Option<u64>) -> Option<u64> {
    let checks = node.checks.as_deref()?;
    let bound = match &node.items {
        Some(_) => checks.max_items,
        None => checks.max_properties,
    };
    times?.checked_mul(u64::try_from(bound?).ok()?)
}

/// One mistake in an expression as cel-go prints it, with the line it stands in.
pub(crate) fn issue(source: &str, at: usize, what: &str) -> String {
    let at = at.min(source.len());
    let line_start = source[..at].rfind('\n').map_or(0, |n| n + 1);
    let line_number = source[..at].matches('\n').count() + 1;
    let line = source[line_start..].lines().next().unwrap_or_default();
    let column = source[line_start..at].chars().count();
    let dots = ".".repeat(column);
    format!(
        "ERROR: <input>:{line_number}:{}: {what}\n | {line}\n | {dots}^",
        column + 1
    )
}

fn place(
    node: &Arc<Node>,
    done: &mut HashMap<*const Node, Option<Arc<Place>>>,
) -> Option<Arc<Place>> {
    let key = Arc::as_ptr(node);
    if let Some(known) = done.get(&key) {
        return known.clone();
    }
    let properties: Box<[_]> = node
        .properties
        .iter()
        .filter_map(|(name, node)| Some((Arc::clone(name), place(node, done)?)))
        .collect();
    let additional = match &node.additional {
        Additional::Schema(values) => place(values, done),
        _ => None,
    };
    let items = node.items.as_ref().and_then(|items| place(items, done));
    let has_any =
        !node.rules.is_empty() || !properties.is_empty() || additional.is_some() || items.is_some();
    let made = has_any.then(|| {
        let rules = node
            .rules
            .iter()
            .map(|rule| Compiled::new(rule, node))
            .collect();
        Arc::new(Place {
            node: Arc::clone(node),
            rules,
            properties,
            additional,
            items,
        })
    });
    done.insert(key, made.clone());
    made
}

// === impl Compiled ===

impl Compiled {
    fn new(rule: &Rule, node: &Arc<Node>) -> Self {
        let compiled = |source: &str| {
            let expression = Expression::compile(source, &VARIABLES)?;
            Ok(expression.at(node, rule.optional_old_self))
        };
        let program: Result<Expression, String> = compiled(&rule.rule);
        let uses_old_self = program.as_ref().is_ok_and(|p| p.uses("oldSelf"));
        let message = match rule.message_expression.trim() {
            "" => None,
            _ => compiled(&rule.message_expression).ok(),
        };
        let field_path = match rule.field_path.is_empty() {
            true => String::new(),
            false => fieldpath::resolve(&rule.field_path, node)
                .map(|f| f.path)
                .unwrap_or_default(),
        };
        Self {
            rule: rule.clone(),
            program,
            message,
            uses_old_self,
            field_path,
        }
    }

    /// What errors call the rule.
    fn name(&self) -> &str {
        let rule = &self.rule;
        if rule.message.is_empty() {
            rule.rule.trim()
        } else {
            rule.message.trim()
        }
    }

    fn default_message(&self) -> String {
        match self.rule.message.is_empty() {
            true => format!("failed rule: {}", self.rule.rule.trim()),
            false => self.rule.message.trim().to_owned(),
        }
    }
}

// === impl Rules ===

impl Rules {
    /// Errors of a new object (`old` absent), or of a changed one. Errors in parts that did not
    /// change, from rules that do not look at `oldSelf`, come back as warnings instead.
    ///
    /// Costs at most [`OBJECT_COST_MAX`] units, about a second of CPU time; `interrupt` can end it
    /// sooner.
    pub fn check(
        &self,
        new: &Value,
        old: Option<&Value>,
        interrupt: Option<&Interrupt>,
    ) -> (Vec<FieldError>, Vec<String>) {
        let mut run = Run {
            left: OBJECT_COST_MAX,
            spent: false,
            interrupt,
            errors: Vec::new(),
            warnings: Vec::new(),
        };
        let same = match old {
            Some(old) => Same::Compared { new, old },
            None => Same::Never,
        };
        run.place(&self.root, new, old, same, &Path::ROOT, true);
        (run.errors, run.warnings)
    }
}

/// Whether errors at a place are forgiven.
#[derive(Clone, Copy)]
enum Same<'a> {
    /// There is nothing to compare with.
    Never,
    /// When these two are equal: the place itself and what it was, or the closest parts around it
    /// that can be told apart.
    Compared { new: &'a Value, old: &'a Value },
}

impl<'a> Same<'a> {
    /// For a part with an old counterpart; without one the parts around it decide.
    fn inner(self, new: &'a Value, old: Option<&'a Value>) -> Self {
        match (self, old) {
            (Self::Never, _) => Self::Never,
            (Self::Compared { .. }, Some(old)) => Self::Compared { new, old },
            (outer, None) => outer,
        }
    }

    fn holds(self) -> bool {
        matches!(self, Self::Compared { new, old } if new == old)
    }
}

struct Run<'r> {
    left: u64,
    spent: bool,
    interrupt: Option<&'r Interrupt>,
    errors: Vec<FieldError>,
    warnings: Vec<String>,
}

impl Run<'_> {
    fn place<'a>(
        &mut self,
        place: &'a Place,
        new: &'a Value,
        old: Option<&'a Value>,
        same: Same<'a>,
        path: &Path<'_>,
        is_root: bool,
    ) {
        if new.is_null() || self.spent {
            return;
        }
        if !place.rules.is_empty() {
            self.rules(place, new, old.filter(|o| !o.is_null()), same, path);
        }
        match new {
            Value::Array(list) => {
                let Some(items) = &place.items else { return };
                let old_items = old.and_then(|old| OldItems::new(&place.node, old));
                for (at, value) in list.iter().enumerate() {
                    let old = old_items.as_ref().and_then(|o| o.find(value));
                    let same = same.inner(value, old);
                    self.place(items, value, old, same, &path.index(at), false);
                }
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    let is_type = is_root && matches!(name.as_str(), "apiVersion" | "kind");
                    let old = old.and_then(|o| o.get(name));
                    let same = if is_type {
                        Same::Never
                    } else {
                        same.inner(value, old)
                    };
                    if let Some(property) = place.property(name) {
                        self.place(property, value, old, same, &path.child(name), false);
                    } else if let Some(values) = &place.additional
                        && place.node.property(name).is_none()
                    {
                        self.place(values, value, old, same, &path.key(name), false);
                    }
                }
            }
            _ => {}
        }
    }

    fn rules(
        &mut self,
        place: &Place,
        new: &Value,
        old: Option<&Value>,
        same: Same<'_>,
        path: &Path<'_>,
    ) {
        let this = value::bind(new, Some(&place.node));
        let needs_old = place.rules.iter().any(|r| r.uses_old_self);
        let before = old
            .filter(|_| needs_old)
            .map(|old| value::bind(old, Some(&place.node)));
        for rule in &place.rules {
            let program = match &rule.program {
                Ok(program) => program,
                Err(why) => {
                    self.type_error(place, path, format!("rule compile error: {why}"));
                    continue;
                }
            };
            let optional = rule.rule.optional_old_self;
            if rule.uses_old_self && old.is_none() && !optional {
                continue;
            }
            let before = match (optional, &before) {
                (true, Some(before)) => Some(before.optional()),
                (true, None) => Some(Bound::none()),
                (false, before) => before.clone(),
            };
            let mut variables = vec![("self", &this)];
            variables.extend(before.as_ref().map(|b| ("oldSelf", b)));
            if self.left == 0 {
                return self.out_of_budget(place, path);
            }
            let (answer, cost) = program.evaluate(&variables, CALL_COST_MAX, self.interrupt);
            if cost > self.left {
                return self.out_of_budget(place, path);
            }
            self.left -= cost;
            match answer {
                Ok(Answer::Bool(true)) => {}
                Ok(_) => {
                    if !self.failed(rule, place, new, &variables, same, path) {
                        return;
                    }
                }
                Err(Failure::Error(why)) if why.starts_with("no such overload") => {
                    self.type_error(place, path, format!(
                        "'{why}': call arguments did not match a supported operator, function or \
                         macro signature for rule: {}",
                        rule.name()
                    ));
                }
                Err(Failure::Error(why)) => {
                    self.type_error(
                        place,
                        path,
                        format!("{why} evaluating rule: {}", rule.name()),
                    );
                }
                Err(stop) => {
                    self.type_error(
                        place,
                        path,
                        format!(
                            "'{stop}': no further validation rules will be run due to call cost \
                         exceeds limit for rule: {}",
                            rule.name()
                        ),
                    );
                    self.spent = true;
                    return;
                }
            }
        }
    }

    /// Reports a rule that is not fulfilled; false when the budget ran out over it.
    fn failed(
        &mut self,
        rule: &Compiled,
        place: &Place,
        new: &Value,
        variables: &[(&str, &Bound)],
        same: Same<'_>,
        path: &Path<'_>,
    ) -> bool {
        let detail =
            match &rule.message {
                None => rule.default_message(),
                Some(message) => {
                    let (answer, cost) = message.evaluate(variables, CALL_COST_MAX, self.interrupt);
                    if cost > self.left {
                        self.type_error(
                            place,
                            path,
                            "messageExpression evaluation failed due to \
                        running out of cost budget, no further validation rules will be run"
                                .into(),
                        );
                        self.spent = true;
                        return false;
                    }
                    self.left -= cost;
                    match answer {
                        Ok(Answer::Text(text)) => {
                            let text = text.trim();
                            let fits = !text.is_empty()
                                && text.len() <= MESSAGE_BYTES_MAX
                                && !text.contains('\n');
                            if fits {
                                text.to_owned()
                            } else {
                                rule.default_message()
                            }
                        }
                        Ok(_) | Err(Failure::Error(_)) => rule.default_message(),
                        Err(_) => {
                            let source = super::quoted(&rule.rule.message_expression);
                            self.type_error(place, path, format!(
                            "no further validation rules will be run due to call cost exceeds \
                             limit for messageExpression: {source}"
                        ));
                            self.spent = true;
                            return false;
                        }
                    }
                }
            };
        let at = path.child(&rule.field_path).to_string();
        let mut error = match rule.rule.reason {
            Reason::Invalid => FieldError::invalid(at, new.clone(), detail),
            Reason::Forbidden => FieldError::forbidden(at, detail),
            Reason::Required => FieldError::required(at, detail),
            Reason::Duplicate => FieldError::duplicate(at, new.clone()),
        };
        if new.is_object() || new.is_array() {
            error.value = None;
        }
        if !rule.uses_old_self && same.holds() {
            self.warnings.push(error.to_string());
        } else {
            self.errors.push(error);
        }
        true
    }

    fn out_of_budget(&mut self, place: &Place, path: &Path<'_>) {
        self.spent = true;
        self.type_error(
            place,
            path,
            "validation failed due to running out of cost budget, no further validation rules \
             will be run"
                .into(),
        );
    }

    /// An error that shows the type of the place instead of its value.
    fn type_error(&mut self, place: &Place, path: &Path<'_>, detail: String) {
        let ty = place.node.ty.map_or("", |t| t.as_str());
        self.errors.push(FieldError::invalid(path, ty, detail));
    }
}

// === impl Place ===

impl Place {
    fn property(&self, name: &str) -> Option<&Place> {
        let at = self
            .properties
            .binary_search_by(|(n, _)| n.as_ref().cmp(name))
            .ok()?;
        Some(&self.properties[at].1)
    }
}

#[cfg(test)]
mod tests;
