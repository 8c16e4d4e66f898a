//! Which names a definition gets, and its conditions.
//!
//! Names are unique within a group: plural, singular and short names among each other, kinds and
//! list kinds among each other. A definition keeps what it was given before; what another one holds
//! it does not get, and it is not established before it has all it asked for once.
//!
//! Source: Kubernetes v1.35, apiextensions-apiserver `pkg/controller/{status,establish,apiapproval}`.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// Annotation that says who approved a definition in a group of Kubernetes itself.
pub const APPROVED_ANNOTATION: &str = "api-approved.kubernetes.io";

/// Names that are taken in a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    resources: BTreeSet<String>,
    kinds: BTreeSet<String>,
}

/// One condition of a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Its type.
    pub ty: &'static str,
    /// `True` or `False`.
    pub status: &'static str,
    /// One word.
    pub reason: &'static str,
    /// A sentence.
    pub message: String,
}

/// What the approval annotation of a definition in a protected group says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    /// There is none.
    Missing(String),
    /// It is neither a URL nor begins with `unapproved`.
    Invalid(String),
    /// The author says it is not approved.
    Bypassed(String),
    /// It links the approval.
    Approved(String),
}

/// The names other definitions of the group hold, from their `status.acceptedNames`.
pub fn taken(others: &[Map<String, Value>]) -> Taken {
    let mut taken = Taken::default();
    for names in others {
        let text = |name: &str| names.get(name).and_then(Value::as_str).map(str::to_owned);
        taken.resources.extend(text("plural"));
        taken.resources.extend(text("singular"));
        let short = names
            .get("shortNames")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        taken
            .resources
            .extend(short.filter_map(Value::as_str).map(str::to_owned));
        taken.kinds.extend(text("kind"));
        taken.kinds.extend(text("listKind"));
    }
    taken
}

/// Brings `status.acceptedNames` and the conditions up to date; `now` is RFC 3339.
pub fn settle(definition: &mut Value, taken: &Taken, now: &str) {
    let wanted = definition["spec"]["names"].clone();
    let mut held = definition["status"]["acceptedNames"].clone();
    if !held.is_object() {
        held = json!({"plural": "", "kind": ""});
    }
    let mut conflict: Option<(&'static str, String)> = None;
    let names = [
        ("plural", "PluralConflict", &taken.resources),
        ("singular", "SingularConflict", &taken.resources),
        ("shortNames", "ShortNamesConflict", &taken.resources),
        ("kind", "KindConflict", &taken.kinds),
        ("listKind", "ListKindConflict", &taken.kinds),
    ];
    for (field, reason, taken) in names {
        if wanted[field] == held[field] {
            continue;
        }
        let mut used = Vec::new();
        match &wanted[field] {
            Value::String(name) if taken.contains(name) => used.push(in_use(name)),
            Value::Array(list) => {
                let ours = held[field].as_array().cloned().unwrap_or_default();
                let new = list
                    .iter()
                    .filter(|n| !ours.contains(n))
                    .filter_map(Value::as_str);
                used.extend(new.filter(|n| taken.contains(*n)).map(in_use));
            }
            _ => {}
        }
        match used.len() {
            0 => set_or_remove(&mut held, field, &wanted[field]),
            1 => conflict = Some((reason, used.remove(0))),
            _ => conflict = Some((reason, format!("[{}]", used.join(", ")))),
        }
    }
    set_or_remove(&mut held, "categories", &wanted["categories"]);
    definition["status"]["acceptedNames"] = held;
    let accepted = conflict.is_none();
    let names_accepted = match conflict {
        Some((reason, message)) => Condition {
            ty: "NamesAccepted",
            status: "False",
            reason,
            message,
        },
        None => Condition {
            ty: "NamesAccepted",
            status: "True",
            reason: "NoConflicts",
            message: "no conflicts found".into(),
        },
    };
    set_condition(definition, &names_accepted, now);
    if !super::super::resource::is_established(definition) {
        let established = match accepted {
            true => Condition {
                ty: "Established",
                status: "True",
                reason: "InitialNamesAccepted",
                message: "the initial names have been accepted".into(),
            },
            false => Condition {
                ty: "Established",
                status: "False",
                reason: "NotAccepted",
                message: "not all names are accepted".into(),
            },
        };
        set_condition(definition, &established, now);
    }
    if let Some(approval) = approval(definition) {
        set_condition(definition, &approval.condition(), now);
    }
}

/// Adds or replaces a condition; the time moves only when the status does.
pub fn set_condition(definition: &mut Value, condition: &Condition, now: &str) {
    let status = &mut definition["status"];
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let Some(list) = status["conditions"].as_array_mut() else {
        return;
    };
    let mut fresh = json!({
        "type": condition.ty,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": now,
    });
    match list.iter_mut().find(|c| c["type"] == condition.ty) {
        Some(old) => {
            if old["status"] == condition.status && old["lastTransitionTime"].is_string() {
                fresh["lastTransitionTime"] = old["lastTransitionTime"].clone();
            }
            *old = fresh;
        }
        None => list.push(fresh),
    }
}

/// What the annotation says, for definitions in a protected group (`*.k8s.io`, `*.kubernetes.io`).
pub fn approval(definition: &Value) -> Option<Approval> {
    let group = definition["spec"]["group"].as_str().unwrap_or("");
    let is_protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|p| group == *p || group.ends_with(&format!(".{p}")));
    if !is_protected {
        return None;
    }
    let value = definition["metadata"]["annotations"][APPROVED_ANNOTATION]
        .as_str()
        .unwrap_or("");
    let quoted = super::super::quoted(APPROVED_ANNOTATION);
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    Some(match value {
        "" => Approval::Missing(format!(
            "protected groups must have approval annotation {quoted}, {see}"
        )),
        value if value.starts_with("unapproved") => {
            Approval::Bypassed(format!("not approved: {}", super::super::quoted(value)))
        }
        value if is_url(value) => Approval::Approved(format!("approved in {value}")),
        _ => Approval::Invalid(format!(
            "protected groups must have approval annotation {quoted} with either a URL or a \
             reason starting with \"unapproved\", {see}"
        )),
    })
}

impl Approval {
    fn condition(&self) -> Condition {
        let (status, reason, message) = match self {
            Self::Missing(why) => ("False", "MissingAnnotation", why),
            Self::Invalid(why) => ("False", "InvalidAnnotation", why),
            Self::Bypassed(why) => ("False", "UnapprovedAnnotation", why),
            Self::Approved(why) => ("True", "ApprovedAnnotation", why),
        };
        let ty = "KubernetesAPIApprovalPolicyConformant";
        Condition {
            ty,
            status,
            reason,
            message: message.clone(),
        }
    }
}

fn is_url(value: &str) -> bool {
    value.split_once("://").is_some_and(|(scheme, rest)| {
        !scheme.is_empty() && !rest.is_empty() && !rest.starts_with('/')
    })
}

fn in_use(name: &str) -> String {
    format!("{} is already in use", super::super::quoted(name))
}

fn set_or_remove(object: &mut Value, field: &str, value: &Value) {
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    match value {
        Value::Null => fields.remove(field),
        value => fields.insert(field.to_owned(), value.clone()),
    };
}
