//! Security contexts of pods and containers, and the annotations that were there before them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{CONTAINERS, Scope, volumes::descending, windows};
use crate::strategy::{
    field::Field,
    golang::{record, shapes},
};

/// Profiles of both kinds.
const PROFILES: [&str; 3] = ["Localhost", "RuntimeDefault", "Unconfined"];
/// Longest path of an AppArmor profile.
const PROFILE_BYTES_MAX: usize = 4095;
/// Longest name of a kernel parameter.
const SYSCTL_BYTES_MAX: usize = 253;

fn id(id: &Field<'_, '_>) {
    if id.is_set() {
        id.in_range(0, i64::from(i32::MAX));
    }
}

/// The context of a container.
pub(super) fn container_context(scope: &Scope<'_>, context: &Field<'_, '_>) {
    if !context.is_set() {
        return;
    }
    id(&context.at("runAsUser"));
    id(&context.at("runAsGroup"));
    let proc = context.at("procMount");
    proc.supported_if_set(&["Default", "Unmasked"]);
    if proc.text() == "Unmasked" && scope.shares_users() {
        proc.invalid("`hostUsers` must be false to use `Unmasked`");
    }
    seccomp(&context.at("seccompProfile"));
    if *context.at("allowPrivilegeEscalation").value == false {
        if context.at("privileged").is_true() {
            let detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
            context.invalid_shown(&record(context.value, shapes::SecurityContext), detail);
        }
        let added = context.at("capabilities.add").list();
        for _ in added.iter().filter(|name| *name == "CAP_SYS_ADMIN") {
            let detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
            context.invalid_shown(&record(context.value, shapes::SecurityContext), detail);
        }
    }
    windows::options(&context.at("windowsOptions"));
    app_armor(&context.at("appArmorProfile"));
}

/// The context of a pod; `spec` because its members for the host's namespaces stand beside it.
pub(super) fn pod_context(spec: &Field<'_, '_>) {
    let context = spec.at("securityContext");
    id(&context.at("fsGroup"));
    id(&context.at("runAsUser"));
    id(&context.at("runAsGroup"));
    for group in context.at("supplementalGroups").items() {
        id(&group);
    }
    let shares = context.with(
        "shareProcessNamespace",
        &spec.value["shareProcessNamespace"],
    );
    if shares.is_true() && spec.at("hostPID").is_true() {
        shares.invalid("ShareProcessNamespace and HostPID cannot both be enabled");
    }
    sysctls(spec, &context.at("sysctls"));
    let change = context.at("fsGroupChangePolicy");
    change.supported_if_set(&["Always", "OnRootMismatch"]);
    seccomp(&context.at("seccompProfile"));
    windows::options(&context.at("windowsOptions"));
    app_armor(&context.at("appArmorProfile"));
    let groups = context.at("supplementalGroupsPolicy");
    groups.supported_if_set(&["Merge", "Strict"]);
    context
        .at("seLinuxChangePolicy")
        .supported_if_set(&["Recursive"]);
}

fn seccomp(profile: &Field<'_, '_>) {
    if !profile.is_set() {
        return;
    }
    let (kind, path) = (profile.at("type"), profile.at("localhostProfile"));
    match kind.text() {
        "" => kind.required("type is required when seccompProfile is set"),
        _ => kind.supported(&PROFILES),
    }
    match (kind.text() == "Localhost", path.is_set()) {
        (true, false) => path.required("must be set when seccomp type is Localhost"),
        (true, true) => descending(&path),
        (false, true) => {
            let detail = "can only be set when seccomp type is Localhost";
            path.invalid_shown(&record(profile.value, shapes::SeccompProfile), detail);
        }
        (false, false) => {}
    }
}

fn app_armor(profile: &Field<'_, '_>) {
    if !profile.is_set() {
        return;
    }
    let (kind, path) = (profile.at("type"), profile.at("localhostProfile"));
    match kind.text() {
        "Localhost" => {
            if path.text().trim() != path.text() {
                path.invalid("must not be padded with whitespace");
            } else if path.text().is_empty() {
                path.required("must be set when AppArmor type is Localhost");
            }
            if path.text().len() > PROFILE_BYTES_MAX {
                path.too_long(PROFILE_BYTES_MAX);
            }
        }
        "RuntimeDefault" | "Unconfined" => {
            if path.is_set() {
                path.invalid("can only be set when AppArmor type is Localhost");
            }
        }
        "" => kind.required("type is required when appArmorProfile is set"),
        _ => kind.not_supported(&PROFILES),
    }
}

