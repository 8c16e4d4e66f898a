use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Recorded answers of upstream; see the file's first line.
const VECTORS: &str = include_str!("../../testdata/jsonpath.json");

#[test]
fn expressions_parse_find_and_fail_as_upstream() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    let data = &vectors["data"];
    for row in vectors["rows"].as_array().unwrap() {
        let text = row[0].as_str().unwrap();
        let path = match JsonPath::parse(text) {
            Ok(path) => path,
            Err(error) => {
                assert_eq!(json!(error.to_string()), row[1], "{text:?}");
                continue;
            }
        };
        assert_eq!(row[1], Value::Null, "{text:?}");
        match path.find(data, Missing::Skip) {
            Ok(found) => {
                let mut printed: Vec<String> = found.iter().map(|v| to_text(v)).collect();
                if text.contains("..") || text.contains('*') {
                    printed.sort();
                }
                assert_eq!(json!(printed), row[2], "{text:?}");
            }
            Err(error) => assert_eq!(json!(error.to_string()), row[3], "{text:?}"),
        }
        let strict = path.find(data, Missing::Fail).err().map(|e| e.to_string());
        assert_eq!(json!(strict), row[4], "{text:?}");
    }
}

#[test]
fn plain_paths_give_their_names() {
    let names = |text: &str| {
        JsonPath::parse(text)
            .unwrap()
            .as_fields()
            .map(|n| n.join("/"))
    };
    assert_eq!(names(".spec.replicas"), Some("spec/replicas".into()));
    assert_eq!(
        names(".metadata.labels['app']"),
        Some("metadata/labels/app".into())
    );
    assert_eq!(names(".spec.list[0]"), None);
    assert_eq!(names(""), Some(String::new()));
}

#[test]
fn evaluation_is_bounded() {
    let wide = json!(vec![json!(vec![json!([1, 2, 3]); 100]); 1000]);
    let error = JsonPath::parse("..[*]..[*]..[*]")
        .unwrap()
        .find(&wide, Missing::Skip)
        .unwrap_err();
    assert_eq!(error.to_string(), "more than 100000 results");
    assert!(JsonPath::parse(&".a".repeat(3000)).is_err());
    let nested = format!("{}@{}", "[?(".repeat(10), ")]".repeat(10));
    assert!(JsonPath::parse(&nested).is_err());
}

proptest! {
    #[test]
    fn no_text_makes_parser_or_evaluation_panic(text in "[.a\\[\\]'\"?(@)=<>!:0-9,*{} \\\\-]{0,24}") {
        let data = json!({"a": [{"a": 1}, {"a": "x"}], "b": {"a": null}});
        if let Ok(path) = JsonPath::parse(&text) {
            let _ = path.find(&data, Missing::Skip);
            let _ = path.first(&data);
        }
    }
}
