//! Requests that the server sends to itself, for the tasks that run beside it.

use bytes::Bytes;
use flotilla_machinery::status::{Reason, Status};
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tower::Service as _;

use crate::{access::Identity, service::Service};

/// Whom the server is when it acts by itself.
pub(crate) const SERVER: &str = "system:apiserver";

/// The user agent of errands, and so the manager of the fields they set.
const AGENT: &str = "kube-apiserver";

/// Sends a request in the name of `who`, with all rights; a body that is null is not sent.
///
/// # Errors
/// What the server refuses, with code, reason and message.
pub(crate) async fn send(
    service: &Service,
    who: &str,
    request: http::request::Builder,
    body: &Value,
) -> Result<(), Status> {
    let body = match body {
        Value::Null => Bytes::new(),
        body => body.to_string().into(),
    };
    let request = request
        .header(http::header::USER_AGENT, AGENT)
        .extension(Identity::internal(who))
        .body(Full::new(body))
        .map_err(Status::internal)?;
    let response = match service.clone().call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    };
    let code = response.status();
    if code.is_success() {
        return Ok(());
    }
    let bytes = match response.into_body().collect().await {
        Ok(body) => body.to_bytes(),
        Err(never) => match never {},
    };
    let answer: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let reason = match answer["reason"].as_str() {
        Some("AlreadyExists") => Reason::AlreadyExists,
        other => Reason::Other(other.unwrap_or("").to_owned()),
    };
    let message = answer["message"].as_str().unwrap_or("no answer");
    Err(Status::new(code.as_u16(), reason, message))
}
