//! Volumes, claims, classes and drivers.
//!
//! Source: Kubernetes v1.35, `pkg/apis/{core,storage}` defaults and validation.

use flotilla_machinery::{builtin::ResourceRow, names, status::FieldError};
use serde_json::{Map, Value, json};

use super::{
    claims, classes, csi_check,
    field::{Field, check},
    fill::{at, at_mut, fill, is_unset, list, text},
    golang::{diff, record, shapes},
    pod_check::{node_selector, persistent_source, topology_terms},
    resources::quantity,
    rules::{Errors, Rules, immutable},
};
use crate::registry::generic;

/// Bytes of all parameters of a class: 256 KiB.
const PARAMETER_BYTES_MAX: usize = 256 * 1024;

/// The rules of one of these kinds, `None` for other resources.
pub(super) fn of(row: &ResourceRow) -> Option<Rules> {
    let rules = Rules::of(row);
    Some(match (row.group, row.plural) {
        ("", "persistentvolumes") => Rules {
            defaults: fill_volume,
            admit: |cx, object| {
                let now = jiff::Timestamp::from_second(cx.now.as_second()).unwrap_or(cx.now);
                object["status"]["lastPhaseTransitionTime"] = now.to_string().into();
                protect(object, "kubernetes.io/pv-protection");
                Ok(())
            },
            check: check_volume,
            on_create: pending,
            ..rules
        },
        ("", "persistentvolumeclaims") => Rules {
            admit: |cx, object| {
                protect(object, "kubernetes.io/pvc-protection");
                classes::storage_class(cx, object)
            },
            defaults: fill_claim,
            check: check_claim,
            check_change: claim_kept,
            check_status: check_claim_status,
            on_create: |object| {
                pending(object);
                link_sources(object);
            },
            ..rules
        },
        ("storage.k8s.io", "storageclasses") => Rules {
            defaults: |object| {
                fill(object, "reclaimPolicy", "Delete");
                fill(object, "volumeBindingMode", "Immediate");
            },
            check: check_class,
            check_change: class_kept,
            ..rules
        },
        ("storage.k8s.io", "csidrivers") => Rules {
            defaults: fill_driver,
            check: csi_check::driver,
            check_change: csi_check::driver_kept,
            // It has no generation before its first change.
            also_counts: |new, old| new["spec"] != old["spec"],
            warnings: token_in_attributes,
            ..rules
        },
        ("storage.k8s.io", "csinodes") => Rules {
            check: csi_check::node,
            ..rules
        },
        ("storage.k8s.io", "csistoragecapacities") => Rules {
            check: csi_check::capacity,
            check_change: csi_check::capacity_kept,
            ..rules
        },
        ("storage.k8s.io", "volumeattachments") => Rules {
            check: csi_check::attachment,
            check_new: csi_check::new_attachment,
            check_change: |new, old, errors| immutable(new, old, "spec", errors),
            check_status: |new, _, errors| csi_check::attachment(new, errors),
            ..rules
        },
        _ => return None,
    })
}

/// Gives a new object the finalizer that a controller takes away when nobody uses it any more. Source: Kubernetes v1.35,
/// `plugin/pkg/admission/storage/storageobjectinuseprotection`.
fn protect(object: &mut Value, finalizer: &str) {
    let finalizers = &mut object["metadata"]["finalizers"];
    let mut names = finalizers.as_array().cloned().unwrap_or_default();
    if !names.iter().any(|name| name == finalizer) {
        names.push(finalizer.into());
        *finalizers = names.into();
    }
}

fn pending(object: &mut Value) {
    object["status"] = json!({"phase": "Pending"});
}

fn fill_volume(object: &mut Value) {
    if let Some(spec) = object.get_mut("spec") {
        fill(spec, "persistentVolumeReclaimPolicy", "Retain");
        fill(spec, "volumeMode", "Filesystem");
        if let Some(host) = at_mut(spec, "hostPath")
            && host.get("type").is_none_or(Value::is_null)
        {
            host["type"] = "".into();
        }
    }
}

