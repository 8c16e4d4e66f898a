//! One worker thread per UDP socket.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::metrics::{Counters, Served, increment};
use super::pace::Pace;
use super::packets::{Batch, N_SLOTS};
use super::{Answerer, unix_time};
use crate::answer::{self, Request, Transport};
use crate::limit::{Limiter, Verdict};
use crate::order::Entropy;
use crate::transfer::Granted;

/// How long a worker sleeps in the kernel before it looks whether it should stop. Stopping does not wait for it on Linux, where
/// [`Worker::wake`] ends the receive call.
const RECEIVE_TIMEOUT: Duration = Duration::from_millis(500);
/// Longest a full send buffer may hold a worker up.
const SEND_TIMEOUT: Duration = Duration::from_millis(100);
/// Pause after the socket failed to receive, so that a lasting failure does not spin.
const ERROR_PAUSE: Duration = Duration::from_millis(10);

/// A running worker.
#[derive(Debug)]
pub(super) struct Worker {
    socket: Arc<UdpSocket>,
    stopping: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Worker {
    pub(super) fn start(
        name: &str,
        socket: UdpSocket,
        answerer: Arc<Answerer>,
        counters: Arc<Counters>,
    ) -> io::Result<Worker> {
        socket.set_read_timeout(Some(RECEIVE_TIMEOUT))?;
        socket.set_write_timeout(Some(SEND_TIMEOUT))?;
        let socket = Arc::new(socket);
        let stopping = Arc::<AtomicBool>::default();
        let (its_socket, its_stopping) = (Arc::clone(&socket), Arc::clone(&stopping));
        let thread = thread::Builder::new()
            .name(format!("dns {name}"))
            .spawn(move || work(&its_socket, &its_stopping, &answerer, &counters))?;
        Ok(Worker {
            socket,
            stopping,
            thread,
        })
    }

    /// Tells the worker to stop after the batch it has.
    pub(super) fn wake(&self) {
        self.stopping.store(true, Ordering::Release);
        // On an unconnected UDP socket Linux reports ENOTCONN and wakes the receiver all the same; elsewhere the timeout does.
        let _ = socket2::SockRef::from(&*self.socket).shutdown(std::net::Shutdown::Read);
    }

    pub(super) fn join(self) {
        if self.thread.join().is_err() {
            tracing::error!("A DNS worker panicked; please report this");
        }
    }
}

fn work(socket: &UdpSocket, stopping: &AtomicBool, answerer: &Answerer, counters: &Counters) {
    let mut batch = Batch::new();
    let mut entropy = Entropy::new(rand::random());
    let mut pace = Pace::new();
    let mut limiter = answerer.rate_limit.map(Limiter::new);
    while !stopping.load(Ordering::Acquire) {
        match batch.receive(socket) {
            Ok(()) => {}
            Err(error) if is_pause(&error) => continue,
            Err(error) => {
                increment(&counters.socket_errors);
                tracing::debug!(%error, "Receiving DNS queries failed");
                thread::sleep(ERROR_PAUSE);
                continue;
            }
        }
        // Taken per batch and let go again: an idle worker keeps no old catalog alive.
        let catalog = answerer.zones.current().load();
        let now = unix_time();
        let pause = pace.received(batch.n_received(), N_SLOTS, now);
        let geo = answerer.geo.load();
        let context = answerer.context(&catalog, &geo, now);
        batch.answer_all(|query, client, out| {
            if let Some(aside) = answerer.aside(query, client, Transport::Udp, now) {
                return put(aside, out);
            }
            let request = Request {
                query,
                client,
                transport: Transport::Udp,
            };
            let reply = answer::answer(&context, &request, &mut entropy, out);
            counters.count(Served {
                transport: Transport::Udp,
                reply,
            });
            let Some(reply) = reply else { return 0 };
            let Some(limiter) = limiter.as_mut().filter(|_| !reply.verified) else {
                return reply.octets;
            };
            match limiter.admit(client, reply.kind, now.as_millis() as u32) {
                Verdict::Pass => return reply.octets,
                // A refusal has no TCP variant worth coming for.
                Verdict::Slip if reply.kind > 0xffff => return answer::cut_short(out),
                Verdict::Slip | Verdict::Drop => {}
            }
            increment(&counters.limited);
            0
        });
        drop(geo);
        drop(catalog);
        for _ in 0..batch.send(socket) {
            increment(&counters.socket_errors);
        }
        if let Some(pause) = pause {
            thread::sleep(pause);
        }
    }
}

/// Copies a reply that is ready. Replies of this kind are small; one that were not would be better lost than cut.
fn put(aside: Granted, out: &mut [u8]) -> usize {
    let message = match aside {
        Granted::One(message) => message,
        // Not given over UDP.
        Granted::Transfer(_) => return 0,
    };
    match out.get_mut(..message.len()) {
        Some(place) => place.copy_from_slice(&message),
        None => return 0,
    }
    message.len()
}

/// Nothing arrived in time, or a signal came in between.
fn is_pause(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}
