//! One object in the different versions of its kind.

use serde_json::Value;

use crate::registry::{Conversion, Resource};

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

/// A stored object in `resource`'s version.
pub(crate) fn from_stored(resource: &Resource, mut stored: Value) -> Value {
    if resource.conversion != Conversion::None {
        stored["apiVersion"] = resource.api_version().into();
    }
    if resource.conversion == Conversion::Rewrite {
        resource.strategy.read_stored(&mut stored);
    }
    stored
}
