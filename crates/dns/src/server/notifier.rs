//! Sends NOTIFY messages when zones change, and hears the acknowledgements.
//!
//! One task with one UDP socket per address family; what to send when is decided by [`Outbox`].

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::unix_time;
use crate::catalog::Zones;
use crate::message::{FLAG_QR, UDP_OCTETS_MAX};
use crate::name::Name;
use crate::notify;
use crate::notify::outbox::{Outbox, Recipient, Sending};
use crate::record::Rcode;
use crate::tsig::{Chain, Key};

/// How to send.
#[derive(Debug, Clone)]
pub struct NotifierConfig {
    /// What messages to recipients of single zones are signed with.
    pub key: Option<Key>,
    /// Servers that keep a copy of every zone.
    pub secondaries: Vec<SocketAddr>,
    /// What messages to them are signed with; `None` sends them unsigned.
    pub secondaries_key: Option<Key>,
    /// Address to send from, for hosts with several. `None`: the kernel chooses.
    pub source: Option<IpAddr>,
}

/// Front of the task that sends. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Notifier(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Recipients of single zones.
    recipients: Mutex<BTreeMap<Name, Vec<Recipient>>>,
    wake: Arc<Notify>,
}

/// How ids of servers that keep every zone begin; no geo tag has a slash.
const SECONDARY: &str = "secondary/";

impl Notifier {
    /// The front, and the future that sends until `stop`.
    pub fn start(
        zones: &Arc<Zones>,
        cfg: NotifierConfig,
        stop: CancellationToken,
    ) -> (Notifier, impl Future<Output = ()> + Send + 'static) {
        let shared = Arc::<Shared>::default();
        let wake = Arc::clone(&shared.wake);
        zones.on_change(move || wake.notify_one());
        let sender = Sender {
            zones: Arc::clone(zones),
            shared: Arc::clone(&shared),
            cfg,
            start: Instant::now(),
            outbox: Outbox::default(),
            serials: BTreeMap::new(),
            recipients: BTreeMap::new(),
            pending: HashMap::new(),
        };
        let run = async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = sender.run() => {}
            }
        };
        (Notifier(shared), run)
    }

    /// Replaces whom to tell about a zone, besides the servers that keep every zone.
    pub fn set(&self, zone: &Name, recipients: Vec<Recipient>) {
        let mut all = self
            .0
            .recipients
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if recipients.is_empty() {
            all.remove(zone);
        } else {
            all.insert(zone.clone(), recipients);
        }
        drop(all);
        self.0.wake.notify_one();
    }
}

/// A message that is not acknowledged yet.
#[derive(Debug)]
struct Pending {
    id: u16,
    address: SocketAddr,
    serial: u32,
    chain: Option<Chain>,
}

struct Sender {
    zones: Arc<Zones>,
    shared: Arc<Shared>,
    cfg: NotifierConfig,
    start: Instant,
    outbox: Outbox,
    /// Serials the outbox knows.
    serials: BTreeMap<Name, u32>,
    /// Recipients the outbox knows.
    recipients: BTreeMap<Name, Vec<Recipient>>,
    /// The last message to each recipient about each zone.
    pending: HashMap<(Name, String), Pending>,
}

impl Sender {
    async fn run(mut self) {
        let v4 = self.socket(Ipv4Addr::UNSPECIFIED.into()).await;
        let v6 = self.socket(Ipv6Addr::UNSPECIFIED.into()).await;
        let (mut in_v4, mut in_v6) = ([0; UDP_OCTETS_MAX], [0; UDP_OCTETS_MAX]);
        loop {
            self.follow();
            for sending in self.outbox.take_due(self.start.elapsed()) {
                let socket = if sending.address.is_ipv4() { &v4 } else { &v6 };
                self.send(socket.as_ref(), sending).await;
            }
            let due = self.outbox.next_due().map(|due| self.start + due);
            tokio::select! {
                () = self.shared.wake.notified() => {}
                Some((octets, from)) = receive(v4.as_ref(), &mut in_v4) => {
                    self.acknowledge(&in_v4[..octets], from);
                }
                Some((octets, from)) = receive(v6.as_ref(), &mut in_v6) => {
                    self.acknowledge(&in_v6[..octets], from);
                }
                () = until(due) => {}
            }
        }
    }

    /// A socket of a family, bound to the source if that is of the family.
    async fn socket(&self, any: IpAddr) -> Option<UdpSocket> {
        let source = self.cfg.source.filter(|ip| ip.is_ipv4() == any.is_ipv4());
        let bound = UdpSocket::bind((source.unwrap_or(any), 0)).await;
        bound
            .inspect_err(|error| tracing::debug!(%error, "No socket for NOTIFY"))
            .ok()
    }

