use serde_json::{Map, Value, json};

use super::{Definitions, check, names, schema};
use crate::crd::path::Path;
use crate::registry::Strategy as _;

/// A sound definition with this schema in its only version.
fn with_schema(schema: Value) -> Value {
    with_version(
        json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}),
    )
}

fn with_version(version: Value) -> Value {
    let mut definition = json!({
        "metadata": {"name": "plurals.group.com"},
        "spec": {"group": "group.com", "scope": "Cluster", "names": {"plural": "plurals", "kind": "Kind"},
                 "versions": [version]},
        "status": {"storedVersions": ["v1"]}
    });
    Definitions.fill_defaults(&mut definition);
    definition
}

fn sound() -> Value {
    with_schema(json!({"type": "object"}))
}

fn errors(definition: &Value) -> Vec<String> {
    check::create(definition)
        .iter()
        .map(ToString::to_string)
        .collect()
}

/// Errors of a schema, without the path of the version.
fn schema_errors(schema: Value) -> Vec<String> {
    let found = schema::check(&schema, false, &Path::ROOT.child("s"));
    found.iter().map(ToString::to_string).collect()
}

/// Changes of a sound definition (JSON pointer, value) and the error each makes.
/// Cases of apiextensions-apiserver `validation_test.go`.
#[test]
fn mistakes_in_a_definition_are_found() {
    assert_eq!(errors(&sound()), [""; 0]);
    for (at, value, text) in [
        (
            "/metadata/name",
            json!("x.group.com"),
            r#"metadata.name: Invalid value: "x.group.com": must be spec.names.plural+"."+spec.group"#,
        ),
        (
            "/spec/scope",
            json!("Other"),
            r#"spec.scope: Unsupported value: "Other": supported values: "Cluster", "Namespaced""#,
        ),
        ("/spec/scope", json!(""), "spec.scope: Required value"),
        (
            "/spec/names/listKind",
            json!("Kind"),
            r#"spec.names.listKind: Invalid value: "Kind": kind and listKind may not be the same"#,
        ),
        (
            "/spec/versions/0/storage",
            json!(false),
            "must have exactly one version marked as storage version",
        ),
        (
            "/spec/versions/0/name",
            json!("V1"),
            "spec.versions[0].name: Invalid value: \"V1\": a DNS-1035 label must",
        ),
        (
            "/spec/versions/0/schema",
            json!({}),
            "spec.versions[0].schema.openAPIV3Schema: Required value",
        ),
        (
            "/spec/versions/0/deprecationWarning",
            json!("x"),
            "can only be set for deprecated versions",
        ),
        (
            "/spec/conversion",
            json!({"strategy": "X"}),
            r#"spec.conversion.strategy: Unsupported value: "X": supported values: "None", "Webhook""#,
        ),
        (
            "/spec/conversion",
            json!({"strategy": "Webhook"}),
            "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
        ),
        (
            "/spec/conversion",
            json!({"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://a"}}}),
            "spec.conversion.conversionReviewVersions: Required value",
        ),
        (
            "/spec/conversion",
            json!({"strategy": "Webhook", "webhook": {"clientConfig": {"url": "http://a"}, "conversionReviewVersions": ["v1"]}}),
            "'https' is the only allowed URL scheme",
        ),
        (
            "/spec/preserveUnknownFields",
            json!(true),
            "spec.preserveUnknownFields: Invalid value: true: cannot set to true",
        ),
        (
            "/spec/versions/0/additionalPrinterColumns",
            json!([{"name": "a", "type": "text", "jsonPath": ".a"}]),
            r#"spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,number,string"#,
        ),
        (
            "/spec/versions/0/additionalPrinterColumns",
            json!([{"name": "a", "type": "string", "jsonPath": "a"}]),
            "must be a simple json path starting with .",
        ),
        (
            "/spec/versions/0/subresources",
            json!({"scale": {"specReplicasPath": ".x", "statusReplicasPath": ".status.r"}}),
            r#"spec.subresources.scale.specReplicasPath: Invalid value: ".x": should be a json path under .spec"#,
        ),
        (
            "/spec/versions/0/selectableFields",
            json!([{"jsonPath": ".spec.x"}]),
            r#"spec.selectableFields[0].jsonPath: Invalid value: ".spec.x": is an invalid path: does not refer to a valid field"#,
        ),
        (
            "/status/storedVersions",
            json!([]),
            "status.storedVersions: Invalid value: []: must have at least one stored version",
        ),
        (
            "/status/storedVersions",
            json!(["v0"]),
            "status.storedVersions[0]: Invalid value: \"v0\": missing from spec.versions; v0 was previously a storage version",
        ),
    ] {
        let mut definition = sound();
        let (parent, name) = at.rsplit_once('/').expect("a pointer");
        definition.pointer_mut(parent).expect(parent)[name] = value;
        let found = errors(&definition);
        assert!(found.iter().any(|e| e.contains(text)), "{text}\n{found:#?}");
    }
}

