//! PATCH in its four kinds.
//!
//! A patch is applied to the live object and the result goes the way of an update. Server-side
//! apply differs: it may create the object, and settles field ownership itself.

use flotilla_machinery::{
    group::GroupKind,
    patch,
    status::{FieldError, Status},
};
use http::Response;
use serde_json::Value;

use super::modify::{Changed, Tracking, modify, respond};
use crate::{
    body::Body,
    call::Call,
    decode::{self, Parsed},
    managed, meta,
    negotiate::{self, Media, PatchKind},
    params::{FieldValidation, WriteOptions},
    registry::{Context, Resource},
};

/// PATCH of an object.
pub(crate) async fn patch(call: &Call) -> Result<Response<Body>, Status> {
    let kind = patch_kind(call)?;
    let options = WriteOptions::parse(&call.query, "PatchOptions")?;
    if kind == PatchKind::Apply {
        return apply(call, &options).await;
    }
    if options.force.is_some() {
        let why = "may not be specified for non-apply patch";
        let errors = vec![FieldError::forbidden("force", why)];
        let kind = GroupKind::new("meta.k8s.io", "PatchOptions");
        return Err(Status::invalid(&kind, "", errors));
    }
    let change = |_: &Context<'_>, live: Option<&Value>| {
        let live = live.ok_or_else(|| call.not_found())?;
        let parsed = read(&call.body, kind, options.field_validation)?;
        let mut object = patched(kind, live, &parsed.value, &call.resource)?;
        let refuse = |why: String| unfit(kind, &parsed.value, &object, why);
        let mut fit = object.clone();
        decode::check_kind(&mut fit, &call.resource, &call.body)?;
        let mut complaints = decode::duplicates(&parsed);
        complaints.extend(decode::shaped(&mut fit, &call.resource).map_err(|e| {
            refuse(match kind {
                PatchKind::Strategic => e.converted(),
                _ => e.to_string(),
            })
        })?);
        for text in decode::weigh(complaints, options.field_validation).map_err(refuse)? {
            call.warn(text);
        }
        object = fit;
        check_identity(&object, live)?;
        Ok(Changed {
            object,
            tracking: Tracking::Update,
        })
    };
    let outcome = modify(call, &options, &change).await?;
    respond(call, &outcome).await
}

/// Reads a patch in JSON.
///
/// # Errors
/// 400 when it is not what its kind takes. Upstream looks twice when it is to find unknown fields, and the first look words it
/// differently.
fn read(body: &[u8], kind: PatchKind, validation: FieldValidation) -> Result<Parsed, Status> {
    let lead = match (kind, validation) {
        (PatchKind::Strategic, _) | (_, FieldValidation::Ignore) => "",
        _ => "error decoding patch: ",
    };
    let refuse = |why: String| Status::bad_request(format!("{lead}{why}"));
    let parsed = decode::patch(body).map_err(|e| refuse(e.message))?;
    let misfit = |value: &Value, want: &str| {
        let found = patch::json::go_kind(value);
        refuse(format!(
            "json: cannot unmarshal {found} into Go value of type {want}"
        ))
    };
    match (kind, &parsed.value) {
        _ if lead.is_empty() && kind != PatchKind::Strategic => {}
        (_, Value::Null) => {}
        (PatchKind::Json, Value::Array(operations)) => {
            let wrong = operations.iter().find(|o| !o.is_object() && !o.is_null());
            if let Some(wrong) = wrong {
                return Err(misfit(wrong, "handlers.jsonPatchOp"));
            }
        }
        (PatchKind::Json, other) => return Err(misfit(other, "[]handlers.jsonPatchOp")),
        (_, Value::Object(_)) => {}
        (_, other) => return Err(misfit(other, "map[string]interface {}")),
    }
    Ok(parsed)
}

