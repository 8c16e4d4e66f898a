use super::*;

#[track_caller]
fn refused(query: &str, watch: bool, text: &str) {
    let error = ListOptions::parse(query, watch).unwrap_err();
    assert!(error.message.contains(text), "{query}: {}", error.message);
}

#[test]
fn combinations_without_sense_are_invalid() {
    // Source: apimachinery pkg/apis/meta/internalversion/validation/validation_test.go.
    for (query, watch, text) in [
        (
            "resourceVersionMatch=Exact",
            false,
            "forbidden unless resourceVersion is provided",
        ),
        (
            "resourceVersion=0&resourceVersionMatch=Exact",
            false,
            "is forbidden for resourceVersion",
        ),
        (
            "resourceVersion=1&resourceVersionMatch=x",
            false,
            "Unsupported value: \"x\"",
        ),
        (
            "resourceVersion=1&resourceVersionMatch=Exact&continue=abc",
            false,
            "forbidden when continue is provided",
        ),
        (
            "resourceVersion=1&resourceVersionMatch=Exact",
            true,
            "forbidden for watch",
        ),
        (
            "sendInitialEvents=true",
            false,
            "sendInitialEvents is forbidden for list",
        ),
        (
            "sendInitialEvents=true",
            true,
            "requires setting resourceVersionMatch",
        ),
        (
            "sendInitialEvents=true&resourceVersionMatch=Exact",
            true,
            "Unsupported value",
        ),
    ] {
        refused(query, watch, text);
        assert_eq!(
            ListOptions::parse(query, watch).unwrap_err().code(),
            422,
            "{query}"
        );
    }
}

#[test]
fn a_watch_list_needs_no_resource_version() {
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let options = ListOptions::parse(query, true).unwrap();
    assert_eq!(options.send_initial_events, Some(true));
    assert!(options.allow_bookmarks && options.resource_version.is_none());
}

#[test]
fn selectors_that_do_not_parse_are_bad_requests() {
    assert_eq!(
        ListOptions::parse("labelSelector=a%3D%3D%3D", false)
            .unwrap_err()
            .code(),
        400
    );
    assert_eq!(
        ListOptions::parse("limit=x", false).unwrap_err().code(),
        400
    );
}

#[test]
fn delete_options_come_from_query_and_body() {
    let body = serde_json::json!({
        "propagationPolicy": "Foreground", "gracePeriodSeconds": 3, "dryRun": ["All"],
        "preconditions": {"uid": "u", "resourceVersion": ""},
    });
    let options = DeleteOptions::parse("gracePeriodSeconds=9", Some(&body)).unwrap();
    assert_eq!(options.propagation, Some(Propagation::Foreground));
    assert_eq!(options.grace_period_seconds, Some(3));
    assert_eq!(
        (options.uid.as_deref(), options.resource_version),
        (Some("u"), None)
    );
    assert!(options.dry_run);
    let both = "orphanDependents=true&propagationPolicy=Orphan";
    assert_eq!(DeleteOptions::parse(both, None).unwrap_err().code(), 422);
}

#[test]
fn write_options_check_their_values() {
    let ok = WriteOptions::parse(
        "dryRun=All&fieldValidation=Strict&fieldManager=me",
        "CreateOptions",
    );
    let ok = ok.unwrap();
    assert!(ok.dry_run && ok.field_validation == FieldValidation::Strict);
    for query in ["dryRun=Some", "fieldValidation=x", "fieldManager=a%0Ab"] {
        assert_eq!(
            WriteOptions::parse(query, "CreateOptions")
                .unwrap_err()
                .code(),
            422,
            "{query}"
        );
    }
    let long = format!("fieldManager={}", "x".repeat(129));
    assert_eq!(
        WriteOptions::parse(&long, "PatchOptions")
            .unwrap_err()
            .code(),
        422
    );
}
