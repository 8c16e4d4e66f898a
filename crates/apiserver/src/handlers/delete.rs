//! DELETE of one object and of collections.

use std::sync::Arc;

use flotilla_machinery::status::Status;
use http::{Response, StatusCode};
use serde_json::{Value, json};

use super::read::select;
use crate::{
    body::Body,
    call::Call,
    convert, decode,
    deletion::{self, Verdict},
    params::{DeleteOptions, ListOptions},
    render,
    store::{CommitError, Expect, Object, ObjectKey, Op, Write},
    versions, write,
};

/// How often a deletion is decided anew when the object keeps changing.
const ATTEMPTS_MAX: usize = 16;
/// Objects of a collection that are deleted at a time.
const COLLECTION_PARALLEL: usize = 16;

/// What came of a deletion.
enum Outcome {
    /// It is gone; this was its last state.
    Removed(Arc<Object>),
    /// It stays for its grace period or finalizers.
    Waiting(Arc<Object>),
}

/// DELETE of one object.
pub(crate) async fn delete(call: &Call) -> Result<Response<Body>, Status> {
    let options = options(call)?;
    let unsaid = options.propagation.is_none() && options.orphan_dependents.is_none();
    if unsaid && (&*call.resource.group, &*call.resource.plural) == ("batch", "jobs") {
        call.warn(
            "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set \
             propagationPolicy=Orphan to suppress this warning"
                .to_owned(),
        );
    }
    match remove(call, &call.key(), &options).await? {
        Outcome::Removed(object) if !call.resource.strategy.returns_deleted() => {
            let status =
                Status::deleted(&call.group_resource(), &object.key.name, &object.meta.uid);
            Ok(render::made(call, StatusCode::OK, &status.to_value()))
        }
        Outcome::Removed(object) | Outcome::Waiting(object) => {
            let view = convert::view(&call.engine, &call.resource, &object).await;
            // It is done, so a webhook that does not answer is no reason to report a failure.
            let Ok(view) = view else {
                let uid = &object.meta.uid;
                let status = Status::deleted(&call.group_resource(), &object.key.name, uid);
                return Ok(render::made(call, StatusCode::OK, &status.to_value()));
            };
            Ok(render::object(call, StatusCode::OK, &view))
        }
    }
}

/// DELETE of everything a list would show.
pub(crate) async fn delete_collection(call: &Call) -> Result<Response<Body>, Status> {
    let options = options(call)?;
    let selection = ListOptions::parse(&call.query, false)?;
    let page = select(call, &selection, false).await?;
    let mut last_seen: Vec<Arc<Object>> = Vec::new();
    for chunk in page.objects.chunks(COLLECTION_PARALLEL) {
        let removals = chunk
            .iter()
            .map(|object| remove(call, &object.key, &options));
        for (result, object) in futures::future::join_all(removals)
            .await
            .into_iter()
            .zip(chunk)
        {
            match result {
                Ok(Outcome::Waiting(last)) => last_seen.push(last),
                // What went is shown as it was listed.
                Ok(Outcome::Removed(_)) => last_seen.push(object.clone()),
                // Somebody else was faster, which is what was wanted.
                Err(status) if status.code() == 404 => last_seen.push(object.clone()),
                Err(status) => return Err(status),
            }
        }
    }
    let views = convert::views(&call.engine, &call.resource, last_seen).await;
    let Ok(views) = views else {
        let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {},
            "status": "Success"});
        return Ok(render::made(call, StatusCode::OK, &status));
    };
    let items = views.iter().map(|o| render::item(&call.resource, o));
    let items: Vec<Value> = items.collect();
    let list = json!({
        "kind": *call.resource.list_kind,
        "apiVersion": call.resource.api_version(),
        "metadata": page.metadata,
        "items": items,
    });
    Ok(render::made(call, StatusCode::OK, &list))
}

/// Deletes one object on behalf of an eviction.
///
/// # Errors
/// As DELETE.
pub(crate) async fn evict(call: &Call, options: &DeleteOptions) -> Result<(), Status> {
    remove(call, &call.key(), options).await.map(|_| ())
}

fn options(call: &Call) -> Result<DeleteOptions, Status> {
    let body = if call.body.is_empty() {
        None
    } else {
        Some(decode::untyped(&call.body, call.media()?)?)
    };
    if let Some(body) = &body {
        decode::check_options_kind(body)?;
    }
    DeleteOptions::parse(&call.query, body.as_ref())
}

async fn remove(call: &Call, key: &ObjectKey, options: &DeleteOptions) -> Result<Outcome, Status> {
    let resource = &call.resource.storage;
    let missing = || Status::not_found(&call.group_resource(), &key.name);
    for _ in 0..ATTEMPTS_MAX {
        let state = call.engine.store.state();
        let live = state.get(resource, key).cloned().ok_or_else(missing)?;
        let cx = call.context(&state, options.dry_run);
        // Deletion is a matter of metadata, so no webhook is asked.
        let as_stored = call.resource.webhook.is_some();
        let object = match as_stored {
            true => versions::parse(&live),
            false => render::value(&call.resource, &live),
        };
        let verdict = deletion::decide(&cx, &object, options)?;
        let op = match verdict {
            Verdict::Keep => return Ok(Outcome::Waiting(live)),
            Verdict::Remove if options.dry_run => return Ok(Outcome::Removed(live)),
            Verdict::Remove => Op::Delete,
            Verdict::Mark(ref marked) | Verdict::MarkAndRemove(ref marked) => {
                let draft = match as_stored {
                    true => write::draft_as_stored(marked, &live)?,
                    false => write::draft(call, marked).await?,
                };
                if options.dry_run {
                    let object = draft.object(key.clone(), live.rev, live.create_rev);
                    return Ok(Outcome::Waiting(Arc::new(object)));
                }
                Op::Put(draft)
            }
        };
        let removes = matches!(op, Op::Delete);
        let write = |expect: u64, op: Op| Write {
            resource: resource.clone(),
            key: key.clone(),
            expect: Expect::Rev(expect),
            op,
        };
        let mut done = call.engine.store.commit(write(live.rev, op)).await;
        if let (Ok(marked), Verdict::MarkAndRemove(_)) = (&done, &verdict) {
            let marked = marked.object.clone();
            let removal = write(marked.rev, Op::Delete);
            done = call.engine.store.commit(removal).await;
            if let Err(CommitError::Missing(_)) = done {
                // Somebody else took it out in between, which is what was wanted.
                return Ok(Outcome::Waiting(marked));
            }
        }
        match done {
            Ok(done) if removes => return Ok(Outcome::Removed(done.object)),
            Ok(done) => return Ok(Outcome::Waiting(done.object)),
            Err(CommitError::Conflict(_)) => {}
            Err(CommitError::Missing(_)) => return Err(missing()),
            Err(error) => return Err(write::commit_error(call, &key.name, error)),
        }
    }
    Err(Status::modified(&call.group_resource(), &key.name))
}
