//! Watches over WebSocket (RFC 6455), for clients that cannot read a stream of lines: browsers.
//!
//! One event is one text frame, in JSON. What the client sends is read and forgotten, except that a
//! ping is answered and a close ends the watch.
//!
//! Source: Kubernetes v1.35, apiserver `pkg/endpoints/handlers/watch.go`, `HandleWS`.

pub(crate) mod handshake;

use std::time::Duration;

use bytes::Bytes;
use futures::{Sink, SinkExt, Stream, StreamExt};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::time::timeout;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message, Utf8Bytes,
        protocol::{Role, WebSocketConfig},
    },
};
use tokio_util::sync::CancellationToken;

/// Longest message of a client; nothing it says matters.
const MESSAGE_BYTES_MAX: usize = 64 << 10;
/// How long a client may take to accept a frame.
const SEND: Duration = Duration::from_secs(60);

/// Sends the lines of `chunks` as frames until they end, the client leaves, or the server stops.
pub(crate) async fn run(
    upgrade: OnUpgrade,
    chunks: impl Stream<Item = Bytes> + Send,
    stop: CancellationToken,
) {
    let upgraded = match upgrade.await {
        Ok(upgraded) => upgraded,
        Err(error) => {
            tracing::debug!(%error, "A WebSocket was asked for and not opened");
            return;
        }
    };
    let config = WebSocketConfig::default()
        .max_message_size(Some(MESSAGE_BYTES_MAX))
        .max_frame_size(Some(MESSAGE_BYTES_MAX));
    let socket =
        WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config));
    let (mut to_client, mut from_client) = socket.await.split();
    let mut chunks = std::pin::pin!(chunks);
    let sending = async {
        while let Some(chunk) = chunks.next().await {
            for line in lines(&chunk) {
                match timeout(SEND, to_client.send(Message::Text(line))).await {
                    Ok(Ok(())) => {}
                    Ok(Err(_)) | Err(_) => return,
                }
            }
        }
        close(&mut to_client).await;
    };
    let reading = async {
        // Reading is what answers pings.
        while let Some(Ok(message)) = from_client.next().await {
            if matches!(message, Message::Close(_)) {
                return;
            }
        }
    };
    tokio::select! {
        () = sending => {}
        () = reading => {}
        // The watch ends too; this is for a client that does not take what it is sent.
        () = async { stop.cancelled().await; tokio::time::sleep(CLOSING).await } => {}
    }
}

/// How long a stopping server waits for the client to take the last frames.
const CLOSING: Duration = Duration::from_secs(1);

async fn close(to_client: &mut (impl Sink<Message> + Unpin)) {
    // The client may be gone, which is as good.
    let _ = timeout(CLOSING, to_client.send(Message::Close(None))).await;
}

/// The lines of a chunk, each with its end; no copies.
fn lines(chunk: &Bytes) -> impl Iterator<Item = Utf8Bytes> {
    let mut rest = chunk.clone();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.iter().position(|b| *b == b'\n');
        let line = rest.split_to(end.map_or(rest.len(), |at| at + 1));
        // What is not text would be a mistake of ours; an empty frame is better than none.
        Some(Utf8Bytes::try_from(line).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests;
