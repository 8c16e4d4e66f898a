//! POST of an eviction: deletes a pod unless its disruption budget forbids it.
//!
//! Source: Kubernetes v1.35, `pkg/registry/core/pod/storage/eviction.go`.

use std::sync::Arc;

use flotilla_machinery::{
    labels,
    status::{Cause, Details, Reason, Status},
};
use http::{Response, StatusCode};
use serde_json::{Value, json};

use super::delete::evict;
use crate::{
    body::Body,
    call::Call,
    decode, meta,
    params::DeleteOptions,
    registry::value_at,
    render,
    store::{CommitError, Draft, Expect, Object, Op, ResourceKey, State, Write},
    write,
};

/// POST of an eviction.
pub(crate) async fn eviction(call: &Call) -> Result<Response<Body>, Status> {
    let body = decode::untyped(&call.body, call.media()?)?;
    if meta::text(&body, "name") != call.info.name {
        let why = "name in URL does not match name in Eviction object";
        return Err(Status::bad_request(why));
    }
    let options = DeleteOptions::parse(&call.query, body.get("deleteOptions"))?;
    let object = call.state.get(&call.resource.storage, &call.key());
    let object = object.ok_or_else(|| call.not_found())?;
    let pod = render::value(&call.resource, object);
    let phase = value_at(&pod, "status.phase")
        .and_then(Value::as_str)
        .unwrap_or("");
    let exempt = matches!(phase, "Succeeded" | "Failed" | "Pending") || object.meta.deleting;
    if !exempt {
        take_disruption(call, object, options.dry_run).await?;
    }
    evict(call, &options).await?;
    let success = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "code": 201});
    Ok(render::made(call, StatusCode::CREATED, &success))
}

/// How often a budget is read anew when others evict at the same time.
const BUDGET_ATTEMPTS_MAX: usize = 8;

/// Takes one disruption from the budget of a pod, if it has one. The controller counts anew later.
async fn take_disruption(call: &Call, pod: &Object, dry_run: bool) -> Result<(), Status> {
    let resource = ResourceKey::new("policy", "poddisruptionbudgets");
    for _ in 0..BUDGET_ATTEMPTS_MAX {
        let state = call.engine.store.state();
        let Some((stored, mut budget)) = budget_of(&state, &resource, pod)? else {
            return Ok(());
        };
        check_allowed(&budget)?;
        if dry_run {
            return Ok(());
        }
        let status = &mut budget["status"];
        status["disruptionsAllowed"] =
            json!(status["disruptionsAllowed"].as_i64().unwrap_or(1) - 1);
        status["disruptedPods"][&*pod.key.name] = decode::shape::seconds(call.now).into();
        let draft = Draft::new(&budget, Vec::new()).map_err(Status::internal)?;
        let write = Write {
            resource: resource.clone(),
            key: stored.key.clone(),
            expect: Expect::Rev(stored.rev),
            op: Op::Put(draft),
        };
        match call.engine.store.commit(write).await {
            Ok(_) => return Ok(()),
            Err(CommitError::Conflict(_) | CommitError::Missing(_)) => {}
            Err(error) => return Err(write::commit_error(call, &stored.key.name, error)),
        }
    }
    let text = "Cannot evict pod as its disruption budget keeps changing.";
    Err(Status::too_many_requests(text, 1))
}

/// The one budget that selects a pod.
fn budget_of(
    state: &State,
    resource: &ResourceKey,
    pod: &Object,
) -> Result<Option<(Arc<Object>, Value)>, Status> {
    let Some(collection) = state.collection(resource) else {
        return Ok(None);
    };
    let mut matching = collection
        .list(Some(&pod.key.namespace), None)
        .filter_map(|object| {
            let budget: Value = serde_json::from_slice(&object.body).ok()?;
            let selector = labels::Selector::from_value(&budget["spec"]["selector"]).ok()?;
            let selects = selector.matches(|key| pod.meta.labels.get(key));
            selects.then(|| (object.clone(), budget))
        });
    let first = matching.next();
    if matching.next().is_some() {
        return Err(Status::internal(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does \
             not support.",
        ));
    }
    Ok(first)
}

fn check_allowed(budget: &Value) -> Result<(), Status> {
    let count = |name: &str| budget["status"][name].as_i64().unwrap_or(0);
    if count("disruptionsAllowed") > 0 {
        return Ok(());
    }
    let text = "Cannot evict pod as it would violate the pod's disruption budget.";
    let cause = Cause {
        reason: "DisruptionBudget".to_owned(),
        message: format!(
            "The disruption budget {} needs {} healthy pods and has {} currently",
            meta::text(budget, "name"),
            count("desiredHealthy"),
            count("currentHealthy"),
        ),
        field: String::new(),
    };
    let details = Details {
        causes: vec![cause],
        ..Details::default()
    };
    Err(Status::new(429, Reason::TooManyRequests, text).with_details(details))
}
