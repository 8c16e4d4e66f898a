//! gzip of large replies, for clients that accept it.
//!
//! A reply is small until 128 KiB of it are there; small ones go as they are, because compressing
//! costs more than it saves. Large ones are compressed piece by piece while the client reads, so
//! that no list holds a thread for longer than one piece takes.
//!
//! Source: Kubernetes v1.35, apiserver `pkg/endpoints/handlers/responsewriters/writers.go`.

use std::{collections::VecDeque, io::Write};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use futures::stream;
use http::{HeaderMap, HeaderValue, Response, header};
use http_body_util::BodyExt;

use crate::{
    body::{self, Body, CHUNK_BYTES},
    call::header as text,
};

/// Larger replies are compressed, in bytes.
const SMALL_BYTES_MAX: usize = 128 << 10;
/// How hard: as upstream, for whom it gives most of the gain at a fraction of the time.
const LEVEL: u32 = 1;

/// Whether a client accepts gzip; upstream wants the word alone, without quality.
pub(crate) fn is_accepted(headers: &HeaderMap) -> bool {
    let encodings = text(headers, "accept-encoding").unwrap_or("");
    encodings.split(',').any(|word| word.trim() == "gzip")
}

/// A reply as it is when small, or compressed.
pub(crate) async fn large(response: Response<Body>) -> Response<Body> {
    let (mut parts, mut body) = response.into_parts();
    if parts.headers.contains_key(header::CONTENT_ENCODING) {
        return Response::from_parts(parts, body);
    }
    let (mut first, mut bytes) = (VecDeque::new(), 0);
    while bytes <= SMALL_BYTES_MAX {
        let Some(Ok(frame)) = body.frame().await else {
            return Response::from_parts(parts, whole(first));
        };
        if let Ok(data) = frame.into_data() {
            bytes += data.len();
            first.push_back(data);
        }
    }
    let gzip = HeaderValue::from_static("gzip");
    parts.headers.insert(header::CONTENT_ENCODING, gzip);
    let vary = HeaderValue::from_static("Accept-Encoding");
    parts.headers.append(header::VARY, vary);
    Response::from_parts(parts, packed(first, body))
}

fn whole(mut pieces: VecDeque<Bytes>) -> Body {
    if pieces.len() <= 1 {
        return body::full(pieces.pop_front().unwrap_or_default());
    }
    body::full(Vec::from(pieces).concat())
}

/// The compressed bytes of what was read already and of the rest.
fn packed(first: VecDeque<Bytes>, rest: Body) -> Body {
    let encoder = GzEncoder::new(Vec::new(), Compression::new(LEVEL));
    let chunks = stream::unfold(Some((encoder, first, rest)), |state| async move {
        let (mut encoder, mut pieces, mut rest) = state?;
        loop {
            let Some(mut piece) = pieces.pop_front() else {
                let Some(Ok(frame)) = rest.frame().await else {
                    let last = encoder.finish().unwrap_or_default();
                    return Some((Bytes::from(last), None));
                };
                pieces.extend(frame.into_data().ok());
                continue;
            };
            let later = piece.split_off(piece.len().min(CHUNK_BYTES));
            if !later.is_empty() {
                pieces.push_front(later);
            }
            // Writing to memory cannot fail.
            let _ = encoder.write_all(&piece);
            if encoder.get_ref().len() >= PACKED_BYTES_MIN {
                let out = std::mem::take(encoder.get_mut());
                return Some((Bytes::from(out), Some((encoder, pieces, rest))));
            }
            tokio::task::yield_now().await;
        }
    });
    body::stream(chunks)
}

/// Compressed bytes that are worth a frame.
const PACKED_BYTES_MIN: usize = 8 << 10;

#[cfg(test)]
mod tests;
