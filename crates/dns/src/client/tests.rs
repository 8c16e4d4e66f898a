use std::future::Future;

use super::*;
use crate::message::Writer;
use crate::message::writer::{RecordParts, Section};

fn question(text: &str) -> Question {
    Question {
        name: Name::parse(text).unwrap(),
        rtype: Type::A,
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// A reply to `query` with some A records.
fn reply(query: &[u8], flags: u16, rcode: Rcode, n_records: u8) -> Vec<u8> {
    let mut out = vec![0; 65_535];
    let question_octets = crate::name::wire_len(&query[12..]).unwrap() + 4;
    let mut writer = Writer::new(&mut out, 65_535, &query[12..12 + question_octets]);
    for last in 0..n_records {
        let rdata = [127, 1, 1, last];
        let parts = RecordParts {
            owner: &[0xc0, 12],
            rtype: Type::A,
            ttl_seconds: 5,
            rdata: &rdata,
        };
        assert!(writer.put_record(Section::Answer, parts));
    }
    let octets = writer.finish(u16::from_be_bytes([query[0], query[1]]), flags, rcode, 1);
    out.truncate(octets);
    out
}

/// Starts a UDP server that answers each query with what `answer` gives; nothing when that is empty.
async fn serve(answer: impl Fn(&[u8]) -> Vec<Vec<u8>> + Send + 'static) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    tokio::spawn(async move {
        let mut buffer = [0; 4096];
        while let Ok((octets, from)) = socket.recv_from(&mut buffer).await {
            for datagram in answer(&buffer[..octets]) {
                socket.send_to(&datagram, from).await.unwrap();
            }
        }
    });
    address
}

fn run<T>(test: impl Future<Output = T>) -> T {
    runtime().block_on(test)
}

#[test]
fn outcomes_are_told_apart() {
    run(async {
        let cfg = Config {
            deadline: Duration::from_millis(200),
            ..Config::default()
        };
        for (rcode, n_records, expected) in [
            (Rcode::NOERROR, 0, Outcome::NoData { ttl_seconds: None }),
            (Rcode::NXDOMAIN, 0, Outcome::NxDomain { ttl_seconds: None }),
            (Rcode::SERVFAIL, 0, Outcome::Failed(Rcode::SERVFAIL)),
            (Rcode::REFUSED, 0, Outcome::Failed(Rcode::REFUSED)),
        ] {
            let server = serve(move |query| vec![reply(query, FLAG_AA, rcode, n_records)]).await;
            let report = ask(&question("a.example.com"), &[server], &cfg).await;
            assert_eq!(report.outcome, expected);
        }
        let server = serve(|query| vec![reply(query, FLAG_AA, Rcode::NOERROR, 2)]).await;
        let report = ask(&question("a.example.com"), &[server], &cfg).await;
        assert_eq!(report.outcome.addresses().len(), 2);
        let silent = serve(|_| vec![]).await;
        let report = ask(&question("a.example.com"), &[silent], &cfg).await;
        assert_eq!(report.outcome, Outcome::Timeout);
        assert!(
            report
                .attempts
                .iter()
                .all(|attempt| attempt.outcome == Outcome::Timeout)
        );
    });
}

#[test]
fn one_dead_address_delays_by_the_hedge_and_not_by_the_deadline() {
    run(async {
        let dead = serve(|_| vec![]).await;
        let alive = serve(|query| vec![reply(query, FLAG_AA, Rcode::NOERROR, 1)]).await;
        let cfg = Config {
            hedge: Duration::from_millis(30),
            deadline: Duration::from_secs(20),
            ..Config::default()
        };
        let report = ask(&question("a.example.com"), &[dead, alive], &cfg).await;
        assert!(matches!(report.outcome, Outcome::Answer(_)));
        assert_eq!(report.attempts[0].server, alive);
        assert!(
            report.attempts[0].after < Duration::from_secs(5),
            "{report:?}"
        );
        assert_eq!(report.attempts[1].outcome, Outcome::Timeout);
    });
}

#[test]
fn a_refusing_server_is_passed_over_at_once() {
    run(async {
        let failing = serve(|query| vec![reply(query, 0, Rcode::SERVFAIL, 0)]).await;
        let alive = serve(|query| vec![reply(query, FLAG_AA, Rcode::NOERROR, 1)]).await;
        let cfg = Config {
            hedge: Duration::from_secs(60),
            ..Config::default()
        };
        let report = ask(&question("a.example.com"), &[failing, alive], &cfg).await;
        assert!(matches!(report.outcome, Outcome::Answer(_)), "{report:?}");
        assert_eq!(report.attempts[0].outcome, Outcome::Failed(Rcode::SERVFAIL));
        let closed = "127.0.0.1:1".parse().unwrap();
        let report = ask(&question("a.example.com"), &[closed, alive], &cfg).await;
        assert!(matches!(report.outcome, Outcome::Answer(_)), "{report:?}");
    });
}

