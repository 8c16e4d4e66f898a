//! Endpoints below an object that are not just another way to write it: scale and binding.

use flotilla_machinery::{
    group::GroupResource,
    labels,
    status::{FieldError, Reason, Status, aggregate},
};
use http::{Response, StatusCode};
use serde_json::{Value, json};

use super::{
    modify::{Changed, Outcome, Tracking, modify},
    patch::{patch_kind, patched},
};
use crate::{
    body::Body,
    call::Call,
    convert, decode, managed, meta,
    negotiate::{Media, PatchKind},
    params::WriteOptions,
    registry::{Context, Resource, value_at},
    render,
};

/// GET of a scale.
pub(crate) async fn get_scale(call: &Call) -> Result<Response<Body>, Status> {
    let object = call.state.get(&call.resource.storage, &call.key());
    let object = object.ok_or_else(|| call.not_found())?;
    let object = convert::view(&call.engine, &call.resource, object).await?;
    let scale = scale_of(&call.resource, &render::value(&call.resource, &object))?;
    Ok(render::made(call, StatusCode::OK, &scale))
}

/// PUT and PATCH of a scale.
pub(crate) async fn write_scale(call: &Call) -> Result<Response<Body>, Status> {
    let put = call.info.verb == "update";
    let kind = if put {
        PatchKind::Merge
    } else {
        scale_patch_kind(call)?
    };
    let media = if put { call.media()? } else { Media::Json };
    let media = if kind == PatchKind::Apply {
        Media::Yaml
    } else {
        media
    };
    let options = WriteOptions::parse(
        &call.query,
        if put { "UpdateOptions" } else { "PatchOptions" },
    )?;
    let body = decode::untyped(&call.body, media)?;
    let custom = call.resource.custom.as_ref();
    let scale = custom.and_then(|custom| custom.scale.as_ref());
    let replicas = scale.map_or(".spec.replicas", |scale| &*scale.spec_replicas);
    if kind == PatchKind::Apply && options.field_manager.is_empty() {
        return Err(managed::manager_required());
    }
    let change = |cx: &Context<'_>, live: Option<&Value>| {
        let live = live.ok_or_else(|| call.not_found())?;
        let before = scale_of(&call.resource, live)?;
        let after = match (put, kind) {
            (true, _) => body.clone(),
            // A scale has one desired field, so applying it is merging it.
            (false, PatchKind::Apply | PatchKind::Strategic) => {
                patched(PatchKind::Merge, &before, &body, &call.resource)?
            }
            (false, kind) => patched(kind, &before, &body, &call.resource)?,
        };
        let object = scaled(call, live, &after)?;
        if kind == PatchKind::Apply {
            return applied_scale(call, cx, live, &object, &options);
        }
        Ok(Changed {
            object,
            tracking: if is_owned(live, replicas) {
                Tracking::Update
            } else {
                Tracking::Settled
            },
        })
    };
    let Outcome { object, .. } = modify(call, &options, &change).await?;
    let object = convert::view(&call.engine, &call.resource, &object).await?;
    let scale = scale_of(&call.resource, &render::value(&call.resource, &object))?;
    Ok(render::made(call, StatusCode::OK, &scale))
}

/// The object after an apply of its scale, which is an apply of this one field: others may own it, and it belongs to whoever
/// applied it.
fn applied_scale(
    call: &Call,
    cx: &Context<'_>,
    live: &Value,
    scaled: &Value,
    options: &WriteOptions,
) -> Result<Changed, Status> {
    let path = paths(&call.resource).replicas;
    let mut config = json!({
        "apiVersion": call.resource.api_version(),
        "kind": *call.resource.kind,
        "metadata": {"name": meta::text(live, "name")},
    });
    if let Some(replicas) = value_at(scaled, &path) {
        set_at(&mut config, &path, replicas.clone());
    }
    let (manager, force) = (&options.field_manager, options.force == Some(true));
    let mut object = managed::apply(call, cx, Some(live), &config, manager, force)?;
    let version = meta::text(scaled, "resourceVersion");
    meta::fields_mut(&mut object).insert("resourceVersion".to_owned(), version.into());
    Ok(Changed {
        object,
        tracking: Tracking::Settled,
    })
}

