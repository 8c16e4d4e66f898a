//! Pods: quality of service, the little that may change, graceful deletion, and what admission adds.
//!
//! Source: Kubernetes v1.35, `pkg/registry/core/pod`, `pkg/apis/core/validation` and the admission
//! plugins ServiceAccount, Priority and DefaultTolerationSeconds.

use flotilla_machinery::{
    group::GroupResource,
    names,
    status::{FieldError, Status},
};
use serde_json::{Map, Value, json};

use super::{
    field::check,
    fill::{at, at_mut, fill, is_unset, items, list, schema_defaults, text},
    golang::{diff, record, shapes},
    limits::apply_ranges,
    pod_change::spec_kept,
    pod_check::{self, check_new_pod, check_pod},
    pod_spec::fill_pod,
    rules::Errors,
};
use crate::{
    registry::{Context, SelectableField, Strategy, generic},
    store::{ObjectKey, ResourceKey},
};

/// Seconds a pod may go on when neither it nor the request says.
const GRACE_SECONDS: i64 = 30;

/// Seconds a pod stays on a node that is not ready or unreachable.
const TOLERATION_SECONDS: i64 = 300;

/// Where tokens are mounted.
const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Seconds a mounted token lives: an hour and a margin for clocks.
const TOKEN_SECONDS: i64 = 3607;

/// Rules of pods.
pub(super) struct Pods {
    fields: Vec<SelectableField>,
}

impl Default for Pods {
    fn default() -> Self {
        let mut fields: Vec<SelectableField> = [
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ]
        .iter()
        .map(|label| SelectableField::new(label))
        .collect();
        let on_host = SelectableField::new("spec.hostNetwork");
        fields.push(SelectableField {
            default: "false".into(),
            ..on_host
        });
        Self { fields }
    }
}

impl Strategy for Pods {
    fn fill_defaults(&self, object: &mut Value) {
        if let Some(root) = flotilla_machinery::builtin::kind("", "v1", "Pod") {
            schema_defaults(object, root);
        }
        fill_pod(object);
    }

    fn prepare_create(&self, cx: &Context<'_>, object: &mut Value) {
        generic::prepare_create(cx, object);
        object["status"] = json!({"phase": "Pending", "qosClass": quality_of_service(object)});
        let grace = at(object, "spec.terminationGracePeriodSeconds").as_i64();
        if grace.is_some_and(|seconds| seconds < 0) {
            object["spec"]["terminationGracePeriodSeconds"] = 1.into();
        }
        if !list(object, "spec.schedulingGates").is_empty() {
            object["status"]["conditions"] = json!([{
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }]);
        }
    }

    fn prepare_update(&self, cx: &Context<'_>, new: &mut Value, old: &Value) {
        match cx.subresource {
            "ephemeralcontainers" => keep_only(new, old, |spec, wanted| {
                spec.insert(
                    "ephemeralContainers".to_owned(),
                    at(wanted, "ephemeralContainers").clone(),
                );
            }),
            "resize" => keep_only(new, old, resize),
            _ => {}
        }
        generic::prepare_update(cx, new, old);
        if cx.subresource == "status" && is_unset(new["status"].get("qosClass")) {
            new["status"]["qosClass"] = old["status"]["qosClass"].clone();
        }
    }

    fn allocate(
        &self,
        cx: &Context<'_>,
        object: &mut Value,
        old: Option<&Value>,
    ) -> Result<(), Status> {
        if !object["spec"].is_object() {
            return Ok(());
        }
        if let Some(old) = old {
            if cx.subresource.is_empty() {
                keep_priority(&mut object["spec"], &old["spec"]);
                tolerations(&mut object["spec"]);
            }
            return Ok(());
        }
        apply_ranges(cx, object)?;
        service_account(cx, object)?;
        priority(cx, object)?;
        tolerations(&mut object["spec"]);
        runtime(cx, object)?;
        // Limit ranges may have raised it.
        object["status"]["qosClass"] = quality_of_service(object).into();
        Ok(())
    }

    fn validate_create(&self, _: &Context<'_>, object: &Value) -> Errors {
        let mut errors = Errors::new();
        check_pod(object, &mut errors);
        check_new_pod(object, &mut errors);
        errors
    }

