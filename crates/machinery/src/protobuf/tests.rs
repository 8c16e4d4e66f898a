use proptest::prelude::*;
use serde_json::json;

use super::*;

const LIMITS: Limits = Limits {
    depth: 64,
    values: 100_000,
};

/// Bytes written out by hand: numbers are field tags and lengths.
fn unknown(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let mut type_meta = wire::Writer::default();
    type_meta.bytes_field(1, api_version.as_bytes());
    type_meta.bytes_field(2, kind.as_bytes());
    let mut body = wire::Writer {
        out: MAGIC.to_vec(),
    };
    body.bytes_field(1, &type_meta.out);
    body.bytes_field(2, raw);
    body.out
}

fn round_trips(object: Value) {
    let bytes = encode(&object).unwrap();
    assert_eq!(decode(&bytes, LIMITS).unwrap(), object);
}

#[test]
fn zero_values_of_plain_fields_mean_not_set() {
    // What client-go sends for an object with only a name: empty generateName, namespace, selfLink,
    // uid, resourceVersion, generation 0 and an empty creationTimestamp message.
    let mut meta = wire::Writer::default();
    meta.bytes_field(1, b"c");
    for tag in [2, 3, 4, 5, 6] {
        meta.bytes_field(tag, b"");
    }
    meta.varint_field(7, 0);
    meta.bytes_field(8, b"");
    let mut raw = wire::Writer::default();
    raw.bytes_field(1, &meta.out);
    let object = decode(&unknown("v1", "ConfigMap", &raw.out), LIMITS).unwrap();
    assert_eq!(
        object,
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}})
    );
}

#[test]
fn times_are_read_as_go_reads_them() {
    // Seconds and nanoseconds of a pod's deletionTimestamp and of a lease's renewTime, as far as they are there.
    for (parts, second, micro) in [
        (vec![], None, None),
        (
            vec![(1, 0)],
            Some("1970-01-01T00:00:00Z"),
            Some("1970-01-01T00:00:00.000000Z"),
        ),
        (
            vec![(1, 0), (2, 0)],
            Some("1970-01-01T00:00:00Z"),
            Some("1970-01-01T00:00:00.000000Z"),
        ),
        (
            vec![(1, 1), (2, 999_999_999)],
            Some("1970-01-01T00:00:01Z"),
            Some("1970-01-01T00:00:01.999999Z"),
        ),
        (
            vec![(1, 1), (2, -1_500)],
            Some("1970-01-01T00:00:01Z"),
            Some("1970-01-01T00:00:00.999999Z"),
        ),
        (
            vec![(1, -1), (2, 2_000_001_000)],
            Some("1969-12-31T23:59:59Z"),
            Some("1970-01-01T00:00:01.000001Z"),
        ),
    ] {
        let mut time = wire::Writer::default();
        for (tag, number) in &parts {
            time.varint_field(*tag, *number);
        }
        let mut meta = wire::Writer::default();
        meta.bytes_field(9, &time.out);
        let mut spec = wire::Writer::default();
        spec.bytes_field(4, &time.out);
        let read = |version: &str, kind: &str, tag: u32, part: &[u8]| {
            let mut raw = wire::Writer::default();
            raw.bytes_field(tag, part);
            decode(&unknown(version, kind, &raw.out), LIMITS).unwrap()
        };
        let pod = read("v1", "Pod", 1, &meta.out);
        assert_eq!(
            pod["metadata"]["deletionTimestamp"].as_str(),
            second,
            "{parts:?}"
        );
        let lease = read("coordination.k8s.io/v1", "Lease", 2, &spec.out);
        assert_eq!(lease["spec"]["renewTime"].as_str(), micro, "{parts:?}");
    }
}

#[test]
fn explicit_zeros_of_pointers_are_values() {
    let mut spec = wire::Writer::default();
    spec.varint_field(1, 0); // replicas
    spec.varint_field(5, 0); // minReadySeconds
    let mut raw = wire::Writer::default();
    raw.bytes_field(2, &spec.out);
    let object = decode(&unknown("apps/v1", "Deployment", &raw.out), LIMITS).unwrap();
    assert_eq!(object["spec"], json!({"replicas": 0}));
}

#[test]
fn a_pod_survives_the_way_there_and_back() {
    round_trips(json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "web", "creationTimestamp": "2026-03-01T10:20:30Z",
            "labels": {"app": "web", "": "odd"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "u", "controller": false}],
            "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {"f:x": {}}}}],
        },
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "volumes": [
                {"name": "a", "emptyDir": {}},
                {"name": "b", "configMap": {"name": "cm", "defaultMode": 420}},
            ],
            "containers": [{
                "name": "c", "image": "i",
                "ports": [{"containerPort": 80, "protocol": "TCP"}],
                "resources": {"limits": {"cpu": "100m"}, "requests": {"memory": "1Gi"}},
                "livenessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 3},
                "readinessProbe": {"tcpSocket": {"port": 8080}},
                "env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": false}}}],
                "securityContext": {"runAsUser": 0},
            }],
            "securityContext": {"supplementalGroups": [0, 5, -1]},
        },
    }));
}

