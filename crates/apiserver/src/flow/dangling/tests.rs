use serde_json::{Value, json};

use super::decide;

const THERE: &str =
    r#"This FlowSchema references the PriorityLevelConfiguration object named "l" and it exists"#;
const GONE: &str = r#"This FlowSchema references the PriorityLevelConfiguration object named "l" but there is no such object"#;

fn condition(status: &str, reason: &str, message: &str) -> Value {
    json!([{"type": "Dangling", "status": status, "reason": reason, "message": message}])
}

#[test]
fn a_schema_says_whether_its_level_exists() {
    let there = condition("False", "Found", THERE);
    let gone = condition("True", "NotFound", GONE);
    let found = ("False", "Found", THERE);
    let missing = ("True", "NotFound", GONE);
    // Conditions before, whether the level exists, what to write.
    let cases = [
        (json!(null), true, Some(found)),
        (json!(null), false, Some(missing)),
        (there.clone(), true, None),
        (there, false, Some(missing)),
        (gone.clone(), false, None),
        (gone, true, Some(found)),
        (
            condition("False", "Found", "told otherwise"),
            true,
            Some(found),
        ),
        (
            json!([{"type": "Other", "status": "True"}]),
            true,
            Some(found),
        ),
    ];
    for (conditions, exists, wanted) in cases {
        let schema = json!({
            "spec": {"priorityLevelConfiguration": {"name": "l"}},
            "status": {"conditions": conditions},
        });
        let decided = decide(&schema, |level| level == "l" && exists);
        let decided = decided.map(|d| (d.status, d.reason, d.message));
        let wanted = wanted.map(|(status, reason, message)| (status, reason, message.to_owned()));
        assert_eq!(decided, wanted, "{conditions}, exists: {exists}");
    }
}