    fn validate_update(&self, cx: &Context<'_>, new: &Value, old: &Value) -> Errors {
        let mut errors = Errors::new();
        match cx.subresource {
            "" => {
                check_pod(new, &mut errors);
                check(&new["spec"], "spec", &mut errors, |spec| {
                    spec_kept(spec, &old["spec"]);
                });
            }
            "ephemeralcontainers" => {
                check_pod(new, &mut errors);
                errors.retain(|error| error.path.starts_with("spec.ephemeralContainers"));
                kept_ephemeral(&new["spec"], &old["spec"], &mut errors);
            }
            _ => {}
        }
        errors
    }

    fn warnings(&self, cx: &Context<'_>, object: &Value, _: Option<&Value>) -> Vec<String> {
        if cx.subresource.is_empty() {
            pod_check::warnings(&object["spec"])
        } else {
            Vec::new()
        }
    }

    fn qualifies_finalizers(&self) -> bool {
        true
    }

    fn selectable_fields(&self) -> &[SelectableField] {
        &self.fields
    }

    fn grace(&self, object: &Value, requested: Option<i64>) -> Option<i64> {
        let phase = text(object, "status.phase");
        let runs =
            !text(object, "spec.nodeName").is_empty() && phase != "Failed" && phase != "Succeeded";
        let wanted =
            requested.or_else(|| at(object, "spec.terminationGracePeriodSeconds").as_i64());
        Some(match wanted.unwrap_or(GRACE_SECONDS) {
            _ if !runs => 0,
            seconds if seconds < 0 => 1,
            seconds => seconds,
        })
    }

    fn returns_deleted(&self) -> bool {
        true
    }
}

