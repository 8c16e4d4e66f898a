//! A place in an object that is checked: its value, the path to it, and where its mistakes go.
//!
//! Places are linked to the place above, and a path is spelled out only for a mistake, so that an
//! object without any costs no text. Texts are those of upstream's `field.Error`.

use std::cell::RefCell;

use flotilla_machinery::{
    labels::validate_label_selector,
    names,
    status::{FieldError, FieldErrorKind},
};
use serde_json::Value;

use super::{fill, rules::Errors};

/// A place in an object.
#[derive(Clone, Copy)]
pub(super) struct Field<'p, 'v> {
    /// What stands there; null when nothing does.
    pub(super) value: &'v Value,
    parent: Option<&'p Field<'p, 'v>>,
    step: Step<'p>,
    mistakes: &'p RefCell<Errors>,
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Name(&'p str),
    Index(usize),
    Key(&'p str),
}

/// Adds to `errors` what `rules` say about a value at `path`.
pub(super) fn check(
    value: &Value,
    path: &str,
    errors: &mut Errors,
    rules: impl FnOnce(&Field<'_, '_>),
) {
    let mistakes = RefCell::new(std::mem::take(errors));
    rules(&Field {
        value,
        parent: None,
        step: Step::Name(path),
        mistakes: &mistakes,
    });
    *errors = mistakes.into_inner();
}

impl<'p, 'v> Field<'p, 'v> {
    /// The place of a member, or of one further below with a dotted name.
    pub(super) fn at<'c>(&'c self, name: &'c str) -> Field<'c, 'v> {
        self.below(fill::at(self.value, name), Step::Name(name))
    }

    /// The place called `name` of a value that stands somewhere else.
    pub(super) fn with<'c, 'w>(&'c self, name: &'c str, value: &'w Value) -> Field<'c, 'w>
    where
        'v: 'w,
    {
        Field {
            value,
            parent: Some(self),
            step: Step::Name(name),
            mistakes: self.mistakes,
        }
    }

    /// The place of an item of a list.
    pub(super) fn item<'c>(&'c self, index: usize) -> Field<'c, 'v> {
        let value = self.value.get(index).unwrap_or(&Value::Null);
        self.below(value, Step::Index(index))
    }

    /// The place of an entry of a map.
    pub(super) fn key<'c>(&'c self, key: &'c str) -> Field<'c, 'v> {
        let value = self.value.get(key).unwrap_or(&Value::Null);
        self.below(value, Step::Key(key))
    }

