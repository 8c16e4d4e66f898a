use serde_json::json;

use super::{resolve, resolve_dotted};
use crate::crd::structural::{Pool, parse};

#[test]
fn paths_lead_to_fields_or_say_why_not() {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"a.b": {"type": "string"}, "list": {"type": "array", "items": {"type": "string"}}}},
        "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": {"type": "string"}}}}
    }});
    let schema = parse(&schema, &mut Pool::new()).expect("parses");
    for (path, expected) in [
        (".spec", Ok("spec")),
        (".spec['a.b']", Ok("spec.a.b")),
        (".map['k'].x", Ok("map[k].x")),
        (".map.k", Err("does not refer to a valid field")),
        (".spec.nope", Err("does not refer to a valid field")),
        ("spec", Err("expected [ or . but got: spec")),
        (".spec[0]", Err("expected single quoted string but got 0")),
        (".spec['a", Err("unexpected end of JSON path")),
        (".spec[", Err("unexpected end of JSON path")),
        (
            r".map['\q']",
            Err(r"invalid string literal: invalid escape char \q"),
        ),
    ] {
        let found = resolve(path, &schema);
        assert_eq!(
            found
                .as_ref()
                .map(|f| f.path.as_str())
                .map_err(String::as_str),
            expected,
            "{path}"
        );
    }
    let refused = resolve_dotted(".map['k']", &schema).expect_err("brackets");
    assert_eq!(refused, "array notation is not allowed");
}
