//! POST of what is not kept: reviews, which are questions with an answer, token requests, and the
//! old form of a binding.

use flotilla_machinery::{builtin::Lists, status::Status};
use http::{Response, StatusCode};
use ring::rand::SystemRandom;
use serde_json::{Value, json};

use super::subresource::bind;
use crate::{
    auth::{review, service_account},
    body::Body,
    call::Call,
    decode::{self, shape},
    managed, meta,
    params::WriteOptions,
    render,
};

/// POST to a collection that keeps nothing.
pub(crate) async fn create(call: &Call) -> Result<Response<Body>, Status> {
    if &*call.resource.plural == "bindings" {
        return bind(call).await;
    }
    let mut review = decoded(call)?;
    meta::set_namespace(&mut review, &call.resource, &call.info.namespace)?;
    let owners = owners(call, &mut review);
    let access = &call.engine.access;
    let who = &call.user;
    let mut answer = match &*call.resource.plural {
        "tokenreviews" => review::token(review, &call.engine.tokens, call.now)?,
        "selfsubjectreviews" => review::self_subject(review, who),
        "subjectaccessreviews" => review::subject_access(review, access)?,
        "localsubjectaccessreviews" => {
            review::local_subject_access(review, &call.info.namespace, access)?
        }
        "selfsubjectaccessreviews" => review::self_subject_access(review, who, access)?,
        "selfsubjectrulesreviews" => {
            review::self_subject_rules(review, |namespace| access.held(who, namespace))?
        }
        _ => return Err(Status::method_not_allowed(&call.group_resource(), "create")),
    };
    match &*call.resource.plural {
        "selfsubjectreviews" => {
            let now = shape::seconds(call.now);
            meta::fields_mut(&mut answer).insert("creationTimestamp".to_owned(), now.into());
        }
        "selfsubjectrulesreviews" => answer["spec"] = json!({}),
        _ => {
            meta::fields_mut(&mut answer).insert("managedFields".to_owned(), owners);
        }
    }
    call.resource.emit(&mut answer, Lists::Stored);
    Ok(render::made(call, StatusCode::CREATED, &answer))
}

/// Who wrote which fields of a review. They are kept aside, because a review has no metadata of its own.
fn owners(call: &Call, review: &mut Value) -> Value {
    let cx = call.context(&call.state, false);
    let manager = call.manager("");
    call.resource.emit(review, Lists::AsGiven);
    managed::track(call, &cx, review, None, &manager);
    let metadata = meta::fields_mut(review);
    metadata.remove("managedFields").unwrap_or_default()
}

const TOKEN_REQUEST: &str = "io.k8s.api.authentication.v1.TokenRequest";

/// POST of a token request for a service account.
pub(crate) fn token(call: &Call) -> Result<Response<Body>, Status> {
    let options = WriteOptions::parse(&call.query, "CreateOptions")?;
    let mut body = decode::untyped(&call.body, call.media()?)?;
    expect_token_request(&mut body)?;
    service_account::fill_request(&mut body);
    let manager = call.manager(&options.field_manager);
    managed::track_body(call, &mut body, TOKEN_REQUEST, &manager);
    let id = uuid::Uuid::new_v4().to_string();
    let request = service_account::Request {
        namespace: &call.info.namespace,
        name: &call.info.name,
        body,
        now: call.now,
        id: &id,
    };
    let random = SystemRandom::new();
    let answer = service_account::issue(&call.engine.issuer, &call.state, request, &random)?;
    Ok(render::made(call, StatusCode::CREATED, &answer))
}

/// Makes sure that the body of a token request is one; what it does not say is filled in.
fn expect_token_request(body: &mut Value) -> Result<(), Status> {
    let Some(members) = body.as_object_mut() else {
        return Err(Status::bad_request("the request body must be one object"));
    };
    for (name, want) in [
        ("apiVersion", "authentication.k8s.io/v1"),
        ("kind", "TokenRequest"),
    ] {
        let found = members.get(name).and_then(Value::as_str).unwrap_or("");
        if !found.is_empty() && found != want {
            return Err(Status::bad_request(format!(
                "the {name} in the data ({found}) does not match the expected one ({want})"
            )));
        }
        members.insert(name.to_owned(), want.into());
    }
    Ok(())
}

fn decoded(call: &Call) -> Result<Value, Status> {
    let options = WriteOptions::parse(&call.query, "CreateOptions")?;
    let decoded = decode::object(&call.body, call.media()?, &call.resource)?;
    for text in decode::judge(decoded.complaints, options.field_validation, &call.resource)? {
        call.warn(text);
    }
    Ok(decoded.object)
}
