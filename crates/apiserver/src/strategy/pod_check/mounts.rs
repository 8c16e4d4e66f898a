//! Volume mounts and devices of a container.

use std::collections::BTreeSet;

use super::{Scope, volumes::backsteps, volumes::descending};
use crate::strategy::{field::Field, fill::text};

pub(super) fn check_mounts(scope: &Scope<'_>, container: &Field<'_, '_>) {
    let (mounts, devices) = (container.at("volumeMounts"), container.at("volumeDevices"));
    let mut seen = BTreeSet::new();
    for mount in mounts.items() {
        let (name, path) = (mount.at("name"), mount.at("mountPath"));
        name.needed();
        if scope.volume(name.text()).is_none() {
            name.not_found("");
        }
        path.needed();
        if !seen.insert(path.text()) {
            path.invalid_text("must be unique");
        }
        if devices
            .list()
            .iter()
            .any(|d| text(d, "name") == name.text())
        {
            name.invalid_text("must not already exist in volumeDevices");
        }
        if devices
            .list()
            .iter()
            .any(|d| text(d, "devicePath") == path.text())
        {
            path.invalid_text("must not already exist as a path in volumeDevices");
        }
        // Upstream leaves the index out of the paths of all that follows.
        let (part, template) = (mount.at("subPath"), mount.at("subPathExpr"));
        if !part.text().is_empty() {
            descending(&mounts.with("subPath", part.value));
        }
        if !template.text().is_empty() {
            if !part.text().is_empty() {
                template.invalid("subPathExpr and subPath are mutually exclusive");
            }
            descending(&mounts.with("subPathExpr", template.value));
        }
        propagation(&mounts, &mount, container);
        recursive_read_only(&mounts, &mount);
    }
}

fn propagation(mounts: &Field<'_, '_>, mount: &Field<'_, '_>, container: &Field<'_, '_>) {
    let mode = mounts.with("mountPropagation", &mount.value["mountPropagation"]);
    mode.supported_if_set(&["Bidirectional", "HostToContainer", "None"]);
    if mode.text() == "Bidirectional" && !container.at("securityContext.privileged").is_true() {
        let detail = "Bidirectional mount propagation is available only to privileged containers";
        mode.forbidden(detail);
    }
}

fn recursive_read_only(mounts: &Field<'_, '_>, mount: &Field<'_, '_>) {
    let mode = mounts.with("recursiveReadOnly", &mount.value["recursiveReadOnly"]);
    mode.supported_if_set(&["Disabled", "Enabled", "IfPossible"]);
    if !matches!(mode.text(), "Enabled" | "IfPossible") {
        return;
    }
    if !mount.at("readOnly").is_true() {
        mode.forbidden("may only be specified when readOnly is true");
    }
    if !matches!(text(mount.value, "mountPropagation"), "" | "None") {
        mode.forbidden("may only be specified when mountPropagation is None or not specified");
    }
}

pub(super) fn check_devices(scope: &Scope<'_>, container: &Field<'_, '_>) {
    let (mounts, devices) = (container.at("volumeMounts"), container.at("volumeDevices"));
    let (mut seen_names, mut seen_paths) = (BTreeSet::new(), BTreeSet::new());
    for device in devices.items() {
        let (name, path) = (device.at("name"), device.at("devicePath"));
        name.needed();
        if seen_names.contains(name.text()) {
            name.invalid_text("must be unique");
        }
        match scope.volume(name.text()) {
            None => name.not_found(""),
            Some(volume) if volume["persistentVolumeClaim"].is_object() || volume["ephemeral"].is_object() => {}
            Some(_) => name.invalid_text(
                "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
            ),
        }
        path.needed();
        if seen_paths.contains(path.text()) {
            path.invalid_text("must be unique");
        }
        if backsteps(path.text()) {
            path.invalid("can not contain backsteps ('..')");
        } else {
            seen_paths.insert(path.text());
        }
        if mounts.list().iter().any(|m| text(m, "name") == name.text()) {
            name.invalid_text("must not already exist in volumeMounts");
        }
        if mounts
            .list()
            .iter()
            .any(|m| text(m, "mountPath") == path.text())
        {
            path.invalid_text("must not already exist as a path in volumeMounts");
        }
        if !name.text().is_empty() {
            seen_names.insert(name.text());
        }
    }
}