fn sysctls(spec: &Field<'_, '_>, sysctls: &Field<'_, '_>) {
    let mut seen = BTreeSet::new();
    for sysctl in sysctls.items() {
        let name = sysctl.at("name");
        let text = name.text();
        if text.is_empty() {
            name.required("");
        } else if text.len() > SYSCTL_BYTES_MAX || !is_sysctl(text) {
            let detail = format!(
                "must have at most {SYSCTL_BYTES_MAX} characters and match regex \
                 ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
            );
            name.invalid(detail);
        } else if seen.contains(text) {
            name.duplicate();
        }
        let dotted = text.replace('/', ".");
        if spec.at("hostNetwork").is_true() && dotted.starts_with("net.") {
            name.invalid("may not be specified when 'hostNetwork' is true");
        } else if spec.at("hostIPC").is_true() && is_of_ipc(&dotted) {
            name.invalid("may not be specified when 'hostIPC' is true");
        }
        seen.insert(text);
    }
}

fn is_sysctl(name: &str) -> bool {
    let is_outer = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    name.split(['.', '/']).all(|part| {
        let bytes = part.as_bytes();
        bytes.first().copied().is_some_and(is_outer)
            && bytes.last().copied().is_some_and(is_outer)
            && bytes.iter().all(|&b| is_outer(b) || b == b'-' || b == b'_')
    })
}

/// Parameters that each namespace of inter-process communication has of its own.
fn is_of_ipc(name: &str) -> bool {
    let prefixes = ["kernel.shm", "kernel.msg", "fs.mqueue."];
    name == "kernel.sem" || prefixes.iter().any(|prefix| name.starts_with(prefix))
}

const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// Profiles in annotations.
pub(super) fn check_annotations(notes: &Field<'_, '_>, spec: &Value) {
    for (key, note) in notes.entries() {
        if key == SECCOMP_POD || key.starts_with(SECCOMP_CONTAINER) {
            seccomp_note(&notes.with(key, note.value));
        }
    }
    for (key, note) in notes.entries() {
        let Some(name) = key.strip_prefix(APP_ARMOR) else {
            continue;
        };
        if !containers(spec).any(|container| container["name"] == name) {
            note.invalid_as(name, "container not found");
        }
        let profile = note.text();
        if !matches!(profile, "" | "runtime/default" | "unconfined")
            && !profile.starts_with("localhost/")
        {
            note.invalid(format!("invalid AppArmor profile name: {profile:?}"));
        }
    }
}

fn seccomp_note(note: &Field<'_, '_>) {
    match note.text() {
        "runtime/default" | "docker/default" | "unconfined" => {}
        profile => match profile.strip_prefix("localhost/") {
            None => note.invalid("must be a valid seccomp profile"),
            Some(path) => descending(&note.with("", &Value::from(path))),
        },
    }
}

fn containers(spec: &Value) -> impl Iterator<Item = &Value> {
    CONTAINERS
        .into_iter()
        .filter_map(|list| spec.get(list)?.as_array())
        .flatten()
}

/// A profile that is in an annotation and in a field must be the same in both.
pub(super) fn annotations_match(notes: &Field<'_, '_>, spec: &Field<'_, '_>) {
    if notes.is_empty() {
        return;
    }
    let seccomp = ["unconfined", "runtime/default", "docker/default"];
    let context = spec.at("securityContext.seccompProfile");
    matches(&context, notes.key(SECCOMP_POD).value, "seccomp", &seccomp);
    for list in CONTAINERS {
        for container in spec.at(list).items() {
            let name = container.at("name").text();
            let note = notes.value.get(format!("{SECCOMP_CONTAINER}{name}"));
            let field = container.at("securityContext.seccompProfile");
            matches(&field, note.unwrap_or(&Value::Null), "seccomp", &seccomp);
        }
    }
    if spec.at("os.name").text() == "windows" {
        return;
    }
    let app_armor = ["unconfined", "runtime/default", "runtime/default"];
    let of_pod = spec.at("securityContext.appArmorProfile").value;
    for list in CONTAINERS {
        for container in spec.at(list).items() {
            let name = container.at("name").text();
            let note = notes.value.get(format!("{APP_ARMOR}{name}"));
            let place = "securityContext.appArmorProfile";
            let own = container.at(place).value;
            let used = if own.is_null() { of_pod } else { own };
            let field = container.with(place, used);
            matches(&field, note.unwrap_or(&Value::Null), "apparmor", &app_armor);
        }
    }
}

/// `words`: the annotation for Unconfined, and the two for RuntimeDefault.
fn matches(profile: &Field<'_, '_>, note: &Value, what: &str, words: &[&str; 3]) {
    let Some(note) = note.as_str().filter(|_| profile.is_set()) else {
        return;
    };
    let path = profile.at("localhostProfile");
    let is_same = match profile.at("type").text() {
        "Unconfined" => note == words[0],
        "RuntimeDefault" => words[1..].contains(&note),
        "Localhost" => match note.strip_prefix("localhost/") {
            Some(noted) if noted != path.text() => {
                path.forbidden(format!("{what} profile in annotation and field must match"));
                true
            }
            noted => noted.is_some(),
        },
        _ => true,
    };
    if !is_same {
        let detail = format!("{what} type in annotation and field must match");
        profile.at("type").forbidden(detail);
    }
}