/// Best effort without any request, guaranteed when every container's limits equal its requests.
fn quality_of_service(pod: &Value) -> &'static str {
    let containers = || {
        list(pod, "spec.containers")
            .iter()
            .chain(list(pod, "spec.initContainers"))
    };
    let amounts = |container: &Value, key: &str| -> Map<String, Value> {
        let all = at(container, "resources")[key]
            .as_object()
            .cloned()
            .unwrap_or_default();
        let counted = all
            .into_iter()
            .filter(|(name, _)| name == "cpu" || name == "memory");
        counted.filter(|(_, amount)| amount != "0").collect()
    };
    let is_empty = |c: &Value| amounts(c, "requests").is_empty() && amounts(c, "limits").is_empty();
    if containers().all(is_empty) {
        return "BestEffort";
    }
    let is_guaranteed = |container: &Value| {
        let limits = amounts(container, "limits");
        limits.len() == 2 && limits == amounts(container, "requests")
    };
    if containers().all(is_guaranteed) {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

/// Takes everything from `old`, and from `new` what `take` copies into the spec.
fn keep_only(new: &mut Value, old: &Value, take: fn(&mut Map<String, Value>, &Value)) {
    let (metadata, wanted) = (new["metadata"].take(), new["spec"].take());
    *new = old.clone();
    new["metadata"] = metadata;
    if let Some(spec) = new["spec"].as_object_mut() {
        take(spec, &wanted);
    }
}

fn resize(spec: &mut Map<String, Value>, wanted: &Value) {
    for kind in ["containers", "initContainers"] {
        let Some(Value::Array(containers)) = spec.get_mut(kind) else {
            continue;
        };
        for container in containers {
            let same = list(wanted, kind)
                .iter()
                .find(|c| c["name"] == container["name"]);
            for key in ["resources", "resizePolicy"] {
                if let Some(value) = same.and_then(|same| same.get(key)) {
                    container[key] = value.clone();
                }
            }
        }
    }
}

/// Ephemeral containers only come; their order does not count.
fn kept_ephemeral(new: &Value, old: &Value, errors: &mut Errors) {
    for before in list(old, "ephemeralContainers") {
        let name = text(before, "name");
        let after = list(new, "ephemeralContainers")
            .iter()
            .find(|container| text(container, "name") == name);
        let done = match after {
            Some(after) if after == before => continue,
            Some(after) => {
                let [before, after] =
                    [before, after].map(|c| record(c, shapes::EphemeralContainer));
                format!("changed\n{}", diff(&before, &after))
            }
            None => "removed".to_owned(),
        };
        let why = format!("existing ephemeral containers {name:?} may not be {done}");
        errors.push(FieldError::forbidden("spec.ephemeralContainers", why));
    }
}

/// Names the account and mounts its token.
fn service_account(cx: &Context<'_>, pod: &mut Value) -> Result<(), Status> {
    let namespace = text(pod, "metadata.namespace").to_owned();
    let is_default = text(pod, "spec.serviceAccountName").is_empty();
    if is_default {
        pod["spec"]["serviceAccountName"] = "default".into();
        pod["spec"]["serviceAccount"] = "default".into();
    }
    let name = text(pod, "spec.serviceAccountName").to_owned();
    let key = ResourceKey::new("", "serviceaccounts");
    let Some(account) = cx.state.get(&key, &ObjectKey::new(&namespace, &name)) else {
        if is_default {
            // The controller that makes it may be a moment behind the namespace.
            return Ok(());
        }
        let why = format!(
            "error looking up service account {namespace}/{name}: serviceaccount \"{name}\" not found"
        );
        let resource = GroupResource::new("", "pods");
        return Err(Status::forbidden(
            &resource,
            text(pod, "metadata.name"),
            why,
        ));
    };
    let account: Value = serde_json::from_slice(&account.body).unwrap_or_default();
    let wants = [&pod["spec"], &account]
        .iter()
        .find_map(|v| v["automountServiceAccountToken"].as_bool());
    if list(pod, "spec.imagePullSecrets").is_empty()
        && !list(&account, "imagePullSecrets").is_empty()
    {
        pod["spec"]["imagePullSecrets"] = account["imagePullSecrets"].clone();
    }
    if wants.unwrap_or(true) {
        mount_token(cx, &mut pod["spec"]);
    }
    Ok(())
}

fn mount_token(cx: &Context<'_>, spec: &mut Value) {
    let volume = names::generate("kube-api-access-", entropy(cx.entropy));
    let mut used = false;
    for kind in ["containers", "initContainers"] {
        for container in items(spec, kind) {
            if list(container, "volumeMounts")
                .iter()
                .any(|m| m["mountPath"] == TOKEN_PATH)
            {
                continue;
            }
            fill(container, "volumeMounts", json!([]));
            if let Some(mounts) = at_mut(container, "volumeMounts").and_then(Value::as_array_mut) {
                mounts.push(json!({"name": volume, "mountPath": TOKEN_PATH, "readOnly": true}));
                used = true;
            }
        }
    }
    if !used {
        return;
    }
    fill(spec, "volumes", json!([]));
    let namespace = json!({"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}});
    let ca = json!({"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]});
    let sources = json!([
        {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
        {"configMap": ca},
        {"downwardAPI": {"items": [namespace]}},
    ]);
    if let Some(volumes) = at_mut(spec, "volumes").and_then(Value::as_array_mut) {
        volumes
            .push(json!({"name": volume, "projected": {"sources": sources, "defaultMode": 0o644}}));
    }
}

fn entropy(bits: u64) -> [u8; 5] {
    let bytes = bits.to_le_bytes();
    [bytes[0], bytes[1], bytes[2], bytes[3], bytes[4]]
}

/// A change that says nothing about the priority leaves it, as the admission plugin of kube-apiserver sees to.
fn keep_priority(spec: &mut Value, old: &Value) {
    for key in ["priority", "preemptionPolicy"] {
        if spec[key].is_null() && !old[key].is_null() {
            spec[key] = old[key].clone();
        }
    }
}

/// Resolves the priority class, or takes the global default.
fn priority(cx: &Context<'_>, pod: &mut Value) -> Result<(), Status> {
    let classes = ResourceKey::new("scheduling.k8s.io", "priorityclasses");
    let parse = |body: &[u8]| serde_json::from_slice::<Value>(body).unwrap_or_default();
    let name = text(pod, "spec.priorityClassName").to_owned();
    let class = if name.is_empty() {
        let all = cx
            .state
            .collection(&classes)
            .into_iter()
            .flat_map(|all| &all.objects);
        all.map(|(_, object)| parse(&object.body))
            .find(|class| class["globalDefault"] == true)
    } else {
        let found = cx.state.get(&classes, &ObjectKey::new("", &name));
        let Some(found) = found else {
            let why = format!("no PriorityClass with name {name} was found");
            let resource = GroupResource::new("", "pods");
            return Err(Status::forbidden(
                &resource,
                text(pod, "metadata.name"),
                why,
            ));
        };
        Some(parse(&found.body))
    };
    let class = class.unwrap_or_else(|| json!({"value": 0}));
    let policy = text(&class, "preemptionPolicy");
    let policy = if policy.is_empty() {
        "PreemptLowerPriority"
    } else {
        policy
    }
    .to_owned();
    own_choice(pod, &class["value"], &policy)?;
    let spec = &mut pod["spec"];
    if name.is_empty()
        && let Some(name) = at(&class, "metadata.name").as_str()
    {
        spec["priorityClassName"] = name.into();
    }
    spec["priority"] = class["value"].clone();
    fill(spec, "preemptionPolicy", policy);
    Ok(())
}

/// A pod may repeat what its class says, but not choose for itself.
fn own_choice(pod: &Value, value: &Value, policy: &str) -> Result<(), Status> {
    let refuse = |what: &str, own: &str, computed: &str| {
        let why = format!(
            "the {what} ({own}) must not be provided in pod spec; priority admission controller \
             computed {computed} from the given PriorityClass name"
        );
        let resource = GroupResource::new("", "pods");
        Err(Status::forbidden(
            &resource,
            text(pod, "metadata.name"),
            why,
        ))
    };
    let own = at(pod, "spec.priority");
    if !own.is_null() && own != value {
        let computed = value.as_i64().unwrap_or(0).to_string();
        return refuse("integer value of priority", &own.to_string(), &computed);
    }
    let own = text(pod, "spec.preemptionPolicy");
    if !own.is_empty() && own != policy {
        return refuse("string value of PreemptionPolicy", own, policy);
    }
    Ok(())
}

/// What the pod's runtime adds: overhead, node selector and tolerations.
fn runtime(cx: &Context<'_>, pod: &mut Value) -> Result<(), Status> {
    let refuse = |pod: &Value, why: String| {
        let resource = GroupResource::new("", "pods");
        let why = format!("pod rejected: {why}");
        Err(Status::forbidden(
            &resource,
            text(pod, "metadata.name"),
            why,
        ))
    };
    let name = text(pod, "spec.runtimeClassName").to_owned();
    let mut class = Value::Null;
    if !at(pod, "spec.runtimeClassName").is_null() {
        let key = ResourceKey::new("node.k8s.io", "runtimeclasses");
        let Some(found) = cx.state.get(&key, &ObjectKey::new("", &name)) else {
            return refuse(pod, format!("RuntimeClass \"{name}\" not found"));
        };
        class = serde_json::from_slice(&found.body).unwrap_or_default();
    }
    let fixed = at(&class, "overhead.podFixed");
    let own = at(pod, "spec.overhead");
    if fixed.is_null() && !own.is_null() {
        let why = "Pod Overhead set without corresponding RuntimeClass defined Overhead";
        return refuse(pod, why.to_owned());
    }
    if !fixed.is_null() {
        if !own.is_null() && own != fixed {
            let why = "Pod's Overhead doesn't match RuntimeClass's defined Overhead";
            return refuse(pod, why.to_owned());
        }
        pod["spec"]["overhead"] = fixed.clone();
    }
    schedule_for(pod, &class["scheduling"]).or_else(|why| refuse(pod, why))
}

/// Adds where a runtime's pods can run.
fn schedule_for(pod: &mut Value, scheduling: &Value) -> Result<(), String> {
    let spec = &mut pod["spec"];
    for (key, value) in scheduling["nodeSelector"].as_object().into_iter().flatten() {
        fill(spec, "nodeSelector", json!({}));
        let own = &spec["nodeSelector"][key.as_str()];
        if !own.is_null() && own != value {
            return Err(format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {}; \
                 pod.spec.nodeSelector[{key}] = {}",
                value.as_str().unwrap_or_default(),
                own.as_str().unwrap_or_default()
            ));
        }
        spec["nodeSelector"][key.as_str()] = value.clone();
    }
    for toleration in list(scheduling, "tolerations") {
        fill(spec, "tolerations", json!([]));
        if let Some(own) = at_mut(spec, "tolerations").and_then(Value::as_array_mut)
            && !own.contains(toleration)
        {
            own.push(toleration.clone());
        }
    }
    Ok(())
}

/// Lets a pod stay for a while on a node in trouble.
fn tolerations(spec: &mut Value) {
    for key in [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ] {
        let tolerated = list(spec, "tolerations").iter().any(|toleration| {
            let fits = |name: &str, value: &str| matches!(text(toleration, name), t if t.is_empty() || t == value);
            fits("key", key) && fits("effect", "NoExecute")
        });
        if tolerated {
            continue;
        }
        fill(spec, "tolerations", json!([]));
        if let Some(all) = at_mut(spec, "tolerations").and_then(Value::as_array_mut) {
            all.push(json!({
                "key": key, "operator": "Exists", "effect": "NoExecute",
                "tolerationSeconds": TOLERATION_SECONDS,
            }));
        }
    }
}
