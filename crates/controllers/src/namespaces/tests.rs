//! What is missing and what remains.

use super::*;

fn shown(conditions: &[NamespaceCondition]) -> String {
    let lines = conditions.iter().map(|condition| {
        let time = condition
            .last_transition_time
            .as_ref()
            .map_or(0, |time| time.0.as_second());
        let (reason, message) = (
            condition.reason.as_deref().unwrap(),
            condition.message.as_deref().unwrap(),
        );
        format!(
            "{} {} {time} {reason}: {message}\n",
            condition.type_, condition.status
        )
    });
    lines.collect()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

#[test]
fn a_namespace_says_what_is_left_and_since_when() {
    let remains = Remains {
        objects: BTreeMap::from([("pods.".into(), 2), ("jobs.batch".into(), 1)]),
        finalizers: BTreeMap::from([("example.com/hold".into(), 1)]),
        discovery_failure: None,
        content_failures: vec!["things.example.com: refused".into()],
    };
    let first = conditions(&remains, &[], at(10));
    expect_test::expect![[r#"
        NamespaceDeletionDiscoveryFailure False 10 ResourcesDiscovered: All resources successfully discovered
        NamespaceDeletionGroupVersionParsingFailure False 10 ParsedGroupVersions: All legacy kube types successfully parsed
        NamespaceDeletionContentFailure True 10 ContentDeletionFailed: Failed to delete all resource types, 1 remaining: things.example.com: refused
        NamespaceContentRemaining True 10 SomeResourcesRemain: Some resources are remaining: jobs.batch has 1 resource instances, pods. has 2 resource instances
        NamespaceFinalizersRemaining True 10 SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances
    "#]]
    .assert_eq(&shown(&first));
    assert!(!is_empty(&remains));
    assert_eq!(
        conditions(&remains, &first, at(20)),
        first,
        "nothing changed"
    );

    let done = conditions(&Remains::default(), &first, at(30));
    expect_test::expect![[r#"
        NamespaceDeletionDiscoveryFailure False 10 ResourcesDiscovered: All resources successfully discovered
        NamespaceDeletionGroupVersionParsingFailure False 10 ParsedGroupVersions: All legacy kube types successfully parsed
        NamespaceDeletionContentFailure False 30 ContentDeleted: All content successfully deleted, may be waiting on finalization
        NamespaceContentRemaining False 30 ContentRemoved: All content successfully removed
        NamespaceFinalizersRemaining False 30 ContentHasNoFinalizers: All content-preserving finalizers finished
    "#]]
    .assert_eq(&shown(&done));
    assert!(is_empty(&Remains::default()));
}

#[test]
fn a_failed_discovery_holds_a_namespace() {
    let remains = Remains {
        discovery_failure: Some("x".into()),
        ..Remains::default()
    };
    assert!(!is_empty(&remains));
    let shown = shown(&conditions(&remains, &[], at(0)));
    assert!(
        shown.starts_with("NamespaceDeletionDiscoveryFailure True 0 DiscoveryFailed: "),
        "{shown}"
    );
}

#[test]
fn the_certificate_is_created_and_repaired_and_else_left_alone() {
    let made = root_ca("ns", "PEM", None).unwrap();
    assert_eq!(made.metadata.name.as_deref(), Some(ROOT_CA));
    assert_eq!(root_ca("ns", "PEM", Some(&made)), None);
    let mut changed = made.clone();
    changed.metadata.resource_version = Some("7".into());
    changed.data = None;
    let repaired = root_ca("ns", "PEM", Some(&changed)).unwrap();
    assert_eq!(repaired.data, made.data);
    assert_eq!(repaired.metadata.resource_version.as_deref(), Some("7"));
    assert!(root_ca("ns", "NEW", Some(&made)).is_some());
}
