//! Checks of what storage drivers write about themselves: drivers, nodes, capacities and attachments.
//!
//! Source: Kubernetes v1.35, `pkg/apis/storage/validation/validation.go`.

use std::collections::BTreeSet;

use flotilla_machinery::names;
use serde_json::Value;

use super::{
    field::{Field, check},
    pod_check::{csi_driver_name, persistent_source},
    resources::quantity,
    rules::{Errors, immutable},
};

/// Bytes of the metadata of an attachment: 256 KiB.
const METADATA_BYTES_MAX: usize = 256 * 1024;
/// Bytes of the message of an error.
const MESSAGE_BYTES_MAX: usize = 1024;
/// Bytes of the name a driver has for a node; older objects may have fewer.
const NODE_ID_BYTES_MAX: usize = 256;
/// Shortest and longest life of a token for a driver, in seconds.
const TOKEN_SECONDS: [i64; 2] = [600, 1 << 32];
/// Shortest time between two counts of attachable volumes, in seconds.
const UPDATE_SECONDS_MIN: i64 = 10;

/// Checks a driver.
pub(super) fn driver(object: &Value, errors: &mut Errors) {
    check(&object["spec"], "spec", errors, |spec| {
        for (key, place) in [
            ("attachRequired", "attachedRequired"),
            ("podInfoOnMount", "podInfoOnMount"),
            ("storageCapacity", "storageCapacity"),
        ] {
            if !spec.at(key).is_set() {
                spec.at(place).required("");
            }
        }
        let policy = spec.at("fsGroupPolicy");
        if policy.is_set() {
            policy.supported(&["File", "None", "ReadWriteOnceWithFSType"]);
        }
        let requests = spec.at("tokenRequests");
        let mut audiences = BTreeSet::new();
        for request in requests.items() {
            let audience = request.at("audience");
            if !audiences.insert(audience.text()) {
                audience.duplicate_of(audience.text());
                continue;
            }
            let seconds = request.at("expirationSeconds");
            match seconds.number() {
                Some(n) if n < TOKEN_SECONDS[0] => {
                    seconds.invalid("may not specify a duration less than 10 minutes");
                }
                Some(n) if n > TOKEN_SECONDS[1] => {
                    seconds.invalid("may not specify a duration larger than 2^32 seconds");
                }
                _ => {}
            }
        }
        let modes = spec.at("volumeLifecycleModes");
        for mode in modes.items() {
            let known = ["Persistent", "Ephemeral"];
            if !known.contains(&mode.text()) {
                modes.not_supported_as(mode.text(), &known);
            }
        }
        if !spec.at("seLinuxMount").is_set() {
            spec.at("seLinuxMount").required("");
        }
        let period = spec.at("nodeAllocatableUpdatePeriodSeconds");
        if period.number().is_some_and(|n| n < UPDATE_SECONDS_MIN) {
            period.invalid("must be greater than or equal to 10 seconds");
        }
        let in_secrets = spec.at("serviceAccountTokenInSecrets");
        if in_secrets.is_set() && requests.list().is_empty() {
            let detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
            in_secrets.invalid(detail);
        }
    });
}

/// What must stay as it is in a driver.
pub(super) fn driver_kept(new: &Value, old: &Value, errors: &mut Errors) {
    check(&new["spec"], "spec", errors, |spec| {
        for (key, place) in [
            ("attachRequired", "attachedRequired"),
            ("volumeLifecycleModes", "volumeLifecycleModes"),
        ] {
            let now = spec.at(key).value;
            if *now != old["spec"][key] {
                spec.with(place, now).invalid("field is immutable");
            }
        }
    });
}

/// Checks what drivers say about a node.
pub(super) fn node(object: &Value, errors: &mut Errors) {
    check(&object["spec"], "spec", errors, |spec| {
        let mut seen = BTreeSet::new();
        for driver in spec.at("drivers").items() {
            let name = driver.at("name");
            csi_driver_name(&name);
            node_id(&driver.at("nodeID"));
            driver.at("allocatable.count").not_negative();
            if !seen.insert(name.text()) {
                name.duplicate();
            }
            topology_keys(&driver);
        }
    });
}

