use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};

use super::*;
use crate::catalog::{Change, Publish};
use crate::client::{self, Outcome};
use crate::message::{Message, Question, encode_query};
use crate::name::Name;
use crate::record::{Data, Rcode, Type as RecordType};
use crate::zone::{Entry, RecordSet, Settings};

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn zones(n_addresses: u8) -> Arc<Zones> {
    let zones = Zones::new();
    let zone = name("cloud.example.com");
    let data = (0..n_addresses)
        .map(|last| Data::A([127, 1, 1, last].into()))
        .collect();
    let entry = Entry::of(RecordSet::fixed(5, data));
    let errors = zones.publish(vec![
        Change::Zone(Settings::k8gb(zone.clone(), 0, 30, vec![]).unwrap()),
        Change::Set {
            name: zone.child("app").unwrap(),
            zone,
            entry: entry.into(),
        },
    ]);
    assert_eq!(errors, []);
    zones
}

/// Runs `test` against a server on a free loopback port.
fn with_server(
    change: impl FnOnce(&mut Config),
    n_addresses: u8,
    test: impl AsyncFnOnce(SocketAddr, &Arc<Zones>, &Metrics),
) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut cfg = Config::new("test", vec!["127.0.0.1:0".parse().unwrap()]);
        change(&mut cfg);
        let (zones, metrics) = (zones(n_addresses), Metrics::default());
        let server = Server::start(&cfg, &zones, &metrics).unwrap();
        test(server.addresses()[0], &zones, &metrics).await;
        let start = tokio::time::Instant::now();
        server.stop().await;
        assert!(
            start.elapsed() < Duration::from_secs(5),
            "stopping took {:?}",
            start.elapsed()
        );
    });
}

fn query(octets: Option<u16>) -> Vec<u8> {
    let question = Question {
        name: name("app.cloud.example.com"),
        rtype: RecordType::A,
    };
    encode_query(77, 0, &question, octets)
}

fn read_framed(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut octets = [0; 2];
    stream.read_exact(&mut octets)?;
    let mut reply = vec![0; usize::from(u16::from_be_bytes(octets))];
    stream.read_exact(&mut reply)?;
    Ok(reply)
}

fn framed(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u16).to_be_bytes(), message].concat()
}

#[test]
fn udp_answers_many_clients_and_counts() {
    with_server(
        |cfg| cfg.workers = 3,
        2,
        async |address, _, metrics| {
            for _ in 0..200 {
                let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
                socket
                    .set_read_timeout(Some(Duration::from_secs(5)))
                    .unwrap();
                socket.send_to(&query(None), address).unwrap();
                let mut buffer = [0; 1500];
                let (octets, from) = socket.recv_from(&mut buffer).unwrap();
                assert_eq!(from, address);
                assert_eq!(Message::parse(&buffer[..octets]).unwrap().answers.len(), 2);
            }
            assert_eq!(metrics.n_queries(), 200);
        },
    );
}

#[test]
fn changes_are_answered_at_once() {
    with_server(
        |_| {},
        1,
        async |address, zones, _| {
            let question = Question {
                name: name("app.cloud.example.com"),
                rtype: RecordType::A,
            };
            for last in 1..50 {
                let data = vec![Data::A(Ipv4Addr::new(127, 1, 2, last))];
                zones.publish(vec![Change::Set {
                    zone: name("cloud.example.com"),
                    name: name("app.cloud.example.com"),
                    entry: Entry::of(RecordSet::fixed(5, data)).into(),
                }]);
                let report = client::ask(&question, &[address], &client::Config::default()).await;
                assert_eq!(report.outcome.addresses(), [Ipv4Addr::new(127, 1, 2, last)]);
            }
        },
    );
}

#[test]
fn large_answers_come_over_tcp() {
    with_server(
        |_| {},
        200,
        async |address, _, _| {
            let question = Question {
                name: name("app.cloud.example.com"),
                rtype: RecordType::A,
            };
            let report = client::ask(&question, &[address], &client::Config::default()).await;
            let Outcome::Answer(records) = report.outcome else {
                panic!("{report:?}")
            };
            assert_eq!(records.len(), 200);
        },
    );
}

