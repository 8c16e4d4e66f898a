use super::*;
use crate::registry::{Custom, Registry, built_in, tests::row};

fn now() -> Timestamp {
    "2026-03-10T12:00:00Z".parse().unwrap()
}

fn column(name: &str, ty: &str, path: &str) -> PrinterColumn {
    PrinterColumn {
        name: name.into(),
        ty: ty.into(),
        format: "".into(),
        description: "".into(),
        priority: 0,
        json_path: path.into(),
    }
}

/// The cells of a custom resource with one column besides the name.
fn one_cell(ty: &str, path: &str, object: Value) -> Value {
    let mut resource = row("example.com", "things", "Thing", true);
    let columns = vec![column("X", ty, path)];
    resource.custom = Some(Custom {
        columns,
        ..Custom::default()
    });
    let row = Columns::of(&Arc::new(resource)).row(&object, Include::None, "v1", now());
    row["cells"][1].clone()
}

#[test]
fn custom_columns_follow_their_paths() {
    let object = json!({
        "metadata": {"creationTimestamp": "2026-03-10T11:00:00Z", "labels": {"a.b/c": "l"}},
        "spec": {"n": 3, "f": 1.5, "on": true, "list": ["p", "q"], "map": {"k": "v"}},
        "status": {"conditions": [{"type": "A", "status": "False"}, {"type": "Ready", "status": "True"}]},
    });
    for (ty, path, expected) in [
        ("integer", ".spec.n", json!(3)),
        ("integer", ".spec.f", json!(1)),
        ("number", ".spec.f", json!(1.5)),
        ("boolean", ".spec.on", json!(true)),
        ("string", ".spec.on", json!("true")),
        ("string", ".spec.map", json!("{\"k\":\"v\"}")),
        ("string", ".spec.list[1]", json!("q")),
        ("string", ".spec.list[-1]", json!("q")),
        ("string", ".spec.list[*]", json!("p")),
        ("string", ".spec.list[7]", json!(null)),
        (
            "string",
            ".status.conditions[?(@.type==\"Ready\")].status",
            json!("True"),
        ),
        (
            "string",
            ".status.conditions[?(@.type=='None')].status",
            json!(null),
        ),
        ("string", ".metadata.labels.a\\.b/c", json!("l")),
        ("string", ".metadata.labels['a\\.b/c']", json!("l")),
        ("date", ".metadata.creationTimestamp", json!("60m")),
        ("date", ".spec.list[0]", json!("<unknown>")),
        ("integer", ".spec.map", json!(null)),
        ("string", "..deep", json!(null)),
        ("string", ".spec.list[", json!(null)),
    ] {
        assert_eq!(one_cell(ty, path, object.clone()), expected, "{ty} {path}");
    }
}

#[test]
fn custom_resources_without_columns_show_name_and_age() {
    let names = |columns: Vec<PrinterColumn>| -> Vec<Value> {
        let mut resource = row("example.com", "things", "Thing", true);
        resource.custom = Some(Custom {
            columns,
            ..Custom::default()
        });
        let definitions = Columns::of(&Arc::new(resource)).definitions();
        definitions
            .as_array()
            .unwrap()
            .iter()
            .map(|c| c["name"].clone())
            .collect()
    };
    assert_eq!(names(Vec::new()), ["Name", "Age"]);
    assert_eq!(names(vec![column("X", "string", ".x")]), ["Name", "X"]);
}

#[test]
fn rows_carry_as_much_of_their_object_as_was_asked_for() {
    let registry = Registry::new(built_in());
    let pods = registry.get("", "v1", "pods").unwrap();
    let pod = json!({"metadata": {"name": "p"}, "status": {"phase": "Succeeded"}});
    let columns = Columns::of(pods);
    let row = |include| columns.row(&pod, include, "v1", now());
    assert!(row(Include::None).get("object").is_none());
    assert_eq!(row(Include::Object)["object"], pod);
    assert_eq!(
        row(Include::Metadata)["object"],
        json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "p"}})
    );
    assert_eq!(row(Include::None)["conditions"][0]["reason"], "Succeeded");
    assert_eq!(Include::parse("Metadata"), Some(Include::Metadata));
    assert_eq!(Include::parse("All"), None);
}
