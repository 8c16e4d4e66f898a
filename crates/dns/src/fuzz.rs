//! Fuzz bodies: what must hold for any bytes that come from a network.
//!
//! Plain functions that panic when a law is broken. [`run`] drives all of them with queries and replies damaged at random; equal
//! seeds give equal runs, so a failure is replayed by its seed. The normal test run does some thousand rounds, `cargo xtask` may do
//! millions; a coverage-guided fuzzer can call the bodies directly.

use std::net::IpAddr;
use std::sync::LazyLock;

use crate::answer::{self, Context, Request, Transport};
use crate::catalog::{Catalog, Change};
use crate::cookie::Cookies;
use crate::dnssec::Signer;
use crate::dnssec::key::SigningKey;
use crate::message::query::Query;
use crate::message::{HEADER_OCTETS, Message, Question, TCP_OCTETS_MAX, encode_query};
use crate::name::Name;
use crate::order::Entropy;
use crate::record::{Data, Type};
use crate::snapshot;
use crate::tsig::{self, Algorithm, Key};
use crate::zone::{Entry, RecordSet, Settings};

/// Longest damaged message of [`run`], in octets.
const OCTETS_MAX: usize = 600;

/// The zones of the bodies that take nothing but octets.
static WORLD: LazyLock<Catalog> = LazyLock::new(world);
/// Signs for queries that ask for it.
static SIGNER: LazyLock<Option<Signer>> =
    LazyLock::new(|| Some(Signer::new(SigningKey::generate().ok()?.0)));

/// [`query`] over both transports.
pub fn query_any(bytes: &[u8]) {
    query(&WORLD, bytes, Transport::Udp);
    query(&WORLD, bytes, Transport::Tcp);
}

/// [`message`].
pub fn message_any(bytes: &[u8]) {
    message(bytes);
}

/// [`signed`] at a fixed time.
pub fn signed_any(bytes: &[u8]) {
    signed(bytes, 1_700_000_000);
}

/// A file of remembered zones: refused or read, as it stands and below a right checksum.
pub fn snapshot_any(bytes: &[u8]) {
    let _ = snapshot::decode(bytes);
    if let Ok(zones) = snapshot::decode(&snapshot::seal(bytes)) {
        let again = snapshot::encode(&Catalog::default().with_zones(zones), 0);
        let again = again.expect("zones that were read can be written");
        snapshot::decode(&again).expect("what was written is read back");
    }
}

/// The server's side: a reply is lawful whatever the query.
///
/// It has the query's id and the QR flag, stays within what the transport and the client take, repeats a readable question octet by
/// octet, has an OPT record exactly when the query had one, and our own reader understands it.
///
/// # Panics
/// When one of these does not hold.
pub fn query(catalog: &Catalog, bytes: &[u8], transport: Transport) {
    let cookies = Cookies::new([5; 16]);
    let context = Context {
        catalog,
        cookies: Some(&cookies),
        geo: None,
        signer: SIGNER.as_ref(),
        now_seconds: 1_700_000_000,
    };
    let request = Request {
        query: bytes,
        client: IpAddr::from([192, 0, 2, 1]),
        transport,
    };
    let mut out = vec![0; TCP_OCTETS_MAX];
    let reply = answer::answer(&context, &request, &mut Entropy::new(1), &mut out);
    let Some(reply) = reply else { return };
    let octets = &out[..reply.octets];
    let message = Message::parse(octets).expect("our own replies can be read");
    assert_eq!(octets[..2], bytes[..2], "the id is the query's");
    assert_ne!(octets[2] & 0x80, 0, "a reply says that it is one");
    let Ok(query) = Query::parse(bytes) else {
        return;
    };
    assert!(
        octets[HEADER_OCTETS..].starts_with(query.question),
        "the question is repeated"
    );
    assert_eq!(
        message.udp_octets.is_some(),
        query.edns.is_some(),
        "OPT answers OPT"
    );
    if transport == Transport::Udp {
        assert!(
            octets.len() <= query.udp_octets(),
            "a datagram is as small as promised"
        );
    }
}

/// The client's side: a message is refused or understood, and what is understood can be written again.
///
/// # Panics
/// When an understood record cannot be encoded and read back unchanged.
pub fn message(bytes: &[u8]) {
    let Ok(message) = Message::parse(bytes) else {
        return;
    };
    for record in message
        .answers
        .iter()
        .chain(&message.authorities)
        .chain(&message.additionals)
    {
        let mut rdata = Vec::new();
        // Service parameters out of order can be read and are not written.
        if record.data.encode(&mut rdata).is_err() {
            continue;
        }
        let mut cursor = crate::message::Cursor::new(&rdata);
        let again = Data::decode(record.data.rtype(), &mut cursor, rdata.len());
        assert_eq!(
            again.as_ref(),
            Ok(&record.data),
            "what was written is read back"
        );
    }
}

/// Signatures: damage is refused without a panic.
pub fn signed(bytes: &[u8], now_seconds: u64) {
    let name = Name::root();
    let key = Key::new(name, Algorithm::HmacSha256, b"a secret that nobody guesses");
    // Nobody can have made a signature under this key, so nothing may pass.
    assert!(
        tsig::verify_request(&[key], bytes, now_seconds).is_err(),
        "a forged signature"
    );
}

