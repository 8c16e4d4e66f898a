//! Objects in the version a client asked for, when only a webhook can translate.
//!
//! Everything behind this module works with an [`Object`] whose body is in the version of the
//! request; [`views`] makes one of a stored object. It costs nothing for kinds without a webhook,
//! and one call for a batch of objects that nobody has asked for in this version before: answers are
//! kept in a [`Cache`]. A watch converts in its own task, so a slow webhook delays nobody else.
//!
//! Server-side apply compares objects in the versions of all their managers, deep inside pure code
//! that cannot wait. [`settled`] runs such code, gets what it found missing, and runs it again.

mod cache;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use flotilla_machinery::status::Status;
use serde_json::Value;

pub(crate) use self::cache::Cache;
use self::cache::Key;
use crate::{
    call::Call,
    engine::Engine,
    filter::Filter,
    registry::{Conversion, Resource},
    store::{Draft, Object, TypeOrder},
    versions,
};

/// Objects sent to a webhook at a time.
const BATCH_OBJECTS_MAX: usize = 500;
/// Bytes of their JSON, unless one object alone is larger.
const BATCH_BYTES_MAX: usize = 2 << 20;
/// How often code is run again for conversions it found missing: two for each version of a kind
/// with many, and a few more for pruning.
const ROUNDS_MAX: usize = 24;

/// Stored objects in the version of `resource`, in the same order.
///
/// # Errors
/// 500 when the webhook does not do its work.
pub(crate) async fn views(
    engine: &Engine,
    resource: &Resource,
    mut objects: Vec<Arc<Object>>,
) -> Result<Vec<Arc<Object>>, Status> {
    let Some(converter) = &resource.webhook else {
        return Ok(objects);
    };
    let desired = resource.api_version();
    let mut missing = Vec::new();
    for (at, object) in objects.iter_mut().enumerate() {
        if versions::stored_version(object) == desired {
            if versions::lacks_defaults(resource, object.rev) {
                *object = Arc::new(view_of(resource, object, versions::parse(object))?);
            }
            continue;
        }
        match engine.converted.get(&Key::new(resource, object)) {
            Some(view) => *object = view,
            None => missing.push(at),
        }
    }
    let mut rest = &missing[..];
    while !rest.is_empty() {
        let (batch, later) = rest.split_at(batch_len(&objects, rest));
        rest = later;
        let stored = batch.iter().map(|at| versions::parse(&objects[*at]));
        let stored: Vec<Value> = stored.collect();
        let converted = converter.convert(engine, &stored, &desired).await?;
        for (at, value) in batch.iter().zip(converted) {
            let view = Arc::new(view_of(resource, &objects[*at], value)?);
            let key = Key::new(resource, &objects[*at]);
            engine.converted.put(key, view.clone());
            objects[*at] = view;
        }
    }
    Ok(objects)
}

/// One stored object in the version of `resource`.
///
/// # Errors
/// 500 when the webhook does not do its work.
pub(crate) async fn view(
    engine: &Engine,
    resource: &Resource,
    object: &Arc<Object>,
) -> Result<Arc<Object>, Status> {
    if resource.webhook.is_none() {
        return Ok(object.clone());
    }
    let mut views = views(engine, resource, vec![object.clone()]).await?;
    Ok(views.pop().expect("as many views as objects"))
}

/// The first of these objects that a filter selects after their conversion: `limit` of them when it
/// selects everything, and otherwise one more if there is one, or a few.
///
/// # Errors
/// 500 when the webhook does not do its work.
pub(crate) async fn matching(
    call: &Call,
    filter: &Filter,
    candidates: &mut (impl Iterator<Item = Arc<Object>> + Send),
    limit: usize,
) -> Result<Vec<Arc<Object>>, Status> {
    let mut found = Vec::new();
    let enough = match filter.is_everything() {
        true => limit,
        false => limit.saturating_add(1),
    };
    while found.len() < enough {
        let most = match filter.is_everything() {
            true => BATCH_OBJECTS_MAX.min(enough - found.len()),
            false => BATCH_OBJECTS_MAX,
        };
        let batch: Vec<_> = candidates.take(most).collect();
        if batch.is_empty() {
            break;
        }
        let views = views(&call.engine, &call.resource, batch).await?;
        found.extend(views.into_iter().filter(|object| filter.matches(object)));
    }
    Ok(found)
}

