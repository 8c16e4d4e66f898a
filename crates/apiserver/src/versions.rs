//! One object in the different versions of its kind.
//!
//! A stored object is usually in the storage version of its kind; one that was written before the
//! storage version changed is still in the older one.

use serde_json::Value;

use crate::{
    registry::{Conversion, Resource},
    store::Object,
};

/// An object of `resource`'s version as it is stored.
pub(crate) fn to_stored(resource: &Resource, object: &Value) -> Value {
    let mut stored = object.clone();
    if resource.conversion != Conversion::None {
        stored["apiVersion"] = (*resource.storage_api_version).into();
    }
    if resource.conversion == Conversion::Rewrite {
        resource.strategy.write_stored(&mut stored);
    }
    stored
}

/// A stored object in `resource`'s version. Where a webhook converts, it has done so before.
pub(crate) fn from_stored(resource: &Resource, mut stored: Value) -> Value {
    let rev = stored.pointer("/metadata/resourceVersion");
    let rev = rev.and_then(|rev| rev.as_str()?.parse().ok());
    let outdated = resource.custom.is_some()
        && resource.webhook.is_none()
        && (stored["apiVersion"] != *resource.storage_api_version
            || rev.is_some_and(|rev| lacks_defaults(resource, rev)));
    if resource.conversion != Conversion::None || outdated {
        stored["apiVersion"] = resource.api_version().into();
    }
    if resource.conversion == Conversion::Rewrite || outdated {
        resource.strategy.read_stored(&mut stored);
    }
    stored
}

/// Whether the stored bytes can be shown as they are: in the storage version of their kind, and with
/// the defaults of its schema. Always, for built-in kinds.
pub(crate) fn is_current(resource: &Resource, object: &Object) -> bool {
    resource.custom.is_none()
        || resource.webhook.is_some()
        || (stored_version(object) == &*resource.storage_api_version
            && !lacks_defaults(resource, object.rev))
}

/// Whether an object written at this revision may lack defaults that its schema has now.
pub(crate) fn lacks_defaults(resource: &Resource, rev: u64) -> bool {
    resource.defaults.is_some_and(|d| rev < d.since_rev)
}

/// `apiVersion` of a stored object, read from the bytes.
pub(crate) fn stored_version(object: &Object) -> &str {
    const NAME: &str = "\"apiVersion\":\"";
    let head = std::str::from_utf8(&object.body[..object.prefix_len as usize]);
    let rest = head.unwrap_or("").split_once(NAME);
    rest.and_then(|(_, rest)| rest.split('"').next())
        .unwrap_or("")
}

/// A stored object parsed, in the version it is stored in.
pub(crate) fn parse(object: &Object) -> Value {
    // What is stored was serialised by us; a damaged byte would have failed the store's checks.
    serde_json::from_slice(&object.body).unwrap_or_default()
}

/// Values of the fields that selectors of this version may use.
pub(crate) fn selectable(resource: &Resource, object: &Value) -> Vec<(String, String)> {
    let fields = resource.strategy.selectable_fields().iter();
    let value = |field| resource.strategy.selectable_value(object, field);
    fields
        .map(|field| (field.label.to_string(), value(field)))
        .collect()
}
