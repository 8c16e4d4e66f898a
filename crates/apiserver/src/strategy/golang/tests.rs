use serde_json::json;

use super::{Member, Shape, record, shapes};

#[test]
fn names_in_json_follow_from_those_in_go() {
    for (go, json, want) in [
        ("Name", None, "name"),
        ("FSType", None, "fsType"),
        ("APIVersion", None, "apiVersion"),
        ("SELinuxOptions", None, "seLinuxOptions"),
        ("GCEPersistentDisk", None, "gcePersistentDisk"),
        ("VolumeID", None, "volumeID"),
        ("TTY", None, "tty"),
        ("CephFS", Some("cephfs"), "cephfs"),
    ] {
        let member = Member {
            go,
            json,
            shape: Shape::Plain,
        };
        assert_eq!(member.json(), want, "{go}");
    }
}

#[test]
fn absent_members_have_the_zero_of_their_type() {
    let shown = record(&json!({"name": "a"}), shapes::PersistentVolumeClaimSpec);
    let want = r#"{"AccessModes":null,"Selector":null,"Resources":{"Limits":null,"Requests":null},"VolumeName":"","StorageClassName":null,"VolumeMode":null,"DataSource":null,"DataSourceRef":null,"VolumeAttributesClassName":null}"#;
    assert_eq!(shown, want);
    let template = json!({"metadata": {"labels": {"a": "<"}}, "spec": null});
    let shown = record(&template, shapes::PodTemplateSpec);
    assert!(
        shown.starts_with(r#"{"labels":{"a":"\u003c"},"Spec":{"Volumes":null,"#),
        "{shown}"
    );
}
