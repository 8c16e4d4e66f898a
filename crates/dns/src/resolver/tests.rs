use std::time::Duration;

use super::*;
use crate::catalog::{Change, Publish, Zones};
use crate::client::Outcome;
use crate::name::Name;
use crate::record::{Data, Type};
use crate::server::Server;
use crate::zone::{Entry, NameServer, RecordSet, Settings};

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn set(zone: &str, host: &str, data: Vec<Data>) -> Change {
    let entry = Entry::of(RecordSet::fixed(1, data));
    Change::Set {
        zone: name(zone),
        name: name(host),
        entry: entry.into(),
    }
}

fn zone(apex: &str) -> Change {
    let servers = vec![NameServer {
        name: name("ns.example.com"),
        addresses: vec![],
    }];
    Change::Zone(Settings::k8gb(name(apex), 0, 1, servers).unwrap())
}

/// A parent server, two clusters and a resolver, all on loopback addresses of their own and one port.
struct Fleet {
    edge: Server,
    clusters: Vec<Server>,
    resolver: ResolverServer,
    metrics: Metrics,
}

async fn fleet(net: u8) -> Fleet {
    let metrics = Metrics::default();
    let server = |address: [u8; 4], port: u16, changes: Vec<Change>| {
        let zones = Zones::new();
        assert_eq!(zones.publish(changes), []);
        let cfg = server::Config::new("test", vec![SocketAddr::from((address, port))]);
        Server::start(&cfg, &zones, &metrics)
    };
    let edge = server(
        [127, net, 0, 1],
        0,
        vec![
            zone("example.com"),
            set(
                "example.com",
                "cloud.example.com",
                vec![
                    Data::Ns(name("gslb-ns-eu-cloud.example.com")),
                    Data::Ns(name("gslb-ns-us-cloud.example.com")),
                ],
            ),
            set(
                "example.com",
                "gslb-ns-eu-cloud.example.com",
                vec![Data::A([127, net, 1, 1].into())],
            ),
            set(
                "example.com",
                "gslb-ns-us-cloud.example.com",
                vec![Data::A([127, net, 2, 1].into())],
            ),
            set(
                "example.com",
                "www.example.com",
                vec![Data::Cname(name("app.cloud.example.com"))],
            ),
        ],
    )
    .unwrap();
    let port = edge.addresses()[0].port();
    let cluster = |number: u8| {
        let zone_name = "cloud.example.com";
        let changes = vec![
            zone(zone_name),
            set(
                zone_name,
                "app.cloud.example.com",
                vec![Data::A([127, 1, 1, 10].into())],
            ),
            set(
                zone_name,
                "a.b.cloud.example.com",
                vec![Data::A([127, 1, 1, 11].into())],
            ),
            set(
                zone_name,
                "x.cloud.example.com",
                vec![Data::Cname(name("y.cloud.example.com"))],
            ),
            set(
                zone_name,
                "y.cloud.example.com",
                vec![Data::Cname(name("x.cloud.example.com"))],
            ),
        ];
        server([127, net, number, 1], port, changes).unwrap()
    };
    let clusters = vec![cluster(1), cluster(2)];
    let hint = Hint {
        zone: name("example.com"),
        servers: vec![edge.addresses()[0]],
    };
    let mut cfg = Config::new(vec![hint], port);
    cfg.ask.hedge = Duration::from_secs(1);
    cfg.ask.deadline = Duration::from_secs(3);
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let resolver = ResolverServer::start(address, cfg, &metrics).unwrap();
    Fleet {
        edge,
        clusters,
        resolver,
        metrics,
    }
}

async fn ask(fleet: &Fleet, host: &str, rtype: Type) -> client::Report {
    let question = Question {
        name: name(host),
        rtype,
    };
    let cfg = client::Config {
        recursion_desired: true,
        deadline: Duration::from_secs(10),
        hedge: Duration::from_secs(5),
        ..client::Config::default()
    };
    client::ask(&question, &[fleet.resolver.address()], &cfg).await
}

fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(test)
}

#[test]
fn a_client_finds_a_host_through_the_delegation() {
    run(async {
        let fleet = fleet(21).await;
        for host in [
            "app.cloud.example.com",
            "www.example.com",
            "app.cloud.example.com",
        ] {
            let report = ask(&fleet, host, Type::A).await;
            assert_eq!(
                report.outcome.addresses(),
                ["127.1.1.10".parse::<std::net::IpAddr>().unwrap()]
            );
            let reply = report.reply.unwrap();
            assert!(reply.has(crate::message::FLAG_RA) && !reply.has(crate::message::FLAG_AA));
        }
        let outcome = |host: &'static str, rtype| {
            let fleet = &fleet;
            async move { ask(fleet, host, rtype).await.outcome }
        };
        assert!(matches!(
            outcome("b.cloud.example.com", Type::A).await,
            Outcome::NoData { .. }
        ));
        assert!(matches!(
            outcome("app.cloud.example.com", Type::AAAA).await,
            Outcome::NoData { .. }
        ));
        assert!(matches!(
            outcome("no.cloud.example.com", Type::A).await,
            Outcome::NxDomain { .. }
        ));
        assert_eq!(
            outcome("www.elsewhere.org", Type::A).await,
            Outcome::Failed(Rcode::REFUSED)
        );
        // The servers cut the loop off; what is left of the chain has no address.
        let looped = outcome("x.cloud.example.com", Type::A).await;
        assert!(!matches!(looped, Outcome::Answer(_)), "{looped:?}");
        fleet.resolver.stop().await;
        fleet.edge.stop().await;
    });
}

#[test]
fn a_dead_cluster_does_not_stop_the_walk() {
    run(async {
        let mut fleet = fleet(22).await;
        fleet.clusters.remove(0).stop().await;
        for _ in 0..8 {
            let report = ask(&fleet, "a.b.cloud.example.com", Type::A).await;
            assert_eq!(report.outcome.addresses().len(), 1, "{report:?}");
        }
    });
}

#[test]
fn equal_questions_share_one_walk() {
    run(async {
        let fleet = fleet(23).await;
        let resolver = fleet.resolver.resolver().clone();
        let question = Question {
            name: name("app.cloud.example.com"),
            rtype: Type::A,
        };
        let all = (0..100).map(|_| resolver.resolve(&question));
        let answers = futures::future::join_all(all).await;
        assert!(answers.iter().all(|answer| answer == &answers[0]));
        // One at the edge, one at a cluster.
        assert_eq!(fleet.metrics.n_queries(), 2);
        assert!(lock(&resolver.shared.walking).is_empty());
    });
}

#[test]
fn queries_that_do_not_ask_for_recursion_are_refused() {
    run(async {
        let fleet = fleet(24).await;
        let question = Question {
            name: name("app.cloud.example.com"),
            rtype: Type::A,
        };
        let cfg = client::Config::default();
        let report = client::ask(&question, &[fleet.resolver.address()], &cfg).await;
        assert_eq!(report.outcome, Outcome::Failed(Rcode::REFUSED));
        assert_eq!(report.reply, None);
    });
}
