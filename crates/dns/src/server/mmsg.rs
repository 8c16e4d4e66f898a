//! Receiving and sending datagrams in batches with `recvmmsg` and `sendmmsg` (Linux).
//!
//! The only unsafe code of the crate. Everything the kernel reads or writes belongs to the [`Batch`]; the structures that hold
//! pointers to it are rebuilt for each call and never outlive it, so nothing refers to itself and nothing dangles.

#![expect(
    unsafe_code,
    reason = "recvmmsg and sendmmsg have no safe wrapper in std or socket2"
)]

use std::io;
use std::mem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::AsRawFd;
use std::ptr;

use crate::message::UDP_OCTETS_MAX;

/// Datagrams per system call. Beyond some tens the call itself no longer weighs.
pub(crate) const N_SLOTS: usize = 32;
/// Largest query taken; longer ones are cut and so malformed.
const QUERY_OCTETS_MAX: usize = 2048;

/// Buffers for a batch of queries and their replies.
pub(crate) struct Batch {
    slots: Vec<Slot>,
    /// How many slots hold a query.
    n_received: usize,
}

struct Slot {
    query: [u8; QUERY_OCTETS_MAX],
    reply: [u8; UDP_OCTETS_MAX],
    client: libc::sockaddr_storage,
    client_octets: libc::socklen_t,
    query_octets: usize,
    /// 0: nothing to send.
    reply_octets: usize,
}

impl Batch {
    pub(crate) fn new() -> Box<Batch> {
        let slots = (0..N_SLOTS).map(|_| Slot::new()).collect();
        Box::new(Batch {
            slots,
            n_received: 0,
        })
    }

    /// Waits for one datagram and takes whatever else is there.
    pub(crate) fn receive(&mut self, socket: &UdpSocket) -> io::Result<()> {
        self.n_received = 0;
        let mut vectors: [libc::iovec; N_SLOTS] = zeroed();
        let mut headers: [libc::mmsghdr; N_SLOTS] = zeroed();
        for ((slot, vector), header) in self.slots.iter_mut().zip(&mut vectors).zip(&mut headers) {
            vector.iov_base = slot.query.as_mut_ptr().cast();
            vector.iov_len = slot.query.len();
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_name = (&raw mut slot.client).cast();
            header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        }
        // SAFETY: `headers` has N_SLOTS entries; each points to one vector, one query buffer and one address, all of which live,
        // with the lengths given, until the end of this function and are touched by nobody else meanwhile.
        let n_received = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                N_SLOTS as libc::c_uint,
                libc::MSG_WAITFORONE as _,
                ptr::null_mut(),
            )
        };
        let Ok(n_received) = usize::try_from(n_received) else {
            return Err(io::Error::last_os_error());
        };
        for (slot, header) in self.slots.iter_mut().zip(&headers[..n_received]) {
            slot.query_octets = (header.msg_len as usize).min(QUERY_OCTETS_MAX);
            slot.client_octets = header.msg_hdr.msg_namelen;
        }
        self.n_received = n_received;
        Ok(())
    }

    /// How many queries the last [`Batch::receive`] took.
    pub(crate) fn n_received(&self) -> usize {
        self.n_received
    }

    /// Calls `answer` with every query and room for its reply; it gives the reply's length, 0 for none.
    pub(crate) fn answer_all(&mut self, mut answer: impl FnMut(&[u8], IpAddr, &mut [u8]) -> usize) {
        for slot in &mut self.slots[..self.n_received] {
            let client = ip(&slot.client);
            let octets = answer(&slot.query[..slot.query_octets], client, &mut slot.reply);
            slot.reply_octets = octets.min(UDP_OCTETS_MAX);
        }
    }

    /// Sends all replies; returns how many could not be sent.
    pub(crate) fn send(&mut self, socket: &UdpSocket) -> usize {
        let mut vectors: [libc::iovec; N_SLOTS] = zeroed();
        let mut headers: [libc::mmsghdr; N_SLOTS] = zeroed();
        let mut n_replies = 0;
        for slot in self.slots[..self.n_received]
            .iter_mut()
            .filter(|slot| slot.reply_octets > 0)
        {
            let (vector, header) = (&mut vectors[n_replies], &mut headers[n_replies]);
            vector.iov_base = slot.reply.as_mut_ptr().cast();
            vector.iov_len = slot.reply_octets;
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_name = (&raw mut slot.client).cast();
            header.msg_hdr.msg_namelen = slot.client_octets;
            n_replies += 1;
        }
        let mut n_done = 0;
        let mut n_failed = 0;
        while n_done < n_replies {
            let left = &mut headers[n_done..n_replies];
            // SAFETY: `left` holds initialised headers whose vectors, buffers and addresses live until the end of this function;
            // the kernel writes only `msg_len`.
            let n_sent = unsafe {
                libc::sendmmsg(
                    socket.as_raw_fd(),
                    left.as_mut_ptr(),
                    left.len() as libc::c_uint,
                    0,
                )
            };
            match usize::try_from(n_sent) {
                Ok(n_sent) if n_sent > 0 => n_done += n_sent,
                _ if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                // The first of those left cannot be sent (unreachable client, full buffer): skip it, like a lost datagram.
                _ => {
                    n_done += 1;
                    n_failed += 1;
                }
            }
        }
        self.n_received = 0;
        n_failed
    }
}

impl Slot {
    fn new() -> Slot {
        Slot {
            query: [0; QUERY_OCTETS_MAX],
            reply: [0; UDP_OCTETS_MAX],
            client: zeroed(),
            client_octets: 0,
            query_octets: 0,
            reply_octets: 0,
        }
    }
}

/// The address in a structure the kernel has filled in.
fn ip(address: &libc::sockaddr_storage) -> IpAddr {
    let pointer = ptr::from_ref(address);
    match libc::c_int::from(address.ss_family) {
        libc::AF_INET6 => {
            // SAFETY: the family says which structure this is, and `sockaddr_storage` is large and aligned enough for every one.
            let address = unsafe { &*pointer.cast::<libc::sockaddr_in6>() };
            IpAddr::V6(Ipv6Addr::from(address.sin6_addr.s6_addr))
        }
        libc::AF_INET => {
            // SAFETY: as above.
            let address = unsafe { &*pointer.cast::<libc::sockaddr_in>() };
            IpAddr::V4(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)))
        }
        _ => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    }
}

/// A C structure with all bits zero.
trait Plain: Sized {}
impl Plain for libc::sockaddr_storage {}
impl<const N: usize> Plain for [libc::iovec; N] {}
impl<const N: usize> Plain for [libc::mmsghdr; N] {}

fn zeroed<T: Plain>() -> T {
    // SAFETY: every `Plain` type is a C structure of integers and raw pointers, for which zero bits are a value.
    unsafe { mem::zeroed() }
}
