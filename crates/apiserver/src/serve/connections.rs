//! Which connections are open, so that a full server can make room.
//!
//! A connection without a request under way costs its owner nothing to hold and nothing to open again. When all places are
//! taken the one that has been idle longest is asked to close; only if none is idle a new one is turned away. So nobody
//! locks others out by opening connections and keeping them.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio_util::sync::CancellationToken;

use super::room::Room;
use crate::body::Body;

/// Pieces of a body smaller than this may be under way together.
const LENT_BYTES_MIN: usize = 8 << 10;

/// All open connections.
#[derive(Default)]
pub(super) struct Connections {
    open: Mutex<HashMap<u64, Arc<State>>>,
    /// Counts beginnings and ends of requests and connections: enough of a clock to know who is idle longest.
    clock: AtomicU64,
}

struct State {
    n_requests: AtomicUsize,
    idle_since: AtomicU64,
    close: CancellationToken,
}

/// A connection's place among the open ones, until it is dropped.
pub(super) struct Place {
    connections: Arc<Connections>,
    id: u64,
    state: Arc<State>,
}

/// A request under way, until it is dropped.
pub(super) struct Request {
    connections: Arc<Connections>,
    state: Arc<State>,
}

/// The body of a response, whose request is under way until it is sent.
pub(super) struct Held {
    body: Body,
    /// Pieces that are under way.
    room: Room,
    _request: Request,
}

impl Connections {
    /// Takes a place, and asks the connection that is idle longest to close if there are more than `max` then. None if
    /// none is idle.
    pub(super) fn enter(self: &Arc<Self>, max: usize) -> Option<Place> {
        let id = self.tick();
        let state = Arc::new(State {
            n_requests: AtomicUsize::new(0),
            idle_since: AtomicU64::new(id),
            close: CancellationToken::new(),
        });
        let mut open = self.lock();
        if open.len() >= max {
            let idle = open
                .iter()
                .filter(|(_, state)| state.n_requests.load(Relaxed) == 0);
            let (&longest, _) = idle.min_by_key(|(_, state)| state.idle_since.load(Relaxed))?;
            // It gives its place away at once; closing may take a moment.
            open.remove(&longest)?.close.cancel();
        }
        open.insert(id, state.clone());
        drop(open);
        Some(Place {
            connections: self.clone(),
            id,
            state,
        })
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<State>>> {
        // A panic while holding the lock leaves a map that is still a map.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Is cancelled when the connection has to close.
    pub(super) fn close(&self) -> CancellationToken {
        self.state.close.clone()
    }

    /// Begins a request.
    pub(super) fn request(&self) -> Request {
        self.state.n_requests.fetch_add(1, Relaxed);
        Request {
            connections: self.connections.clone(),
            state: self.state.clone(),
        }
    }
}

impl Request {
    /// Goes on until `body` is sent.
    pub(super) fn until_sent(self, body: Body) -> Held {
        Held {
            body,
            room: Room::default(),
            _request: self,
        }
    }
}

impl http_body::Body for Held {
    type Data = <Body as http_body::Body>::Data;
    type Error = <Body as http_body::Body>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        ready!(self.room.poll_empty(context));
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        // Small pieces are events that all watches share, and the last piece has none to hold back.
        let lends = |bytes: &Bytes| bytes.len() >= LENT_BYTES_MIN && !self.body.is_end_stream();
        Poll::Ready(frame.map(|frame| {
            frame.map(|frame| match frame.into_data() {
                Ok(bytes) if lends(&bytes) => Frame::data(self.room.lend(bytes)),
                Ok(bytes) => Frame::data(bytes),
                Err(frame) => frame,
            })
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.lock().remove(&self.id);
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let now = self.connections.tick();
        self.state.idle_since.store(now, Relaxed);
        self.state.n_requests.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connection_that_is_idle_longest_makes_room() {
        let connections = Arc::new(Connections::default());
        let [first, second, third] = [(); 3].map(|()| connections.enter(3).unwrap());
        drop(first.request());
        let busy = second.request();
        let fourth = connections.enter(3).unwrap();
        let closed = |place: &Place| place.close().is_cancelled();
        assert_eq!(
            [&first, &second, &third, &fourth].map(closed),
            [false, false, true, false],
            "the first was used since, the second is in use"
        );
        drop(third);
        let requests = [first.request(), fourth.request()];
        assert!(connections.enter(3).is_none(), "none is idle");
        drop(busy);
        assert!(connections.enter(3).is_some());
        assert!(closed(&second));
        drop(requests);
    }

    #[test]
    fn places_are_given_back() {
        let connections = Arc::new(Connections::default());
        for _ in 0..10 {
            let place = connections.enter(1).unwrap();
            let _request = place.request();
        }
        assert!(connections.lock().is_empty());
    }
}
