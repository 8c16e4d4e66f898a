//! Changing one object: PUT, and the loop that PUT, PATCH and subresources share.
//!
//! A change is a function from the live object to the new one. When somebody else was faster it is
//! made again from the newer object; whether that may succeed is decided by the resourceVersion in
//! the result, which PUT takes from the client and patches usually from the live object.

use std::sync::Arc;

use flotilla_machinery::status::Status;
use http::{Response, StatusCode};
use serde_json::Value;

use super::create::store_new;
use crate::{
    body::Body,
    call::Call,
    convert, decode, meta,
    params::WriteOptions,
    registry::Context,
    render,
    store::{CommitError, Expect, Object, Op, State, Write},
    write::{self, Owner},
};

/// How often a change is made anew before the client is told about the conflict.
const ATTEMPTS_MAX: usize = 16;

/// What a change makes of the live object.
pub(crate) struct Changed {
    /// The whole object as the client wants it.
    pub(crate) object: Value,
    /// Whether it stays for this call to write down who owns what; apply has done so already.
    pub(crate) tracking: Tracking,
}

/// Who writes down the ownership of changed fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tracking {
    /// The update.
    Update,
    /// The change itself did.
    Settled,
}

/// A change of one object; `None` when it does not exist.
pub(crate) type Change<'a> =
    dyn Fn(&Context<'_>, Option<&Value>) -> Result<Changed, Status> + Sync + 'a;

impl Tracking {
    fn owner(self, manager: &str) -> Owner<'_> {
        match self {
            Self::Update => Owner::Update(manager),
            Self::Settled => Owner::Settled,
        }
    }
}

/// What came of a change.
pub(crate) struct Outcome {
    /// The object as stored, or as it was when it went.
    pub(crate) object: Arc<Object>,
    /// Whether it did not exist before.
    pub(crate) created: bool,
}

/// PUT of an object.
pub(crate) async fn update(call: &Call) -> Result<Response<Body>, Status> {
    let options = WriteOptions::parse(&call.query, "UpdateOptions")?;
    let decoded = decode::object(&call.body, call.media()?, &call.resource)?;
    for text in decode::judge(decoded.complaints, options.field_validation, &call.resource)? {
        call.warn(text);
    }
    let mut object = decoded.object;
    meta::set_namespace(&mut object, &call.resource, &call.info.namespace)?;
    meta::set_name(&mut object, &call.info.name)?;
    let may_create =
        call.resource.strategy.allows_create_on_update() && call.info.subresource.is_empty();
    let change = move |_: &Context<'_>, live: Option<&Value>| {
        if live.is_none() && !may_create {
            return Err(call.not_found());
        }
        Ok(Changed {
            object: object.clone(),
            tracking: Tracking::Update,
        })
    };
    let outcome = modify(call, &options, &change).await?;
    respond(call, &outcome).await
}

/// Shows what came of a change.
///
/// # Errors
/// 500 when a webhook cannot translate it; it is stored nevertheless.
pub(crate) async fn respond(call: &Call, outcome: &Outcome) -> Result<Response<Body>, Status> {
    let code = if outcome.created {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    let object = convert::view(&call.engine, &call.resource, &outcome.object).await?;
    Ok(render::object(call, code, &object))
}

/// Makes a change until it is stored or refused.
///
/// # Errors
/// 409 when others kept being faster, or the change carries an older resourceVersion.
pub(crate) async fn modify(
    call: &Call,
    options: &WriteOptions,
    change: &Change<'_>,
) -> Result<Outcome, Status> {
    let manager = call.manager(&options.field_manager);
    for _ in 0..ATTEMPTS_MAX {
        let turn = call.engine.turn(&call.resource).await;
        let state = call.engine.store.state();
        let Some(live) = state.get(&call.resource.storage, &call.key()).cloned() else {
            drop(turn);
            let cx = call.context(&state, options.dry_run);
            let changed = convert::settled(call, || change(&cx, None)).await??;
            let owner = changed.tracking.owner(&manager);
            let object = store_new(call, changed.object, owner, options.dry_run).await?;
            return Ok(Outcome {
                object,
                created: true,
            });
        };
        let outcome = attempt(call, &state, &live, options.dry_run, &manager, change).await?;
        if let Some(object) = outcome {
            return Ok(Outcome {
                object,
                created: false,
            });
        }
    }
    Err(Status::modified(&call.group_resource(), &call.info.name))
}

/// One attempt; `None` when somebody else was faster.
async fn attempt(
    call: &Call,
    state: &State,
    live: &Arc<Object>,
    dry_run: bool,
    manager: &str,
    change: &Change<'_>,
) -> Result<Option<Arc<Object>>, Status> {
    let cx = call.context(state, dry_run);
    let old = convert::view(&call.engine, &call.resource, live).await?;
    let old = render::value(&call.resource, &old);
    let prepare = || {
        let Changed {
            object: mut new,
            tracking,
        } = change(&cx, Some(&old))?;
        write::prepare_update(call, &cx, &mut new, &old, tracking.owner(manager))?;
        Ok::<_, Status>(new)
    };
    let new = convert::settled(call, prepare).await??;
    if write::is_noop(&new, &old) {
        return Ok(Some(live.clone()));
    }
    let is_over = write::is_over(&cx, &new, &old);
    let op = if is_over {
        Op::Delete
    } else {
        let draft = write::draft(call, &new).await?;
        if dry_run {
            let object = draft.object(live.key.clone(), live.rev, live.create_rev);
            return Ok(Some(Arc::new(object)));
        }
        Op::Put(draft)
    };
    if dry_run {
        return Ok(Some(live.clone()));
    }
    let write = Write {
        resource: call.resource.storage.clone(),
        key: live.key.clone(),
        expect: Expect::Rev(live.rev),
        op,
    };
    match call.engine.store.commit(write).await {
        Ok(_) if is_over => {
            // What went is shown as the update left it, with the revision it had.
            let draft = write::draft(call, &new).await?;
            let object = draft.object(live.key.clone(), live.rev, live.create_rev);
            Ok(Some(Arc::new(object)))
        }
        Ok(committed) => Ok(Some(committed.object)),
        Err(CommitError::Conflict(_)) => Ok(None),
        Err(error) => Err(write::commit_error(call, &live.key.name, error)),
    }
}
