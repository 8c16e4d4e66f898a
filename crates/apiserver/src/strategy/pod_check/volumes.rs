//! Volumes of a pod: exactly one source each, and what each source needs.

use std::collections::BTreeSet;

use flotilla_machinery::names;
use serde_json::Value;

use super::{env, projected, sources};
use crate::strategy::{claims, field::Field, fill::text, resources::quantity};

/// The largest permissions of a file: 0777.
const MODE_MAX: i64 = 0o777;

/// A kind of volume.
struct Source {
    /// Member of the volume.
    key: &'static str,
    /// Its name in paths of mistakes inside, where upstream has another one.
    inside: &'static str,
    /// Its name in the path when it is one too many, where upstream has another one.
    surplus: &'static str,
    rule: fn(&Field<'_, '_>),
}

const fn source(key: &'static str, rule: fn(&Field<'_, '_>)) -> Source {
    Source {
        key,
        inside: key,
        surplus: key,
        rule,
    }
}

/// In the order in which upstream looks at them.
const SOURCES: [Source; 30] = [
    source("emptyDir", empty_dir),
    source("hostPath", host_path),
    source("gitRepo", git_repo),
    Source {
        inside: "persistentDisk",
        ..source("gcePersistentDisk", |s| sources::disk(s, "pdName"))
    },
    source("awsElasticBlockStore", |s| sources::disk(s, "volumeID")),
    source("secret", |s| files_of(s, "secretName")),
    source("nfs", sources::nfs),
    source("iscsi", |s| sources::iscsi(s, false)),
    source("glusterfs", |s| sources::needed(s, &["endpoints", "path"])),
    source("flocker", sources::flocker),
    source("persistentVolumeClaim", |s| {
        sources::needed(s, &["claimName"])
    }),
    source("rbd", sources::rbd),
    source("cinder", |s| sources::with_secret(s, &["volumeID"], false)),
    Source {
        surplus: "cephFS",
        ..source("cephfs", sources::monitors)
    },
    source("quobyte", sources::quobyte),
    Source {
        surplus: "downwarAPI",
        ..source("downwardAPI", downward)
    },
    source("fc", sources::fibre_channel),
    source("flexVolume", sources::flex),
    source("configMap", |s| files_of(s, "name")),
    source("azureFile", |s| {
        sources::needed(s, &["secretName", "shareName"])
    }),
    source("vsphereVolume", |s| sources::needed(s, &["volumePath"])),
    source("photonPersistentDisk", |s| sources::needed(s, &["pdID"])),
    source("portworxVolume", |s| sources::needed(s, &["volumeID"])),
    source("azureDisk", sources::azure_disk),
    source("storageos", |s| sources::storage_os(s, false)),
    source("projected", projected::check),
    source("scaleIO", |s| {
        sources::needed(s, &["gateway", "system", "volumeName"])
    }),
    source("csi", csi),
    source("ephemeral", ephemeral),
    source("image", |_| {}),
];

/// Checks the volumes and answers with those that are fine.
pub(super) fn check<'v>(volumes: &Field<'_, 'v>, pod: Option<&str>) -> Vec<&'v Value> {
    let pod = pod.filter(|name| !name.is_empty());
    let made: Vec<String> = pod
        .into_iter()
        .flat_map(|pod| {
            let own = volumes.list().iter().filter(|v| !v["ephemeral"].is_null());
            own.map(move |volume| format!("{pod}-{}", text(volume, "name")))
        })
        .collect();
    let (mut fine, mut seen) = (Vec::new(), BTreeSet::new());
    for volume in volumes.items() {
        let n = volume.n_mistakes();
        check_source(&volume, pod);
        let name = volume.at("name");
        name.named(names::dns1123_label);
        if seen.contains(name.text()) {
            name.duplicate_of(name.text());
        }
        if volume.is_fine_since(n) {
            seen.insert(text(volume.value, "name"));
            fine.push(volume.value);
        }
        let claim = volume.at("persistentVolumeClaim.claimName");
        if claim.is_set() && made.iter().any(|name| name == claim.text()) {
            claim.invalid("must not reference a PVC that gets created for an ephemeral volume");
        }
    }
    fine
}

fn check_source(volume: &Field<'_, '_>, pod: Option<&str>) {
    let mut n = 0;
    for source in &SOURCES {
        let value = volume.at(source.key).value;
        if value.is_null() {
            continue;
        }
        n += 1;
        if n > 1 {
            let surplus = volume.at(source.surplus);
            surplus.forbidden("may not specify more than 1 volume type");
            continue;
        }
        (source.rule)(&volume.with(source.inside, value));
        let name = volume.at("name");
        match source.key {
            "iscsi" => sources::initiator_length(&name, name.text(), value),
            "image" => image(&volume.at("image"), pod.is_some()),
            "ephemeral" if pod.is_some() && !name.text().is_empty() => {
                let made = format!("{}-{}", pod.unwrap_or_default(), name.text());
                for complaint in names::dns1123_subdomain(&made) {
                    name.invalid(format!("PVC name \"{made}\": {complaint}"));
                }
            }
            _ => {}
        }
    }
    if n == 0 {
        volume.required("must specify a volume type");
    }
}

