//! Response bodies: whole ones, and streams that produce bytes only as fast as the client reads.

use std::convert::Infallible;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};

/// Body of every response.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// How many bytes a stream gathers before it hands them on.
pub const CHUNK_BYTES: usize = 64 << 10;

/// A body that is already there.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).boxed_unsync()
}

/// A body that is made while it is read.
pub fn stream(chunks: impl Stream<Item = Bytes> + Send + 'static) -> Body {
    StreamBody::new(chunks.map(|chunk| Ok(Frame::data(chunk)))).boxed_unsync()
}