#[test]
fn at_most_eight_fields_are_selectable() {
    let fields = |n: usize| -> Value {
        (0..n)
            .map(|n| json!({"jsonPath": format!(".f{n}")}))
            .collect()
    };
    let properties: Map<String, Value> = (0..9)
        .map(|n| (format!("f{n}"), json!({"type": "string"})))
        .collect();
    let version = |n| {
        json!({"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties.clone()}},
        "selectableFields": fields(n)})
    };
    assert_eq!(errors(&with_version(version(8))), [""; 0]);
    assert_eq!(
        errors(&with_version(version(9))),
        ["spec.selectableFields: Too many: 9: must have at most 8 items"]
    );
}

/// Cases of apiextensions-apiserver `schema/validation_test.go` and `validation_test.go`.
#[test]
fn schemas_that_are_not_structural_are_refused() {
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    for (schema, text) in [
        (
            json!({}),
            "s.type: Required value: must not be empty at the root",
        ),
        (
            json!({"type": "string"}),
            r#"s.type: Invalid value: "string": must be object at the root"#,
        ),
        (
            json!({"type": "object", "nullable": true}),
            "s.nullable: Forbidden: nullable cannot be true at the root",
        ),
        (
            object(json!({"a": {}})),
            "s.properties[a].type: Required value: must not be empty for specified object fields",
        ),
        (
            object(json!({"a": {"type": "array", "items": {}}})),
            "s.properties[a].items.type: Required value: must not be empty for specified array items",
        ),
        (
            object(json!({"a": {"type": "array"}})),
            "s.properties[a].items: Required value: must be specified",
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            "s.additionalProperties: Forbidden: must not be used at the root",
        ),
        (
            object(json!({"a": {"type": "int"}})),
            r#"s.properties[a].type: Unsupported value: "int": supported values: "array", "boolean", "integer", "number", "object", "string""#,
        ),
        (
            object(
                json!({"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}),
            ),
            "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
        ),
        (
            object(json!({"a": {"type": "string", "anyOf": [{"type": "string"}]}})),
            "s.properties[a].anyOf[0].type: Forbidden: must be empty to be structural",
        ),
        (
            object(json!({"a": {"type": "string", "not": {"default": "x"}}})),
            "s.properties[a].not.default: Forbidden: must be undefined to be structural",
        ),
        (
            json!({"type": "object", "allOf": [{"properties": {"b": {"minimum": 1}}}]}),
            "s.properties[b]: Required value: because it is defined in s.allOf[0].properties[b]",
        ),
        (
            object(json!({"a": {"type": "string", "pattern": "("}})),
            "must be a valid regular expression, but isn't",
        ),
        (
            object(
                json!({"a": {"x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true}}),
            ),
            "must be false if x-kubernetes-int-or-string is true",
        ),
        (
            object(json!({"a": {"type": "object", "x-kubernetes-embedded-resource": true}})),
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
        ),
        (
            object(json!({"a": {"type": "string", "uniqueItems": true}})),
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        ),
        (
            object(json!({"a": {"$ref": "#/x", "type": "string"}})),
            "s.properties[a].$ref: Forbidden: $ref is not supported",
        ),
        (
            object(
                json!({"a": {"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": {"type": "string"}}}),
            ),
            "additionalProperties and properties are mutual exclusive",
        ),
        (
            object(json!({"a": {"type": "object", "x-kubernetes-list-type": "set"}})),
            r#"s.properties[a].type: Invalid value: "object": must be array if x-kubernetes-list-type is specified"#,
        ),
        (
            object(
                json!({"a": {"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}}}),
            ),
            "s.properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
        ),
        (
            object(
                json!({"a": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "properties": {"k": {"type": "string"}}}}}),
            ),
            "s.properties[a].items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
        ),
        (
            object(
                json!({"a": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}}}),
            ),
            "must be atomic as item of a list with x-kubernetes-list-type=set",
        ),
        (
            object(json!({"a": {"type": "integer", "default": "x"}})),
            r#"s.properties[a].default: Invalid value: "string":  in body must be of type integer: "string""#,
        ),
        (
            object(json!({"a": {"type": "object", "default": {"b": 1}}})),
            r#"s.properties[a].default: Invalid value: {"b":1}: must not have unknown fields"#,
        ),
        (
            object(json!({"kind": {"type": "string", "default": "x"}})),
            "s.properties[kind].default: Forbidden: must not be set in top-level kind",
        ),
    ] {
        let found = schema_errors(schema);
        assert!(found.iter().any(|e| e.contains(text)), "{text}\n{found:#?}");
    }
}

#[test]
fn what_looks_odd_but_is_structural_is_accepted() {
    for schema in [
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        json!({"type": "object", "properties": {"a": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": "^1$"}}}),
        json!({"type": "object", "properties": {"a": {"x-kubernetes-int-or-string": true, "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"pattern": "^1$"}]}}}),
        json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 10}}}}}),
        json!({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}, "oneOf": [{"required": ["b"]}, {"properties": {"b": {"enum": ["x"]}}}]}}}),
        json!({"type": "object", "properties": {"a": {"type": "object", "default": {}, "properties": {"b": {"type": "string", "default": "x"}}}}}),
    ] {
        assert_eq!(schema_errors(schema), [""; 0]);
    }
}

#[test]
fn rules_are_checked_when_the_definition_is_made() {
    let with = |rule: Value| {
        json!({"type": "object", "properties": {
            "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-validations": [rule]}
        }})
    };
    for (rule, text) in [
        (
            json!({"rule": ""}),
            "s.properties[spec].x-kubernetes-validations[0].rule: Required value: rule is not specified",
        ),
        (
            json!({"rule": "true", "message": " "}),
            "must be non-empty if specified",
        ),
        (
            json!({"rule": "true", "message": "a\nb"}),
            "must not contain line breaks",
        ),
        (
            json!({"rule": "true &&\ntrue"}),
            "message must be specified if rule contains line breaks",
        ),
        (
            json!({"rule": "true", "reason": "x"}),
            r#"Unsupported value: "x": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired""#,
        ),
        (
            json!({"rule": "true", "fieldPath": ".x"}),
            "must be a valid path",
        ),
        (
            json!({"rule": "self.a =="}),
            "compilation failed: ERROR: <input>:1:10: Syntax error",
        ),
        (
            json!({"rule": "foo"}),
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')",
        ),
        (
            json!({"rule": "true", "messageExpression": "bar"}),
            "messageExpression compilation failed: ERROR: <input>:1:1: undeclared reference to 'bar'",
        ),
        (
            json!({"rule": "true", "optionalOldSelf": true}),
            "may not be set if oldSelf is not used in rule",
        ),
    ] {
        let found = schema_errors(with(rule));
        assert!(found.iter().any(|e| e.contains(text)), "{text}\n{found:#?}");
    }
    let list = json!({"type": "object", "properties": {"l": {"type": "array", "items": {
        "type": "string", "maxLength": 9, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}}});
    assert!(schema_errors(list)[0].ends_with(
        "oldSelf cannot be used on the uncorrelatable portion of the schema within s.properties[l]"
    ));
}

#[test]
fn only_some_keywords_stand_at_the_root_beside_a_status_endpoint() {
    let schema = json!({"type": "object", "oneOf": [{"required": ["a"]}], "properties": {"a": {"type": "string"}}});
    let found = schema::check(&schema, true, &Path::ROOT.child("s"));
    assert!(
        found[0].detail.starts_with("only [Description Type Format"),
        "{found:?}"
    );
}

#[test]
fn protected_groups_need_an_approval() {
    let mut definition = sound();
    definition["metadata"]["name"] = json!("plurals.x.k8s.io");
    definition["spec"]["group"] = json!("x.k8s.io");
    assert!(errors(&definition)[0].starts_with("metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation"));
    for (annotation, is_fine, reason) in [
        (
            "https://github.com/kubernetes/kubernetes/pull/1",
            true,
            "ApprovedAnnotation",
        ),
        ("unapproved, experimental", true, "UnapprovedAnnotation"),
        ("no", false, "InvalidAnnotation"),
    ] {
        definition["metadata"]["annotations"] = json!({"api-approved.kubernetes.io": annotation});
        assert_eq!(errors(&definition).is_empty(), is_fine, "{annotation}");
        let mut settled = definition.clone();
        names::settle(
            &mut settled,
            &names::Taken::default(),
            "2024-01-01T00:00:00Z",
        );
        assert_eq!(settled["status"]["conditions"][2]["reason"], reason);
    }
}

/// Cases of apiextensions-apiserver `status/naming_controller_test.go`.
#[test]
fn names_that_others_hold_are_not_given() {
    let others = |names: Value| names::taken(&[names.as_object().expect("an object").clone()]);
    for (taken, reason, accepted) in [
        (
            json!({}),
            "NoConflicts",
            json!({"plural": "plurals", "singular": "kind", "kind": "Kind", "listKind": "KindList"}),
        ),
        (
            json!({"plural": "plurals"}),
            "PluralConflict",
            json!({"plural": "", "singular": "kind", "kind": "Kind", "listKind": "KindList"}),
        ),
        (
            json!({"shortNames": ["kind"]}),
            "SingularConflict",
            json!({"plural": "plurals", "kind": "Kind", "listKind": "KindList"}),
        ),
        (
            json!({"kind": "KindList"}),
            "ListKindConflict",
            json!({"plural": "plurals", "singular": "kind", "kind": "Kind"}),
        ),
        (
            json!({"listKind": "Kind"}),
            "KindConflict",
            json!({"plural": "plurals", "singular": "kind", "kind": "", "listKind": "KindList"}),
        ),
    ] {
        let mut definition = sound();
        names::settle(&mut definition, &others(taken), "2024-01-01T00:00:00Z");
        let status = &definition["status"];
        assert_eq!(status["conditions"][0]["reason"], reason);
        assert_eq!(status["acceptedNames"], accepted);
        let established = if reason == "NoConflicts" {
            "True"
        } else {
            "False"
        };
        assert_eq!(status["conditions"][1]["status"], established);
    }
}

#[test]
fn a_definition_stays_established_when_a_later_name_is_taken() {
    let mut definition = sound();
    names::settle(
        &mut definition,
        &names::Taken::default(),
        "2024-01-01T00:00:00Z",
    );
    definition["spec"]["names"]["shortNames"] = json!(["x"]);
    let taken = names::taken(&[json!({"singular": "x"})
        .as_object()
        .expect("an object")
        .clone()]);
    names::settle(&mut definition, &taken, "2024-01-02T00:00:00Z");
    let conditions = &definition["status"]["conditions"];
    assert_eq!(conditions[0]["reason"], "ShortNamesConflict");
    assert_eq!(conditions[0]["lastTransitionTime"], "2024-01-02T00:00:00Z");
    assert_eq!(
        (
            &conditions[1]["status"],
            &conditions[1]["lastTransitionTime"]
        ),
        (&json!("True"), &json!("2024-01-01T00:00:00Z"))
    );
}

#[test]
fn odd_formats_and_sets_are_worth_a_warning() {
    let definition = with_schema(json!({"type": "object", "properties": {
        "a": {"type": "string", "format": "no-such"}, "b": {"type": "string", "format": "date-time"},
        "c": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object", "x-kubernetes-map-type": "atomic"}}
    }}));
    assert_eq!(
        schema::warnings(&definition),
        [
            r#"unrecognized format "no-such""#,
            r#"x-kubernetes-list-type: set for items of type "object" is not supported by server-side apply or CEL validation rules"#,
        ]
    );
}
