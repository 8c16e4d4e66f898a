//! What depends on the operating system of a pod.

use flotilla_machinery::names;

use super::CONTAINERS;
use crate::strategy::field::Field;

/// Longest credential spec: 64 KiB.
const CREDENTIAL_BYTES_MAX: usize = 64 * 1024;
/// Longest domain and name of a user.
const DOMAIN_BYTES_MAX: usize = 255;
const USER_BYTES_MAX: usize = 104;

/// The options of a context for Windows.
pub(super) fn options(options: &Field<'_, '_>) {
    if !options.is_set() {
        return;
    }
    let name = options.at("gmsaCredentialSpecName");
    if name.is_set() {
        name.complain(names::dns1123_subdomain(name.text()));
    }
    let credentials = options.at("gmsaCredentialSpec");
    if credentials.is_set() {
        if credentials.text().is_empty() {
            credentials.invalid("gmsaCredentialSpec cannot be an empty string");
        } else if credentials.text().len() > CREDENTIAL_BYTES_MAX {
            credentials.invalid("gmsaCredentialSpec size must be under 64 KiB");
        }
    }
    let user = options.at("runAsUserName");
    if user.is_set() {
        for complaint in user_name(user.text()) {
            user.invalid(complaint);
        }
    }
}

fn user_name(name: &str) -> Vec<String> {
    let one = |text: &str| vec![text.to_owned()];
    if name.is_empty() {
        return one("runAsUserName cannot be an empty string");
    }
    if name.contains(|c: char| c.is_ascii_control()) {
        return one("runAsUserName cannot contain control characters");
    }
    if name.matches('\\').count() > 1 {
        return one("runAsUserName cannot contain more than one backslash");
    }
    let mut found = Vec::new();
    let (domain, user) = match name.split_once('\\') {
        Some((domain, user)) => (Some(domain), user),
        None => (None, name),
    };
    if let Some(domain) = domain {
        if domain.len() > DOMAIN_BYTES_MAX {
            found.push("runAsUserName's Domain length must be under 256 characters".to_owned());
        }
        if !is_net_bios(domain) && !is_dns(domain) {
            found.push(
                "runAsUserName's Domain doesn't match the NetBios nor the DNS format".to_owned(),
            );
        }
    }
    if user.is_empty() {
        found.push("runAsUserName's User cannot be empty".to_owned());
    } else if user.len() > USER_BYTES_MAX {
        found.push(format!(
            "runAsUserName's User length must not be longer than {USER_BYTES_MAX} characters"
        ));
    }
    if !user.is_empty() && user.bytes().all(|b| b == b'.' || b == b' ') {
        found.push("runAsUserName's User cannot contain only periods or spaces".to_owned());
    }
    if user.contains(|c| "\"/\\:;|=,+*?<>@[]".contains(c)) {
        let text =
            r#"runAsUserName's User cannot contain the following characters: "/\:;|=,+*?<>@[]"#;
        found.push(text.to_owned());
    }
    found
}

fn is_net_bios(domain: &str) -> bool {
    let n = domain.chars().count();
    (1..=15).contains(&n)
        && !domain.starts_with('.')
        && !domain.contains(|c| "\\/:*?\"<>|".contains(c))
}

fn is_dns(domain: &str) -> bool {
    domain.split('.').all(|label| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    })
}

/// Containers that are processes of a Windows host: all or none of a pod.
pub(super) fn host_process(spec: &Field<'_, '_>) {
    const PLACE: &str = "securityContext.windowsOptions.hostProcess";
    let of_pod = spec.at(PLACE).value.as_bool();
    let (mut n, mut n_processes) = (0, 0);
    for list in CONTAINERS {
        for container in spec.at(list).items() {
            n += 1;
            let own = container.at(PLACE);
            if let (Some(pod), Some(value)) = (of_pod, own.value.as_bool())
                && pod != value
            {
                own.invalid(format!(
                    "pod hostProcess value must be identical if both are specified, was {pod}"
                ));
            }
            n_processes += usize::from(own.value.as_bool().or(of_pod) == Some(true));
        }
    }
    if n_processes == 0 {
        return;
    }
    if n_processes != n {
        let detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        spec.invalid_as("", detail);
    }
    let network = spec.at("hostNetwork");
    if !network.is_true() {
        let detail = "hostNetwork must be true if pod contains any hostProcess containers";
        network.invalid_as(false, detail);
    }
}

/// Members of a pod's context that mean nothing on Windows, in upstream's order; those with `true`
/// stand beside the context.
const POD_MEMBERS: [(&str, bool); 15] = [
    ("appArmorProfile", false),
    ("seLinuxOptions", false),
    ("hostUsers", true),
    ("hostPID", true),
    ("hostIPC", true),
    ("seccompProfile", false),
    ("fsGroup", false),
    ("fsGroupChangePolicy", false),
    ("sysctls", false),
    ("shareProcessNamespace", true),
    ("runAsUser", false),
    ("runAsGroup", false),
    ("supplementalGroups", false),
    ("supplementalGroupsPolicy", false),
    ("seLinuxChangePolicy", false),
];

/// The same for containers.
const CONTAINER_MEMBERS: [&str; 10] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
];

/// The operating system, and what it excludes.
pub(super) fn operating_system(spec: &Field<'_, '_>) {
    let os = spec.at("os");
    if !os.is_set() {
        return;
    }
    match os.at("name").text() {
        "" => os.at("name").required(""),
        "linux" => linux(spec),
        "windows" => windows(spec),
        name => os.not_supported_as(name, &["linux", "windows"]),
    }
}

fn linux(spec: &Field<'_, '_>) {
    const PLACE: &str = "securityContext.windowsOptions";
    let forbid = |place: &Field<'_, '_>| {
        if place.is_set() {
            place.forbidden("windows options cannot be set for a linux pod");
        }
    };
    forbid(&spec.at(PLACE));
    for list in CONTAINERS {
        for container in spec.at(list).items() {
            forbid(&container.at(PLACE));
        }
    }
}

fn windows(spec: &Field<'_, '_>) {
    let detail = "cannot be set for a windows pod";
    let context = spec.at("securityContext");
    for (key, is_beside) in POD_MEMBERS {
        let member = if is_beside {
            spec.at(key)
        } else {
            context.at(key)
        };
        // `false` is what Go sees when a flag is absent.
        let is_set = match key {
            "hostPID" | "hostIPC" => member.is_true(),
            "sysctls" => !member.is_empty(),
            _ => member.is_set(),
        };
        if is_set {
            member.forbidden(detail);
        }
    }
    for list in CONTAINERS {
        for container in spec.at(list).items() {
            let context = container.at("securityContext");
            for key in CONTAINER_MEMBERS {
                if context.at(key).is_set() {
                    context.at(key).forbidden(detail);
                }
            }
        }
    }
}