/// Runs all bodies over `n_rounds` damaged messages.
///
/// # Panics
/// When a law is broken; the seed and the round say how to get there again.
pub fn run(seed: u64, n_rounds: u64) {
    let catalog = world();
    for round in 0..n_rounds {
        let mut entropy = Entropy::new(seed ^ round.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let bytes = damaged(&catalog, &mut entropy);
        let checked = std::panic::catch_unwind(|| {
            query(&catalog, &bytes, Transport::Udp);
            query(&catalog, &bytes, Transport::Tcp);
            message(&bytes);
            signed(&bytes, 1_700_000_000);
            snapshot_any(&bytes);
        });
        assert!(checked.is_ok(), "SEED={seed} round {round}: {bytes:02x?}");
    }
}

/// A query or a reply, intact or damaged.
fn damaged(catalog: &Catalog, entropy: &mut Entropy) -> Vec<u8> {
    const LABELS: [&str; 10] = [
        "app", "alias", "loop", "sub", "wild", "x", "*", "cloud", "example", "com",
    ];
    let mut pick = |n: usize| entropy.below(n as u64) as usize;
    let mut labels = (0..pick(4))
        .map(|_| LABELS[pick(LABELS.len())])
        .collect::<Vec<_>>();
    labels.extend(["cloud", "example", "com"].iter().skip(pick(4)));
    let name = Name::parse(&labels.join(".")).unwrap_or_else(|_| Name::root());
    let rtype = Type([1, 2, 5, 6, 16, 28, 33, 41, 43, 65, 250, 252, 255][pick(13)]);
    let edns = [None, Some(0), Some(512), Some(1232), Some(u16::MAX)][pick(5)];
    let mut bytes = encode_query(pick(65_536) as u16, 0, &Question { name, rtype }, edns);
    if edns.is_some() && pick(2) == 0 {
        // The DO bit.
        let flags = bytes.len() - 4;
        bytes[flags] = 0x80;
    }
    if pick(2) == 0 {
        let context = Context {
            catalog,
            cookies: None,
            geo: None,
            signer: None,
            now_seconds: 0,
        };
        let client = IpAddr::from([192, 0, 2, 1]);
        let request = Request {
            query: &bytes,
            client,
            transport: Transport::Udp,
        };
        let mut out = [0; 1232];
        let reply = answer::answer(&context, &request, &mut Entropy::new(1), &mut out);
        bytes = reply.map_or(bytes, |reply| out[..reply.octets].to_vec());
    }
    for _ in 0..pick(6) {
        let at = pick(bytes.len());
        match pick(5) {
            0 => bytes[at] = pick(256) as u8,
            1 => bytes[at] ^= 1 << pick(8),
            2 => bytes.truncate(at.max(1)),
            3 => bytes.extend((0..pick(40)).map(|_| pick(256) as u8)),
            _ => {
                // Stretches repeat and move, as in a message put together wrongly.
                let stretch = bytes[at..(at + pick(30)).min(bytes.len())].to_vec();
                let to = pick(bytes.len() + 1);
                bytes.splice(to..to, stretch);
            }
        }
    }
    bytes.truncate(OCTETS_MAX);
    bytes
}

/// A zone with one of everything.
fn world() -> Catalog {
    let name = |text: &str| Name::parse(text).expect("names of this list are well-formed");
    let zone = name("cloud.example.com");
    let set = |host: &str, set: RecordSet| Change::Set {
        zone: zone.clone(),
        name: name(host),
        entry: Entry::of(set).into(),
    };
    let addresses = (0..90)
        .map(|last| Data::A([127, 1, 1, last].into()))
        .collect::<Vec<_>>();
    let settings = Settings::k8gb(zone.clone(), 3600, 30, Vec::new()).expect("the apex is short");
    let (catalog, _) = Catalog::default().with(vec![
        Change::Zone(settings),
        set(
            "app.cloud.example.com",
            RecordSet::shuffled(5, addresses.clone()),
        ),
        set(
            "x.app.cloud.example.com",
            RecordSet::fixed(5, vec![Data::txt("text")]),
        ),
        set(
            "*.wild.cloud.example.com",
            RecordSet::weighted(5, vec![(1, addresses)], None),
        ),
        set(
            "alias.cloud.example.com",
            RecordSet::fixed(5, vec![Data::Cname(name("app.cloud.example.com"))]),
        ),
        set(
            "loop.cloud.example.com",
            RecordSet::fixed(5, vec![Data::Cname(name("loop.cloud.example.com"))]),
        ),
        set(
            "sub.cloud.example.com",
            RecordSet::fixed(5, vec![Data::Ns(name("ns.sub.cloud.example.com"))]),
        ),
        set(
            "ns.sub.cloud.example.com",
            RecordSet::nearest(5, vec![Data::A([9; 4].into())]),
        ),
    ]);
    catalog
}

#[cfg(test)]
mod tests;