/// Whether somebody owns the field. A scale whose field nobody owns has no managed fields, and what has none gets none by an
/// update.
fn is_owned(live: &Value, path: &str) -> bool {
    let owners = live
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array);
    owners.into_iter().flatten().any(|owner| {
        let names = path.split('.').filter(|name| !name.is_empty());
        names
            .map(|name| format!("f:{name}"))
            .try_fold(&owner["fieldsV1"], |at, name| at.get(name))
            .is_some()
    })
}

/// POST of a binding: gives a pod its node.
pub(crate) async fn bind(call: &Call) -> Result<Response<Body>, Status> {
    let options = WriteOptions::parse(&call.query, "CreateOptions")?;
    let body = decode::untyped(&call.body, call.media()?)?;
    let node = target(&body)?;
    let change = |cx: &Context<'_>, live: Option<&Value>| {
        let live = live.ok_or_else(|| call.not_found())?;
        // Upstream writes to its store directly, past whoever keeps the owners of fields.
        bound(cx, live, node, &body).map(|object| Changed {
            object,
            tracking: Tracking::Settled,
        })
    };
    modify(call, &options, &change).await?;
    let success = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "code": 201});
    Ok(render::made(call, StatusCode::CREATED, &success))
}

/// The node that a binding names.
///
/// # Errors
/// Upstream returns the bare list of mistakes, which its server takes for a failure of its own.
fn target(binding: &Value) -> Result<&str, Status> {
    let member = |path| {
        value_at(binding, path)
            .and_then(Value::as_str)
            .unwrap_or("")
    };
    let (kind, node) = (member("target.kind"), member("target.name"));
    let mut errors = Vec::new();
    if !matches!(kind, "" | "Node") {
        errors.push(FieldError::not_supported(
            "target.kind",
            kind,
            &["Node", "<empty>"],
        ));
    }
    if node.is_empty() {
        errors.push(FieldError::required("target.name", ""));
    }
    if errors.is_empty() {
        return Ok(node);
    }
    Err(Status::new(500, Reason::None, aggregate(&errors)))
}

fn scale_patch_kind(call: &Call) -> Result<PatchKind, Status> {
    match call.header("content-type") {
        // Scale itself is built in, also below a custom resource.
        Some(header) if header.starts_with("application/strategic-merge-patch+json") => {
            Ok(PatchKind::Strategic)
        }
        _ => patch_kind(call),
    }
}

struct Paths {
    replicas: String,
    current: String,
    selector: Option<String>,
}

fn paths(resource: &Resource) -> Paths {
    let plain = |path: &str| path.trim_start_matches('.').to_owned();
    match resource.custom.as_ref().and_then(|c| c.scale.as_ref()) {
        Some(scale) => Paths {
            replicas: plain(&scale.spec_replicas),
            current: plain(&scale.status_replicas),
            selector: scale.label_selector.as_deref().map(plain),
        },
        None => Paths {
            replicas: "spec.replicas".to_owned(),
            current: "status.replicas".to_owned(),
            selector: None,
        },
    }
}

fn scale_of(resource: &Resource, object: &Value) -> Result<Value, Status> {
    let paths = paths(resource);
    let count = |path: &str| value_at(object, path).and_then(Value::as_i64);
    let replicas = count(&paths.replicas);
    if replicas.is_none() && resource.custom.is_some() {
        let why = format!(
            "the spec replicas field \".{}\" does not exist",
            paths.replicas
        );
        return Err(Status::internal(why));
    }
    let mut metadata = json!({});
    for name in [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
    ] {
        if let Some(value) = object["metadata"].get(name) {
            metadata[name] = value.clone();
        }
    }
    let mut status = json!({"replicas": count(&paths.current).unwrap_or(0)});
    let selector = match &paths.selector {
        Some(path) => value_at(object, path)
            .and_then(Value::as_str)
            .unwrap_or("")
            .to_owned(),
        None => selector_text(object),
    };
    if !selector.is_empty() {
        status["selector"] = selector.into();
    }
    let mut spec = json!({});
    if let Some(replicas) = replicas.filter(|n| *n != 0) {
        spec["replicas"] = replicas.into();
    }
    Ok(json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }))
}