#[test]
fn a_custom_resource_definition_survives_the_way_there_and_back() {
    round_trips(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "a.b.c"},
        "spec": {
            "group": "b.c", "scope": "Namespaced",
            "names": {"kind": "A", "plural": "a"},
            "versions": [{
                "name": "v1", "served": true, "storage": false,
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "minimum": 0.0,
                    "default": {"a": [1, null, "x"]},
                    "enum": [1, "two"],
                    "additionalProperties": {"type": "string"},
                    "properties": {"l": {"type": "array", "items": {"type": "string"}}},
                    "x-kubernetes-list-map-keys": ["a"],
                    "x-kubernetes-validations": [{"rule": "true"}],
                }},
                "subresources": {"status": {}},
            }],
        },
    }));
}

#[test]
fn other_scalars_survive_the_way_there_and_back() {
    round_trips(json!({
        "apiVersion": "v1", "kind": "Secret", "data": {"k": "AAH/", "empty": ""}, "type": "Opaque",
    }));
    round_trips(json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "spec": {"renewTime": "2026-03-01T10:20:30.123456Z", "leaseTransitions": 0},
    }));
    round_trips(json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"extra": {"scopes": ["a", "b"], "none": []}},
    }));
    round_trips(json!({
        "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
        "gracePeriodSeconds": 0,
    }));
}

#[test]
fn errors_name_the_path() {
    let mut port = wire::Writer::default();
    port.bytes_field(3, b"eighty");
    let mut container = wire::Writer::default();
    container.bytes_field(6, &port.out);
    let mut spec = wire::Writer::default();
    spec.bytes_field(2, &container.out);
    let mut raw = wire::Writer::default();
    raw.bytes_field(2, &spec.out);
    let error = decode(&unknown("v1", "Pod", &raw.out), LIMITS).unwrap_err();
    let expected = "spec.containers[0].ports[0].containerPort: wire type 2 does not fit the field";
    assert_eq!(error.to_string(), expected);

    let pod = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"ports": 1}]}});
    let expected = "spec.containers[0].ports: value does not have the field's type";
    assert_eq!(encode(&pod).unwrap_err().to_string(), expected);
}

#[test]
fn foreign_bodies_are_refused() {
    assert_eq!(decode(b"{}", LIMITS), Err(Error::Magic));
    let error = decode(&unknown("example.com/v1", "Thing", b""), LIMITS).unwrap_err();
    assert!(matches!(error, Error::UnknownKind { .. }));
}

#[test]
fn limits_hold() {
    let nested = decode(&nested_schema(100), LIMITS).unwrap_err();
    assert!(
        matches!(
            nested,
            Error::At {
                problem: Problem::TooDeep,
                ..
            }
        ),
        "{nested}"
    );

    let mut raw = wire::Writer::default();
    for _ in 0..1000 {
        raw.bytes_field(2, b"");
    }
    let few = Limits {
        values: 500,
        ..LIMITS
    };
    let error = decode(&unknown("v1", "PodList", &raw.out), few).unwrap_err();
    assert!(
        matches!(
            error,
            Error::At {
                problem: Problem::TooMany,
                ..
            }
        ),
        "{error}"
    );
}

fn nested_schema(depth: usize) -> Vec<u8> {
    let mut schema = json!({"type": "string"});
    for _ in 0..depth {
        schema = json!({"not": schema});
    }
    encode(&json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]},
    }))
    .unwrap()
}

/// The fuzz body: any bytes decode or fail, and what decodes encodes to something that decodes to
/// the same.
fn fuzz(bytes: &[u8]) {
    if let Ok(value) = decode(bytes, LIMITS) {
        let Ok(again) = encode(&value) else { return };
        assert_eq!(decode(&again, LIMITS).as_ref(), Ok(&value));
    }
}

#[test]
fn every_prefix_and_every_flipped_bit_of_a_body_is_survived() {
    let body = encode(&json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "labels": {"a": "b"}},
        "spec": {"ports": [{"port": 80, "targetPort": "http"}], "selector": {"a": "b"}},
    }))
    .unwrap();
    for end in 0..body.len() {
        fuzz(&body[..end]);
    }
    for bit in 0..body.len() * 8 {
        let mut flipped = body.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        fuzz(&flipped);
    }
}

proptest! {
    #[test]
    fn random_messages_are_survived(raw: Vec<u8>, which in 0usize..4) {
        let kinds = [("v1", "Pod"), ("v1", "NodeList"), ("apps/v1", "Deployment"),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition")];
        fuzz(&unknown(kinds[which].0, kinds[which].1, &raw));
    }
}
