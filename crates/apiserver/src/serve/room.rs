//! How much of a body is still on its way to the client.
//!
//! hyper takes pieces of a body before the client has room for them, up to sixteen. A watch that nobody reads would so hold
//! a hundred kilobytes that history holds anyway. What a [`Room`] lends counts until the connection has let go of it, and
//! the next piece is not asked for meanwhile. Only a connection may wait so: whoever reads a body in process may keep
//! its pieces.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::task::AtomicWaker;

/// Counts the bytes of one body that are under way. One task at a time may wait for it.
#[derive(Debug, Default)]
pub(super) struct Room(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    n_bytes: AtomicUsize,
    waiting: AtomicWaker,
}

impl Room {
    /// The same bytes, which count until the last of their copies is dropped.
    pub(super) fn lend(&self, bytes: Bytes) -> Bytes {
        self.0.n_bytes.fetch_add(bytes.len(), Ordering::Relaxed);
        let shared = self.0.clone();
        Bytes::from_owner(Lent { bytes, shared })
    }

    /// Ready when nothing is under way.
    pub(super) fn poll_empty(&self, context: &Context<'_>) -> Poll<()> {
        let is_empty = || self.0.n_bytes.load(Ordering::Acquire) == 0;
        if is_empty() {
            return Poll::Ready(());
        }
        self.0.waiting.register(context.waker());
        // It may have become empty before the waker was there.
        if is_empty() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

struct Lent {
    bytes: Bytes,
    shared: Arc<Shared>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let n_bytes = self.bytes.len();
        if self.shared.n_bytes.fetch_sub(n_bytes, Ordering::Release) == n_bytes {
            self.shared.waiting.wake();
        }
    }
}

#[cfg(test)]
mod tests;
