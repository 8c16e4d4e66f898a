use serde_json::{Value, json};

use super::check_security;

fn complaints(spec: &Value) -> Vec<String> {
    let mut errors = Vec::new();
    check_security(spec, "spec", &mut errors);
    let text = |e: &flotilla_machinery::status::FieldError| format!("{}: {}", e.path, e.body());
    errors.iter().map(text).collect()
}

#[test]
fn security_contexts_are_checked_in_upstreams_words() {
    let good = json!({
        "securityContext": {"runAsUser": 1000, "fsGroup": 0, "supplementalGroups": [5],
            "fsGroupChangePolicy": "Always", "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{"securityContext": {"allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "Localhost", "localhostProfile": "a/b.json"}}}]});
    assert_eq!(complaints(&good), Vec::<String>::new());
    let bad = json!({
        "securityContext": {"runAsUser": -1, "supplementalGroups": [2_147_483_648_u64],
            "sysctls": [{"name": "a"}, {"name": "a"}, {}],
            "seccompProfile": {"type": "Localhost"}},
        "containers": [{"securityContext": {"privileged": true,
            "allowPrivilegeEscalation": false}}],
        "initContainers": [{"securityContext": {
            "seccompProfile": {"type": "Mine", "localhostProfile": ""}}}]});
    let ids = "must be between 0 and 2147483647, inclusive";
    assert_eq!(
        complaints(&bad),
        [
            format!("spec.securityContext.runAsUser: Invalid value: -1: {ids}"),
            format!(
                "spec.securityContext.supplementalGroups[0]: Invalid value: 2147483648: {ids}"
            ),
            "spec.securityContext.sysctls[1].name: Duplicate value: \"a\"".to_owned(),
            "spec.securityContext.sysctls[2].name: Required value".to_owned(),
            "spec.securityContext.seccompProfile.localhostProfile: Required value: must be set when \
             seccomp type is Localhost"
                .to_owned(),
            "spec.containers[0].securityContext: Invalid value: \
             {\"allowPrivilegeEscalation\":false,\"privileged\":true}: cannot set \
             `allowPrivilegeEscalation` to false and `privileged` to true"
                .to_owned(),
            "spec.initContainers[0].securityContext.seccompProfile.type: Unsupported value: \
             \"Mine\": supported values: \"Localhost\", \"RuntimeDefault\", \"Unconfined\""
                .to_owned(),
        ]
    );
}