#[test]
fn lost_datagrams_are_sent_again() {
    run(async {
        let n_seen = std::sync::atomic::AtomicUsize::new(0);
        let server =
            serve(
                move |query| match n_seen.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
                    0 | 1 => vec![],
                    _ => vec![reply(query, FLAG_AA, Rcode::NOERROR, 1)],
                },
            )
            .await;
        let cfg = Config {
            hedge: Duration::from_millis(10),
            ..Config::default()
        };
        let report = ask(&question("a.example.com"), &[server], &cfg).await;
        assert!(matches!(report.outcome, Outcome::Answer(_)), "{report:?}");
    });
}

#[test]
fn spoofed_replies_change_nothing() {
    run(async {
        let server = serve(|query| {
            let mut wrong_id = reply(query, FLAG_AA, Rcode::NXDOMAIN, 0);
            wrong_id[0] ^= 1;
            let mut wrong_question = reply(query, FLAG_AA, Rcode::NXDOMAIN, 0);
            wrong_question[13] = b'x';
            let mut no_reply = query.to_vec();
            no_reply[3] = 3;
            let garbage = vec![0xff; 40];
            let right = reply(query, FLAG_AA, Rcode::NOERROR, 1);
            vec![wrong_id, wrong_question, no_reply, garbage, vec![], right]
        })
        .await;
        let report = ask(&question("a.example.com"), &[server], &Config::default()).await;
        assert!(matches!(report.outcome, Outcome::Answer(_)), "{report:?}");
    });
}

#[test]
fn truncation_leads_to_tcp_and_all_records() {
    run(async {
        let tcp = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = tcp.local_addr().unwrap();
        let udp = UdpSocket::bind(address).await.unwrap();
        tokio::spawn(async move {
            let mut buffer = [0; 512];
            let (octets, from) = udp.recv_from(&mut buffer).await.unwrap();
            let cut = reply(&buffer[..octets], FLAG_AA | FLAG_TC, Rcode::NOERROR, 10);
            udp.send_to(&cut, from).await.unwrap();
            let (mut stream, _) = tcp.accept().await.unwrap();
            let octets = stream.read_u16().await.unwrap();
            let mut query = vec![0; usize::from(octets)];
            stream.read_exact(&mut query).await.unwrap();
            let full = reply(&query, FLAG_AA, Rcode::NOERROR, 40);
            stream.write_u16(full.len() as u16).await.unwrap();
            stream.write_all(&full).await.unwrap();
        });
        let report = ask(&question("a.example.com"), &[address], &Config::default()).await;
        assert_eq!(report.outcome.addresses().len(), 40, "{report:?}");
    });
}

#[test]
fn no_servers_is_an_error_and_not_silence() {
    let report = run(ask(&question("a.example.com"), &[], &Config::default()));
    assert_eq!(report.outcome, Outcome::Error(Error::NoServer));
}

#[test]
fn alias_loops_end() {
    let alias = |from: &str, to: &str| Record {
        name: Name::parse(from).unwrap(),
        ttl_seconds: 1,
        data: Data::Cname(Name::parse(to).unwrap()),
    };
    let answers = [
        alias("a.example.com", "b.example.com"),
        alias("b.example.com", "a.example.com"),
    ];
    assert_eq!(follow(&answers, &question("a.example.com")), []);
}

#[test]
fn questions_leave_from_the_configured_source_of_the_servers_family() {
    let source = "127.1.2.1".parse().unwrap();
    let cfg = Config {
        source: Some(source),
        ..Config::default()
    };
    for (server, expected) in [("127.1.3.1:53", "127.1.2.1:0"), ("[::1]:53", "[::]:0")] {
        assert_eq!(
            cfg.source_for(server.parse().unwrap()).to_string(),
            expected
        );
    }
    run(async move {
        let server = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = server.local_addr().unwrap();
        let asked = question("a.example.com");
        let mut buffer = [0; 512];
        let servers = [address];
        tokio::select! {
            _ = ask(&asked, &servers, &cfg) => panic!("nobody answers"),
            received = server.recv_from(&mut buffer) => {
                assert_eq!(received.unwrap().1.ip(), source);
            }
        }
    });
}
