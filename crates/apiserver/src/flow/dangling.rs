//! What a flow schema says about its priority level.

use serde_json::Value;

/// Whether the priority level of a schema is missing, and how its status says so.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Dangling {
    pub(super) status: &'static str,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

/// What the condition of a schema must say; none if it does.
pub(super) fn decide(schema: &Value, exists: impl Fn(&str) -> bool) -> Option<Dangling> {
    let level = schema.pointer("/spec/priorityLevelConfiguration/name");
    let level = level.and_then(Value::as_str).unwrap_or("");
    let (status, reason, end) = match exists(level) {
        true => ("False", "Found", "and it exists"),
        false => ("True", "NotFound", "but there is no such object"),
    };
    let message = format!(
        "This FlowSchema references the PriorityLevelConfiguration object named {level:?} {end}"
    );
    let conditions = schema.pointer("/status/conditions");
    let mut conditions = conditions.and_then(Value::as_array).into_iter().flatten();
    let is_said = conditions.any(|condition| {
        condition["type"] == "Dangling"
            && condition["status"] == status
            && condition["reason"] == reason
            && condition["message"] == message
    });
    (!is_said).then_some(Dangling {
        status,
        reason,
        message,
    })
}

#[cfg(test)]
mod tests;
