//! Requests for certificates: who asks is filled in, and mistakes are found.
//!
//! Source: Kubernetes v1.35, `pkg/registry/certificates/certificates/strategy.go`,
//! `pkg/apis/certificates/validation/validation.go`.

use std::collections::BTreeSet;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use flotilla_machinery::{
    builtin::ResourceRow,
    status::{FieldError, Status},
};
use serde_json::{Value, json};

use super::{
    field::{Field, check},
    fill::list,
    rules::{Errors, Rules},
    signers,
};
use crate::{
    decode::shape,
    registry::{Context, SelectableField, Strategy, generic},
};

/// Shortest life of a certificate: ten minutes.
const SECONDS_MIN: i64 = 600;

/// What certificates may be used for, sorted.
const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

/// The rules of requests for certificates.
pub(super) struct Requests(Rules);

/// Conditions that only `approval` sets.
const APPROVALS: [&str; 2] = ["Approved", "Denied"];

impl Requests {
    /// The rules of this row.
    pub(super) fn of(row: &ResourceRow) -> Self {
        Self(Rules::of(row).with_fields(&["spec.signerName"]))
    }
}

impl Strategy for Requests {
    fn fill_defaults(&self, object: &mut Value) {
        self.0.fill_defaults(object);
    }

    /// A request stays as it was made; its conditions and its certificate have endpoints of their own.
    fn prepare_update(&self, cx: &Context<'_>, new: &mut Value, old: &Value) {
        generic::prepare_update(cx, new, old);
        let conditions = new["status"]["conditions"].take();
        if let Some(fields) = new.as_object_mut() {
            generic::restore(fields, old, "spec");
            if cx.subresource != "status" {
                generic::restore(fields, old, "status");
            }
        }
        match cx.subresource {
            "" => return,
            "status" => new["status"]["conditions"] = with_approvals_of(old, conditions),
            _ => new["status"]["conditions"] = conditions,
        }
        stamp(cx, new, old);
    }

    /// Who asks is what the request is about, whatever its body says.
    fn allocate(
        &self,
        cx: &Context<'_>,
        object: &mut Value,
        old: Option<&Value>,
    ) -> Result<(), Status> {
        let Some(spec) = object["spec"].as_object_mut().filter(|_| old.is_none()) else {
            return Ok(());
        };
        for name in ["username", "uid", "groups", "extra"] {
            spec.remove(name);
        }
        let user = cx.user;
        for (name, text) in [("username", &user.name), ("uid", &user.uid)] {
            if !text.is_empty() {
                spec.insert(name.to_owned(), text.as_str().into());
            }
        }
        if !user.groups.is_empty() {
            spec.insert("groups".to_owned(), json!(user.groups));
        }
        if !user.extra.is_empty() {
            spec.insert("extra".to_owned(), json!(user.extra));
        }
        Ok(())
    }

    fn validate_create(&self, _: &Context<'_>, object: &Value) -> Errors {
        let mut errors = Errors::new();
        request(object, &mut errors);
        errors
    }

    fn validate_update(&self, cx: &Context<'_>, new: &Value, old: &Value) -> Errors {
        let mut errors = self.validate_create(cx, new);
        conditions(new, &mut errors);
        conditions_kept(cx, new, old, &mut errors);
        certificate_kept(cx, new, old, &mut errors);
        errors
    }

    fn check_name(&self, _: &str, _: bool) -> Vec<String> {
        Vec::new()
    }

    fn qualifies_finalizers(&self) -> bool {
        self.0.qualifies_finalizers
    }

    fn reset_fields(&self, cx: &Context<'_>) -> Vec<Vec<&'static str>> {
        match cx.subresource {
            "" => vec![vec!["spec"], vec!["status"]],
            "status" => vec![vec!["spec"], vec!["status", "conditions"]],
            _ => vec![vec!["spec"], vec!["status", "certificate"]],
        }
    }

    fn selectable_fields(&self) -> &[SelectableField] {
        self.0.selectable_fields()
    }
}

fn of_type<'a>(conditions: &'a [Value], kind: &str) -> Vec<&'a Value> {
    let found = conditions
        .iter()
        .filter(|condition| condition["type"] == kind);
    found.collect()
}

/// New conditions with the approvals and denials that were there. Where their number changed they stay as they are, and are a
/// mistake.
fn with_approvals_of(old: &Value, mut conditions: Value) -> Value {
    let before = list(old, "status.conditions");
    for kind in APPROVALS {
        let kept = of_type(before, kind);
        let items = conditions.as_array_mut().into_iter().flatten();
        let items: Vec<_> = items.filter(|item| item["type"] == kind).collect();
        if items.len() == kept.len() {
            for (item, kept) in items.into_iter().zip(kept) {
                *item = kept.clone();
            }
        }
    }
    conditions
}

