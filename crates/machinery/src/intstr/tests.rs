use serde_json::json;

use super::*;

/// Recorded answers of upstream; see the file's first line.
const VECTORS: &str = include_str!("../../testdata/quantities.json");

#[test]
fn percentages_scale_and_fail_as_upstream() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    for row in vectors["percent"].as_array().unwrap() {
        let round = if row[2] == true {
            Round::Up
        } else {
            Round::Down
        };
        match scaled(&row[0], row[1].as_i64().unwrap(), round) {
            Ok(number) => assert_eq!(json!(number), row[3], "{row}"),
            Err(error) => assert_eq!(json!(error.to_string()), row[4], "{row}"),
        }
    }
}

#[test]
fn other_json_is_refused() {
    assert!(scaled(&json!(null), 1, Round::Up).is_err());
    assert!(scaled(&json!([1]), 1, Round::Up).is_err());
    assert_eq!(
        scaled(&json!("9223372036854775807%"), i64::MAX, Round::Up),
        Ok(i64::MAX)
    );
}
