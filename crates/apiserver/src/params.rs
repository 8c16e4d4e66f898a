//! Query parameters of each verb: reading and validation.
//!
//! Unknown parameters are ignored, as upstream does. A value that cannot be read is a bad request
//! (400); a combination that makes no sense is invalid (422) and names the field, because clients
//! fall back to plain list and watch on it.
//!
//! Source: Kubernetes v1.35, apimachinery `pkg/apis/meta/internalversion/validation` and
//! `pkg/apis/meta/v1/validation`.

use flotilla_machinery::{
    fields,
    group::GroupKind,
    labels, names,
    status::{FieldError, Status},
};
use serde_json::Value;

use crate::{
    registry::Propagation,
    request::{is_true, query_pairs},
};

/// How exactly a list must match the asked-for resourceVersion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionMatch {
    /// At least as new.
    NotOlderThan,
    /// The state of exactly that revision.
    Exact,
}

/// Parameters of list, watch and deletecollection.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// Which labels; `None` means all.
    pub labels: Option<labels::Selector>,
    /// Which fields; `None` means all.
    pub fields: Option<fields::Selector>,
    /// Revision, 0 for `0`, `None` when absent.
    pub resource_version: Option<u64>,
    /// How exactly.
    pub version_match: Option<VersionMatch>,
    /// Page size in objects; 0 means everything.
    pub limit: u64,
    /// Token of the page before.
    pub continue_token: String,
    /// Seconds until a watch ends; `None` lets the server choose.
    pub timeout_seconds: Option<u64>,
    /// Whether a watch may send bookmarks.
    pub allow_bookmarks: bool,
    /// Whether a watch starts with the current state and a bookmark behind it.
    pub send_initial_events: Option<bool>,
}

/// What to do with unknown and duplicate fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// Drop them silently.
    Ignore,
    /// Drop them and say so in a header.
    #[default]
    Warn,
    /// Refuse the request.
    Strict,
}

/// Parameters of create, update and patch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Whether nothing is stored.
    pub dry_run: bool,
    /// Who the changed fields belong to; empty when not given.
    pub field_manager: String,
    /// What to do with unknown and duplicate fields.
    pub field_validation: FieldValidation,
    /// Whether apply takes fields from other managers.
    pub force: Option<bool>,
}

/// Parameters of delete; from the query, or from a `DeleteOptions` body, which wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Whether nothing is stored.
    pub dry_run: bool,
    /// Seconds the object may keep running.
    pub grace_period_seconds: Option<i64>,
    /// What happens to dependents.
    pub propagation: Option<Propagation>,
    /// The old way to say it.
    pub orphan_dependents: Option<bool>,
    /// Only delete this incarnation.
    pub uid: Option<String>,
    /// Only delete this revision.
    pub resource_version: Option<String>,
}

// === impl ListOptions ===

impl ListOptions {
    /// Reads and validates the parameters of a list, or of a watch when `watch` is set.
    ///
    /// # Errors
    /// 400 for unreadable values, 422 of kind `ListOptions` for combinations without sense.
    pub fn parse(query: &str, watch: bool) -> Result<Self, Status> {
        let mut options = Self::default();
        let (mut version, mut matching) = (String::new(), String::new());
        for (name, value) in query_pairs(query) {
            match name.as_ref() {
                "labelSelector" => options.labels = parse_labels(&value)?,
                "fieldSelector" => options.fields = parse_fields(&value)?,
                "resourceVersion" => version = value.into_owned(),
                "resourceVersionMatch" => matching = value.into_owned(),
                "limit" => options.limit = number(&value)?.unwrap_or(0).try_into().unwrap_or(0),
                "continue" => options.continue_token = value.into_owned(),
                "timeoutSeconds" => {
                    options.timeout_seconds = number(&value)?.and_then(|n| n.try_into().ok());
                }
                "allowWatchBookmarks" => options.allow_bookmarks = is_true(&value),
                "sendInitialEvents" => options.send_initial_events = Some(is_true(&value)),
                _ => {}
            }
        }
        options.resource_version = parse_version(&version).map_err(|status| match watch {
            true => status,
            false => unreadable_version(&version),
        })?;
        options.version_match = match matching.as_str() {
            "NotOlderThan" => Some(VersionMatch::NotOlderThan),
            "Exact" => Some(VersionMatch::Exact),
            _ => None,
        };
        let errors = options.check(watch, &version, &matching);
        if errors.is_empty() {
            Ok(options)
        } else {
            let kind = GroupKind::new("meta.k8s.io", "ListOptions");
            Err(Status::invalid(&kind, "", errors))
        }
    }

