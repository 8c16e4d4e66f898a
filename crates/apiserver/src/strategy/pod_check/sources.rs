//! Volume sources that pods and persistent volumes share.

use flotilla_machinery::names;
use serde_json::Value;

use super::volumes::{host_path, no_backsteps};
use crate::strategy::{field::Field, fill::text};

/// A volume's name and portal together, when there is an initiator.
const ISCSI_BYTES_MAX: usize = 64;
/// Longest name of a CSI driver.
const DRIVER_BYTES_MAX: usize = 63;

/// A kind of persistent volume: its member, and its rule.
type Persistent = (&'static str, fn(&Field<'_, '_>));

/// In the order in which upstream looks at them.
const PERSISTENT: [Persistent; 22] = [
    ("hostPath", host_path),
    ("gcePersistentDisk", |s| disk(s, "pdName")),
    ("awsElasticBlockStore", |s| disk(s, "volumeID")),
    ("glusterfs", glusterfs),
    ("flocker", flocker),
    ("nfs", nfs),
    ("rbd", rbd),
    ("quobyte", quobyte),
    ("cephfs", monitors),
    ("iscsi", |s| iscsi(s, true)),
    ("cinder", |s| with_secret(s, &["volumeID"], true)),
    ("fc", fibre_channel),
    ("flexVolume", flex),
    ("azureFile", azure_file),
    ("vsphereVolume", |s| needed(s, &["volumePath"])),
    ("photonPersistentDisk", |s| needed(s, &["pdID"])),
    ("portworxVolume", |s| needed(s, &["volumeID"])),
    ("azureDisk", azure_disk),
    ("scaleIO", |s| {
        needed(s, &["gateway", "system", "volumeName"])
    }),
    ("local", local),
    ("storageos", |s| storage_os(s, true)),
    ("csi", persistent_csi),
];

/// Checks the sources of a persistent volume.
pub(in crate::strategy) fn persistent_source(spec: &Field<'_, '_>, name: &str) {
    let mut n = 0;
    for (key, rule) in PERSISTENT {
        let source = spec.at(key);
        if !source.is_set() {
            continue;
        }
        n += 1;
        // Upstream gives two paths a name that no member has, and never minds a flexVolume.
        if n > 1 && key != "flexVolume" {
            let surplus = if key == "cephfs" { "cephFS" } else { key };
            spec.at(surplus)
                .forbidden("may not specify more than 1 volume type");
            continue;
        }
        let inside = match key {
            "gcePersistentDisk" => "persistentDisk",
            key => key,
        };
        rule(&spec.with(inside, source.value));
        if key == "iscsi" {
            initiator_length(&source.at("targetportal"), name, source.value);
        }
        let affinity = spec.at("nodeAffinity");
        if key == "local" && !affinity.is_set() {
            affinity.required("Local volume requires node affinity");
        }
    }
    if n == 0 {
        spec.required("must specify a volume type");
    }
}

/// Members with text.
pub(super) fn needed(source: &Field<'_, '_>, members: &[&str]) {
    for member in members {
        source.at(member).needed();
    }
}

/// A disk of a cloud.
pub(super) fn disk(source: &Field<'_, '_>, name: &str) {
    source.at(name).needed();
    let partition = source.at("partition");
    if !(0..=255).contains(&partition.count()) {
        partition.invalid("must be between 1 and 255, inclusive");
    }
}

pub(super) fn nfs(source: &Field<'_, '_>) {
    needed(source, &["server", "path"]);
    let path = source.at("path");
    if !path.text().starts_with('/') {
        path.invalid_text("must be an absolute path");
    }
}

fn initiator(name: &Field<'_, '_>, unknown: &str) {
    let text = name.text();
    let is_valid = match text.get(..3) {
        Some("iqn") => is_iqn(text),
        Some("eui") => is_number(text.get(4..), 16),
        Some("naa") => is_number(text.get(4..), 32),
        _ => {
            name.invalid_text(unknown);
            return;
        }
    };
    if !is_valid {
        name.invalid_text("must be valid format");
    }
}

/// `iqn.2001-04.com.example:storage.disk`.
fn is_iqn(text: &str) -> bool {
    let parts = text
        .strip_prefix("iqn.")
        .and_then(|rest| rest.split_once(':'));
    let Some((authority, disk)) = parts else {
        return false;
    };
    let Some((month, host)) = authority.split_once('.') else {
        return false;
    };
    let digits = |text: &str, n: usize| text.len() == n && text.bytes().all(|b| b.is_ascii_digit());
    let is_month = month
        .split_once('-')
        .is_some_and(|(year, month)| digits(year, 4) && digits(month, 2));
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b == b'.' || b == b'-';
    is_month
        && !host.is_empty()
        && host.bytes().all(is_name)
        && !disk.is_empty()
        && !disk.contains(|c: char| ",;*&$|".contains(c) || c.is_ascii_whitespace())
}

/// As many letters or digits.
fn is_number(digits: Option<&str>, n: usize) -> bool {
    digits.is_some_and(|digits| {
        digits.len() == n && digits.bytes().all(|b| b.is_ascii_alphanumeric())
    })
}

pub(super) fn iscsi(source: &Field<'_, '_>, is_persistent: bool) {
    let unknown = if is_persistent {
        "must be valid format"
    } else {
        "must be valid format starting with iqn, eui, or naa"
    };
    source.at("targetPortal").needed();
    let name = source.at("iqn");
    if name.text().is_empty() {
        name.required("");
    } else {
        initiator(&name, unknown);
    }
    source.at("lun").in_range(0, 255);
    let has_login =
        source.at("chapAuthDiscovery").is_true() || source.at("chapAuthSession").is_true();
    let secret = source.at("secretRef");
    if has_login && !secret.is_set() {
        secret.required("");
    }
    if is_persistent && secret.is_set() {
        secret.at("name").needed();
    }
    let own = source.at("initiatorName");
    if own.is_set() {
        initiator(&source.with("initiatorname", own.value), unknown);
    }
}

/// The node makes one name of both.
pub(super) fn initiator_length(shown: &Field<'_, '_>, volume: &str, source: &Value) {
    let portal = text(source, "targetPortal");
    if !source["initiatorName"].is_null() && volume.len() + 1 + portal.len() > ISCSI_BYTES_MAX {
        let detail = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";
        let value = match shown.text() {
            "" => portal,
            name => name,
        };
        shown.invalid_as(value, detail);
    }
}

fn glusterfs(source: &Field<'_, '_>) {
    needed(source, &["endpoints", "path"]);
    let namespace = source.at("endpointsNamespace");
    if !namespace.is_set() {
    } else if namespace.text().is_empty() {
        namespace.invalid("if the endpointnamespace is set, it must be a valid namespace name");
    } else {
        namespace.complain(names::dns1123_label(namespace.text()));
    }
}

pub(super) fn flocker(source: &Field<'_, '_>) {
    let name = source.at("datasetName");
    match (name.text(), source.at("datasetUUID").text()) {
        ("", "") => source.required("one of datasetName and datasetUUID is required"),
        (_, "") | ("", _) => {}
        _ => {
            let detail = "datasetName and datasetUUID can not be specified simultaneously";
            source.invalid_as("resource", detail);
        }
    }
    if name.text().contains('/') {
        name.invalid("must not contain '/'");
    }
}

/// Ceph's file system.
pub(super) fn monitors(source: &Field<'_, '_>) {
    if source.at("monitors").list().is_empty() {
        source.at("monitors").required("");
    }
}

pub(super) fn rbd(source: &Field<'_, '_>) {
    monitors(source);
    source.at("image").needed();
}

/// Members with text, and perhaps a secret.
pub(super) fn with_secret(source: &Field<'_, '_>, members: &[&str], has_namespace: bool) {
    needed(source, members);
    let secret = source.at("secretRef");
    if secret.is_set() {
        secret.at("name").needed();
        if has_namespace {
            secret.at("namespace").needed();
        }
    }
}

pub(super) fn quobyte(source: &Field<'_, '_>) {
    let registry = source.at("registry");
    let detail = "must be a host:port pair or multiple pairs separated by commas";
    if registry.text().is_empty() {
        registry.required(detail);
    } else if source.at("tenant").text().len() > 64 {
        let detail = "must be a UUID and may not exceed a length of 64 characters";
        source.at("tenant").required(detail);
    } else {
        for pair in registry.text().split(',') {
            if pair
                .rsplit_once(':')
                .is_none_or(|(host, _)| host.contains(':') && !host.starts_with('['))
            {
                registry.invalid(detail);
            }
        }
    }
    source.at("volume").needed();
}

pub(super) fn fibre_channel(source: &Field<'_, '_>) {
    let (targets, ids) = (source.at("targetWWNs"), source.at("wwids"));
    match (targets.list().is_empty(), ids.list().is_empty()) {
        (true, true) => targets.required("must specify either targetWWNs or wwids, but not both"),
        (false, false) => {
            targets.invalid("targetWWNs and wwids can not be specified simultaneously");
        }
        _ => {}
    }
    let lun = source.at("lun");
    if targets.list().is_empty() {
    } else if !lun.is_set() {
        lun.required("lun is required if targetWWNs is specified");
    } else {
        lun.in_range(0, 255);
    }
}

pub(super) fn flex(source: &Field<'_, '_>) {
    source.at("driver").needed();
    let options = source.at("options");
    for (key, option) in options.entries() {
        let namespace = key.split('/').next().unwrap_or_default();
        let namespace = format!(".{}", namespace.to_lowercase());
        if namespace.ends_with(".kubernetes.io") || namespace.ends_with(".k8s.io") {
            option.invalid_as(key, "kubernetes.io and k8s.io namespaces are reserved");
        }
    }
}

fn azure_file(source: &Field<'_, '_>) {
    needed(source, &["secretName", "shareName"]);
    if source.at("secretNamespace").is_set() {
        source.at("secretNamespace").needed();
    }
}

pub(super) fn azure_disk(source: &Field<'_, '_>) {
    needed(source, &["diskName", "diskURI"]);
    let modes = ["None", "ReadOnly", "ReadWrite"];
    source.at("cachingMode").supported_if_set(&modes);
    let (kind, uri) = (source.at("kind"), source.at("diskURI"));
    kind.supported_if_set(&["Dedicated", "Managed", "Shared"]);
    if !kind.is_set() {
        return;
    }
    let (prefix, form) = if kind.text() == "Managed" {
        (
            "/subscriptions/",
            "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
        )
    } else {
        (
            "https://",
            "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd",
        )
    };
    if !uri.text().starts_with(prefix) {
        uri.not_supported(&[form]);
    }
}

fn local(source: &Field<'_, '_>) {
    let path = source.at("path");
    if path.text().is_empty() {
        path.required("");
    } else {
        no_backsteps(&path);
    }
}

pub(super) fn storage_os(source: &Field<'_, '_>, is_persistent: bool) {
    source.at("volumeName").named(names::dns1123_label);
    source
        .at("volumeNamespace")
        .named_if_any(names::dns1123_label);
    with_secret(source, &[], is_persistent);
}

/// The name of a driver, in any case of letters.
pub(in crate::strategy) fn csi_driver_name(name: &Field<'_, '_>) {
    if name.text().is_empty() {
        name.required("");
        return;
    }
    if name.text().len() > DRIVER_BYTES_MAX {
        name.too_long(DRIVER_BYTES_MAX);
    }
    name.complain(names::dns1123_subdomain(&name.text().to_lowercase()));
}

fn persistent_csi(source: &Field<'_, '_>) {
    csi_driver_name(&source.at("driver"));
    source.at("volumeHandle").needed();
    for key in [
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ] {
        let secret = source.at(key);
        if secret.is_set() {
            secret.at("name").named(names::dns1123_subdomain);
            secret.at("namespace").named(names::dns1123_label);
        }
    }
}
