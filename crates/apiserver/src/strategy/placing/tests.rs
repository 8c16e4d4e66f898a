use serde_json::{Value, json};

use super::check_placing;

fn complaints(spec: &Value) -> Vec<String> {
    let mut errors = Vec::new();
    check_placing(spec, "spec", &mut errors);
    let text = |e: &flotilla_machinery::status::FieldError| format!("{}: {}", e.path, e.body());
    errors.iter().map(text).collect()
}

#[test]
fn what_people_write_is_accepted() {
    let spec = json!({
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                    {"matchExpressions": [
                        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]},
                        {"key": "gpu", "operator": "Exists"},
                        {"key": "cores", "operator": "Gt", "values": ["4"]}]},
                    {"matchFields": [
                        {"key": "metadata.name", "operator": "In", "values": ["w1"]}]}]},
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "preference": {}}]},
            "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 100, "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname",
                    "labelSelector": {"matchLabels": {"app": "x"}}}}]}},
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
             "minDomains": 2},
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
        "tolerations": [
            {"operator": "Exists"},
            {"key": "a", "value": "b", "effect": "NoSchedule"},
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute",
             "tolerationSeconds": 300}]});
    assert_eq!(complaints(&spec), Vec::<String>::new());
    assert_eq!(complaints(&json!({})), Vec::<String>::new());
}

#[test]
fn affinity_is_checked_in_upstreams_words() {
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    let node = format!("spec.affinity.nodeAffinity.{required}.nodeSelectorTerms");
    let spec = json!({"affinity": {"nodeAffinity": {required: {"nodeSelectorTerms": []}}}});
    let expected = "Required value: must have at least one node selector term";
    assert_eq!(complaints(&spec), [format!("{node}: {expected}")]);
    let term = json!({
        "matchExpressions": [
            {"key": "a", "operator": "In"},
            {"key": "a", "operator": "Exists", "values": ["x"]},
            {"key": "a", "operator": "Lt", "values": ["1", "2"]},
            {"key": "", "operator": "Near"}],
        "matchFields": [{"key": "metadata.uid", "operator": "Exists"}]});
    let spec = json!({"affinity": {"nodeAffinity": {required: {"nodeSelectorTerms": [term]}}}});
    let found = complaints(&spec);
    let at = |n: usize, member: &str| format!("{node}[0].matchExpressions[{n}].{member}");
    for expected in [
        format!(
            "{}: Required value: must be specified when `operator` is 'In' or 'NotIn'",
            at(0, "values")
        ),
        format!(
            "{}: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            at(1, "values")
        ),
        format!(
            "{}: Required value: must be specified single value when `operator` is 'Lt' or 'Gt'",
            at(2, "values")
        ),
        format!(
            "{}: Invalid value: \"Near\": not a valid selector operator",
            at(3, "operator")
        ),
        format!(
            "{node}[0].matchFields[0].key: Invalid value: \"metadata.uid\": not a valid field \
             selector key"
        ),
    ] {
        assert!(found.contains(&expected), "{expected}\n{found:#?}");
    }
    let spec = json!({"affinity": {"podAffinity": {preferred: [
        {"weight": 101, "podAffinityTerm": {}}]}}});
    let pod = format!("spec.affinity.podAffinity.{preferred}[0]");
    assert_eq!(
        complaints(&spec),
        [
            format!("{pod}.weight: Invalid value: 101: must be in the range 1-100"),
            format!("{pod}.podAffinityTerm.topologyKey: Required value: can not be empty"),
        ]
    );
}

#[test]
fn spreading_and_tolerations_are_checked_in_upstreams_words() {
    let spec = json!({"topologySpreadConstraints": [
        {"maxSkew": 0, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway",
         "minDomains": 1},
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]});
    let path = "spec.topologySpreadConstraints";
    assert_eq!(
        complaints(&spec),
        [
            format!("{path}[0].maxSkew: Invalid value: 0: must be greater than zero"),
            format!(
                "{path}[0].minDomains: Invalid value: 1: can only use minDomains if \
                 whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway"
            ),
            format!(
                "{path}[1].{{topologyKey, whenUnsatisfiable}}: Duplicate value: \"{{zone, \
                 ScheduleAnyway}}\""
            ),
        ]
    );
    let spec = json!({"tolerations": [
        {"value": "x"},
        {"key": "a", "effect": "NoSchedule", "tolerationSeconds": 1},
        {"key": "a", "operator": "Exists", "value": "x"},
        {"key": "a", "operator": "Like", "effect": "Never"}]});
    let path = "spec.tolerations";
    assert_eq!(
        complaints(&spec),
        [
            format!(
                "{path}[0].operator: Invalid value: \"\": operator must be Exists when `key` is \
                 empty, which means \"match all values and all keys\""
            ),
            format!(
                "{path}[1].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when \
                 `tolerationSeconds` is set"
            ),
            format!(
                "{path}[2].operator: Invalid value: {{\"key\":\"a\",\"operator\":\"Exists\",\
                 \"value\":\"x\"}}: value must be empty when `operator` is 'Exists'"
            ),
            format!(
                "{path}[3].operator: Unsupported value: \"Like\": supported values: \"Equal\", \
                 \"Exists\""
            ),
            format!(
                "{path}[3].effect: Unsupported value: \"Never\": supported values: \"NoSchedule\", \
                 \"PreferNoSchedule\", \"NoExecute\""
            ),
        ]
    );
}
