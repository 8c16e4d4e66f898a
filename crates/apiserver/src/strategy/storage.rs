//! Volumes, claims, classes and drivers.
//!
//! Source: Kubernetes v1.35, `pkg/apis/{core,storage}` defaults and validation.

use flotilla_machinery::{builtin::ResourceRow, status::FieldError};
use serde_json::{Value, json};

use super::{
    classes,
    fill::{at, at_mut, fill, is_unset, list, text},
    rules::{Errors, Rules, immutable, one_of},
};
use crate::registry::generic;

/// The rules of one of these kinds, `None` for other resources.
pub(super) fn of(row: &ResourceRow) -> Option<Rules> {
    let rules = Rules::of(row);
    Some(match (row.group, row.plural) {
        ("", "persistentvolumes") => Rules {
            defaults: fill_volume,
            check: check_volume,
            on_create: pending,
            returns_deleted: true,
            ..rules
        },
        ("", "persistentvolumeclaims") => Rules {
            admit: classes::storage_class,
            defaults: fill_claim,
            check: check_claim,
            check_change: claim_kept,
            on_create: pending,
            returns_deleted: true,
            ..rules
        },
        ("storage.k8s.io", "storageclasses") => Rules {
            defaults: |object| {
                fill(object, "reclaimPolicy", "Delete");
                fill(object, "volumeBindingMode", "Immediate");
            },
            check: |object, errors| {
                if text(object, "provisioner").is_empty() {
                    errors.push(FieldError::required("provisioner", ""));
                }
            },
            check_change: |new, old, errors| {
                for key in [
                    "parameters",
                    "provisioner",
                    "reclaimPolicy",
                    "volumeBindingMode",
                ] {
                    immutable(new, old, key, errors);
                }
            },
            returns_deleted: true,
            ..rules
        },
        ("storage.k8s.io", "csidrivers") => Rules {
            defaults: fill_driver,
            ..rules
        },
        _ => return None,
    })
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

fn check_modes(object: &Value, errors: &mut Errors) {
    let modes = list(object, "spec.accessModes");
    if modes.is_empty() {
        errors.push(FieldError::required("spec.accessModes", ""));
    }
    let known = [
        "ReadOnlyMany",
        "ReadWriteMany",
        "ReadWriteOnce",
        "ReadWriteOncePod",
    ];
    for mode in modes {
        one_of(mode, "spec.accessModes", &known, errors);
    }
}

fn check_volume(object: &Value, errors: &mut Errors) {
    check_modes(object, errors);
    if at(object, "spec.capacity").get("storage").is_none() {
        errors.push(FieldError::required("spec.capacity", ""));
    }
}

fn fill_claim(object: &mut Value) {
    if let Some(spec) = object.get_mut("spec") {
        fill(spec, "volumeMode", "Filesystem");
    }
}

fn check_claim(object: &Value, errors: &mut Errors) {
    check_modes(object, errors);
    if at(object, "spec.resources.requests")
        .get("storage")
        .is_none()
    {
        errors.push(FieldError::required("spec.resources[storage]", ""));
    }
}

/// A claim keeps its spec, but for size and class of attributes, and for what binding sets.
fn claim_kept(new: &Value, old: &Value, errors: &mut Errors) {
    let mut spec = new["spec"].clone();
    let Some(map) = spec.as_object_mut() else {
        return;
    };
    map.insert("resources".to_owned(), at(old, "spec.resources").clone());
    for key in [
        "volumeAttributesClassName",
        "volumeName",
        "storageClassName",
    ] {
        let may_change = key == "volumeAttributesClassName" || is_unset(at(old, "spec").get(key));
        if may_change {
            generic::restore(map, &old["spec"], key);
        }
    }
    if at(old, "spec.resources").is_null() {
        map.remove("resources");
    }
    if spec != old["spec"] {
        let detail = "spec is immutable after creation except resources.requests and \
            volumeAttributesClassName for bound claims";
        errors.push(FieldError::forbidden("spec", detail));
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
