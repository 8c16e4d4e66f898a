//! Claims for volumes, as objects and in templates.
//!
//! Source: Kubernetes v1.35, `pkg/apis/core/validation` (ValidatePersistentVolumeClaimSpec and
//! ValidatePersistentVolumeClaimUpdate).

use flotilla_machinery::names;

use super::{
    field::Field,
    resources::{amount, quantity},
};

/// How a volume may be used, in the order of upstream's messages.
const MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];

/// Checks the spec of a claim.
pub(super) fn check_spec(spec: &Field<'_, '_>) {
    let modes = spec.at("accessModes");
    if modes.list().is_empty() {
        modes.required("at least 1 access mode is required");
    }
    spec.at("selector").selector();
    access_modes(&modes);
    let storage = spec.at("resources.requests");
    let (storage, place) = (storage.key("storage"), spec.at("resources"));
    let place = place.key("storage");
    match quantity(storage.value) {
        None => place.required(""),
        Some(size) if size.signum() <= 0 => {
            place.invalid_as(size.to_string(), "must be greater than zero");
        }
        Some(size) => amount(&place, "storage", &size),
    }
    let class = spec.at("storageClassName");
    class.named_if_any(names::dns1123_subdomain);
    volume_mode(&spec.at("volumeMode"));
    data_sources(spec);
    let class = spec.at("volumeAttributesClassName");
    class.named_if_any(names::dns1123_subdomain);
}

/// Modes are known, and the exclusive one is alone.
pub(super) fn access_modes(modes: &Field<'_, '_>) {
    for mode in modes.list() {
        let mode = mode.as_str().unwrap_or_default();
        if !MODES.contains(&mode) {
            modes.not_supported_as(mode, &MODES);
        }
    }
    let has = |exclusive: bool| {
        let known = modes.list().iter().filter_map(|mode| mode.as_str());
        known
            .filter(|mode| MODES.contains(mode))
            .any(|mode| (mode == "ReadWriteOncePod") == exclusive)
    };
    if has(true) && has(false) {
        modes.forbidden("may not use ReadWriteOncePod with other access modes");
    }
}

/// A disk or a file system.
pub(super) fn volume_mode(mode: &Field<'_, '_>) {
    mode.supported_if_set(&["Block", "Filesystem"]);
}

fn data_sources(spec: &Field<'_, '_>) {
    let (old, new) = (spec.at("dataSource"), spec.at("dataSourceRef"));
    for source in [&old, &new] {
        if source.is_set() {
            data_source(source);
        }
    }
    let namespace = new.at("namespace");
    namespace.named_if_any(names::dns1123_label);
    if !old.is_set() || !new.is_set() {
        return;
    }
    // Upstream shows a path as the value here.
    let shown = format!("{}.dataSource", spec.path());
    if !namespace.text().is_empty() {
        let detail = "may not be specified when dataSourceRef.namespace is specified";
        spec.invalid_as(shown, detail);
    } else if ["apiGroup", "kind", "name"]
        .iter()
        .any(|key| old.at(key).value != new.at(key).value)
    {
        spec.invalid_as(shown, "must match dataSourceRef");
    }
}

fn data_source(source: &Field<'_, '_>) {
    let (kind, group) = (source.at("kind"), source.at("apiGroup"));
    source.at("name").needed();
    kind.needed();
    if group.text().is_empty() && kind.text() != "PersistentVolumeClaim" {
        let detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        source.invalid_as(kind.text(), detail);
    }
    group.named_if_any(names::dns1123_subdomain);
}