    /// The places of all items of a list.
    pub(super) fn items<'c>(&'c self) -> impl Iterator<Item = Field<'c, 'v>> + use<'c, 'p, 'v> {
        let items = self.list().iter().enumerate();
        items.map(|(at, value)| self.below(value, Step::Index(at)))
    }

    /// Keys and places of all entries of a map.
    pub(super) fn entries<'c>(
        &'c self,
    ) -> impl Iterator<Item = (&'v str, Field<'c, 'v>)> + use<'c, 'p, 'v> {
        let entries = self.value.as_object().into_iter().flatten();
        entries.map(|(key, value)| (key.as_str(), self.below(value, Step::Key(key))))
    }

    fn below<'c>(&'c self, value: &'v Value, step: Step<'c>) -> Field<'c, 'v> {
        Field {
            value,
            parent: Some(self),
            step,
            mistakes: self.mistakes,
        }
    }

    /// The path in full, such as `spec.containers[0].name`.
    pub(super) fn path(&self) -> String {
        let mut path = self.parent.map(Field::path).unwrap_or_default();
        match self.step {
            Step::Name("") => {}
            Step::Name(name) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name);
            }
            Step::Index(at) => path.push_str(&format!("[{at}]")),
            Step::Key(key) => path.push_str(&format!("[{key}]")),
        }
        path
    }

    /// Text, empty when there is none.
    pub(super) fn text(&self) -> &'v str {
        self.value.as_str().unwrap_or_default()
    }

    /// A whole number, if there is one.
    pub(super) fn number(&self) -> Option<i64> {
        self.value.as_i64()
    }

    /// A whole number, 0 when there is none.
    pub(super) fn count(&self) -> i64 {
        self.number().unwrap_or(0)
    }

    /// The items of a list, none when there is no list.
    pub(super) fn list(&self) -> &'v [Value] {
        self.value.as_array().map_or(&[], Vec::as_slice)
    }

    /// Whether anything stands here, even if it is empty.
    pub(super) fn is_set(&self) -> bool {
        !self.value.is_null()
    }

    /// Whether nothing stands here, or empty text, an empty list or an empty map.
    pub(super) fn is_empty(&self) -> bool {
        match self.value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(map) => map.is_empty(),
            _ => false,
        }
    }

    /// Whether `true` stands here.
    pub(super) fn is_true(&self) -> bool {
        *self.value == true
    }

    // === mistakes ===

    /// Whether nothing has been found wrong since there were `n` mistakes.
    pub(super) fn is_fine_since(&self, n: usize) -> bool {
        self.n_mistakes() == n
    }

    /// How many mistakes were found so far, here and elsewhere.
    pub(super) fn n_mistakes(&self) -> usize {
        self.mistakes.borrow().len()
    }

    fn report(&self, error: FieldError) {
        self.mistakes.borrow_mut().push(error);
    }

    /// Something must stand here.
    pub(super) fn required(&self, detail: impl Into<String>) {
        self.report(FieldError::required(self.path(), detail));
    }

    /// What stands here is wrong. Absent text is shown as empty text by [`Self::invalid_text`].
    pub(super) fn invalid(&self, detail: impl Into<String>) {
        self.invalid_as(self.value.clone(), detail);
    }

    /// What stands here is wrong, and is text.
    pub(super) fn invalid_text(&self, detail: impl Into<String>) {
        self.invalid_as(self.text(), detail);
    }

    /// A wrong value other than what stands here.
    pub(super) fn invalid_as(&self, value: impl Into<Value>, detail: impl Into<String>) {
        self.report(FieldError::invalid(self.path(), value, detail));
    }

    /// Something is wrong here that no value shows.
    pub(super) fn invalid_alone(&self, detail: &str) {
        self.shown(FieldErrorKind::Invalid, detail.to_owned());
    }

    /// A wrong value that was made into text already; see [`super::golang`].
    pub(super) fn invalid_shown(&self, shown: &str, detail: &str) {
        self.shown(FieldErrorKind::Invalid, format!("{shown}: {detail}"));
    }

    /// A value that is not supported, made into text already.
    pub(super) fn not_supported_shown(&self, shown: &str, supported: &[&str]) {
        let like = FieldError::not_supported("", Value::Null, supported).detail;
        self.shown(FieldErrorKind::NotSupported, format!("{shown}: {like}"));
    }

    /// A value that was there before, made into text already.
    pub(super) fn duplicate_shown(&self, shown: String) {
        self.shown(FieldErrorKind::Duplicate, shown);
    }

    fn shown(&self, kind: FieldErrorKind, detail: String) {
        let path = self.path();
        self.report(FieldError {
            kind,
            path,
            value: None,
            detail,
        });
    }

    /// What stands here must not.
    pub(super) fn forbidden(&self, detail: impl Into<String>) {
        self.report(FieldError::forbidden(self.path(), detail));
    }

    /// What stands here stood somewhere before.
    pub(super) fn duplicate(&self) {
        self.duplicate_of(self.value.clone());
    }

    /// A value that was there before, other than what stands here.
    pub(super) fn duplicate_of(&self, value: impl Into<Value>) {
        self.report(FieldError::duplicate(self.path(), value));
    }

    /// What stands here names nothing that exists.
    pub(super) fn not_found(&self, detail: &str) {
        self.not_found_as(self.text(), detail);
    }

    /// A name of nothing that exists, other than what stands here.
    pub(super) fn not_found_as(&self, name: &str, detail: &str) {
        let mut error = FieldError::not_found(self.path(), name);
        error.detail = detail.to_owned();
        self.report(error);
    }

    /// What stands here is longer than `bytes_max`.
    pub(super) fn too_long(&self, bytes_max: usize) {
        self.report(FieldError::too_long(self.path(), bytes_max));
    }

    /// More items stand here than `items_max`.
    pub(super) fn too_many(&self, items_max: usize) {
        let n = self.list().len();
        self.report(FieldError::too_many(self.path(), n, items_max));
    }

    /// What stands here is none of these.
    pub(super) fn not_supported(&self, supported: &[&str]) {
        self.not_supported_as(self.text(), supported);
    }

    /// A value that is none of these, other than what stands here.
    pub(super) fn not_supported_as(&self, value: impl Into<Value>, supported: &[&str]) {
        let error = FieldError::not_supported(self.path(), value, supported);
        self.report(error);
    }

    /// One mistake for each complaint about the text.
    pub(super) fn complain(&self, complaints: Vec<String>) {
        for complaint in complaints {
            self.invalid_text(complaint);
        }
    }

    // === common rules ===

    /// Text must be one of `supported`; empty text is required.
    pub(super) fn one_of(&self, supported: &[&str]) {
        if self.text().is_empty() {
            self.required("");
        } else {
            self.supported(supported);
        }
    }

    /// Text, empty text too, must be one of `supported`.
    pub(super) fn supported(&self, supported: &[&str]) {
        if !supported.contains(&self.text()) {
            self.not_supported(supported);
        }
    }

    /// Text must be one of `supported` if it is there.
    pub(super) fn supported_if_set(&self, supported: &[&str]) {
        if self.is_set() {
            self.supported(supported);
        }
    }

    /// Text must satisfy a rule; empty text is required.
    pub(super) fn named(&self, rule: fn(&str) -> Vec<String>) {
        if self.text().is_empty() {
            self.required("");
        } else {
            self.complain(rule(self.text()));
        }
    }

    /// Text must satisfy a rule if it is there and not empty.
    pub(super) fn named_if_any(&self, rule: fn(&str) -> Vec<String>) {
        if !self.text().is_empty() {
            self.complain(rule(self.text()));
        }
    }

    /// Text must be there.
    pub(super) fn needed(&self) {
        if self.text().is_empty() {
            self.required("");
        }
    }

    /// A number must not be negative.
    pub(super) fn not_negative(&self) {
        if self.count() < 0 {
            self.invalid("must be greater than or equal to 0");
        }
    }

    /// A number must be between two others, both included.
    pub(super) fn in_range(&self, min: i64, max: i64) {
        for complaint in names::in_range(self.count(), min, max) {
            self.invalid_as(self.count(), complaint);
        }
    }

    /// A number must be a port's.
    pub(super) fn port(&self) {
        self.in_range(1, 65535);
    }

    /// A number must be a port's, or text the name of one.
    pub(super) fn port_or_name(&self) {
        match self.value {
            Value::String(name) => self.complain(names::port_name(name)),
            _ => self.port(),
        }
    }

    /// A map must hold valid labels.
    pub(super) fn labels(&self) {
        if let Some(labels) = self.value.as_object().filter(|labels| !labels.is_empty()) {
            let mistakes = names::validate_labels(labels, &self.path());
            self.mistakes.borrow_mut().extend(mistakes);
        }
    }

    /// A map must hold valid annotations.
    pub(super) fn annotations(&self) {
        if let Some(entries) = self.value.as_object().filter(|entries| !entries.is_empty()) {
            let mistakes = names::validate_annotations(entries, &self.path());
            self.mistakes.borrow_mut().extend(mistakes);
        }
    }

    /// A label selector must be valid, if there is one.
    pub(super) fn selector(&self) {
        if self.is_set() && !self.is_empty() {
            let mistakes = validate_label_selector(self.value, &self.path());
            self.mistakes.borrow_mut().extend(mistakes);
        }
    }
}