fn check_volume(object: &Value, errors: &mut Errors) {
    let name = text(object, "metadata.name");
    check(&object["spec"], "spec", errors, |spec| {
        let modes = spec.at("accessModes");
        if modes.list().is_empty() {
            modes.required("");
        }
        claims::access_modes(&modes);
        capacity(&spec.at("capacity"));
        let policy = spec.at("persistentVolumeReclaimPolicy");
        if !policy.text().is_empty() {
            policy.supported(&["Delete", "Recycle", "Retain"]);
        }
        let affinity = spec.at("nodeAffinity");
        if affinity.at("required").is_set() {
            node_selector(&affinity.at("required"));
        } else if affinity.is_set() {
            affinity
                .at("required")
                .required("must specify required node constraints");
        }
        persistent_source(spec, name);
        let is_root = |path: &str| {
            let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
            path.starts_with('/') && parts.count() == 0
        };
        if is_root(spec.at("hostPath.path").text()) && policy.text() == "Recycle" {
            policy.forbidden("may not be 'recycle' for a hostPath mount of '/'");
        }
        spec.at("storageClassName")
            .named_if_any(names::dns1123_subdomain);
        claims::volume_mode(&spec.at("volumeMode"));
        attributes_class(spec);
    });
}

fn attributes_class(spec: &Field<'_, '_>) {
    let class = spec.at("volumeAttributesClassName");
    if !class.is_set() {
        return;
    }
    if class.text().is_empty() {
        class.required("an empty string is disallowed");
    } else {
        class.complain(names::dns1123_subdomain(class.text()));
    }
    if !spec.at("csi").is_set() {
        spec.at("csi")
            .required("has to be specified when using volumeAttributesClassName");
    }
}

fn capacity(capacity: &Field<'_, '_>) {
    if capacity.is_empty() {
        capacity.required("");
    }
    let n = capacity.entries().count();
    if !capacity.key("storage").is_set() || n > 1 {
        let amounts = capacity.entries().map(|(name, place)| {
            let amount = quantity(place.value).map(|amount| amount.to_string());
            (name.to_owned(), amount.into())
        });
        let shown: serde_json::Map<String, Value> = amounts.collect();
        capacity.not_supported_as(shown, &["storage"]);
    }
    for (_, place) in capacity.entries() {
        let Some(amount) = quantity(place.value) else {
            continue;
        };
        if amount.value() < 0 {
            place.invalid_as(amount.value(), "must be a valid resource quantity");
        }
        if amount.signum() <= 0 {
            place.invalid_as(amount.to_string(), "must be greater than zero");
        }
    }
}

fn fill_claim(object: &mut Value) {
    if let Some(spec) = object.get_mut("spec") {
        fill(spec, "volumeMode", "Filesystem");
    }
}

/// Both ways to name a source say the same, unless only the new one can say it. What an old server
/// could not read is left out, as it always was.
fn link_sources(object: &mut Value) {
    let Some(spec) = at_mut(object, "spec").and_then(Value::as_object_mut) else {
        return;
    };
    let has = |spec: &Map<String, Value>, key: &str| !is_unset(spec.get(key));
    if let Some(source) = spec.get("dataSource") {
        let group = text(source, "apiGroup");
        let is_known = match text(source, "kind") {
            "PersistentVolumeClaim" => group.is_empty(),
            "VolumeSnapshot" => group == "snapshot.storage.k8s.io",
            _ => false,
        };
        if !is_known {
            spec.remove("dataSource");
        }
    }
    if has(spec, "dataSource") && !has(spec, "dataSourceRef") {
        let source = spec["dataSource"].clone();
        spec.insert("dataSourceRef".to_owned(), source);
    } else if has(spec, "dataSourceRef")
        && !has(spec, "dataSource")
        && text(&spec["dataSourceRef"], "namespace").is_empty()
    {
        let source = spec["dataSourceRef"].clone();
        spec.insert("dataSource".to_owned(), source);
    }
}

fn check_claim(object: &Value, errors: &mut Errors) {
    check(&object["spec"], "spec", errors, claims::check_spec);
}

fn check_claim_status(object: &Value, _: &Value, errors: &mut Errors) {
    check(&object["status"], "status", errors, |status| {
        for (_, place) in status.at("capacity").entries() {
            if let Some(amount) = quantity(place.value).filter(|amount| amount.value() < 0) {
                place.invalid_as(amount.value(), "must be a valid resource quantity");
            }
        }
    });
}

