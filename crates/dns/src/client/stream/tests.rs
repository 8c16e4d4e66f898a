use std::collections::HashSet;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::catalog::{Change, Publish, Zones};
use crate::notify::outbox::Recipient;
use crate::record::Data;
use crate::secondary::Replica;
use crate::server::{Config, Metrics, Notices, Notifier, NotifierConfig, Server};
use crate::tsig::Algorithm;
use crate::zone::{Entry, RecordSet, Settings};

fn key(secret: &[u8]) -> Key {
    let name = Name::parse("fleet").unwrap();
    Key::new(name, Algorithm::HmacSha256, secret)
}

fn zone() -> Name {
    Name::parse("cloud.example.com").unwrap()
}

fn host(number: usize) -> Name {
    Name::parse(&format!("localtargets-{number}.cloud.example.com")).unwrap()
}

fn set(number: usize, last: u8) -> Change {
    let data = vec![Data::A([10, 0, 0, last].into())];
    Change::Set {
        zone: zone(),
        name: host(number),
        entry: Entry::of(RecordSet::fixed(5, data)).into(),
    }
}

fn served() -> Arc<Zones> {
    let zones = Zones::timed(unix_now);
    let settings = Settings::k8gb(zone(), 0, 30, vec![]).unwrap();
    assert_eq!(zones.publish(vec![Change::Zone(settings)]), []);
    zones
}

fn wanted(secret: &[u8]) -> Wanted {
    Wanted {
        zone: zone(),
        key: key(secret),
        keep: |_| true,
    }
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(test);
}

#[test]
fn a_change_is_told_and_pulled_over_the_kept_connection() {
    run(async {
        let (owners, copys) = (served(), served());
        let listen = || vec![SocketAddr::from(([127, 0, 0, 1], 0))];
        let mut cfg = Config::new("owner", listen());
        cfg.transfer_keys = vec![key(b"secret").into()];
        let owner = Server::start(&cfg, &owners, &Metrics::default()).unwrap();
        let (sender, mut notices) = mpsc::channel(16);
        let mut cfg = Config::new("copy", listen());
        cfg.notices = Some(Notices {
            key: key(b"secret"),
            sender,
        });
        let copy = Server::start(&cfg, &copys, &Metrics::default()).unwrap();
        let stop = CancellationToken::new();
        let cfg = NotifierConfig {
            key: Some(key(b"secret")),
            secondaries: Vec::new(),
            secondaries_key: None,
            source: None,
        };
        let (notifier, sending) = Notifier::start(&owners, cfg, stop.clone());
        let sending = tokio::spawn(sending);
        let recipient = Recipient {
            id: "copy".into(),
            addresses: copy.addresses().to_vec(),
        };
        notifier.set(&zone(), vec![recipient]);

        let mut replica = Replica::default();
        let mut stream = Stream::connect(owner.addresses()[0], None).await.unwrap();
        let whole = stream.pull(&wanted(b"secret"), None).await.unwrap();
        replica.apply(whole).unwrap();
        assert_eq!(notices.recv().await.unwrap().zone, zone());
        owners.publish((0..3_000).map(|number| set(number, 1)).collect());
        while notices.recv().await.unwrap().serial == replica.serial() {}
        let update = stream
            .pull(&wanted(b"secret"), replica.serial())
            .await
            .unwrap();
        assert!(matches!(update, Update::Changes { .. }));
        assert_eq!(replica.apply(update).unwrap().len(), 3_000);
        owners.publish(vec![set(7, 2)]);
        notices.recv().await.unwrap();
        let update = stream
            .pull(&wanted(b"secret"), replica.serial())
            .await
            .unwrap();
        assert_eq!(replica.apply(update).unwrap(), HashSet::from([host(7)]));
        let same = stream
            .pull(&wanted(b"secret"), replica.serial())
            .await
            .unwrap();
        assert_eq!(same, Update::Same);
        stop.cancel();
        sending.await.unwrap();
        owner.stop().await;
        copy.stop().await;
    });
}

#[test]
fn a_server_without_the_key_refuses_and_one_that_stops_breaks_the_pull() {
    run(async {
        let zones = served();
        let listen = vec![SocketAddr::from(([127, 0, 0, 1], 0))];
        let mut cfg = Config::new("owner", listen);
        let plain = Server::start(&cfg, &zones, &Metrics::default()).unwrap();
        cfg.transfer_keys = vec![key(b"secret").into()];
        let keyed = Server::start(&cfg, &zones, &Metrics::default()).unwrap();
        for (server, secret) in [(&plain, &b"secret"[..]), (&keyed, &b"wrong"[..])] {
            let mut stream = Stream::connect(server.addresses()[0], None).await.unwrap();
            let result = stream.pull(&wanted(secret), None).await;
            let refused = matches!(result, Err(Error::Transfer(secondary::Error::Refused(_))));
            assert!(refused, "{result:?}");
        }
        plain.stop().await;
        keyed.stop().await;
        // Somebody who takes the connection, announces a message and goes.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let liar = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 20];
            stream.read_exact(&mut request).await.unwrap();
            stream.write_all(b"\xff\xff\x00").await.unwrap();
        });
        let mut stream = Stream::connect(address, None).await.unwrap();
        let result = stream.pull(&wanted(b"secret"), None).await;
        assert!(matches!(result, Err(Error::Io(_))), "{result:?}");
        liar.await.unwrap();
    });
}