/// The pod selector as text: a LabelSelector object, or the plain map of replication controllers.
fn selector_text(object: &Value) -> String {
    let Some(selector) = value_at(object, "spec.selector") else {
        return String::new();
    };
    let structured =
        selector.get("matchLabels").is_some() || selector.get("matchExpressions").is_some();
    match (structured, selector.as_object()) {
        (false, Some(plain)) => labels::Selector::from_labels(plain).to_string(),
        _ => labels::Selector::from_value(selector).map_or(String::new(), |s| s.to_string()),
    }
}

fn scaled(call: &Call, live: &Value, scale: &Value) -> Result<Value, Status> {
    let name = meta::text(live, "name");
    if !matches!(meta::text(scale, "name"), "") && meta::text(scale, "name") != name {
        return Err(Status::bad_request(format!(
            "the name of the object ({}) does not match the name on the URL ({name})",
            meta::text(scale, "name")
        )));
    }
    let path = paths(&call.resource).replicas;
    let replicas = value_at(scale, "spec.replicas");
    let replicas = match replicas {
        None | Some(Value::Null) => 0,
        Some(value) => value.as_i64().ok_or_else(|| {
            Status::bad_request(
                "json: cannot unmarshal into Go struct field ScaleSpec.spec.replicas of type int32",
            )
        })?,
    };
    if replicas < 0 {
        if call.resource.custom.is_some() {
            let why = "should be a non-negative integer";
            let errors = vec![FieldError::invalid(format!(".{path}"), replicas, why)];
            return Err(Status::invalid(&call.group_kind(), name, errors));
        }
        let why = "must be greater than or equal to 0";
        let errors = vec![FieldError::invalid("spec.replicas", replicas, why)];
        let kind = flotilla_machinery::group::GroupKind::new("autoscaling", "Scale");
        return Err(Status::invalid(&kind, name, errors));
    }
    let mut object = live.clone();
    set_at(&mut object, &path, replicas.into());
    let version = meta::text(scale, "resourceVersion");
    let metadata = meta::fields_mut(&mut object);
    if version.is_empty() {
        metadata.remove("resourceVersion");
    } else {
        metadata.insert("resourceVersion".to_owned(), version.into());
    }
    Ok(object)
}

fn set_at(object: &mut Value, path: &str, value: Value) {
    let mut at = object;
    for name in path.split('.') {
        if !at.is_object() {
            *at = json!({});
        }
        at = &mut at[name];
    }
    *at = value;
}

fn bound(cx: &Context<'_>, live: &Value, node: &str, binding: &Value) -> Result<Value, Status> {
    let name = meta::text(live, "name");
    let current = value_at(live, "spec.nodeName")
        .and_then(Value::as_str)
        .unwrap_or("");
    let resource = GroupResource::new("", "pods/binding");
    let refuse = |why: String| Status::conflict(&resource, name, why);
    if meta::is_deleting(live) {
        return Err(refuse(format!(
            "pod {name} is being deleted, cannot be assigned to a host"
        )));
    }
    if !current.is_empty() {
        return Err(refuse(format!(
            "pod {name} is already assigned to node {current:?}"
        )));
    }
    let mut object = live.clone();
    set_at(&mut object, "spec.nodeName", node.into());
    for kind in ["annotations", "labels"] {
        let added = binding
            .get("metadata")
            .and_then(|m| m.get(kind))
            .and_then(Value::as_object);
        for (key, value) in added.into_iter().flatten() {
            object["metadata"][kind][key] = value.clone();
        }
    }
    let now = decode::shape::seconds(cx.now);
    let condition = json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": now,
        "lastProbeTime": null});
    let conditions = &mut object["status"]["conditions"];
    let mut list = conditions.as_array().cloned().unwrap_or_default();
    list.retain(|c| c["type"] != "PodScheduled");
    list.push(condition);
    *conditions = list.into();
    Ok(object)
}