    /// Tells the outbox which zones and recipients are new, changed or gone.
    fn follow(&mut self) {
        let now = self.start.elapsed();
        let catalog = self.zones.snapshot();
        let wanted = {
            let all = &self.shared.recipients;
            all.lock().unwrap_or_else(PoisonError::into_inner).clone()
        };
        let mut serials = BTreeMap::new();
        for zone in catalog.zones() {
            let (apex, serial) = (zone.apex(), zone.serial());
            serials.insert(apex.clone(), serial);
            let mut recipients = wanted.get(apex).cloned().unwrap_or_default();
            recipients.extend(self.cfg.secondaries.iter().map(|address| Recipient {
                id: format!("{SECONDARY}{address}"),
                addresses: vec![*address],
            }));
            if self.recipients.get(apex) != Some(&recipients) {
                self.outbox.set(apex, &recipients, serial, now);
                self.pending.retain(|(zone, id), _| {
                    zone != apex || recipients.iter().any(|recipient| recipient.id == *id)
                });
                self.recipients.insert(apex.clone(), recipients);
            }
            if self.serials.get(apex) != Some(&serial) {
                self.outbox.changed(apex, serial, now);
            }
        }
        for gone in self
            .serials
            .keys()
            .filter(|apex| !serials.contains_key(*apex))
        {
            self.outbox.remove(gone);
            self.recipients.remove(gone);
            self.pending.retain(|(zone, _), _| zone != gone);
        }
        self.serials = serials;
    }

    async fn send(&mut self, socket: Option<&UdpSocket>, sending: Sending) {
        let catalog = self.zones.snapshot();
        let (Some(socket), Some(zone)) = (socket, catalog.zone(&sending.zone)) else {
            return;
        };
        let id = rand::random();
        let mut message = notify::encode(id, zone);
        let key = if sending.id.starts_with(SECONDARY) {
            &self.cfg.secondaries_key
        } else {
            &self.cfg.key
        };
        let now = unix_time().as_secs();
        let chain = key.as_ref().map(|key| key.sign_request(&mut message, now));
        if let Err(error) = socket.send_to(&message, sending.address).await {
            tracing::debug!(address = %sending.address, %error, "NOTIFY was not sent");
            return;
        }
        let pending = Pending {
            id,
            address: sending.address,
            // The message tells the version of now, which may be a later one; the next round tells the outbox.
            serial: sending.serial,
            chain,
        };
        self.pending.insert((sending.zone, sending.id), pending);
    }

    /// A reply counts when it comes from where the message went, with its id and a right signature.
    fn acknowledge(&mut self, reply: &[u8], from: SocketAddr) {
        let (Some(id), Some(flags)) = (be_u16(reply, 0), be_u16(reply, 2)) else {
            return;
        };
        let found = self
            .pending
            .iter_mut()
            .find(|(_, pending)| pending.id == id && pending.address == from);
        let Some(((zone, recipient), pending)) = found.filter(|_| flags & FLAG_QR != 0) else {
            return;
        };
        let now = unix_time().as_secs();
        let verified = match &mut pending.chain {
            Some(chain) => chain.clone().verify(reply, now).is_ok(),
            None => true,
        };
        let rcode = Rcode(flags & 0xf);
        if !verified {
            tracing::debug!(%from, %rcode, "A reply to NOTIFY is not signed as it should be");
            return;
        }
        // Whoever refuses will refuse again; the next change is told all the same.
        self.outbox.acknowledged(zone, recipient, pending.serial);
        if rcode != Rcode::NOERROR {
            tracing::debug!(%from, %rcode, "NOTIFY was refused");
        }
    }
}

fn be_u16(message: &[u8], at: usize) -> Option<u16> {
    let octets = message.get(at..at + 2)?;
    Some(u16::from_be_bytes([octets[0], octets[1]]))
}

/// The next datagram; waits for ever without a socket. Errors, such as an earlier message that found nobody, are passed over.
async fn receive(socket: Option<&UdpSocket>, buffer: &mut [u8]) -> Option<(usize, SocketAddr)> {
    /// Pause after a failure, so that a lasting one does not spin.
    const PAUSE: Duration = Duration::from_millis(10);
    let Some(socket) = socket else {
        return std::future::pending().await;
    };
    loop {
        match socket.recv_from(buffer).await {
            Ok(received) => return Some(received),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}
