//! Receiving and sending one datagram at a time, where the system has no batches. Same interface as `mmsg.rs`.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use crate::message::UDP_OCTETS_MAX;

/// Datagrams per system call.
pub(crate) const N_SLOTS: usize = 1;
/// Largest query taken; longer ones are cut and so malformed.
const QUERY_OCTETS_MAX: usize = 2048;

/// Buffers for one datagram.
pub(crate) struct Batch {
    query: [u8; QUERY_OCTETS_MAX],
    reply: [u8; UDP_OCTETS_MAX],
    received: Option<(usize, SocketAddr)>,
    reply_octets: usize,
}

impl Batch {
    pub(crate) fn new() -> Box<Batch> {
        Box::new(Batch {
            query: [0; QUERY_OCTETS_MAX],
            reply: [0; UDP_OCTETS_MAX],
            received: None,
            reply_octets: 0,
        })
    }

    /// Waits for a datagram.
    pub(crate) fn receive(&mut self, socket: &UdpSocket) -> io::Result<()> {
        self.received = None;
        self.received = Some(socket.recv_from(&mut self.query)?);
        Ok(())
    }

    /// How many queries the last [`Batch::receive`] took.
    pub(crate) fn n_received(&self) -> usize {
        usize::from(self.received.is_some())
    }

    /// Calls `answer` with the query and room for the reply; it gives the reply's length, 0 for none.
    pub(crate) fn answer_all(&mut self, mut answer: impl FnMut(&[u8], IpAddr, &mut [u8]) -> usize) {
        let Some((octets, client)) = self.received else {
            return;
        };
        self.reply_octets = answer(&self.query[..octets], client.ip(), &mut self.reply);
    }

    /// Sends the reply; returns how many could not be sent.
    pub(crate) fn send(&mut self, socket: &UdpSocket) -> usize {
        let Some((_, client)) = self.received.filter(|_| self.reply_octets > 0) else {
            return 0;
        };
        usize::from(
            socket
                .send_to(&self.reply[..self.reply_octets], client)
                .is_err(),
        )
    }
}
