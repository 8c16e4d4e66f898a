use super::*;

#[track_caller]
fn check(header: &str, media: Media, shape: As) {
    assert_eq!(
        accept(Some(header)),
        Ok(Accepted { media, shape }),
        "{header}"
    );
}

#[test]
fn kubectl_gets_tables_and_generic_clients_get_json() {
    let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,\
                   application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
    check(kubectl, Media::Json, As::Table("v1"));
    let old = "application/json;as=Table;v=v1beta1;g=meta.k8s.io, application/json";
    check(old, Media::Json, As::Table("v1beta1"));
    check(
        "application/vnd.kubernetes.protobuf,application/json",
        Media::Json,
        As::Object,
    );
    check(
        "application/vnd.kubernetes.protobuf, */*",
        Media::Json,
        As::Object,
    );
    check("application/yaml", Media::Yaml, As::Object);
    check(
        "application/yaml;q=0.5, application/json",
        Media::Json,
        As::Object,
    );
    let metadata = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;\
                    g=meta.k8s.io;v=v1,\
                    application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,\
                    application/json";
    check(metadata, Media::Json, As::Metadata("v1"));
    assert_eq!(accept(None), Ok(Accepted::default()));
}

#[test]
fn unknown_shapes_fall_through_to_the_next_range() {
    check(
        "application/json;as=Chart;g=x;v=v1,application/json",
        Media::Json,
        As::Object,
    );
    let only = accept(Some("application/json;as=Table;g=meta.k8s.io;v=v9")).unwrap_err();
    assert_eq!(only.code(), 406);
    let error = accept(Some("application/cbor")).unwrap_err();
    assert_eq!(
        error.message,
        "only the following media types are accepted: application/json, application/yaml"
    );
}

#[test]
fn bodies_have_known_types() {
    assert_eq!(content_type(None), Ok(Media::Json));
    assert_eq!(
        content_type(Some("application/json; charset=utf-8")),
        Ok(Media::Json)
    );
    assert_eq!(content_type(Some(PROTOBUF)), Ok(Media::Protobuf));
    assert_eq!(content_type(Some("text/plain")).unwrap_err().code(), 415);
}

#[test]
fn custom_resources_have_no_strategic_merge() {
    let smp = Some("application/strategic-merge-patch+json");
    assert_eq!(patch_type(smp, false), Ok(PatchKind::Strategic));
    let error = patch_type(smp, true).unwrap_err();
    assert_eq!(
        (error.code(), error.message.as_str()),
        (
            415,
            "the body of the request was in an unknown format - accepted media types include: \
             application/json-patch+json, application/merge-patch+json, \
             application/apply-patch+yaml"
        )
    );
}

#[test]
fn people_get_indented_json() {
    assert!(pretty("", "curl/8.5"));
    assert!(!pretty("pretty=false", "curl/8.5"));
    assert!(pretty("pretty", "kubectl/v1.32"));
    assert!(!pretty("", "kubectl/v1.32"));
}
