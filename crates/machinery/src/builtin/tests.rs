use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::schema::{Field, ListMerge, Struct, Type};

fn shape(name: &str) -> &'static Struct {
    let id = schema().find(name).unwrap_or_else(|| panic!("no {name}"));
    match schema().get(id) {
        Type::Struct(shape) => shape,
        other => panic!("{name} is {other:?}"),
    }
}

fn field(name: &str, field: &str) -> &'static Field {
    shape(name)
        .field(field)
        .unwrap_or_else(|| panic!("{name} has no {field}"))
}

#[test]
fn every_field_refers_to_a_type_and_stands_sorted() {
    let mut n_fields = 0;
    for at in 0..schema().len() {
        let Type::Struct(shape) = schema().get(TypeId(at as u32)) else {
            continue;
        };
        assert!(shape.fields.is_sorted_by(|a, b| a.name < b.name));
        n_fields += shape.fields.len();
        for field in &shape.fields {
            schema().get(field.ty);
        }
    }
    assert!(n_fields > 2900, "{n_fields}");
}

#[test]
fn service_ports_merge_by_port_in_patches_and_by_port_and_protocol_in_apply() {
    let ports = field("io.k8s.api.core.v1.ServiceSpec", "ports");
    assert!(ports.patch.merge);
    assert_eq!(ports.patch.merge_key.as_deref(), Some("port"));
    let Type::List {
        merge: ListMerge::Map { keys },
        ..
    } = schema().get(ports.ty)
    else {
        panic!("{ports:?}")
    };
    let keys: Vec<_> = keys
        .iter()
        .map(|key| (key.name.as_ref(), key.default.clone()))
        .collect();
    assert_eq!(
        keys,
        [("port", Some(json!(0))), ("protocol", Some(json!("TCP")))]
    );
}

#[test]
fn volumes_retain_keys_and_their_sources_are_inlined_messages() {
    let volumes = field("io.k8s.api.core.v1.PodSpec", "volumes");
    assert!(volumes.patch.merge && volumes.patch.retain_keys);
    let empty_dir = field("io.k8s.api.core.v1.Volume", "emptyDir")
        .proto
        .unwrap();
    assert_eq!(
        (empty_dir.tag, empty_dir.via, empty_dir.pointer),
        (2, [2, 0], true)
    );
    let groups = "io.k8s.api.admissionregistration.v1.NamedRuleWithOperations";
    let groups = field(groups, "apiGroups").proto.unwrap();
    assert_eq!((groups.tag, groups.via), (1, [2, 2]));
}

#[test]
fn a_field_may_be_more_granular_than_its_type() {
    let is_atomic = |field: &Field| matches!(schema().get(field.ty), Type::Struct(s) if s.atomic);
    assert!(is_atomic(field(
        "io.k8s.api.core.v1.Event",
        "involvedObject"
    )));
    assert!(!is_atomic(field(
        "io.k8s.api.core.v1.PersistentVolumeSpec",
        "claimRef"
    )));
    let selector = field("io.k8s.api.core.v1.PodSpec", "nodeSelector");
    assert!(matches!(
        schema().get(selector.ty),
        Type::Map { atomic: true, .. }
    ));
}

#[test]
fn pointers_are_known() {
    for (name, key, pointer) in [
        ("io.k8s.api.apps.v1.DeploymentSpec", "replicas", true),
        (
            "io.k8s.api.apps.v1.DeploymentSpec",
            "minReadySeconds",
            false,
        ),
        (
            "io.k8s.api.core.v1.PodSpec",
            "terminationGracePeriodSeconds",
            true,
        ),
        ("io.k8s.api.core.v1.PodSpec", "hostNetwork", false),
        (
            "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference",
            "controller",
            true,
        ),
        (
            "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
            "creationTimestamp",
            false,
        ),
        (
            "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
            "deletionTimestamp",
            true,
        ),
    ] {
        assert_eq!(
            field(name, key).proto.unwrap().pointer,
            pointer,
            "{name} {key}"
        );
    }
}

#[test]
fn every_served_kind_has_protobuf_positions() {
    let mut without = BTreeSet::new();
    for row in resources() {
        for field in &shape(row.type_name).fields {
            if field.proto.is_none() {
                without.insert(field.name.as_ref());
            }
        }
    }
    assert_eq!(without, BTreeSet::from(["apiVersion", "kind"]));
}

#[test]
fn kinds_are_found_by_group_and_version() {
    assert_eq!(
        type_name("", "v1", "PodList"),
        Some("io.k8s.api.core.v1.PodList")
    );
    assert_eq!(
        type_name("rbac.authorization.k8s.io", "v1", "Role"),
        Some("io.k8s.api.rbac.v1.Role")
    );
    let options = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
    assert_eq!(
        type_name("example.com", "v7", "DeleteOptions"),
        Some(options)
    );
    assert_eq!(type_name("", "v1", "Nothing"), None);
}

#[test]
fn rows_are_complete() {
    assert_eq!(resources().len(), 66);
    let mut seen = BTreeSet::new();
    for row in resources() {
        assert!(
            seen.insert((row.group, row.version, row.plural)),
            "{} twice",
            row.plural
        );
        assert!(
            row.subresources.is_sorted_by(|a, b| a.name < b.name),
            "{}",
            row.plural
        );
        assert!(row.verbs.is_sorted(), "{}", row.plural);
        assert_eq!(
            row.has_status,
            row.subresource("status").is_some(),
            "{}",
            row.plural
        );
        assert_eq!(
            row.can("watch"),
            !row.storage_version_hash.is_empty(),
            "{}",
            row.plural
        );
        if row.can("list") {
            assert!(
                kind(row.group, row.version, &row.list_kind).is_some(),
                "{}",
                row.list_kind
            );
        }
    }
    let pods = resource("", "v1", "pods").unwrap();
    assert_eq!(pods.short_names, ["po"]);
    assert_eq!(pods.storage_version_hash, "xPOwRZ+Yhw8=");
    assert_eq!(pods.subresource("eviction").unwrap().group, Some("policy"));
    assert_eq!(
        resource("events.k8s.io", "v1", "events").unwrap().storage,
        ("", "v1")
    );
}