    fn check(&self, watch: bool, version: &str, matching: &str) -> Vec<FieldError> {
        if self.send_initial_events.is_some() {
            return self.check_initial_events(watch, matching);
        }
        if matching.is_empty() {
            return Vec::new();
        }
        const FIELD: &str = "resourceVersionMatch";
        let mut errors = Vec::new();
        if watch {
            let why =
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            return vec![FieldError::forbidden(FIELD, why)];
        }
        if version.is_empty() {
            let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            errors.push(FieldError::forbidden(FIELD, why));
        }
        if !self.continue_token.is_empty() {
            let why = "resourceVersionMatch is forbidden when continue is provided";
            errors.push(FieldError::forbidden(FIELD, why));
        }
        if self.version_match.is_none() {
            let known = ["Exact", "NotOlderThan", ""];
            errors.push(FieldError::not_supported(FIELD, matching, &known));
        }
        if self.version_match == Some(VersionMatch::Exact) && version == "0" {
            let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            errors.push(FieldError::forbidden(FIELD, why));
        }
        errors
    }

    fn check_initial_events(&self, watch: bool, matching: &str) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if !watch {
            let why = "sendInitialEvents is forbidden for list";
            return vec![FieldError::forbidden("sendInitialEvents", why)];
        }
        match self.version_match {
            Some(VersionMatch::NotOlderThan) => {}
            _ if matching.is_empty() => {
                let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
                errors.push(FieldError::forbidden("resourceVersionMatch", why));
            }
            _ => errors.push(FieldError::not_supported(
                "resourceVersionMatch",
                matching,
                &["NotOlderThan"],
            )),
        }
        errors
    }
}

// === impl WriteOptions ===

impl WriteOptions {
    /// Reads and validates the parameters of a create, update or patch; `kind` names the options
    /// type in messages (`CreateOptions`).
    ///
    /// # Errors
    /// 422 for unknown values and for a `fieldManager` that is too long or not printable.
    pub fn parse(query: &str, kind: &str) -> Result<Self, Status> {
        let mut options = Self::default();
        let mut errors = Vec::new();
        for (name, value) in query_pairs(query) {
            match name.as_ref() {
                "dryRun" => options.dry_run |= read_dry_run(&value, &mut errors),
                "fieldManager" => options.field_manager = value.into_owned(),
                "force" => options.force = Some(is_true(&value)),
                "fieldValidation" => match value.as_ref() {
                    "" | "Warn" => options.field_validation = FieldValidation::Warn,
                    "Ignore" => options.field_validation = FieldValidation::Ignore,
                    "Strict" => options.field_validation = FieldValidation::Strict,
                    _ => errors.push(FieldError::not_supported(
                        "fieldValidation",
                        value.as_ref(),
                        &["", "Ignore", "Strict", "Warn"],
                    )),
                },
                _ => {}
            }
        }
        errors.extend(names::validate_field_manager(
            &options.field_manager,
            "fieldManager",
        ));
        done(options, errors, kind)
    }
}

// === impl DeleteOptions ===

impl DeleteOptions {
    /// Reads the query parameters of a delete, then lets `body` (a `DeleteOptions` object) replace
    /// what it sets, and validates the result.
    ///
    /// # Errors
    /// 400 for unreadable values, 422 for contradictions.
    pub fn parse(query: &str, body: Option<&Value>) -> Result<Self, Status> {
        let mut options = Self::default();
        let mut errors = Vec::new();
        for (name, value) in query_pairs(query) {
            match name.as_ref() {
                "dryRun" => options.dry_run |= read_dry_run(&value, &mut errors),
                "gracePeriodSeconds" => options.grace_period_seconds = number(&value)?,
                "orphanDependents" => options.orphan_dependents = Some(is_true(&value)),
                "propagationPolicy" => options.read_policy(&value, &mut errors),
                _ => {}
            }
        }
        if let Some(body) = body {
            options.read_body(body, &mut errors);
        }
        if options.propagation.is_some() && options.orphan_dependents.is_some() {
            errors.push(FieldError::invalid(
                "propagationPolicy",
                options.propagation.map_or("", policy_name),
                "orphanDependents and deletionPropagation cannot be both set",
            ));
        }
        done(options, errors, "DeleteOptions")
    }

