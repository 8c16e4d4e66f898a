//! Which manager owns which fields: the bookkeeping of `metadata.managedFields` for each write.

use std::sync::Arc;

use flotilla_machinery::{
    apply::{self, Shape, Versions},
    builtin::{self, Lists},
    fieldpath::{Path, PathElement, Set},
    group::{GroupKind, split_api_version},
    status::{FieldError, Status},
};
use serde_json::{Map, Value};

use crate::{
    call::Call,
    convert,
    decode::shape,
    registry::{Context, Registry, Resource},
    versions,
};

/// Writes down what a write that is not an apply changes. `old` is absent on creation.
pub(crate) fn track(
    call: &Call,
    cx: &Context<'_>,
    new: &mut Value,
    old: Option<&Value>,
    manager: &str,
) {
    let tracked = with_context(call, cx, manager, false, |ctx| match old {
        Some(_) => apply::track_update(old, std::mem::take(new), ctx),
        None => {
            let mut blank = Value::Object(Map::new());
            cx.resource.emit(&mut blank, Lists::AsGiven);
            apply::track_creation(&blank, std::mem::take(new), ctx)
        }
    });
    *new = tracked;
    untime_scale(cx, new);
}

/// Entries made through the scale endpoint have no time: upstream looks it up among the managers of the Scale object's parent, where
/// they are new.
fn untime_scale(cx: &Context<'_>, object: &mut Value) {
    if cx.subresource != "scale" {
        return;
    }
    let entries = object.pointer_mut("/metadata/managedFields");
    let entries = entries.and_then(Value::as_array_mut).into_iter().flatten();
    for entry in entries.filter_map(Value::as_object_mut) {
        if entry.get("subresource").is_some_and(|name| name == "scale") {
            entry.remove("time");
        }
    }
}

/// Writes down who wrote the fields of a body whose kind is not that of the object it is sent to: `type_name` in the schema of
/// built-in kinds, with its `apiVersion` and `kind` said.
pub(crate) fn track_body(call: &Call, body: &mut Value, type_name: &str, manager: &str) {
    let schema = builtin::schema();
    let Some(root) = schema.find(type_name) else {
        return;
    };
    let [api_version, kind] =
        ["apiVersion", "kind"].map(|name| body[name].as_str().unwrap_or_default().to_owned());
    let context = apply::Context {
        shape: Shape { schema, root },
        api_version: &api_version,
        kind: &kind,
        manager,
        subresource: &call.info.subresource,
        force: false,
        now: &shape::seconds(call.now),
        reset_fields: &Set::default(),
        versions: None,
    };
    let mut blank = Value::Object(Map::new());
    builtin::emit(&mut blank, schema, root, Lists::AsGiven);
    *body = apply::track_creation(&blank, std::mem::take(body), &context);
}

/// An object made by server-side apply of `config` to `live`, with its managed fields.
///
/// # Errors
/// 409 when other managers own what would change, unless `force` is set; 400 for configurations
/// that carry managed fields themselves.
pub(crate) fn apply(
    call: &Call,
    cx: &Context<'_>,
    live: Option<&Value>,
    config: &Value,
    manager: &str,
    force: bool,
) -> Result<Value, Status> {
    let applied = with_context(call, cx, manager, force, |ctx| {
        apply::apply(live.cloned(), config, ctx)
    });
    let mut object = applied?.object;
    untime_scale(cx, &mut object);
    Ok(object)
}

/// Makes sure that an applied configuration has the fields and types of its kind, before anything is done to it.
///
/// # Errors
/// 500 with all that is wrong, as upstream has it.
pub(crate) fn check(config: &Value, resource: &Resource) -> Result<(), Status> {
    apply::check(
        config,
        shape_of(resource),
        &resource.api_version(),
        &resource.kind,
    )
    .map_err(Status::from)
}

/// Apply without `fieldManager`.
pub(crate) fn manager_required() -> Status {
    let kind = GroupKind::new("meta.k8s.io", "PatchOptions");
    let why = "is required for apply patch";
    Status::invalid(&kind, "", vec![FieldError::required("fieldManager", why)])
}

/// Whether two lists of managed fields differ in nothing but their times.
pub(crate) fn same(new: &Value, old: &Value) -> bool {
    let strip = |list: &Value| -> Vec<Value> {
        let entries = list.as_array().into_iter().flatten().cloned();
        let stripped = entries.map(|mut entry| {
            if let Some(members) = entry.as_object_mut() {
                members.remove("time");
            }
            entry
        });
        stripped.collect()
    };
    new == old || strip(new) == strip(old)
}

fn with_context<T>(
    call: &Call,
    cx: &Context<'_>,
    manager: &str,
    force: bool,
    work: impl FnOnce(&apply::Context<'_>) -> T,
) -> T {
    let resource = cx.resource;
    let reset = resource.strategy.reset_fields(cx).into_iter().map(|path| {
        Path(
            path.into_iter()
                .map(|name| PathElement::Field(name.into()))
                .collect(),
        )
    });
    let others = Others {
        registry: &call.registry,
        resource,
        memo: &call.conversions,
    };
    let several = call
        .registry
        .rows()
        .iter()
        .filter(|r| others.shares(r))
        .count()
        > 1;
    work(&apply::Context {
        shape: shape_of(resource),
        api_version: &resource.api_version(),
        kind: &resource.kind,
        manager,
        subresource: cx.subresource,
        force,
        now: &shape::seconds(cx.now),
        reset_fields: &Set::from_paths(reset),
        versions: several.then_some(&others),
    })
}

fn shape_of(resource: &Resource) -> Shape<'_> {
    Shape {
        schema: &resource.shape.schema,
        root: resource.shape.root,
    }
}

/// The other versions of a kind, as the registry has them.
struct Others<'a> {
    registry: &'a Registry,
    resource: &'a Resource,
    memo: &'a convert::Memo,
}

/// Stops work that will be done again when the webhook has answered.
const NOT_YET: &str = "waiting for the conversion webhook";

impl<'a> Others<'a> {
    fn shares(&self, row: &Resource) -> bool {
        row.storage == self.resource.storage && row.kind == self.resource.kind
    }

    fn row(&self, api_version: &str) -> Option<&'a Arc<Resource>> {
        let (group, version) = split_api_version(api_version)?;
        self.registry
            .kind(group, version, &self.resource.kind)
            .filter(|row| self.shares(row))
    }
}

impl Versions for Others<'_> {
    fn shape(&self, api_version: &str) -> Option<Shape<'_>> {
        self.row(api_version).map(|row| shape_of(row))
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Option<Value>, String> {
        let from = object
            .get("apiVersion")
            .and_then(Value::as_str)
            .unwrap_or("");
        let Some((from, to)) = self.row(from).zip(self.row(api_version)) else {
            return Ok(None);
        };
        if self.resource.webhook.is_none() || Arc::ptr_eq(from, to) {
            let stored = versions::to_stored(from, object);
            return Ok(Some(versions::from_stored(to, stored)));
        }
        if object.get("metadata").is_none() {
            // Nothing but its type, as before a creation: no webhook is needed for that.
            let mut renamed = object.clone();
            renamed["apiVersion"] = api_version.into();
            return Ok(Some(renamed));
        }
        let mut known = self.memo.find(object, api_version).ok_or(NOT_YET)?;
        to.strategy.read_stored(&mut known);
        Ok(Some(known))
    }
}