#[test]
fn garbage_datagrams_break_nothing() {
    with_server(
        |_| {},
        1,
        async |address, _, _| {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket
                .set_read_timeout(Some(Duration::from_secs(5)))
                .unwrap();
            let mut entropy = Entropy::new(5);
            for octets in (0..3000).step_by(7) {
                let mut garbage = (0..octets)
                    .map(|_| entropy.draw() as u8)
                    .collect::<Vec<_>>();
                if let Some(flags) = garbage.get_mut(2) {
                    // Marked as a reply, so that nothing comes back.
                    *flags |= 0x80;
                }
                socket.send_to(&garbage, address).unwrap();
            }
            socket.send_to(&query(None), address).unwrap();
            let mut buffer = [0; 1500];
            let octets = socket.recv(&mut buffer).unwrap();
            assert_eq!(
                Message::parse(&buffer[..octets]).unwrap().rcode,
                Rcode::NOERROR
            );
        },
    );
}

#[test]
fn floods_of_one_question_are_held_back() {
    let change = |cfg: &mut Config| cfg.rate_limit = Some(RateLimit::new(20));
    with_server(change, 40, async |address, _, _| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket
            .set_read_timeout(Some(Duration::from_millis(300)))
            .unwrap();
        for _ in 0..200 {
            socket.send_to(&query(Some(1232)), address).unwrap();
        }
        let (mut n_full, mut n_cut) = (0, 0);
        let mut buffer = [0; 1500];
        while let Ok(octets) = socket.recv(&mut buffer) {
            let message = Message::parse(&buffer[..octets]).unwrap();
            if message.answers.len() == 40 {
                n_full += 1;
            } else {
                assert!(message.has(crate::message::FLAG_TC) && octets < 60);
                n_cut += 1;
            }
        }
        // Some tokens come back while the flood lasts.
        assert!((20..100).contains(&n_full), "{n_full} full");
        assert!((50..=90).contains(&n_cut), "{n_cut} cut short");
        // A real client comes over TCP and gets everything.
        let question = Question {
            name: name("app.cloud.example.com"),
            rtype: RecordType::A,
        };
        let report = client::ask(&question, &[address], &client::Config::default()).await;
        assert_eq!(report.outcome.addresses().len(), 40);
    });
}

#[test]
fn tcp_takes_pipelined_queries_and_answers_in_order() {
    with_server(
        |_| {},
        200,
        async |address, _, _| {
            let mut stream = TcpStream::connect(address).unwrap();
            let mut all = Vec::new();
            for id in 0..50u16 {
                let mut query = query(None);
                query[..2].copy_from_slice(&id.to_be_bytes());
                all.extend(framed(&query));
            }
            stream.write_all(&all).unwrap();
            for id in 0..50 {
                let message = Message::parse(&read_framed(&mut stream).unwrap()).unwrap();
                assert_eq!((message.id, message.answers.len()), (id, 200));
            }
        },
    );
}

#[test]
fn the_longest_tcp_message_is_taken() {
    with_server(
        |_| {},
        1,
        async |address, _, _| {
            let mut stream = TcpStream::connect(address).unwrap();
            let mut long = query(None);
            long.resize(TCP_OCTETS_MAX, 0);
            stream.write_all(&framed(&long)).unwrap();
            let message = Message::parse(&read_framed(&mut stream).unwrap()).unwrap();
            assert_eq!(message.rcode, Rcode::NOERROR);
        },
    );
}

#[test]
fn slow_and_idle_tcp_clients_are_cut_off() {
    let change = |cfg: &mut Config| {
        cfg.tcp_idle = Duration::from_millis(100);
        cfg.tcp_message = Duration::from_millis(100);
    };
    with_server(change, 1, async |address, _, _| {
        for start in [&b""[..], &b"\x00"[..], &b"\xff\xff\x01\x02"[..]] {
            let mut stream = TcpStream::connect(address).unwrap();
            stream
                .set_read_timeout(Some(Duration::from_secs(5)))
                .unwrap();
            stream.write_all(start).unwrap();
            assert_eq!(stream.read(&mut [0; 16]).unwrap_or(0), 0, "after {start:?}");
        }
    });
}