/// The refusal of a patch whose result is no object of the kind. It shows that result, or for a strategic merge what was left of
/// the patch after merging.
fn unfit(kind: PatchKind, patch: &Value, result: &Value, why: String) -> Status {
    let shown = match kind {
        PatchKind::Strategic => patch::strategic::unspent(patch),
        _ => result.to_string(),
    };
    let errors = vec![FieldError::invalid("patch", shown, why)];
    Status::invalid(&GroupKind::new("", ""), "", errors)
}

/// Kind of the request's patch.
///
/// # Errors
/// 415 for others, and for strategic merge on custom resources.
pub(crate) fn patch_kind(call: &Call) -> Result<PatchKind, Status> {
    negotiate::patch_type(call.header("content-type"), call.resource.custom.is_some())
}

/// `live` after a patch that is not an apply.
///
/// # Errors
/// 400, 413 or 422 in upstream's words, by the kind of patch.
pub(crate) fn patched(
    kind: PatchKind,
    live: &Value,
    patch: &Value,
    resource: &Resource,
) -> Result<Value, Status> {
    let live = live.clone();
    let shape = &resource.shape;
    match kind {
        PatchKind::Json => patch::json::apply(live, patch).map_err(Status::from),
        PatchKind::Merge => patch::merge::apply(live, patch.clone()).map_err(Status::from),
        PatchKind::Strategic => {
            patch::strategic::apply(live, patch.clone(), &shape.schema, shape.root)
                .map_err(Status::from)
        }
        PatchKind::Apply => Err(Status::internal("apply is not a plain patch")),
    }
}

async fn apply(call: &Call, options: &WriteOptions) -> Result<Response<Body>, Status> {
    if options.field_manager.is_empty() {
        return Err(managed::manager_required());
    }
    let parsed = decode::parse(&call.body, Media::Yaml)
        .map_err(|e| Status::bad_request(format!("error decoding YAML: {}", e.message)))?;
    let mut config = parsed.value.clone();
    check_applied(&config, &call.resource)?;
    managed::check(&config, &call.resource)?;
    let mut complaints = decode::duplicates(&parsed);
    complaints.extend(decode::conform(&mut config, &call.resource)?);
    for text in decode::judge(complaints, options.field_validation, &call.resource)? {
        call.warn(text);
    }
    meta::set_name(&mut config, &call.info.name)?;
    meta::set_namespace(&mut config.clone(), &call.resource, &call.info.namespace)?;
    let change = |cx: &Context<'_>, live: Option<&Value>| {
        if live.is_none() && !call.info.subresource.is_empty() {
            return Err(call.not_found());
        }
        let manager = &options.field_manager;
        let mut object = managed::apply(
            call,
            cx,
            live,
            &config,
            manager,
            options.force == Some(true),
        )?;
        meta::set_namespace(&mut object, &call.resource, &call.info.namespace)?;
        Ok(Changed {
            object,
            tracking: Tracking::Settled,
        })
    };
    let outcome = modify(call, options, &change).await?;
    respond(call, &outcome).await
}

/// An applied configuration says itself what it is.
fn check_applied(config: &Value, resource: &Resource) -> Result<(), Status> {
    let found = |name| config.get(name).and_then(Value::as_str).unwrap_or("");
    let (api_version, kind) = (found("apiVersion"), found("kind"));
    if api_version == resource.api_version() && kind == &*resource.kind {
        return Ok(());
    }
    let slash = if api_version.contains('/') { "" } else { "/" };
    Err(Status::bad_request(format!(
        "invalid object type: {slash}{api_version}, Kind={kind}"
    )))
}

/// A patch cannot turn an object into another one.
fn check_identity(new: &Value, live: &Value) -> Result<(), Status> {
    for name in ["name", "namespace"] {
        if meta::text(new, name) != meta::text(live, name) {
            return Err(Status::bad_request(format!(
                "the {name} of the object ({}) does not match the {name} on the URL ({})",
                meta::text(new, name),
                meta::text(live, name),
            )));
        }
    }
    Ok(())
}
