//! Containers of all three lists.

use std::collections::BTreeSet;

use flotilla_machinery::names;
use serde_json::Value;

use super::{PROTOCOLS, Scope, env, handlers, mounts, security};
use crate::strategy::{field::Field, fill::text, resources};

/// Restart policies of a single container.
const RESTARTS: [&str; 3] = ["Always", "Never", "OnFailure"];
/// Rules that say when a single container restarts.
const RULES_MAX: usize = 20;
/// Exit codes of one such rule.
const EXIT_CODES_MAX: usize = 255;

/// The containers that run side by side.
pub(super) fn regular(scope: &Scope<'_>, containers: &Field<'_, '_>) {
    if containers.list().is_empty() {
        containers.required("");
        return;
    }
    let mut seen = BTreeSet::new();
    for container in containers.items() {
        common(scope, &container);
        if !seen.insert(text(container.value, "name")) {
            container
                .at("name")
                .duplicate_of(text(container.value, "name"));
        }
        handlers::all(scope, &container);
        restart_policy(&container);
    }
    let mut taken = BTreeSet::new();
    for container in containers.items() {
        host_ports(&container, &mut taken);
    }
}

/// The containers that run before, one after the other.
pub(super) fn init(scope: &Scope<'_>, containers: &Field<'_, '_>) {
    let mut seen: BTreeSet<&str> = names_of(scope.spec, &["containers"]);
    for container in containers.items() {
        common(scope, &container);
        let policy = container.at("restartPolicy");
        let stays = policy.text() == "Always";
        let rules = container.at("restartPolicyRules");
        if policy.is_set() && stays {
            if !rules.list().is_empty() {
                let detail = "restartPolicyRules are not allowed for init containers with restart policy Always";
                rules.forbidden(detail);
            }
        } else {
            restart_policy(&container);
        }
        let name = container.at("name");
        if seen.contains(name.text()) {
            name.duplicate_of(name.text());
        } else if !name.text().is_empty() {
            seen.insert(name.text());
        }
        host_ports(&container, &mut BTreeSet::new());
        if stays {
            handlers::all(scope, &container);
        } else {
            for key in [
                "lifecycle",
                "livenessProbe",
                "readinessProbe",
                "startupProbe",
            ] {
                if container.at(key).is_set() {
                    let detail = "may not be set for init containers without restartPolicy=Always";
                    container.at(key).forbidden(detail);
                }
            }
        }
    }
}

/// What an ephemeral container may not have, in the order of Go's members.
const NOT_EPHEMERAL: [&str; 9] = [
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
];

/// The containers that are added to a running pod.
pub(super) fn ephemeral(scope: &Scope<'_>, containers: &Field<'_, '_>) {
    if containers.list().is_empty() {
        return;
    }
    let others = names_of(scope.spec, &["containers", "initContainers"]);
    let mut seen = others.clone();
    for container in containers.items() {
        common(scope, &container);
        trimmed_image(&container);
        let name = container.at("name");
        if !seen.insert(name.text()) {
            name.duplicate_of(name.text());
        }
        let target = container.at("targetContainerName");
        if !target.text().is_empty() && !others.contains(target.text()) {
            target.not_found("");
        }
        for key in NOT_EPHEMERAL {
            let member = container.at(key);
            if !member.is_empty() {
                member.forbidden("cannot be set for an Ephemeral Container");
            }
        }
        for mount in container.at("volumeMounts").items() {
            for key in ["subPath", "subPathExpr"] {
                if !mount.at(key).text().is_empty() {
                    mount
                        .at(key)
                        .forbidden("cannot be set for an Ephemeral Container");
                }
            }
        }
    }
}

fn names_of<'v>(spec: &'v Value, lists: &[&str]) -> BTreeSet<&'v str> {
    let containers = lists
        .iter()
        .filter_map(|key| spec.get(key)?.as_array())
        .flatten();
    containers
        .map(|container| text(container, "name"))
        .collect()
}