fn node_id(id: &Field<'_, '_>) {
    id.needed();
    if id.text().len() > NODE_ID_BYTES_MAX {
        id.invalid(format!("must be {NODE_ID_BYTES_MAX} characters or less"));
    }
}

/// Upstream names the driver, not the key.
fn topology_keys(driver: &Field<'_, '_>) {
    let mut seen = BTreeSet::new();
    for key in driver.at("topologyKeys").items() {
        let text = key.text();
        if text.is_empty() {
            driver.required("");
        }
        if !seen.insert(text) {
            driver.duplicate_of(text);
        }
        for complaint in names::qualified_name(text) {
            driver.invalid_as(text, complaint);
        }
    }
}

/// Checks a capacity.
pub(super) fn capacity(object: &Value, errors: &mut Errors) {
    check(object, "", errors, |object| {
        object.at("nodeTopology").selector();
        let class = object.at("storageClassName");
        for complaint in names::dns1123_subdomain(class.text()) {
            class.invalid_text(complaint);
        }
        let amount = object.at("capacity");
        if let Some(n) = quantity(amount.value).filter(|n| n.value() < 0) {
            amount.invalid_as(n.to_string(), "must be greater than or equal to 0");
        }
    });
}

/// What must stay as it is in a capacity.
pub(super) fn capacity_kept(new: &Value, old: &Value, errors: &mut Errors) {
    immutable(new, old, "nodeTopology", errors);
    immutable(new, old, "storageClassName", errors);
}

/// Checks an attachment.
pub(super) fn attachment(object: &Value, errors: &mut Errors) {
    check(&object["spec"], "spec", errors, |spec| {
        spec.at("attacher").needed();
        attached(&spec.at("source"));
        let node = spec.at("nodeName");
        for complaint in names::dns1123_subdomain(node.text()) {
            node.invalid_text(complaint);
        }
    });
    attachment_status(object, errors);
}

fn attached(source: &Field<'_, '_>) {
    let (inline, name) = (
        source.at("inlineVolumeSpec"),
        source.at("persistentVolumeName"),
    );
    let detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    match (inline.is_set(), name.is_set()) {
        (false, false) => source.required(detail),
        (true, true) => source.forbidden(detail),
        (false, true) if name.text().is_empty() => {
            name.required("must specify non empty persistentVolumeName");
        }
        (false, true) => {}
        (true, false) => persistent_source(&inline, ""),
    }
}

/// Checks a new attachment, after what [`attachment`] checks.
pub(super) fn new_attachment(object: &Value, errors: &mut Errors) {
    check(&object["spec"], "spec", errors, |spec| {
        csi_driver_name(&spec.at("attacher"));
        let name = spec.at("source.persistentVolumeName");
        if name.is_set() {
            name.complain(names::dns1123_subdomain(name.text()));
        }
    });
}

/// Checks the status of an attachment.
pub(super) fn attachment_status(object: &Value, errors: &mut Errors) {
    check(&object["status"], "status", errors, |status| {
        let metadata = status.at("attachmentMetadata");
        let bytes = metadata
            .entries()
            .map(|(key, value)| key.len() + value.text().len());
        if bytes.sum::<usize>() > METADATA_BYTES_MAX {
            metadata.too_long(METADATA_BYTES_MAX);
        }
        for key in ["attachError", "detachError"] {
            let error = status.at(key);
            let message = error.at("message");
            if message.text().len() > MESSAGE_BYTES_MAX {
                // Upstream names the limit of the metadata.
                message.too_long(METADATA_BYTES_MAX);
            }
            let code = error.at("errorCode");
            if code.number().is_some_and(|code| code < 0) {
                code.invalid("must be between 0 and 2147483647, inclusive");
            }
        }
    });
}
