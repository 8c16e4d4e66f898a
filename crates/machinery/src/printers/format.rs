//! Reading an object loosely, and the small formats that cells share.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::labels::Selector;

/// An object, and the time it is looked at.
pub(super) struct View<'a> {
    pub(super) object: &'a Value,
    pub(super) now: Timestamp,
}

impl<'a> View<'a> {
    /// The value at a dotted path; null when there is none.
    pub(super) fn at(&self, path: &str) -> &'a Value {
        at(self.object, path)
    }

    pub(super) fn text(&self, path: &str) -> &'a str {
        self.at(path).as_str().unwrap_or_default()
    }

    /// Text, or `fallback` when empty.
    pub(super) fn text_or(&self, path: &str, fallback: &'static str) -> &'a str {
        match self.text(path) {
            "" => fallback,
            text => text,
        }
    }

    pub(super) fn int(&self, path: &str) -> i64 {
        self.at(path).as_i64().unwrap_or_default()
    }

    pub(super) fn flag(&self, path: &str) -> bool {
        self.at(path).as_bool().unwrap_or_default()
    }

    pub(super) fn list(&self, path: &str) -> &'a [Value] {
        list(self.object, path)
    }

    /// Number of entries of a list or map.
    pub(super) fn count(&self, path: &str) -> usize {
        match self.at(path) {
            Value::Array(items) => items.len(),
            Value::Object(map) => map.len(),
            _ => 0,
        }
    }

    pub(super) fn name(&self) -> Value {
        self.text("metadata.name").into()
    }

    pub(super) fn age(&self) -> Value {
        self.since("metadata.creationTimestamp").into()
    }

    pub(super) fn created_at(&self) -> Value {
        self.text("metadata.creationTimestamp").into()
    }

    pub(super) fn since(&self, path: &str) -> String {
        since(self.text(path), self.now)
    }

    pub(super) fn is_deleting(&self) -> bool {
        !self.text("metadata.deletionTimestamp").is_empty()
    }

    /// A label selector as text.
    pub(super) fn selector(&self, path: &str) -> String {
        match Selector::from_value(self.at(path)) {
            Err(_) => "<error>".to_owned(),
            Ok(selector) => or_none(selector.to_string()),
        }
    }

    /// A map of labels as text.
    pub(super) fn labels(&self, path: &str) -> String {
        let pairs = self.at(path).as_object().into_iter().flatten();
        let pairs = pairs.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or("")));
        or_none(join(pairs))
    }

    /// Whether a condition of this type has the status `True`.
    pub(super) fn has_condition(&self, kind: &str) -> bool {
        self.list("status.conditions")
            .iter()
            .any(|condition| condition["type"] == kind && condition["status"] == "True")
    }

    /// Names and images of the containers in a pod spec.
    pub(super) fn containers(&self, pod_spec: &str) -> [Value; 2] {
        let containers = list(self.at(pod_spec), "containers");
        ["name", "image"].map(|key| join(containers.iter().map(|c| text(c, key))).into())
    }
}

pub(super) fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.')
        .fold(value, |value, key| value.get(key).unwrap_or(&Value::Null))
}

pub(super) fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    at(value, path).as_str().unwrap_or_default()
}

pub(super) fn list<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    at(value, path).as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn join<T: AsRef<str>>(parts: impl IntoIterator<Item = T>) -> String {
    let mut out = String::new();
    for (at, part) in parts.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push_str(part.as_ref());
    }
    out
}

pub(super) fn or_none(text: String) -> String {
    if text.is_empty() {
        "<none>".to_owned()
    } else {
        text
    }
}

/// At most `max` parts, then how many more there are.
pub(super) fn shortened(parts: Vec<String>, max: usize) -> String {
    match parts.len() {
        n if n > max => format!("{} + {} more...", join(&parts[..max]), n - max),
        _ => join(parts),
    }
}

/// IP addresses or hostnames of a load balancer, sorted.
pub(super) fn load_balancer(status: &Value) -> String {
    let ingress = list(status, "loadBalancer.ingress").iter();
    let addresses: BTreeSet<&str> = ingress
        .map(|entry| match text(entry, "ip") {
            "" => text(entry, "hostname"),
            ip => ip,
        })
        .filter(|address| !address.is_empty())
        .collect();
    join(addresses)
}

/// `RWO,ROX,RWX,RWOP`: the short forms of the modes that are there.
pub(super) fn access_modes(modes: &[Value]) -> String {
    const SHORT: [(&str, &str); 4] = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let there = SHORT
        .iter()
        .filter(|(long, _)| modes.iter().any(|mode| mode == long));
    join(there.map(|(_, short)| short))
}

/// `True` or `False`, as Python would say.
pub(super) fn title_case(flag: bool) -> &'static str {
    if flag { "True" } else { "False" }
}

/// A number, percentage or quantity as text, `fallback` when absent.
pub(super) fn scalar(value: &Value, fallback: &str) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        _ => fallback.to_owned(),
    }
}

pub(super) fn since(time: &str, now: Timestamp) -> String {
    match time.parse::<Timestamp>() {
        Ok(then) => human_duration(now.duration_since(then)),
        Err(_) => "<unknown>".to_owned(),
    }
}

/// A duration at the precision people want: `45s`, `3m20s`, `5h`, `2d3h`, `400d`, `3y`.
///
/// Up to two seconds into the future counts as now; more is `<invalid>`.
///
/// Source: apimachinery `pkg/util/duration`, HumanDuration.
pub fn human_duration(duration: SignedDuration) -> String {
    let seconds = duration.as_secs();
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    // A big unit, and a small one unless that is zero.
    let two = |big: i64, big_unit: char, small: i64, small_unit: char| match small {
        0 => format!("{big}{big_unit}"),
        _ => format!("{big}{big_unit}{small}{small_unit}"),
    };
    match () {
        () if seconds < 120 => format!("{}s", seconds.max(0)),
        () if minutes < 10 => two(minutes, 'm', seconds % 60, 's'),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => two(hours, 'h', minutes % 60, 'm'),
        () if hours < 48 => format!("{hours}h"),
        () if hours < 192 => two(days, 'd', hours % 24, 'h'),
        () if days < 365 * 2 => format!("{days}d"),
        () if days < 365 * 8 => two(days / 365, 'y', days % 365, 'd'),
        () => format!("{}y", days / 365),
    }
}
