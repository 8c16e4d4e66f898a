use expect_test::expect_file;
use serde_json::Value;

use super::{crds, documents};

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap() + "\n"
}

#[test]
fn the_definitions_are_what_the_goldens_say() {
    let documents = documents();
    let names: Vec<&str> = documents
        .iter()
        .map(|d| d["metadata"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "dnsendpoints.externaldns.k8s.io",
            "gslbs.k8gb.absa.oss",
            "gslbs.k8gb.io",
            "zonedelegations.k8gb.io"
        ]
    );
    expect_file!["goldens/dnsendpoints.externaldns.k8s.io.json"].assert_eq(&pretty(&documents[0]));
    expect_file!["goldens/gslbs.k8gb.absa.oss.json"].assert_eq(&pretty(&documents[1]));
    expect_file!["goldens/gslbs.k8gb.io.json"].assert_eq(&pretty(&documents[2]));
    expect_file!["goldens/zonedelegations.k8gb.io.json"].assert_eq(&pretty(&documents[3]));
    assert_eq!(crds().len(), 4);
}

/// A property path below `openAPIV3Schema` and the words its schema must have.
fn words(document: usize, path: &[&str]) -> Vec<(String, String)> {
    let mut schema =
        documents()[document]["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone();
    for step in path {
        schema = match *step {
            "[]" => schema["items"].clone(),
            name => schema["properties"][name].clone(),
        };
        assert!(schema.is_object(), "{path:?} has no {step}");
    }
    schema
        .as_object()
        .unwrap()
        .iter()
        .filter(|(k, _)| !["description", "properties", "items"].contains(&k.as_str()))
        .map(|(k, v)| (k.clone(), v.to_string()))
        .collect()
}

/// Source: k8gb v0.21 `chart/k8gb/crd`, external-dns `DNSEndpoint` v1alpha1.
#[test]
fn fields_types_and_rules_are_the_peers() {
    const DNS: usize = 0;
    const LEGACY: usize = 1;
    const GSLB: usize = 2;
    const ZONE: usize = 3;
    let rules = ["spec", "ingress", "rules"];
    let with = |tail: &[&'static str]| [&rules[..], tail].concat();
    let cases: Vec<(usize, Vec<&str>, &str)> = vec![
        (GSLB, vec!["spec"], r#"required=["strategy"] type="object""#),
        (
            GSLB,
            vec!["spec", "strategy"],
            r#"required=["type"] type="object""#,
        ),
        (GSLB, vec!["spec", "strategy", "type"], r#"type="string""#),
        (
            GSLB,
            vec!["spec", "strategy", "dnsTtlSeconds"],
            r#"type="integer""#,
        ),
        (
            GSLB,
            vec!["spec", "strategy", "splitBrainThresholdSeconds"],
            r#"type="integer""#,
        ),
        (
            GSLB,
            vec!["spec", "strategy", "weight"],
            r#"additionalProperties={"type":"integer"} type="object""#,
        ),
        (
            GSLB,
            vec!["spec", "serviceHealthPolicy"],
            r#"default="Any" enum=["Any","All"] type="string""#,
        ),
        (
            GSLB,
            vec!["spec", "resourceRef"],
            r#"type="object" x-kubernetes-map-type="atomic""#,
        ),
        (
            GSLB,
            vec!["spec", "resourceRef", "matchExpressions", "[]"],
            r#"required=["key","operator"] type="object""#,
        ),
        (GSLB, vec!["spec", "ingress"], r#"type="object""#),
        (GSLB, with(&["[]"]), r#"required=["http"] type="object""#),
        (
            GSLB,
            with(&["[]", "http"]),
            r#"required=["paths"] type="object""#,
        ),
        (
            GSLB,
            with(&["[]", "http", "paths", "[]"]),
            r#"required=["backend","pathType"] type="object""#,
        ),
        (
            GSLB,
            with(&[
                "[]", "http", "paths", "[]", "backend", "service", "port", "number",
            ]),
            r#"format="int32" type="integer""#,
        ),
        (
            GSLB,
            vec!["status"],
            r#"required=["geoTag","healthyRecords","serviceHealth"] type="object""#,
        ),
        (
            GSLB,
            vec!["status", "healthyRecords"],
            r#"additionalProperties={"items":{"type":"string"},"type":"array"} type="object""#,
        ),
        (
            GSLB,
            vec!["status", "servers", "[]", "services", "[]"],
            r#"required=["name","namespace"] type="object""#,
        ),
        (
            LEGACY,
            vec!["spec", "strategy"],
            r#"required=["type"] type="object""#,
        ),
        (
            ZONE,
            vec!["spec"],
            concat!(
                r#"required=["dnsZoneNegTTL","loadBalancedZone","parentZone"] type="object" "#,
                r#"x-kubernetes-validations=[{"message":"loadBalancedZone must not equal parentZone","#,
                r#""rule":"self.loadBalancedZone != self.parentZone"},"#,
                r#"{"message":"loadBalancedZone must be subdomain","#,
                r#""rule":"self.loadBalancedZone.endsWith('.' + self.parentZone)"}]"#
            ),
        ),
        (
            ZONE,
            vec!["spec", "doFinalize"],
            r#"default=false type="boolean""#,
        ),
        (ZONE, vec!["spec", "dnsZoneNegTTL"], r#"type="integer""#),
        (
            ZONE,
            vec!["status", "dnsServers", "[]"],
            r#"required=["address","name"] type="object""#,
        ),
        (
            DNS,
            vec!["spec", "endpoints", "[]", "recordTTL"],
            r#"format="int64" type="integer""#,
        ),
        (DNS, vec!["spec", "endpoints", "[]"], r#"type="object""#),
        (
            DNS,
            vec!["status", "observedGeneration"],
            r#"format="int64" type="integer""#,
        ),
    ];
    for (document, path, expected) in cases {
        let got: Vec<String> = words(document, &path)
            .into_iter()
            .map(|(k, v)| format!("{k}={v}"))
            .collect();
        assert_eq!(got.join(" "), expected, "{path:?}");
    }
}

#[test]
fn every_property_is_described() {
    fn walk(path: &str, schema: &Value, missing: &mut Vec<String>) {
        for (name, child) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            if child["description"].as_str().is_none_or(str::is_empty) && name != "metadata" {
                missing.push(path.clone());
            }
            walk(&path, child, missing);
            walk(&path, &child["items"], missing);
        }
    }
    let mut missing = Vec::new();
    for document in documents() {
        let schema = &document["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        walk(
            document["metadata"]["name"].as_str().unwrap(),
            schema,
            &mut missing,
        );
    }
    assert_eq!(missing, Vec::<String>::new());
}
