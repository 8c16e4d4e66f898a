//! A network between clusters that takes its time, or that loses everything, in a network namespace of our own.
//!
//! The kernel's own delay (netem) is often not there, so packets between name servers are redirected to relays in this program, which pass them
//! on after the delay. Relays speak from the sender's address, because clusters know each other by it.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, UdpSocket};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

/// Ports the relays speak from, outside the range the system chooses from; their packets are not redirected again.
const OWN_PORTS: (u16, u16) = (20_000, 29_999);
/// How long a relay keeps the way back for a datagram.
const FORGET: Duration = Duration::from_secs(5);

/// The address of the n-th cluster's name server, counted from 1.
pub(crate) fn address(cluster: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 1, cluster, 1)
}

/// Runs a packet-filter command.
pub(crate) fn iptables(line: &str) -> Result<()> {
    let output = Command::new("iptables")
        .args(line.split_whitespace())
        .output();
    let output = output.context("run iptables")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "iptables {line}: {said}");
    Ok(())
}

/// Lets everything through again, at once.
pub(crate) fn clear() -> Result<()> {
    iptables("-t nat -F OUTPUT")?;
    iptables("-F OUTPUT")
}

/// Loses everything between a cluster and all others, without a word.
pub(crate) fn black_hole(cluster: u8, others: &[u8]) -> Result<()> {
    for other in others.iter().filter(|other| **other != cluster) {
        for (from, to) in [(cluster, *other), (*other, cluster)] {
            iptables(&format!(
                "-A OUTPUT -s {} -d {} -j DROP",
                address(from),
                address(to)
            ))?;
        }
    }
    Ok(())
}

/// Refuses connections between clusters, so that nothing can be pushed and everything is polled.
pub(crate) fn cut_connections(clusters: &[u8]) -> Result<()> {
    for (from, to) in pairs(clusters) {
        let (from, to) = (address(from), address(to));
        iptables(&format!(
            "-A OUTPUT -p tcp -s {from} -d {to} -j REJECT --reject-with tcp-reset"
        ))?;
    }
    Ok(())
}

fn pairs(clusters: &[u8]) -> impl Iterator<Item = (u8, u8)> {
    let all = clusters
        .iter()
        .flat_map(move |a| clusters.iter().map(move |b| (*a, *b)));
    all.filter(|(a, b)| a != b)
}

/// Delays everything between name servers on `port` by `delay` each way, from now on. Must be called within a runtime.
pub(crate) async fn delay(clusters: &[u8], port: u16, delay: Duration) -> Result<()> {
    let next_port = Arc::new(AtomicU16::new(OWN_PORTS.0));
    for (from, to) in pairs(clusters) {
        let relay = Relay {
            source: address(from),
            target: SocketAddr::from((address(to), port)),
            delay,
            next_port: Arc::clone(&next_port),
        };
        let datagrams = UdpSocket::bind((address(to), 0)).await?;
        let streams = TcpListener::bind((address(to), 0)).await?;
        for (protocol, at) in [
            ("udp", datagrams.local_addr()?),
            ("tcp", streams.local_addr()?),
        ] {
            iptables(&format!(
                "-t nat -A OUTPUT -p {protocol} -s {} -d {} --dport {port} ! --sport {}:{} -j DNAT --to-destination {at}",
                address(from),
                address(to),
                OWN_PORTS.0,
                OWN_PORTS.1,
            ))?;
        }
        tokio::spawn(relay.clone().datagrams(Arc::new(datagrams)));
        tokio::spawn(relay.streams(streams));
    }
    Ok(())
}

/// The way from one cluster to another.
#[derive(Clone)]
struct Relay {
    source: Ipv4Addr,
    target: SocketAddr,
    delay: Duration,
    next_port: Arc<AtomicU16>,
}

impl Relay {
    fn own_port(&self) -> SocketAddr {
        let (first, last) = OWN_PORTS;
        let count = self.next_port.fetch_add(1, Ordering::Relaxed);
        SocketAddr::from((self.source, first + count % (last - first)))
    }

    async fn datagrams(self, socket: Arc<UdpSocket>) {
        let mut ways: HashMap<SocketAddr, mpsc::UnboundedSender<(Instant, Vec<u8>)>> =
            HashMap::new();
        let mut buffer = [0; 65_535];
        while let Ok((octets, client)) = socket.recv_from(&mut buffer).await {
            ways.retain(|_, way| !way.is_closed());
            let due = Instant::now() + self.delay;
            let way = ways.entry(client).or_insert_with(|| {
                let (sender, waiting) = mpsc::unbounded_channel();
                tokio::spawn(self.clone().way(Arc::clone(&socket), client, waiting));
                sender
            });
            // A way that has just been given up loses a datagram, as networks do.
            let _ = way.send((due, buffer[..octets].to_vec()));
        }
    }

    /// One client's datagrams to the target and the replies back.
    async fn way(
        self,
        socket: Arc<UdpSocket>,
        client: SocketAddr,
        mut waiting: mpsc::UnboundedReceiver<(Instant, Vec<u8>)>,
    ) {
        let Some(own) = self.bind().await else { return };
        let own = Arc::new(own);
        let back = Arc::clone(&own);
        let delay = self.delay;
        tokio::spawn(async move {
            let mut buffer = [0; 65_535];
            while let Ok(Ok(octets)) = timeout(FORGET, back.recv(&mut buffer)).await {
                let (socket, reply) = (Arc::clone(&socket), buffer[..octets].to_vec());
                let due = Instant::now() + delay;
                tokio::spawn(async move {
                    sleep_until(due).await;
                    let _ = socket.send_to(&reply, client).await;
                });
            }
        });
        while let Ok(Some((due, datagram))) = timeout(FORGET, waiting.recv()).await {
            sleep_until(due).await;
            let _ = own.send(&datagram).await;
        }
    }

    async fn bind(&self) -> Option<UdpSocket> {
        for _ in 0..100 {
            if let Ok(socket) = UdpSocket::bind(self.own_port()).await {
                socket.connect(self.target).await.ok()?;
                return Some(socket);
            }
        }
        None
    }

    async fn streams(self, listener: TcpListener) {
        while let Ok((client, _)) = listener.accept().await {
            let relay = self.clone();
            tokio::spawn(async move {
                let socket = TcpSocket::new_v4().ok()?;
                socket.bind(relay.own_port()).ok()?;
                let target = socket.connect(relay.target).await.ok()?;
                client.set_nodelay(true).ok()?;
                target.set_nodelay(true).ok()?;
                let (from_client, to_client) = client.into_split();
                let (from_target, to_target) = target.into_split();
                let there = pass(from_client, to_target, relay.delay);
                let back = pass(from_target, to_client, relay.delay);
                // When one side is done, so is the other.
                tokio::select! { () = there => {}, () = back => {} }
                Some(())
            });
        }
    }
}

/// Passes octets on, each as long after it came as the delay says.
async fn pass(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    delay: Duration,
) {
    let (sender, mut waiting) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    let read = async move {
        let mut buffer = vec![0; 65_536];
        while let Ok(octets @ 1..) = from.read(&mut buffer).await {
            if sender
                .send((Instant::now() + delay, buffer[..octets].to_vec()))
                .is_err()
            {
                return;
            }
        }
    };
    let write = async move {
        while let Some((due, octets)) = waiting.recv().await {
            sleep_until(due).await;
            if to.write_all(&octets).await.is_err() {
                return;
            }
        }
    };
    tokio::join!(read, write);
}
