//! What is wrong with a pod spec, in pods and in every template: all of upstream's rules, in its
//! order and words.
//!
//! Source: Kubernetes v1.35, `pkg/apis/core/validation/validation.go` (ValidatePodSpec,
//! ValidatePodTemplateSpec).

mod affinity;
mod containers;
mod dns;
mod env;
mod handlers;
mod mounts;
mod placement;
mod pod_resources;
mod projected;
mod security;
mod sources;
mod volumes;
mod windows;

use std::collections::BTreeSet;

use flotilla_machinery::names;
use serde_json::Value;

pub(super) use self::{
    affinity::{node_selector, topology_terms},
    placement::{taint_effect, tolerations},
    sources::{csi_driver_name, persistent_source},
};
use super::{
    field::{Field, check},
    fill::{list, text},
    golang::{record, shapes},
    ip, resources,
    rules::Errors,
};

/// Protocols of ports.
pub(super) const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

/// Lists of containers, in the order in which upstream walks through them.
const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// What the checks of a spec need to know from around it.
struct Scope<'v> {
    /// The spec.
    spec: &'v Value,
    /// Name of the pod; `None` in templates.
    pod: Option<&'v str>,
    /// Volumes that are valid.
    volumes: Vec<&'v Value>,
    /// Names of resource claims.
    claims: BTreeSet<&'v str>,
}

impl<'v> Scope<'v> {
    fn volume(&self, name: &str) -> Option<&'v Value> {
        self.volumes.iter().find(|v| v["name"] == name).copied()
    }

    /// Whether users of the pod's namespace are those of the host.
    fn shares_users(&self) -> bool {
        self.spec["hostUsers"] != false
    }
}

/// Checks the spec of a pod.
pub(super) fn check_pod(pod: &Value, errors: &mut Errors) {
    check(pod, "", errors, |pod| {
        let (metadata, spec) = (pod.at("metadata"), pod.at("spec"));
        let notes = metadata.at("annotations");
        annotations(&notes, spec.value);
        pod_spec(&spec, Some(text(pod.value, "metadata.name")));
        if spec.at("serviceAccountName").text().is_empty() {
            projected::forbid_tokens(&spec);
        }
        for list in ["containers", "initContainers"] {
            for container in spec.at(list).items() {
                containers::trimmed_image(&container);
            }
        }
    });
}

/// What holds for a pod only when it is made.
pub(super) fn check_new_pod(pod: &Value, errors: &mut Errors) {
    check(pod, "", errors, |pod| {
        let spec = pod.at("spec");
        let ephemeral = spec.at("ephemeralContainers");
        if !ephemeral.list().is_empty() {
            ephemeral.forbidden("cannot be set on create");
        }
        let node = spec.at("nodeName");
        if !node.text().is_empty() && !spec.at("schedulingGates").list().is_empty() {
            node.forbidden("cannot be set until all schedulingGates have been cleared");
        }
        let metadata = pod.at("metadata");
        security::annotations_match(&metadata.at("annotations"), &spec);
    });
}

/// Checks a pod template.
pub(super) fn check_template(template: &Field<'_, '_>) {
    // Upstream leaves `metadata` out of these paths.
    template
        .with("labels", &template.value["metadata"]["labels"])
        .labels();
    let notes = template.with("annotations", &template.value["metadata"]["annotations"]);
    notes.annotations();
    annotations(&notes, &template.value["spec"]);
    let spec = template.at("spec");
    pod_spec(&spec, None);
    security::annotations_match(&notes, &spec);
    let ephemeral = spec.at("ephemeralContainers");
    if !ephemeral.list().is_empty() {
        ephemeral.forbidden("ephemeral containers not allowed in pod template");
    }
}

/// What annotations of pods mean.
fn annotations(notes: &Field<'_, '_>, spec: &Value) {
    let mirror = notes.key("kubernetes.io/config.mirror");
    if mirror.is_set() && text(spec, "nodeName").is_empty() {
        mirror.invalid("must set spec.nodeName if mirror pod annotation is set");
    }
    let cost = notes.key("controller.kubernetes.io/pod-deletion-cost");
    if cost.is_set() && !is_deletion_cost(cost.text()) {
        cost.invalid("must be a 32bit integer");
    }
    security::check_annotations(notes, spec);
}

/// A whole number without a plus sign or leading zeros.
fn is_deletion_cost(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = !(digits.starts_with('+') || digits.len() > 1 && digits.starts_with('0'));
    is_plain && text.parse::<i32>().is_ok()
}