/// Times of conditions that have none: those of the same condition before, or now.
fn stamp(cx: &Context<'_>, new: &mut Value, old: &Value) {
    let now = Value::from(shape::seconds(cx.now));
    let before = list(old, "status.conditions");
    let conditions = new["status"]["conditions"].as_array_mut();
    for condition in conditions.into_iter().flatten() {
        let same = before.iter().find(|before| {
            ["type", "status"]
                .iter()
                .all(|key| before[*key] == condition[*key])
        });
        let since = same.map(|same| &same["lastTransitionTime"]);
        let since = since.filter(|since| since.is_string()).unwrap_or(&now);
        for (key, time) in [("lastUpdateTime", &now), ("lastTransitionTime", since)] {
            if condition[key].is_null() {
                condition[key] = time.clone();
            }
        }
    }
}

fn conditions(object: &Value, errors: &mut Errors) {
    let found = &object["status"]["conditions"];
    check(found, "status.conditions", errors, |conditions| {
        let mut seen: Vec<&str> = Vec::new();
        for condition in conditions.items() {
            let (kind, status) = (condition.at("type"), condition.at("status"));
            kind.needed();
            let is_final = APPROVALS.contains(&kind.text()) || kind.text() == "Failed";
            let allowed: &[&str] = if is_final {
                &["True"]
            } else {
                &["False", "True", "Unknown"]
            };
            if status.text().is_empty() {
                status.required("");
            } else {
                status.supported(allowed);
            }
            let opposite = APPROVALS.iter().find(|other| **other != kind.text());
            let is_approval = APPROVALS.contains(&kind.text());
            if is_approval && opposite.is_some_and(|other| seen.contains(other)) {
                let detail = "Approved and Denied conditions are mutually exclusive";
                conditions.invalid_as(kind.text(), detail);
            }
            if seen.contains(&kind.text()) {
                kind.duplicate();
            }
            seen.push(kind.text());
        }
    });
}

fn conditions_kept(cx: &Context<'_>, new: &Value, old: &Value, errors: &mut Errors) {
    let (now, was) = (
        list(new, "status.conditions"),
        list(old, "status.conditions"),
    );
    for kind in ["Approved", "Denied", "Failed"] {
        let (n_now, n_was) = (of_type(now, kind).len(), of_type(was, kind).len());
        let word = match n_now.cmp(&n_was) {
            std::cmp::Ordering::Less => "remove",
            std::cmp::Ordering::Greater
                if APPROVALS.contains(&kind) && cx.subresource != "approval" =>
            {
                "add"
            }
            _ => continue,
        };
        let detail = format!("updates may not {word} a condition of type {kind:?}");
        errors.push(FieldError::forbidden("status.conditions", detail));
    }
}

fn certificate_kept(cx: &Context<'_>, new: &Value, old: &Value, errors: &mut Errors) {
    let certificate = |object: &Value| {
        object["status"]["certificate"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let (now, was) = (certificate(new), certificate(old));
    let detail = match cx.subresource {
        _ if now == was => return,
        "status" if was.is_empty() => return,
        "status" => "updates may not modify existing certificate content",
        _ => "updates may not set certificate content",
    };
    errors.push(FieldError::forbidden("status.certificate", detail));
}

/// Checks a request.
fn request(object: &Value, errors: &mut Errors) {
    check(&object["spec"], "spec", errors, |spec| {
        let request = spec.at("request");
        if !is_request(request.text()) {
            request.invalid_text("PEM block type must be CERTIFICATE REQUEST");
        }
        let usages = spec.at("usages");
        if usages.list().is_empty() {
            usages.required("");
        }
        for usage in usages.items() {
            usage.supported(&USAGES);
        }
        let mut seen = BTreeSet::new();
        for usage in usages.items() {
            if !seen.insert(usage.text().to_owned()) {
                usage.duplicate();
            }
        }
        signer(&spec.at("signerName"));
        let seconds = spec.at("expirationSeconds");
        if seconds
            .number()
            .is_some_and(|seconds| seconds < SECONDS_MIN)
        {
            let detail = "may not specify a duration less than 600 seconds (10 minutes)";
            seconds.invalid(detail);
        }
    });
}

fn signer(name: &Field<'_, '_>) {
    if name.text() == "kubernetes.io/legacy-unknown" {
        name.invalid("the legacy signerName is not allowed via this API version");
    } else {
        signers::check_name(name);
    }
}

/// Whether the first PEM block is a request.
fn is_request(encoded: &str) -> bool {
    let bytes = STANDARD.decode(encoded).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let begin = text.find("-----BEGIN ").map(|at| &text[at..]);
    begin.is_some_and(|text| text.starts_with("-----BEGIN CERTIFICATE REQUEST-----"))
}