#[test]
fn connections_beyond_the_limit_wait_for_a_place() {
    let change = |cfg: &mut Config| {
        cfg.tcp_connections_max = 1;
        cfg.tcp_idle = Duration::from_secs(60);
    };
    with_server(change, 1, async |address, _, _| {
        let mut first = TcpStream::connect(address).unwrap();
        first.write_all(&framed(&query(None))).unwrap();
        read_framed(&mut first).unwrap();
        let mut second = TcpStream::connect(address).unwrap();
        second.write_all(&framed(&query(None))).unwrap();
        second
            .set_read_timeout(Some(Duration::from_millis(100)))
            .unwrap();
        assert!(read_framed(&mut second).is_err());
        drop(first);
        second
            .set_read_timeout(Some(Duration::from_secs(5)))
            .unwrap();
        read_framed(&mut second).unwrap();
    });
}

#[test]
fn an_occupied_port_is_named_with_a_way_out() {
    with_server(
        |_| {},
        1,
        async |address, zones, metrics| {
            let cfg = Config::new("second", vec![address]);
            let error = Server::start(&cfg, zones, metrics).unwrap_err().to_string();
            assert_eq!(
                error,
                format!(
                    "TCP {address} is in use by another program; stop that one (`ss -lnp` names it) or choose another port"
                )
            );
            let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
            let cfg = Config::new("third", vec![taken.local_addr().unwrap()]);
            let error = Server::start(&cfg, zones, metrics).unwrap_err();
            assert!(
                matches!(
                    error,
                    Error::InUse {
                        protocol: "UDP",
                        ..
                    }
                ),
                "{error}"
            );
            let cfg = Config::new("fourth", vec!["192.0.2.1:0".parse().unwrap()]);
            let error = Server::start(&cfg, zones, metrics).unwrap_err();
            assert!(matches!(error, Error::NoSuchAddress { .. }), "{error}");
        },
    );
}

#[test]
fn many_loopback_addresses_are_served_by_one_server() {
    let change = |cfg: &mut Config| {
        cfg.listen = (1..=4)
            .map(|net| SocketAddr::from(([127, 1, net, 1], 0)))
            .collect();
    };
    with_server(change, 1, async |address, _, _| {
        assert_eq!(address.ip(), Ipv4Addr::new(127, 1, 1, 1));
        let question = Question {
            name: name("app.cloud.example.com"),
            rtype: RecordType::A,
        };
        let report = client::ask(&question, &[address], &client::Config::default()).await;
        assert!(report.outcome.is_conclusive());
    });
}

#[test]
fn metrics_are_served_by_name() {
    let mut registry = prometheus_client::registry::Registry::default();
    let metrics = Metrics::registered(&mut registry);
    let counters = metrics.worker("eu");
    let reply = answer::Reply {
        octets: 50,
        rcode: Rcode::NXDOMAIN,
        truncated: true,
        verified: false,
        kind: 0,
    };
    counters.count(Served {
        transport: Transport::Udp,
        reply: Some(reply),
    });
    counters.count(Served {
        transport: Transport::Tcp,
        reply: None,
    });
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    for line in [
        r#"flotilla_dns_queries_total{server="eu",transport="udp"} 1"#,
        r#"flotilla_dns_queries_total{server="eu",transport="tcp"} 1"#,
        r#"flotilla_dns_replies_total{server="eu",rcode="NXDOMAIN"} 1"#,
        r#"flotilla_dns_replies_truncated_total{server="eu"} 1"#,
        r#"flotilla_dns_queries_dropped_total{server="eu"} 1"#,
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
    }
}

/// A certificate for `localhost` and what trusts it.
fn tls_pair() -> (Arc<ServerConfig>, tokio_rustls::TlsConnector) {
    use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
    use tokio_rustls::rustls::{ClientConfig, RootCertStore};
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let certificate = made.cert.der().clone();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let server = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], PrivateKeyDer::Pkcs8(key))
        .unwrap();
    let client = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    (Arc::new(server), Arc::new(client).into())
}

