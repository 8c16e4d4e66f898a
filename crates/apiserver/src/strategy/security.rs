//! What is wrong with the security contexts of pods and containers.
//!
//! Source: Kubernetes v1.35, `pkg/apis/core/validation/validation.go` (validatePodSpecSecurityContext,
//! ValidateSecurityContext, validateSeccompProfileField).

use std::collections::BTreeSet;

use flotilla_machinery::status::FieldError;
use serde_json::Value;

use super::{
    fill::{list, text},
    rules::Errors,
};

/// Checks the security context of a pod and of all its containers.
pub(super) fn check_security(spec: &Value, path: &str, errors: &mut Errors) {
    let context = &spec["securityContext"];
    let at = format!("{path}.securityContext");
    check_ids(
        context,
        &at,
        &["runAsUser", "runAsGroup", "fsGroup"],
        errors,
    );
    for (n, group) in list(context, "supplementalGroups").iter().enumerate() {
        check_id(group, format!("{at}.supplementalGroups[{n}]"), errors);
    }
    let policy = text(context, "fsGroupChangePolicy");
    if !matches!(policy, "" | "Always" | "OnRootMismatch") {
        let at = format!("{at}.fsGroupChangePolicy");
        let known = ["Always", "OnRootMismatch"];
        errors.push(FieldError::not_supported(at, policy, &known));
    }
    check_sysctls(context, &at, errors);
    check_profile(
        &context["seccompProfile"],
        &format!("{at}.seccompProfile"),
        errors,
    );
    for kind in ["containers", "initContainers"] {
        for (n, container) in list(spec, kind).iter().enumerate() {
            let at = format!("{path}.{kind}[{n}].securityContext");
            check_container(&container["securityContext"], &at, errors);
        }
    }
}

fn check_container(context: &Value, path: &str, errors: &mut Errors) {
    check_ids(context, path, &["runAsUser", "runAsGroup"], errors);
    check_profile(
        &context["seccompProfile"],
        &format!("{path}.seccompProfile"),
        errors,
    );
    if context["allowPrivilegeEscalation"] != false {
        return;
    }
    let shown = || context.clone();
    if context["privileged"] == true {
        let detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
        errors.push(FieldError::invalid(path, shown(), detail));
    }
    let added = list(&context["capabilities"], "add");
    if added.iter().any(|name| name == "CAP_SYS_ADMIN") {
        let detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` \
                      CAP_SYS_ADMIN";
        errors.push(FieldError::invalid(path, shown(), detail));
    }
}

fn check_ids(context: &Value, path: &str, members: &[&str], errors: &mut Errors) {
    for member in members {
        check_id(&context[*member], format!("{path}.{member}"), errors);
    }
}

fn check_id(id: &Value, path: String, errors: &mut Errors) {
    if let Some(number) = id
        .as_i64()
        .filter(|n| !(0..=i64::from(i32::MAX)).contains(n))
    {
        let detail = "must be between 0 and 2147483647, inclusive";
        errors.push(FieldError::invalid(path, number, detail));
    }
}

fn check_sysctls(context: &Value, path: &str, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for (n, sysctl) in list(context, "sysctls").iter().enumerate() {
        let path = format!("{path}.sysctls[{n}].name");
        let name = text(sysctl, "name");
        if name.is_empty() {
            errors.push(FieldError::required(path, ""));
        } else if !seen.insert(name) {
            errors.push(FieldError::duplicate(path, name));
        }
    }
}

fn check_profile(profile: &Value, path: &str, errors: &mut Errors) {
    if !profile.is_object() {
        return;
    }
    let (ty, local) = (text(profile, "type"), text(profile, "localhostProfile"));
    let local_at = format!("{path}.localhostProfile");
    match ty {
        "Localhost" if local.is_empty() => errors.push(FieldError::required(
            local_at,
            "must be set when seccomp type is Localhost",
        )),
        "Localhost" if local.starts_with('/') => {
            errors.push(FieldError::invalid(
                local_at,
                local,
                "must be a relative path",
            ));
        }
        "Localhost" if local.split('/').any(|part| part == "..") => {
            errors.push(FieldError::invalid(
                local_at,
                local,
                "must not contain '..'",
            ));
        }
        "Localhost" => {}
        _ if !local.is_empty() => errors.push(FieldError::invalid(
            local_at,
            local,
            "can only be set when seccomp type is Localhost",
        )),
        "RuntimeDefault" | "Unconfined" => {}
        "" => errors.push(FieldError::required(
            format!("{path}.type"),
            "type is required when seccompProfile is set",
        )),
        other => errors.push(FieldError::not_supported(
            format!("{path}.type"),
            other,
            &["Localhost", "RuntimeDefault", "Unconfined"],
        )),
    }
}

#[cfg(test)]
mod tests;
