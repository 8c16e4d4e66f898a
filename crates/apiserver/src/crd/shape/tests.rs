use flotilla_machinery::schema::{ListMerge, Scalar, Schema, Struct, Type, TypeId};
use serde_json::json;

use super::{ROOT, of};
use crate::crd::structural::{Pool, parse};

fn fields(schema: &Schema, id: TypeId) -> &Struct {
    match schema.get(id) {
        Type::Struct(shape) => shape,
        other => panic!("not a struct: {other:?}"),
    }
}

#[test]
fn merge_rules_and_metadata_carry_over() {
    let root = json!({"type": "object", "properties": {"spec": {"type": "object", "required": ["ports"], "properties": {
        "ports": {"type": "array", "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "protocol"],
            "items": {"type": "object", "properties": {
                "port": {"type": "integer", "format": "int32"},
                "protocol": {"type": "string", "default": "TCP"}}}},
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "selector": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "pod": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
        "size": {"x-kubernetes-int-or-string": true, "nullable": true}
    }}}});
    let root = parse(&root, &mut Pool::new()).expect("parses");
    let schema = of(&root);
    let object = fields(&schema, ROOT);
    let names: Vec<&str> = object.fields.iter().map(|f| f.name.as_ref()).collect();
    assert_eq!(names, ["apiVersion", "kind", "metadata", "spec"]);
    let metadata = fields(&schema, object.field("metadata").expect("metadata").ty);
    assert!(metadata.field("ownerReferences").is_some());
    let spec = fields(&schema, object.field("spec").expect("spec").ty);
    let ty = |name: &str| schema.get(spec.field(name).expect(name).ty);
    assert!(spec.field("ports").is_some_and(|f| f.required));
    let Type::List {
        merge: ListMerge::Map { keys },
        item,
    } = ty("ports")
    else {
        panic!()
    };
    assert_eq!(
        (keys[1].name.as_ref(), keys[1].default.clone()),
        ("protocol", Some(json!("TCP")))
    );
    let port = fields(&schema, *item).field("port").expect("port").ty;
    assert_eq!(schema.get(port), &Type::Scalar(Scalar::Int32));
    assert!(matches!(
        ty("tags"),
        Type::List {
            merge: ListMerge::Set,
            ..
        }
    ));
    assert!(matches!(ty("selector"), Type::Map { atomic: true, .. }));
    assert_eq!(ty("free"), &Type::Any);
    assert_eq!(ty("size"), &Type::Scalar(Scalar::IntOrString));
    let pod = fields(&schema, spec.field("pod").expect("pod").ty);
    assert!(pod.preserve_unknown && pod.field("metadata").is_some());
}