    fn read_body(&mut self, body: &Value, errors: &mut Vec<FieldError>) {
        if let Some(dry_run) = body.get("dryRun").and_then(Value::as_array) {
            for value in dry_run {
                self.dry_run |= read_dry_run(value.as_str().unwrap_or(""), errors);
            }
        }
        if let Some(seconds) = body.get("gracePeriodSeconds").and_then(Value::as_i64) {
            self.grace_period_seconds = Some(seconds);
        }
        if let Some(orphan) = body.get("orphanDependents").and_then(Value::as_bool) {
            self.orphan_dependents = Some(orphan);
        }
        if let Some(policy) = body.get("propagationPolicy").and_then(Value::as_str) {
            self.read_policy(policy, errors);
        }
        let precondition = |name: &str| {
            let value = body.get("preconditions")?.get(name)?.as_str()?;
            (!value.is_empty()).then(|| value.to_owned())
        };
        self.uid = precondition("uid");
        self.resource_version = precondition("resourceVersion");
    }

    fn read_policy(&mut self, word: &str, errors: &mut Vec<FieldError>) {
        self.propagation = match word {
            "" => None,
            "Background" => Some(Propagation::Background),
            "Foreground" => Some(Propagation::Foreground),
            "Orphan" => Some(Propagation::Orphan),
            _ => {
                let known = ["Foreground", "Background", "Orphan", "nil"];
                errors.push(FieldError::not_supported("propagationPolicy", word, &known));
                None
            }
        };
    }
}

const fn policy_name(policy: Propagation) -> &'static str {
    match policy {
        Propagation::Background => "Background",
        Propagation::Foreground => "Foreground",
        Propagation::Orphan => "Orphan",
    }
}

/// The revision of a GET or a watch: `None` when absent.
///
/// # Errors
/// 422 when it is not a number.
pub fn parse_version(text: &str) -> Result<Option<u64>, Status> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| {
        let why = format!("strconv.ParseUint: parsing {text:?}: invalid syntax");
        let kind = GroupKind::new("", "resourceVersion");
        Status::invalid(
            &kind,
            "",
            vec![FieldError::invalid("resourceVersion", text, why)],
        )
    })
}

/// What a list says of a revision that is no number.
fn unreadable_version(text: &str) -> Status {
    let why = format!("strconv.ParseUint: parsing {text:?}: invalid syntax");
    let error = FieldError::invalid("resourceVersion", text, why);
    Status::bad_request(format!("invalid resource version: {error}"))
}

fn parse_labels(text: &str) -> Result<Option<labels::Selector>, Status> {
    if text.is_empty() {
        return Ok(None);
    }
    let selector = labels::Selector::parse(text).map_err(|e| Status::bad_request(e.to_string()))?;
    Ok(Some(selector))
}

fn parse_fields(text: &str) -> Result<Option<fields::Selector>, Status> {
    if text.is_empty() {
        return Ok(None);
    }
    let selector = fields::Selector::parse(text).map_err(|e| Status::bad_request(e.to_string()))?;
    Ok(Some(selector))
}

fn number(text: &str) -> Result<Option<i64>, Status> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| {
        Status::bad_request(format!(
            "strconv.ParseInt: parsing {text:?}: invalid syntax"
        ))
    })
}

fn read_dry_run(value: &str, errors: &mut Vec<FieldError>) -> bool {
    match value {
        "All" => true,
        other => {
            let list = serde_json::json!([other]);
            errors.push(FieldError::not_supported("dryRun", list, &["All"]));
            false
        }
    }
}

fn done<T>(options: T, errors: Vec<FieldError>, kind: &str) -> Result<T, Status> {
    if errors.is_empty() {
        return Ok(options);
    }
    Err(Status::invalid(
        &GroupKind::new("meta.k8s.io", kind),
        "",
        errors,
    ))
}

#[cfg(test)]
mod tests;
