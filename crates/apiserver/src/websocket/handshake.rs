//! The opening handshake of a WebSocket, and the bearer token that browsers hide in it.
//!
//! A browser cannot set the Authorization header of a WebSocket, so the token comes as one of the
//! subprotocols. It is not repeated in the answer.
//!
//! Source: RFC 6455 §4.2; Kubernetes v1.35, apiserver `pkg/authentication/request/websocket`.

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use flotilla_machinery::status::Status;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};

use crate::{
    body::{self, Body},
    call::header as text,
};

/// What the key of the client is hashed with. Source: RFC 6455 §1.3.
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The subprotocol that is a bearer token, up to the token.
const TOKEN: &str = "base64url.bearer.authorization.k8s.io.";

/// A token subprotocol that cannot be used: not base64url, or the only subprotocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadToken;

/// Whether a request asks for a WebSocket.
pub(crate) fn is_asked(headers: &HeaderMap) -> bool {
    let upgrade = text(headers, "upgrade").unwrap_or("");
    let connection = text(headers, "connection").unwrap_or("");
    upgrade.eq_ignore_ascii_case("websocket")
        && words(connection).any(|word| word.eq_ignore_ascii_case("upgrade"))
}

/// The bearer token among the subprotocols.
///
/// # Errors
/// When it cannot be used.
pub(crate) fn token(headers: &HeaderMap) -> Result<Option<String>, BadToken> {
    let protocols = text(headers, "sec-websocket-protocol").unwrap_or("");
    let Some(encoded) = words(protocols).find_map(|p| p.strip_prefix(TOKEN)) else {
        return Ok(None);
    };
    if protocol(headers).is_none() {
        return Err(BadToken);
    }
    let token = URL_SAFE_NO_PAD.decode(encoded).map_err(|_| BadToken)?;
    String::from_utf8(token).map(Some).map_err(|_| BadToken)
}

/// The response that opens the WebSocket.
///
/// # Errors
/// 400 for handshakes of other versions and without a key.
pub(crate) fn accept(headers: &HeaderMap) -> Result<Response<Body>, Status> {
    if text(headers, "sec-websocket-version") != Some("13") {
        return Err(Status::bad_request("missing or bad WebSocket Version"));
    }
    let key = text(headers, "sec-websocket-key").filter(|key| !key.is_empty());
    let key = key.ok_or_else(|| Status::bad_request("missing or bad Sec-WebSocket-Key"))?;
    let digest = ring::digest::digest(
        &ring::digest::SHA1_FOR_LEGACY_USE_ONLY,
        format!("{key}{GUID}").as_bytes(),
    );
    let mut response = Response::new(body::full(""));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let out = response.headers_mut();
    out.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    out.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    let accepted = HeaderValue::from_str(&STANDARD.encode(digest));
    out.insert(
        header::SEC_WEBSOCKET_ACCEPT,
        accepted.expect("base64 is ASCII"),
    );
    if let Some(protocol) = protocol(headers).and_then(|p| HeaderValue::from_str(p).ok()) {
        out.insert(header::SEC_WEBSOCKET_PROTOCOL, protocol);
    }
    Ok(response)
}

/// The first subprotocol that is not a token.
fn protocol(headers: &HeaderMap) -> Option<&str> {
    let protocols = text(headers, "sec-websocket-protocol").unwrap_or("");
    words(protocols).find(|p| !p.starts_with(TOKEN))
}

fn words(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|w| !w.is_empty())
}