fn empty_dir(source: &Field<'_, '_>) {
    let limit = source.at("sizeLimit");
    if quantity(limit.value).is_some_and(|limit| limit.signum() < 0) {
        limit.forbidden("SizeLimit field must be a valid resource quantity");
    }
}

/// A path on the host, and what must be there.
pub(super) fn host_path(source: &Field<'_, '_>) {
    let path = source.at("path");
    if path.text().is_empty() {
        path.required("");
        return;
    }
    no_backsteps(&path);
    source.at("type").supported_if_set(&[
        "",
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    ]);
}

fn git_repo(source: &Field<'_, '_>) {
    source.at("repository").needed();
    descending(&source.at("directory"));
}

/// Files made from the entries of a ConfigMap or Secret.
fn files_of(source: &Field<'_, '_>, name: &str) {
    source.at(name).needed();
    mode(&source.at("defaultMode"));
    for item in source.at("items").items() {
        key_to_path(&item);
    }
}

/// Permissions of a file.
pub(super) fn mode(mode: &Field<'_, '_>) {
    if mode
        .number()
        .is_some_and(|mode| !(0..=MODE_MAX).contains(&mode))
    {
        mode.invalid("must be a number between 0 and 0777 (octal), both inclusive");
    }
}

/// An entry and the file it becomes.
pub(super) fn key_to_path(item: &Field<'_, '_>) {
    item.at("key").needed();
    item.at("path").needed();
    own_path(&item.at("path"));
    mode(&item.at("mode"));
}

fn downward(source: &Field<'_, '_>) {
    mode(&source.at("defaultMode"));
    for item in source.at("items").items() {
        downward_file(&item, source);
    }
}

/// A file with what the pod's object says. Upstream leaves `items[…]` out of the paths.
pub(super) fn downward_file(item: &Field<'_, '_>, shown: &Field<'_, '_>) {
    let part = |name| shown.with(name, item.at(name).value);
    // Values live as long as the object, so parts can stand at another place.
    part("path").needed();
    own_path(&part("path"));
    let (field, resource) = (part("fieldRef"), part("resourceFieldRef"));
    if field.is_set() {
        let allowed = [
            "metadata.annotations",
            "metadata.labels",
            "metadata.name",
            "metadata.namespace",
            "metadata.uid",
        ];
        env::field_ref(&field, &allowed);
        if resource.is_set() {
            let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
            shown.invalid_as("resource", detail);
        }
    } else if resource.is_set() {
        env::resource_ref(&resource, true);
    } else {
        shown.required("one of fieldRef and resourceFieldRef is required");
    }
    mode(&part("mode"));
}

fn csi(source: &Field<'_, '_>) {
    sources::csi_driver_name(&source.at("driver"));
    let secret = source.at("nodePublishSecretRef");
    if !secret.is_set() {
        return;
    }
    let name = secret.at("name");
    if name.text().is_empty() {
        name.required("");
    } else {
        // Upstream leaves the member out of this path.
        let shown = source.with("name", name.value);
        shown.complain(names::dns1123_subdomain(name.text()));
    }
}

fn ephemeral(source: &Field<'_, '_>) {
    let template = source.at("volumeClaimTemplate");
    if !template.is_set() {
        template.required("");
        return;
    }
    let metadata = template.at("metadata");
    metadata.at("annotations").annotations();
    metadata.at("labels").labels();
    for (key, member) in metadata.entries() {
        if !matches!(key, "annotations" | "labels") && !member.is_empty() {
            metadata.at(key).forbidden("cannot be set");
        }
    }
    claims::check_spec(&template.at("spec"));
}

fn image(source: &Field<'_, '_>, in_pod: bool) {
    if in_pod {
        source.at("reference").needed();
    }
    let policy = source.at("pullPolicy");
    policy.one_of(&["Always", "IfNotPresent", "Never"]);
}

/// Whether a path has a step upwards.
pub(super) fn backsteps(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

/// A path without steps upwards.
pub(super) fn no_backsteps(path: &Field<'_, '_>) {
    if backsteps(path.text()) {
        path.invalid("must not contain '..'");
    }
}

/// A relative path without steps upwards.
pub(super) fn descending(path: &Field<'_, '_>) {
    if path.text().starts_with('/') {
        path.invalid("must be a relative path");
    }
    no_backsteps(path);
}

/// A relative path that does not look like one of the kubelet's own either.
pub(super) fn own_path(path: &Field<'_, '_>) {
    descending(path);
    if path.text().starts_with("..") && !path.text().starts_with("../") {
        path.invalid("must not start with '..'");
    }
}
