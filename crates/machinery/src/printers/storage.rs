//! Volumes, claims, classes and the drivers behind them.

use serde_json::Value;

use super::format::{View, access_modes, join, or_none, scalar, text as text_at};
use super::{AGE, CREATED_AT, Column, NAME, Printer, column, integer, text, wide};

pub(super) const PRINTERS: &[Printer] = &[
    Printer {
        group: "",
        kind: "PersistentVolume",
        columns: &[
            NAME,
            text("Capacity"),
            text("Access Modes"),
            text("Reclaim Policy"),
            text("Status"),
            text("Claim"),
            text("StorageClass"),
            text("VolumeAttributesClass"),
            text("Reason"),
            AGE,
            wide("VolumeMode"),
        ],
        cells: volume,
    },
    Printer {
        group: "",
        kind: "PersistentVolumeClaim",
        columns: &[
            NAME,
            text("Status"),
            text("Volume"),
            text("Capacity"),
            text("Access Modes"),
            text("StorageClass"),
            text("VolumeAttributesClass"),
            AGE,
            wide("VolumeMode"),
        ],
        cells: claim,
    },
    Printer {
        group: "storage.k8s.io",
        kind: "StorageClass",
        columns: &[
            NAME,
            text("Provisioner"),
            text("ReclaimPolicy"),
            text("VolumeBindingMode"),
            text("AllowVolumeExpansion"),
            AGE,
        ],
        cells: storage_class,
    },
    Printer {
        group: "storage.k8s.io",
        kind: "VolumeAttributesClass",
        columns: &[NAME, text("DriverName"), AGE],
        cells: |v| vec![v.name(), v.text("driverName").into(), v.age()],
    },
    Printer {
        group: "storage.k8s.io",
        kind: "VolumeAttachment",
        columns: &[
            NAME,
            Column {
                format: "name",
                ..text("Attacher")
            },
            text("PV"),
            text("Node"),
            column("Attached", "boolean", 0),
            AGE,
        ],
        cells: |v| {
            vec![
                v.name(),
                v.text("spec.attacher").into(),
                v.text("spec.source.persistentVolumeName").into(),
                v.text("spec.nodeName").into(),
                v.flag("status.attached").into(),
                v.age(),
            ]
        },
    },
    Printer {
        group: "storage.k8s.io",
        kind: "CSIStorageCapacity",
        columns: &[NAME, CREATED_AT],
        cells: |v| vec![v.name(), v.created_at()],
    },
    Printer {
        group: "storage.k8s.io",
        kind: "CSINode",
        columns: &[NAME, integer("Drivers"), AGE],
        cells: |v| vec![v.name(), v.count("spec.drivers").into(), v.age()],
    },
    Printer {
        group: "storage.k8s.io",
        kind: "CSIDriver",
        columns: &[
            NAME,
            column("AttachRequired", "boolean", 0),
            column("PodInfoOnMount", "boolean", 0),
            column("StorageCapacity", "boolean", 0),
            text("TokenRequests"),
            column("RequiresRepublish", "boolean", 0),
            text("Modes"),
            AGE,
        ],
        cells: driver,
    },
];

fn volume(view: &View<'_>) -> Vec<Value> {
    let claim = match view.at("spec.claimRef") {
        Value::Object(_) => {
            format!(
                "{}/{}",
                view.text("spec.claimRef.namespace"),
                view.text("spec.claimRef.name")
            )
        }
        _ => String::new(),
    };
    vec![
        view.name(),
        view.text("spec.capacity.storage").into(),
        access_modes(view.list("spec.accessModes")).into(),
        view.text("spec.persistentVolumeReclaimPolicy").into(),
        phase(view),
        claim.into(),
        class(view),
        view.text_or("spec.volumeAttributesClassName", "<unset>")
            .into(),
        view.text("status.reason").into(),
        view.age(),
        view.text_or("spec.volumeMode", "<unset>").into(),
    ]
}

fn claim(view: &View<'_>) -> Vec<Value> {
    let is_bound = !view.text("spec.volumeName").is_empty();
    let (capacity, modes) = match is_bound {
        true => (
            view.text("status.capacity.storage"),
            access_modes(view.list("status.accessModes")),
        ),
        false => ("", String::new()),
    };
    vec![
        view.name(),
        phase(view),
        view.text("spec.volumeName").into(),
        capacity.into(),
        modes.into(),
        class(view),
        view.text_or("spec.volumeAttributesClassName", "<unset>")
            .into(),
        view.age(),
        view.text_or("spec.volumeMode", "<unset>").into(),
    ]
}

fn phase(view: &View<'_>) -> Value {
    if view.is_deleting() {
        "Terminating"
    } else {
        view.text("status.phase")
    }
    .into()
}

/// The annotation is older than the field and wins.
fn class(view: &View<'_>) -> Value {
    let annotation = &view.at("metadata.annotations")["volume.beta.kubernetes.io/storage-class"];
    annotation
        .as_str()
        .unwrap_or_else(|| view.text("spec.storageClassName"))
        .into()
}

fn storage_class(view: &View<'_>) -> Vec<Value> {
    let annotations = view.at("metadata.annotations");
    let is_default = [
        "storageclass.kubernetes.io",
        "storageclass.beta.kubernetes.io",
    ]
    .iter()
    .any(|domain| annotations[format!("{domain}/is-default-class")] == "true");
    let mark = if is_default { " (default)" } else { "" };
    vec![
        format!("{}{mark}", view.text("metadata.name")).into(),
        view.text("provisioner").into(),
        view.text_or("reclaimPolicy", "Delete").into(),
        view.text_or("volumeBindingMode", "Immediate").into(),
        view.flag("allowVolumeExpansion").into(),
        view.age(),
    ]
}

fn driver(view: &View<'_>) -> Vec<Value> {
    let attach = view.at("spec.attachRequired").as_bool().unwrap_or(true);
    let audiences = view
        .list("spec.tokenRequests")
        .iter()
        .map(|r| text_at(r, "audience"));
    let tokens = match view.list("spec.tokenRequests") {
        [] => "<unset>".to_owned(),
        _ => join(audiences),
    };
    let modes = view
        .list("spec.volumeLifecycleModes")
        .iter()
        .map(|mode| scalar(mode, ""));
    vec![
        view.name(),
        attach.into(),
        view.flag("spec.podInfoOnMount").into(),
        view.flag("spec.storageCapacity").into(),
        tokens.into(),
        view.flag("spec.requiresRepublish").into(),
        or_none(join(modes)).into(),
        view.age(),
    ]
}
