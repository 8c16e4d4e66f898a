//! Writes that change nothing but times.

use serde_json::Value;

/// Gives `new` the times of `live`'s entries when nothing else differs, so that no write is needed.
///
/// Says whether the two are equal then. To be called last, with `new` as it would be stored and
/// with the live resourceVersion.
pub fn revert_times(live: &Value, new: &mut Value) -> bool {
    if live == new {
        return true;
    }
    let entries = |object: &Value| object.pointer("/metadata/managedFields").cloned();
    let (Some(Value::Array(old)), Some(Value::Array(changed))) = (entries(live), entries(new))
    else {
        return false;
    };
    let only_times = old.len() == changed.len()
        && old.iter().zip(&changed).all(|(old, new)| {
            let rest = |entry: &Value| {
                let map = entry.as_object().into_iter().flatten();
                map.filter(|(key, _)| *key != "time")
                    .map(|(k, v)| (k.clone(), v.clone()))
                    .collect()
            };
            let (old, new): (Vec<_>, Vec<_>) = (rest(old), rest(new));
            old == new
        });
    if !only_times {
        return false;
    }
    let mut reverted = new.clone();
    if let Some(slot) = reverted.pointer_mut("/metadata/managedFields") {
        *slot = Value::Array(old);
    }
    let same = reverted == *live;
    if same {
        *new = reverted;
    }
    same
}