fn pod_spec(spec: &Field<'_, '_>, pod: Option<&str>) {
    spec_lists(spec, pod);
    spec.at("restartPolicy")
        .one_of(&["Always", "OnFailure", "Never"]);
    spec.at("dnsPolicy")
        .one_of(&["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]);
    spec.at("nodeSelector").labels();
    security::pod_context(spec);
    affinity::check(&spec.at("affinity"));
    dns::check_config(spec);
    for gate in spec.at("readinessGates").items() {
        let condition = gate.at("conditionType");
        condition.complain(names::qualified_name(condition.text()));
    }
    placement::scheduling_gates(&spec.at("schedulingGates"));
    placement::spread(&spec.at("topologySpreadConstraints"));
    windows::host_process(spec);
    host_users(spec);
    dns::hostname_override(spec);
    spec_names(spec);
    placement::tolerations(&spec.at("tolerations"));
    for alias in spec.at("hostAliases").items() {
        ip::check_sloppy(&alias.at("ip"));
        for name in alias.at("hostnames").items() {
            name.complain(names::dns1123_subdomain(name.text()));
        }
    }
    spec.at("priorityClassName")
        .named_if_any(names::dns1123_subdomain);
    let runtime = spec.at("runtimeClassName");
    if runtime.is_set() {
        runtime.complain(names::dns1123_subdomain(runtime.text()));
    }
    let preemption = spec.at("preemptionPolicy");
    if preemption.is_set() {
        preemption.one_of(&["PreemptLowerPriority", "Never"]);
    }
    if spec.at("overhead").is_set() {
        resources::overhead(&spec.at("overhead"));
    }
    windows::operating_system(spec);
    env::file_key_volumes(spec);
}

/// Volumes, claims, containers and their resources.
fn spec_lists<'v>(spec: &Field<'_, 'v>, pod: Option<&'v str>) {
    let grace = spec.at("terminationGracePeriodSeconds");
    if !grace.is_set() {
        grace.required("");
    }
    let claims = spec.at("resourceClaims");
    let names = claims.list().iter().map(|claim| text(claim, "name"));
    let mut scope = Scope {
        spec: spec.value,
        pod,
        volumes: Vec::new(),
        claims: names.filter(|name| !name.is_empty()).collect(),
    };
    scope.volumes = volumes::check(&spec.at("volumes"), pod);
    resource_claims(&claims);
    containers::regular(&scope, &spec.at("containers"));
    containers::init(&scope, &spec.at("initContainers"));
    containers::ephemeral(&scope, &spec.at("ephemeralContainers"));
    pod_resources::check(&scope, spec);
    host_ports(&scope, spec);
}

/// On the host's network a port of a container is a port of the host.
fn host_ports(scope: &Scope<'_>, spec: &Field<'_, '_>) {
    if !spec.at("hostNetwork").is_true() {
        return;
    }
    for container in spec.at("containers").items() {
        for port in container.at("ports").items() {
            let (host, own) = (port.at("hostPort"), port.at("containerPort").count());
            if (scope.pod.is_some() || host.count() != 0) && host.count() != own {
                host.invalid_as(
                    host.count(),
                    "must match `containerPort` when `hostNetwork` is true",
                );
            }
        }
    }
}

fn resource_claims(claims: &Field<'_, '_>) {
    let mut seen = BTreeSet::new();
    for claim in claims.items() {
        let name = claim.at("name");
        if name.text().is_empty() {
            name.required("");
        } else if !seen.insert(name.text()) {
            name.duplicate();
        } else {
            name.complain(names::dns1123_label(name.text()));
        }
        let (direct, template) = (
            claim.at("resourceClaimName"),
            claim.at("resourceClaimTemplateName"),
        );
        let detail = match (direct.is_set(), template.is_set()) {
            (true, true) => {
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            }
            (false, false) => {
                "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            }
            _ => "",
        };
        if !detail.is_empty() {
            claim.invalid_shown(&record(claim.value, shapes::PodResourceClaim), detail);
        }
        for name in [direct, template] {
            if name.is_set() {
                name.complain(names::dns1123_subdomain(name.text()));
            }
        }
    }
}

/// What a pod with users of its own must not share with the host.
fn host_users(spec: &Field<'_, '_>) {
    if *spec.at("hostUsers").value != false {
        return;
    }
    let detail = "when `hostUsers` is false";
    if spec.at("hostNetwork").is_true() {
        spec.at("hostNetwork").forbidden(detail);
    }
    // Upstream writes these two with a capital.
    for (json, shown) in [("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
        if spec.at(json).is_true() {
            spec.at(shown).forbidden(detail);
        }
    }
    for list in CONTAINERS {
        for container in spec.at(list).items() {
            let devices = container.at("volumeDevices");
            if !devices.list().is_empty() {
                devices.forbidden(detail);
            }
        }
    }
}

fn spec_names(spec: &Field<'_, '_>) {
    spec.at("serviceAccountName")
        .named_if_any(names::dns1123_subdomain);
    spec.at("nodeName").named_if_any(names::dns1123_subdomain);
    let deadline = spec.at("activeDeadlineSeconds");
    if deadline.is_set() {
        deadline.in_range(1, i64::from(i32::MAX));
    }
    spec.at("hostname").named_if_any(names::dns1123_label);
    spec.at("subdomain").named_if_any(names::dns1123_label);
}

/// Remarks that do not stop a pod.
pub(super) fn warnings(spec: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (index, secret) in list(spec, "imagePullSecrets").iter().enumerate() {
        if text(secret, "name").is_empty() {
            let path = format!("spec.imagePullSecrets[{index}].name");
            found.push(format!("{path}: invalid empty name \"\""));
        }
    }
    for volume in list(spec, "volumes") {
        let sources = list(volume, "projected.sources").iter();
        let empty = sources.filter(|source| source.as_object().is_none_or(|s| s.is_empty()));
        for _ in empty {
            let name = text(volume, "name");
            found.push(format!(
                "volume {name:?} (Projected) has no sources provided"
            ));
        }
    }
    found
}
