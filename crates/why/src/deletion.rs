//! Why a deleted object is still there: finalizers, dependents, what is left inside.

use std::collections::BTreeMap;
use std::fmt;

use flotilla_machinery::fieldpath::{PathElement, Set};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::Value;

use crate::facts::{Content, Facts, list, place, text};

/// Objects named for each resource; the rest is counted.
const NAMED_MAX: usize = 3;

/// Whether an object is being deleted, and what it waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Deletion {
    /// When it was asked for; absent when it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Seconds that have passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<i64>,
    /// What holds it, or would hold it.
    pub blockers: Vec<Blocker>,
}

/// One thing a deletion waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Blocker {
    /// The finalizer or object.
    pub what: String,
    /// Whose move it is, and what is in the way.
    pub why: String,
    /// Objects concerned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<String>,
}

/// What a deletion waits for.
pub(crate) fn explain(facts: &Facts) -> Deletion {
    let object = &facts.object;
    let since = text(object, "/metadata/deletionTimestamp");
    let seconds = since.parse::<Timestamp>().ok().map(|since| {
        let passed: SignedDuration = facts.now.duration_since(since);
        passed.as_secs()
    });
    let finalizers = list(object, "/metadata/finalizers").iter();
    let finalizers = finalizers.filter_map(Value::as_str);
    let mut blockers: Vec<Blocker> = finalizers.map(|name| finalizer(facts, name)).collect();
    let held = list(object, "/spec/finalizers");
    if text(object, "/kind") == "Namespace" && !since.is_empty() && !held.is_empty() {
        blockers.extend(namespace(facts));
    }
    let graceful = object["metadata"]["deletionGracePeriodSeconds"].as_i64();
    if text(object, "/kind") == "Pod" && !since.is_empty() && graceful.is_some_and(|s| s > 0) {
        blockers.push(node(object, seconds.unwrap_or(0)));
    }
    Deletion {
        since: (!since.is_empty()).then(|| since.to_owned()),
        seconds,
        blockers,
    }
}

/// Why a finalizer is there and who takes it off.
fn finalizer(facts: &Facts, name: &str) -> Blocker {
    let what = format!("finalizer {name}");
    let plain = |why: &str| Blocker {
        what: what.clone(),
        why: why.to_owned(),
        objects: Vec::new(),
    };
    match name {
        "foregroundDeletion" => {
            let blocking = facts.dependents.iter().filter(|d| blocks(d, &facts.object));
            let objects: Vec<String> = blocking.map(dependent).collect();
            let why = match objects.len() {
                0 => "no dependent with blockOwnerDeletion is left; the garbage collector removes \
                      it at its next look"
                    .to_owned(),
                n => format!(
                    "the garbage collector waits for dependents with blockOwnerDeletion ({n})"
                ),
            };
            Blocker { what, why, objects }
        }
        "orphan" => plain(
            "the garbage collector takes the owner reference off all dependents, then removes it",
        ),
        "kubernetes.io/pvc-protection" => {
            let users = facts.pods.iter().map(place).collect::<Vec<_>>();
            let why = match users.len() {
                0 => "no pod uses the claim any more; the claim's controller removes it".to_owned(),
                n => format!("pods use the claim ({n})"),
            };
            Blocker {
                what,
                why,
                objects: users,
            }
        }
        "kubernetes.io/pv-protection" => {
            let claim = &facts.object["spec"]["claimRef"];
            plain(&match text(claim, "/name") {
                "" => "no claim is bound; the volume's controller removes it".to_owned(),
                name => format!("it is bound to claim {}/{name}", text(claim, "/namespace")),
            })
        }
        "customresourcecleanup.apiextensions.k8s.io" => {
            let left = contents(&facts.content);
            let why = match left.len() {
                0 => "no instance is left; the server removes it at its next look",
                _ => "the server deletes the instances first",
            };
            Blocker {
                what,
                why: why.to_owned(),
                objects: left,
            }
        }
        "batch.kubernetes.io/job-tracking" => {
            plain("the job controller counts the pod first; is one running?")
        }
        "service.kubernetes.io/load-balancer-cleanup" => plain(
            "the cloud provider's controller removes the load balancer first; is one running?",
        ),
        _ => plain(&foreign(&facts.object, name)),
    }
}