/// The image of a pod's container has no white space around it; those of templates may.
pub(super) fn trimmed_image(container: &Field<'_, '_>) {
    let image = container.at("image");
    if image.text().trim() != image.text() {
        image.invalid("must not have leading or trailing whitespace");
    }
}

/// What holds for containers of all lists.
fn common(scope: &Scope<'_>, container: &Field<'_, '_>) {
    container.at("name").named(names::dns1123_label);
    container.at("image").needed();
    container
        .at("terminationMessagePolicy")
        .one_of(&["File", "FallbackToLogsOnError"]);
    ports(&container.at("ports"));
    env::check(container);
    mounts::check_mounts(scope, container);
    mounts::check_devices(scope, container);
    container
        .at("imagePullPolicy")
        .one_of(&["Always", "IfNotPresent", "Never"]);
    let amounts = container.at("resources");
    resources::requirements(&amounts, &scope.claims);
    resize_policy(scope, &container.at("resizePolicy"));
    security::container_context(scope, &container.at("securityContext"));
}

fn ports(ports: &Field<'_, '_>) {
    let mut seen = BTreeSet::new();
    for port in ports.items() {
        let name = port.at("name");
        if !name.text().is_empty() {
            let complaints = names::port_name(name.text());
            if !complaints.is_empty() {
                name.complain(complaints);
            } else if !seen.insert(name.text()) {
                name.duplicate();
            }
        }
        let number = port.at("containerPort");
        if number.count() == 0 {
            number.required("");
        } else {
            number.port();
        }
        if port.at("hostPort").count() != 0 {
            port.at("hostPort").port();
        }
        port.at("protocol").one_of(&PROTOCOLS);
    }
}

/// Two containers that run at the same time cannot have the same port of the host.
fn host_ports(container: &Field<'_, '_>, taken: &mut BTreeSet<String>) {
    for port in container.at("ports").items() {
        let number = port.at("hostPort");
        if number.count() == 0 {
            continue;
        }
        let (protocol, ip) = (text(port.value, "protocol"), text(port.value, "hostIP"));
        let shown = format!("{protocol}/{ip}/{}", number.count());
        if taken.contains(&shown) {
            number.duplicate_of(shown);
        } else {
            taken.insert(shown);
        }
    }
}

fn resize_policy(scope: &Scope<'_>, policies: &Field<'_, '_>) {
    let mut seen = BTreeSet::new();
    for policy in policies.items() {
        let (resource, restart) = (policy.at("resourceName"), policy.at("restartPolicy"));
        if !seen.insert(resource.text()) {
            policy.duplicate_of(resource.text());
        }
        // Upstream leaves the index and the member out of these paths.
        let allowed: [(&Field<'_, '_>, [&str; 2]); 2] = [
            (&resource, ["cpu", "memory"]),
            (&restart, ["NotRequired", "RestartContainer"]),
        ];
        for (member, supported) in allowed {
            policies.with("", member.value).one_of(&supported);
        }
        if text(scope.spec, "restartPolicy") == "Never" && restart.text() != "NotRequired" {
            let detail = "must be 'NotRequired' when `restartPolicy` is 'Never'";
            policies.invalid_as(restart.text(), detail);
        }
    }
}

fn restart_policy(container: &Field<'_, '_>) {
    let (policy, rules) = (
        container.at("restartPolicy"),
        container.at("restartPolicyRules"),
    );
    if policy.is_set() {
        policy.supported(&RESTARTS);
    } else if rules.list().is_empty() {
        return;
    } else {
        policy.required("must specify restartPolicy when restart rules are used");
    }
    if rules.list().len() > RULES_MAX {
        rules.too_long(RULES_MAX);
    }
    for rule in rules.items() {
        rule.at("action").supported(&["Restart"]);
        let codes = rule.at("exitCodes");
        if !codes.is_set() {
            codes.required("must be specified");
            continue;
        }
        codes.at("operator").supported(&["In", "NotIn"]);
        if codes.at("values").list().len() > EXIT_CODES_MAX {
            codes.at("values").too_long(EXIT_CODES_MAX);
        }
    }
}