#[test]
fn queries_are_answered_over_tls_and_plain_ones_there_are_not() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (config, connector) = tls_pair();
        let mut cfg = Config::new("test", vec![]);
        cfg.tls = vec![Tls {
            address: "127.0.0.1:0".parse().unwrap(),
            config,
        }];
        cfg.tcp_message = Duration::from_millis(300);
        let server = Server::start(&cfg, &zones(3), &Metrics::default()).unwrap();
        let address = server.tls_addresses()[0];
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let mut stream = connector
            .connect("localhost".try_into().unwrap(), stream)
            .await
            .unwrap();
        for _ in 0..3 {
            stream.write_all(&framed(&query(None))).await.unwrap();
            let mut reply = vec![0; usize::from(stream.read_u16().await.unwrap())];
            stream.read_exact(&mut reply).await.unwrap();
            assert_eq!(Message::parse(&reply).unwrap().answers.len(), 3);
        }
        let mut plain = TcpStream::connect(address).unwrap();
        plain
            .set_read_timeout(Some(Duration::from_secs(5)))
            .unwrap();
        plain.write_all(&framed(&query(None))).unwrap();
        let mut rest = Vec::new();
        let _ = plain.read_to_end(&mut rest);
        assert!(
            Message::parse(rest.get(2..).unwrap_or_default()).is_err(),
            "{rest:02x?}"
        );
        server.stop().await;
    });
}

/// What a server answers to an HTTP/1.1 request over TLS: the status line, the headers and the body.
async fn https(
    connector: &tokio_rustls::TlsConnector,
    address: SocketAddr,
    request: &[u8],
) -> (String, Vec<u8>) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let server_name = "localhost".try_into().unwrap();
    let mut stream = connector.connect(server_name, stream).await.unwrap();
    stream.write_all(request).await.unwrap();
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all).await;
    let end = all.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(all[..end].to_vec()).unwrap();
    (head.to_ascii_lowercase(), all[end + 4..].to_vec())
}

#[test]
fn queries_are_answered_over_https() {
    use base64::Engine;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (config, connector) = tls_pair();
        let mut cfg = Config::new("test", vec![]);
        cfg.https = vec![Tls {
            address: "127.0.0.1:0".parse().unwrap(),
            config,
        }];
        let server = Server::start(&cfg, &zones(3), &Metrics::default()).unwrap();
        let address = server.https_addresses()[0];
        let query = query(None);
        let encoded = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(&query);
        let end = "Host: localhost\r\nConnection: close\r\n";
        let get = |path: &str| format!("GET {path} HTTP/1.1\r\n{end}\r\n").into_bytes();
        let post = |media_type: &str, body: &[u8]| {
            let octets = body.len();
            let head = format!(
                "POST /dns-query HTTP/1.1\r\nContent-Type: {media_type}\r\nContent-Length: {octets}\r\n{end}\r\n"
            );
            [head.as_bytes(), body].concat()
        };
        let ours = "application/dns-message";
        for request in [get(&format!("/dns-query?dns={encoded}")), post(ours, &query)] {
            let (head, body) = https(&connector, address, &request).await;
            assert!(head.starts_with("http/1.1 200"), "{head}");
            assert!(head.contains("content-type: application/dns-message"), "{head}");
            assert!(head.contains("cache-control: max-age=5"), "{head}");
            assert_eq!(Message::parse(&body).unwrap().answers.len(), 3);
        }
        for (request, status) in [
            (get("/dns-query"), "400"),
            (get("/dns-query?dns=AAAA"), "400"),
            (get("/"), "404"),
            (post("text/plain", &query), "415"),
            (post(ours, &vec![0; TCP_OCTETS_MAX + 1]), "413"),
            (get("/dns-query").iter().map(|o| if *o == b'G' { b'P' } else { *o }).collect(), "405"),
        ] {
            let (head, _) = https(&connector, address, &request).await;
            assert!(head.starts_with(&format!("http/1.1 {status}")), "{status}: {head}");
        }
        server.stop().await;
    });
}