/// A finalizer that is not Kubernetes' own: who set it, and how to do without them.
fn foreign(object: &Value, name: &str) -> String {
    let path = [
        PathElement::field("metadata"),
        PathElement::field("finalizers"),
        PathElement::Value(name.into()),
    ];
    let owners = list(object, "/metadata/managedFields").iter();
    let owners: Vec<&str> = owners
        .filter(|entry| {
            let set = Set::from_fields_v1(&entry["fieldsV1"]).unwrap_or_default();
            set.has(&path)
        })
        .map(|entry| text(entry, "/manager"))
        .collect();
    let set_by = match owners.as_slice() {
        [] => String::new(),
        owners => format!("set by {}; ", owners.join(", ")),
    };
    let domain = name.split_once('/').map_or(name, |(domain, _)| domain);
    format!(
        "{set_by}the controller of {domain} has to remove it when it has cleaned up; if it is gone \
         for good, remove the finalizer by hand"
    )
}

fn blocks(dependent: &Value, owner: &Value) -> bool {
    let uid = text(owner, "/metadata/uid");
    list(dependent, "/metadata/ownerReferences")
        .iter()
        .any(|r| text(r, "/uid") == uid && r["blockOwnerDeletion"] == true)
}

fn dependent(object: &Value) -> String {
    let mut out = format!("{} {}", text(object, "/kind"), place(object));
    let finalizers = list(object, "/metadata/finalizers").iter();
    let finalizers: Vec<&str> = finalizers.filter_map(Value::as_str).collect();
    if !text(object, "/metadata/deletionTimestamp").is_empty() {
        out.push_str(", being deleted");
    }
    if !finalizers.is_empty() {
        out.push_str(&format!(", held by {}", finalizers.join(", ")));
    }
    out
}

/// What is left in a namespace, and what its controller says.
fn namespace(facts: &Facts) -> Vec<Blocker> {
    let mut out = Vec::new();
    for condition in list(&facts.object, "/status/conditions") {
        let ty = text(condition, "/type");
        if condition["status"] == "True" && ty.ends_with("Failure") {
            out.push(Blocker {
                what: format!("condition {ty}"),
                why: text(condition, "/message").to_owned(),
                objects: Vec::new(),
            });
        }
    }
    let left = contents(&facts.content);
    let n_left: usize = facts.content.iter().map(|c| c.objects.len()).sum();
    let why = match n_left {
        0 => "nothing is left; the namespace controller removes it at its next look".to_owned(),
        n => format!("objects are left ({n})"),
    };
    out.push(Blocker {
        what: "finalizer kubernetes (spec.finalizers)".to_owned(),
        why,
        objects: left,
    });
    out
}

/// One line for each resource: how many, some names, which finalizers hold them.
fn contents(content: &[Content]) -> Vec<String> {
    let mut lines = Vec::new();
    for Content { resource, objects } in content.iter().filter(|c| !c.objects.is_empty()) {
        let named = objects.iter().take(NAMED_MAX).map(place);
        let mut line = format!("{} {resource}: ", objects.len());
        line.push_str(&named.collect::<Vec<_>>().join(", "));
        if objects.len() > NAMED_MAX {
            line.push_str(", …");
        }
        let mut finalizers: BTreeMap<&str, usize> = BTreeMap::new();
        for object in objects {
            for name in list(object, "/metadata/finalizers") {
                *finalizers.entry(name.as_str().unwrap_or("")).or_default() += 1;
            }
        }
        for (name, n) in finalizers {
            line.push_str(&format!("; {n} held by {name}"));
        }
        lines.push(line);
    }
    lines.sort();
    lines
}

/// A pod that is to end by itself.
fn node(pod: &Value, seconds: i64) -> Blocker {
    let why = match text(pod, "/spec/nodeName") {
        "" => {
            "it was never scheduled; its controller or the pod garbage collector removes it".into()
        }
        // The deletion timestamp of a pod lies in the future by its grace period.
        node if seconds < 0 => format!("node {node} has {} s left to end its containers", -seconds),
        node => format!("node {node} has not confirmed that its containers ended; is it running?"),
    };
    Blocker {
        what: "grace period".to_owned(),
        why,
        objects: Vec::new(),
    }
}

impl fmt::Display for Deletion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.since, self.seconds, self.blockers.is_empty()) {
            (None, _, true) => {
                return writeln!(f, "Deletion\n  not asked for; nothing would hold it");
            }
            (None, _, false) => writeln!(f, "Deletion\n  not asked for; it would wait for")?,
            (Some(since), Some(seconds), _) if seconds > 0 => {
                writeln!(
                    f,
                    "Deletion\n  asked for at {since}, {seconds} s ago; it waits for"
                )?;
            }
            (Some(since), ..) => writeln!(f, "Deletion\n  to be done by {since}; it waits for")?,
        }
        if self.blockers.is_empty() {
            return writeln!(f, "  nothing; it goes at the next look of its controller");
        }
        for blocker in &self.blockers {
            writeln!(f, "  {}: {}", blocker.what, blocker.why)?;
            for object in &blocker.objects {
                writeln!(f, "    {object}")?;
            }
        }
        Ok(())
    }
}
