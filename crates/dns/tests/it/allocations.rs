//! The answer path allocates nothing: counted by the allocator itself.

#![expect(
    unsafe_code,
    reason = "a counting allocator implements an unsafe trait"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use flotilla_dns::answer::{Context, Request, Transport, answer};
use flotilla_dns::catalog::{Catalog, Change};
use flotilla_dns::cookie::Cookies;
use flotilla_dns::dnssec::Signer;
use flotilla_dns::dnssec::key::SigningKey;
use flotilla_dns::geo::Geo;
use flotilla_dns::message::{Question, encode_query};
use flotilla_dns::name::Name;
use flotilla_dns::order::Entropy;
use flotilla_dns::record::{Data, Type};
use flotilla_dns::zone::{Entry, RecordSet, Settings};

struct Counting;

thread_local! {
    /// Of this thread only: the test harness has threads of its own.
    static N_ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system allocator unchanged; counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        N_ALLOCATIONS.set(N_ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps `GlobalAlloc`'s contract, which is also `System`'s.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn world() -> Catalog {
    let zone = name("cloud.example.com");
    let a = |n: u8| {
        (1..=n)
            .map(|last| Data::A([127, 1, 1, last].into()))
            .collect::<Vec<_>>()
    };
    let set = |host: &str, set: RecordSet| Change::Set {
        zone: zone.clone(),
        name: name(host),
        entry: Entry::of(set).into(),
    };
    let text = vec![Data::txt("one"), Data::txt("three")];
    let weighted = RecordSet::weighted(5, vec![(1, a(2)), (3, vec![Data::A([9; 4].into())])], None);
    let (catalog, errors) = Catalog::default().with(vec![
        Change::Zone(Settings::k8gb(zone.clone(), 0, 30, vec![]).unwrap()),
        set("fixed.cloud.example.com", RecordSet::fixed(5, a(3))),
        set("many.cloud.example.com", RecordSet::fixed(5, a(200))),
        set("shuffled.cloud.example.com", RecordSet::shuffled(5, a(3))),
        set("near.cloud.example.com", RecordSet::nearest(5, a(5))),
        set("text.cloud.example.com", RecordSet::shuffled(5, text)),
        set("weighted.cloud.example.com", weighted),
        set("*.wild.cloud.example.com", RecordSet::fixed(5, a(1))),
        set(
            "alias.cloud.example.com",
            RecordSet::fixed(5, vec![Data::Cname(name("fixed.cloud.example.com"))]),
        ),
        set(
            "sub.cloud.example.com",
            RecordSet::fixed(5, vec![Data::Ns(name("ns.sub.cloud.example.com"))]),
        ),
        set("ns.sub.cloud.example.com", RecordSet::fixed(5, a(2))),
    ]);
    assert_eq!(errors, []);
    catalog
}

/// Loopback addresses in one datacenter.
fn database() -> Vec<u8> {
    let mut database = maxminddb_writer::Database::default();
    database.metadata.binary_format_major_version = 2;
    let data = database
        .insert_value(serde_json::json!({ "datacenter": "here" }))
        .unwrap();
    let loopback = maxminddb_writer::paths::IpAddrWithMask::new([127, 0, 0, 0].into(), 8);
    database.insert_node(loopback, data);
    database.write_to(Vec::new()).unwrap()
}

#[test]
fn answering_allocates_nothing() {
    let catalog = world();
    let mut queries = Vec::new();
    for host in [
        "fixed", "many", "shuffled", "text", "near", "weighted", "x.wild", "alias", "x.sub",
        "nothing", "ns1.dns",
    ] {
        for rtype in [Type::A, Type::TXT, Type::ANY, Type::AXFR] {
            let question = Question {
                name: name(&format!("{host}.cloud.example.com")),
                rtype,
            };
            queries.push(encode_query(1, 0, &question, Some(1232)));
            queries.push(encode_query(1, 0, &question, None));
        }
    }
    for rtype in [Type::SOA, Type::NS, Type::DS, Type::A] {
        let question = Question {
            name: name("cloud.example.com"),
            rtype,
        };
        queries.push(encode_query(1, 0, &question, Some(512)));
    }
    let outside = Question {
        name: name("elsewhere.org"),
        rtype: Type::A,
    };
    queries.push(encode_query(1, 0, &outside, None));
    queries.push(vec![0; 12]);
    queries.push(vec![0xff; 50]);
    let mut out = vec![0; 65_535];
    let mut entropy = Entropy::new(1);
    let geo = Geo::new(database(), &["country.code", "datacenter"]).unwrap();
    let cookies = Cookies::new([1; 16]);
    let context = Context {
        catalog: &catalog,
        cookies: Some(&cookies),
        geo: Some(&geo),
        signer: None,
        now_seconds: 7,
    };
    let client = [127, 0, 0, 1].into();
    let before = N_ALLOCATIONS.get();
    for query in &queries {
        for transport in [Transport::Udp, Transport::Tcp] {
            answer(
                &context,
                &Request {
                    query,
                    client,
                    transport,
                },
                &mut entropy,
                &mut out,
            );
        }
    }
    assert_eq!(N_ALLOCATIONS.get() - before, 0);
}

/// A reply whose signatures have been made before needs no memory either.
#[test]
fn signed_answers_from_the_cache_allocate_nothing() {
    let catalog = world();
    let signer = Signer::new(SigningKey::generate().unwrap().0);
    let mut queries = Vec::new();
    for host in [
        "fixed", "many", "shuffled", "x.wild", "alias", "nothing", "x.sub",
    ] {
        for rtype in [Type::A, Type::AAAA] {
            let question = Question {
                name: name(&format!("{host}.cloud.example.com")),
                rtype,
            };
            let mut query = encode_query(1, 0, &question, Some(1232));
            let flags = query.len() - 4;
            query[flags] = 0x80;
            queries.push(query);
        }
    }
    let mut out = vec![0; 65_535];
    let mut entropy = Entropy::new(1);
    let context = Context {
        catalog: &catalog,
        cookies: None,
        geo: None,
        signer: Some(&signer),
        now_seconds: 7,
    };
    let mut ask = || {
        for query in &queries {
            let request = Request {
                query,
                client: [127, 0, 0, 1].into(),
                transport: Transport::Tcp,
            };
            answer(&context, &request, &mut entropy, &mut out);
        }
    };
    ask();
    let n_signed = signer.n_signed();
    let before = N_ALLOCATIONS.get();
    ask();
    assert_eq!(N_ALLOCATIONS.get() - before, 0);
    assert!(n_signed > 10 && signer.n_signed() == n_signed);
}