fn check_class(object: &Value, errors: &mut Errors) {
    check(object, "", errors, |object| {
        let provisioner = object.at("provisioner");
        provisioner.needed();
        if !provisioner.text().is_empty() {
            let lower = provisioner.text().to_lowercase();
            for complaint in names::qualified_name(&lower) {
                provisioner.invalid_as(lower.as_str(), complaint);
            }
        }
        let parameters = object.at("parameters");
        let mut bytes = 0;
        for (key, place) in parameters.entries() {
            if key.is_empty() {
                parameters.invalid_as("", "field can not be empty.");
            }
            bytes += key.len() + place.text().len();
        }
        if bytes > PARAMETER_BYTES_MAX {
            parameters.too_long(PARAMETER_BYTES_MAX);
        }
        object
            .at("reclaimPolicy")
            .supported_if_set(&["Delete", "Retain"]);
        let binding = object.at("volumeBindingMode");
        binding.supported_if_set(&["Immediate", "WaitForFirstConsumer"]);
        topology_terms(&object.at("allowedTopologies"));
    });
}

fn class_kept(new: &Value, old: &Value, errors: &mut Errors) {
    for key in ["parameters", "provisioner", "reclaimPolicy"] {
        if new.get(key) != old.get(key) {
            let detail = format!("updates to {key} are forbidden.");
            errors.push(FieldError::forbidden(key, detail));
        }
    }
    immutable(new, old, "volumeBindingMode", errors);
}

/// A claim keeps its spec, but for what binding sets, and for size and class of a bound one.
fn claim_kept(new: &Value, old: &Value, errors: &mut Errors) {
    let (mut now, mut was) = (new["spec"].clone(), old["spec"].clone());
    let is_bound = text(new, "status.phase") == "Bound";
    let (Some(fields), Some(before)) = (now.as_object_mut(), was.as_object_mut()) else {
        return;
    };
    let is_unbound = is_unset(before.get("volumeName"));
    if is_unbound && let Some(name) = fields.get("volumeName") {
        before.insert("volumeName".to_owned(), name.clone());
    }
    if is_unset(before.get("storageClassName")) && !is_unset(fields.get("storageClassName")) {
        generic::restore(fields, &old["spec"], "storageClassName");
    }
    if is_bound {
        generic::restore(fields, &old["spec"], "volumeAttributesClassName");
        let size = at(old, "spec.resources.requests.storage");
        if let Some(requests) = fields
            .get_mut("resources")
            .and_then(|resources| resources.get_mut("requests"))
        {
            requests["storage"] = size.clone();
        }
    }
    if now != was {
        let changes = diff(
            &record(&was, shapes::PersistentVolumeClaimSpec),
            &record(&now, shapes::PersistentVolumeClaimSpec),
        );
        let detail = format!(
            "spec is immutable after creation except resources.requests and \
             volumeAttributesClassName for bound claims\n{changes}"
        );
        errors.push(FieldError::forbidden("spec", detail));
    }
    let size = |claim: &Value, path: &str| quantity(at(claim, path));
    let path = "spec.resources.requests.storage";
    if let (Some(now), Some(was)) = (size(new, path), size(old, path))
        && now < was
        && size(old, "status.capacity.storage").is_none_or(|capacity| now <= capacity)
    {
        let detail = "field can not be less than status.capacity";
        errors.push(FieldError::forbidden(path, detail));
    }
    if at(new, "spec.volumeMode") != at(old, "spec.volumeMode") {
        let mode = at(new, "spec.volumeMode").clone();
        errors.push(FieldError::invalid(
            "volumeMode",
            mode,
            "field is immutable",
        ));
    }
}

fn fill_driver(object: &mut Value) {
    let Some(spec) = object.get_mut("spec") else {
        return;
    };
    fill(spec, "attachRequired", true);
    for key in [
        "podInfoOnMount",
        "storageCapacity",
        "requiresRepublish",
        "seLinuxMount",
    ] {
        fill(spec, key, false);
    }
    fill(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
    fill(spec, "volumeLifecycleModes", json!(["Persistent"]));
}

/// Tokens are better not among a volume's attributes, which are logged.
fn token_in_attributes(object: &Value) -> Vec<String> {
    let spec = &object["spec"];
    if list(spec, "tokenRequests").is_empty() || !is_unset(spec.get("serviceAccountTokenInSecrets"))
    {
        return Vec::new();
    }
    let text = "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible \
                logging of tokens in volume attributes";
    vec![text.to_owned()]
}
