//! POST to a collection.

use std::sync::Arc;

use flotilla_machinery::status::Status;
use http::{Response, StatusCode};
use serde_json::Value;

use crate::{
    body::Body,
    call::Call,
    convert, decode, meta,
    params::WriteOptions,
    render,
    store::{CommitError, Expect, Object, Op, Write},
    write::{self, Owner},
};

/// How often a taken generated name is replaced by another. Source: apiserver, since v1.32.
const NAMES_MAX: usize = 8;

/// POST of an object.
pub(crate) async fn create(call: &Call) -> Result<Response<Body>, Status> {
    let options = WriteOptions::parse(&call.query, "CreateOptions")?;
    let decoded = decode::object(&call.body, call.media()?, &call.resource)?;
    for text in decode::judge(decoded.complaints, options.field_validation, &call.resource)? {
        call.warn(text);
    }
    let manager = call.manager(&options.field_manager);
    let owner = Owner::Update(&manager);
    let object = store_new(call, decoded.object, owner, options.dry_run).await?;
    let object = convert::view(&call.engine, &call.resource, &object).await?;
    if options.dry_run {
        // It has no revision, because it was never stored.
        let mut value = render::value(&call.resource, &object);
        meta::fields_mut(&mut value).remove("resourceVersion");
        return Ok(render::made(call, StatusCode::CREATED, &value));
    }
    Ok(render::object(call, StatusCode::CREATED, &object))
}

/// Stores a decoded object that does not exist yet.
///
/// # Errors
/// 409 when it exists, 404 and 403 for its namespace, 422 when it is invalid.
pub(crate) async fn store_new(
    call: &Call,
    mut object: Value,
    owner: Owner<'_>,
    dry_run: bool,
) -> Result<Arc<Object>, Status> {
    meta::set_namespace(&mut object, &call.resource, &call.info.namespace)?;
    if !matches!(meta::text(&object, "resourceVersion"), "" | "0") {
        let why = "resourceVersion should not be set on objects to be created";
        return Err(Status::bad_request(why));
    }
    let state = call.engine.store.state();
    write::check_namespace(call, &state, meta::text(&object, "name"))?;
    let generated = meta::text(&object, "name").is_empty();
    let mut last = String::new();
    for _ in 0..if generated { NAMES_MAX } else { 1 } {
        let mut attempt = object.clone();
        write::name_new(call, &mut attempt, call.engine.entropy())?;
        last = meta::text(&attempt, "name").to_owned();
        match attempt_new(call, attempt, owner, dry_run).await? {
            Some(object) => return Ok(object),
            None if generated => {}
            None => return Err(Status::already_exists(&call.group_resource(), &last)),
        }
    }
    Err(Status::generate_name_conflict(
        &call.group_resource(),
        &last,
    ))
}

/// One attempt; `None` when the name is taken.
async fn attempt_new(
    call: &Call,
    object: Value,
    owner: Owner<'_>,
    dry_run: bool,
) -> Result<Option<Arc<Object>>, Status> {
    let name = meta::text(&object, "name").to_owned();
    let key = call.key_of(&name);
    let _turn = call.engine.turn(&call.resource).await;
    let state = call.engine.store.state();
    let taken = state.get(&call.resource.storage, &key).is_some();
    if taken {
        // Said before validation spends anything; the commit would find it too.
        return Ok(None);
    }
    let cx = call.context(&state, dry_run);
    // Only what waits for a webhook is done more than once.
    let replays = call.resource.webhook.is_some();
    let mut given = Some(object);
    let prepare = || {
        let object = if replays { given.clone() } else { given.take() };
        let mut object = object.unwrap_or_default();
        write::prepare_create(call, &cx, &mut object, owner).map(|()| object)
    };
    let object = convert::settled(call, prepare).await??;
    let draft = write::draft(call, &object).await?;
    if dry_run {
        return Ok(Some(Arc::new(draft.object(key, 0, 0))));
    }
    let write = Write {
        resource: call.resource.storage.clone(),
        key,
        expect: Expect::Absent,
        op: Op::Put(draft),
    };
    match call.engine.store.commit(write).await {
        Ok(committed) => Ok(Some(committed.object)),
        Err(CommitError::Exists(_)) => Ok(None),
        Err(error) => Err(write::commit_error(call, &name, error)),
    }
}
