//! One worker thread per UDP socket.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::metrics::{Counters, Served, increment};
use super::packets::Batch;
use crate::answer::{self, Transport};
use crate::catalog::Zones;
use crate::order::Entropy;

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
        zones: Arc<Zones>,
        counters: Arc<Counters>,
    ) -> io::Result<Worker> {
        socket.set_read_timeout(Some(RECEIVE_TIMEOUT))?;
        socket.set_write_timeout(Some(SEND_TIMEOUT))?;
        let socket = Arc::new(socket);
        let stopping = Arc::<AtomicBool>::default();
        let (its_socket, its_stopping) = (Arc::clone(&socket), Arc::clone(&stopping));
        let thread = thread::Builder::new()
            .name(format!("dns {name}"))
            .spawn(move || work(&its_socket, &its_stopping, &zones, &counters))?;
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

fn work(socket: &UdpSocket, stopping: &AtomicBool, zones: &Zones, counters: &Counters) {
    let mut batch = Batch::new();
    let mut entropy = Entropy::new(rand::random());
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
        let catalog = zones.current().load();
        batch.answer_all(|query, out| {
            let reply = answer::answer(&catalog, query, Transport::Udp, &mut entropy, out);
            counters.count(Served {
                transport: Transport::Udp,
                reply,
            });
            reply.map_or(0, |reply| reply.octets)
        });
        drop(catalog);
        for _ in 0..batch.send(socket) {
            increment(&counters.socket_errors);
        }
    }
}

/// Nothing arrived in time, or a signal came in between.
fn is_pause(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}
