use proptest::prelude::*;
use serde_json::json;

use super::*;

fn element() -> impl Strategy<Value = PathElement> {
    prop_oneof![
        3 => "[a-c]".prop_map(|name| PathElement::field(&name)),
        1 => (0..3i64).prop_map(|n| PathElement::key([("port", json!(n)), ("name", json!("x"))])),
        1 => (0..3i64).prop_map(|n| PathElement::Value(json!(n))),
        1 => (0..2i64).prop_map(PathElement::Index),
    ]
}

fn set() -> impl Strategy<Value = Set> {
    prop::collection::vec(prop::collection::vec(element(), 1..4).prop_map(Path), 0..12)
        .prop_map(Set::from_paths)
}

proptest! {
    #[test]
    fn sets_obey_the_laws(a in set(), b in set(), c in set()) {
        prop_assert_eq!(a.union(&b), b.union(&a));
        prop_assert_eq!(a.union(&b).union(&c), a.union(&b.union(&c)));
        prop_assert_eq!(a.intersection(&b), b.intersection(&a));
        prop_assert_eq!(a.union(&a.intersection(&b)), a.clone());
        prop_assert_eq!(a.difference(&b).union(&a.intersection(&b)), a.clone());
        prop_assert!(a.difference(&b).intersection(&b).is_empty());
        prop_assert!(a.recursive_difference(&b).is_subset(&a.difference(&b)));
        prop_assert!(a.intersection(&b).is_subset(&a) && a.is_subset(&a.union(&b)));
        prop_assert!(a.leaves().is_subset(&a));
        let (mut some, mut all) = (a.clone(), a.clone());
        some.subtract(&b);
        all.subtract_recursive(&b);
        prop_assert_eq!((some, all), (a.difference(&b), a.recursive_difference(&b)));
        prop_assert_eq!(a.paths().len(), a.len());
        prop_assert_eq!(Set::from_paths(a.paths()), a.clone());
        prop_assert!(a.paths().iter().all(|path| a.has(&path.0)));
    }

    #[test]
    fn json_and_back(a in set()) {
        prop_assert_eq!(Set::from_fields_v1(&a.to_fields_v1()).unwrap(), a);
    }
}

#[test]
fn paths_print_as_in_conflicts() {
    let mut path = Path::fields(&["spec", "containers"]);
    path.0.push(PathElement::key([
        ("protocol", json!("TCP")),
        ("containerPort", json!(80)),
    ]));
    path.0.push(PathElement::field("image"));
    assert_eq!(
        path.to_string(),
        r#".spec.containers[containerPort=80,protocol="TCP"].image"#
    );
    assert_eq!(
        PathElement::Value(json!("a\"b")).to_string(),
        r#"[="a\"b"]"#
    );
    assert_eq!(PathElement::Index(3).to_string(), "[3]");
}

#[test]
fn fields_v1_is_read_and_written() {
    let fields = json!({
        "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
        "f:spec": {
            "f:finalizers": {"v:\"kubernetes\"": {}},
            "f:ports": {".": {}, "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}},
        },
        "f:list": {"i:0": {}},
    });
    let set = Set::from_fields_v1(&fields).unwrap();
    let paths: Vec<String> = set.paths().iter().map(ToString::to_string).collect();
    assert_eq!(
        paths,
        [
            ".list[0]",
            ".metadata.labels",
            ".metadata.labels.app",
            ".spec.ports",
            ".spec.finalizers[=\"kubernetes\"]",
            ".spec.ports[port=80,protocol=\"TCP\"]",
            ".spec.ports[port=80,protocol=\"TCP\"].port",
        ]
    );
    assert_eq!(set.to_fields_v1(), fields);
    assert_eq!(
        Set::from_fields_v1(&json!({"x:y": {}})).unwrap(),
        Set::new()
    );
    for bad in [
        json!({"f": {}}),
        json!({"fx": {}}),
        json!({"k:{": {}}),
        json!({"i:x": {}}),
        json!([]),
        json!({"f:a": 1}),
    ] {
        assert!(Set::from_fields_v1(&bad).is_err(), "{bad}");
    }
}

#[test]
fn whole_numbers_and_floats_are_one_key() {
    assert_eq!(PathElement::Value(json!(1)), PathElement::Value(json!(1.0)));
    assert!(same(&json!({"a": [1, 2.5]}), &json!({"a": [1.0, 2.5]})));
    assert!(!same(&json!(1), &json!("1")));
}
