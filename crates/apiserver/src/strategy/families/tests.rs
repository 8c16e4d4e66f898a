use serde_json::{Value, json};

use super::settle;

const BOTH: [&str; 2] = ["IPv4", "IPv6"];

/// Policy and families after settling, or the complaint.
fn settled(offered: &[&str], spec: Value, old: Option<Value>) -> Result<(String, Value), String> {
    let mut spec = spec;
    settle(&mut spec, old.as_ref(), offered).map_err(|e| format!("{}: {}", e.path, e.body()))?;
    let policy = spec["ipFamilyPolicy"].as_str().unwrap_or("").to_owned();
    Ok((policy, spec["ipFamilies"].clone()))
}

#[test]
fn families_follow_the_policy_and_the_cluster() {
    let cases = [
        (&BOTH[..1], json!({}), "SingleStack", json!(["IPv4"])),
        (&BOTH[..], json!({}), "SingleStack", json!(["IPv4"])),
        (
            &BOTH[..1],
            json!({"ipFamilyPolicy": "PreferDualStack"}),
            "PreferDualStack",
            json!(["IPv4"]),
        ),
        (
            &BOTH[..],
            json!({"ipFamilyPolicy": "PreferDualStack"}),
            "PreferDualStack",
            json!(["IPv4", "IPv6"]),
        ),
        (
            &BOTH[..],
            json!({"ipFamilyPolicy": "RequireDualStack", "ipFamilies": ["IPv6"]}),
            "RequireDualStack",
            json!(["IPv6", "IPv4"]),
        ),
        (
            &BOTH[..],
            json!({"ipFamilies": ["IPv6"]}),
            "SingleStack",
            json!(["IPv6"]),
        ),
        (
            &BOTH[..],
            json!({"clusterIPs": ["fd00::7"]}),
            "SingleStack",
            json!(["IPv6"]),
        ),
        // Not ours to fill: whoever writes the endpoints may use both.
        (
            &BOTH[..1],
            json!({"clusterIP": "None"}),
            "RequireDualStack",
            json!(["IPv4", "IPv6"]),
        ),
        (
            &BOTH[..1],
            json!({"clusterIP": "None", "selector": {"a": "b"}, "clusterIPs": ["None"]}),
            "SingleStack",
            json!(["IPv4"]),
        ),
    ];
    for (offered, spec, policy, families) in cases {
        let expected = Ok((policy.to_owned(), families));
        assert_eq!(settled(offered, spec.clone(), None), expected, "{spec}");
    }
}

#[test]
fn contradictions_are_refused_in_upstreams_words() {
    let several = "must be RequireDualStack or PreferDualStack when multiple 'ipFamilies' are \
                   specified";
    let cases = [
        (
            &BOTH[..1],
            json!({"ipFamilyPolicy": "RequireDualStack"}),
            "spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": this cluster is not \
             configured for dual-stack services"
                .to_owned(),
        ),
        (
            &BOTH[..1],
            json!({"ipFamilies": ["IPv6"]}),
            "spec.ipFamilies[0]: Invalid value: \"IPv6\": not configured on this cluster".to_owned(),
        ),
        (
            &BOTH[..],
            json!({"ipFamilies": ["IPv4", "IPv6"]}),
            format!("spec.ipFamilyPolicy: Required value: {several}"),
        ),
        (
            &BOTH[..],
            json!({"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4", "IPv6"]}),
            format!("spec.ipFamilyPolicy: Invalid value: \"SingleStack\": {several}"),
        ),
        (
            &BOTH[..],
            json!({"clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv6"]}),
            "spec.clusterIPs[0]: Invalid value: [\"10.0.0.1\"]: expected an IPv6 value as indicated \
             by `ipFamilies[0]`"
                .to_owned(),
        ),
    ];
    for (offered, spec, expected) in cases {
        assert_eq!(settled(offered, spec, None), Err(expected));
    }
}

#[test]
fn going_to_a_single_family_drops_the_second() {
    let old = json!({"ipFamilyPolicy": "PreferDualStack", "ipFamilies": BOTH,
        "clusterIPs": ["10.0.0.1", "fd00::1"]});
    let mut new = old.clone();
    new["ipFamilyPolicy"] = json!("SingleStack");
    let expected = Ok(("SingleStack".to_owned(), json!(["IPv4"])));
    assert_eq!(settled(&BOTH, new, Some(old)), expected);
}