/// An object of the call's version as it is stored.
///
/// # Errors
/// 500 when the webhook does not do its work.
pub(crate) async fn to_stored(call: &Call, object: &Value) -> Result<Value, Status> {
    let resource = &call.resource;
    let webhook = resource.webhook.as_ref();
    let Some(converter) = webhook.filter(|_| resource.conversion == Conversion::Webhook) else {
        return Ok(versions::to_stored(resource, object));
    };
    let objects = std::slice::from_ref(object);
    let desired = &resource.storage_api_version;
    let mut converted = converter.convert(&call.engine, objects, desired).await?;
    let mut stored = converted.pop().expect("as many objects as were sent");
    resource.strategy.write_stored(&mut stored);
    Ok(stored)
}

/// What `work` returns once it finds every conversion it looks for in the call's [`Memo`].
///
/// # Errors
/// 500 when the webhook does not do its work.
pub(crate) async fn settled<T>(call: &Call, mut work: impl FnMut() -> T) -> Result<T, Status> {
    let mut result = work();
    let Some(converter) = &call.resource.webhook else {
        return Ok(result);
    };
    for _ in 0..ROUNDS_MAX {
        let wanted = call.conversions.take_wanted();
        if wanted.is_empty() {
            return Ok(result);
        }
        for (desired, objects) in wanted {
            let converted = converter.convert(&call.engine, &objects, &desired).await?;
            call.conversions.learn(&desired, objects, converted);
        }
        result = work();
    }
    Ok(result)
}

/// How many of these objects, at least one, go into one request.
fn batch_len(objects: &[Arc<Object>], at: &[usize]) -> usize {
    let mut bytes = 0;
    let fits = at.iter().take(BATCH_OBJECTS_MAX).take_while(|at| {
        bytes += objects[**at].body.len();
        bytes <= BATCH_BYTES_MAX
    });
    fits.count().max(1)
}

/// An answer of the webhook as an object at the place and revision of the stored one.
fn view_of(resource: &Resource, stored: &Object, mut value: Value) -> Result<Object, Status> {
    resource.strategy.read_stored(&mut value);
    let fields = versions::selectable(resource, &value);
    let draft = Draft::in_order(TypeOrder::ByName, &value, fields).map_err(Status::internal)?;
    Ok(draft.object(stored.key.clone(), stored.rev, stored.create_rev))
}

/// Conversions that one request has needed so far, and those it needs next.
#[derive(Default)]
pub(crate) struct Memo(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// By version, from and to.
    done: HashMap<String, Vec<(Value, Value)>>,
    wanted: HashMap<String, Vec<Value>>,
}

impl Memo {
    /// `object` in `version`; when it is not known, it will be after the next round.
    pub(crate) fn find(&self, object: &Value, version: &str) -> Option<Value> {
        let mut known = self.lock();
        let done = known.done.get(version);
        let mut done = done.into_iter().flatten();
        if let Some((_, to)) = done.find(|(from, _)| from == object) {
            return Some(to.clone());
        }
        let wanted = known.wanted.entry(version.to_owned()).or_default();
        wanted.push(object.clone());
        None
    }

    fn take_wanted(&self) -> HashMap<String, Vec<Value>> {
        std::mem::take(&mut self.lock().wanted)
    }

    fn learn(&self, version: &str, from: Vec<Value>, to: Vec<Value>) {
        let mut known = self.lock();
        let done = known.done.entry(version.to_owned()).or_default();
        done.extend(from.into_iter().zip(to));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
