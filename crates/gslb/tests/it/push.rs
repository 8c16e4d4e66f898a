//! Changes that are pushed: agreement without polling, beside clusters that only poll, and after pushing ends.

use std::time::Duration;

use serde_json::json;
use tokio::net::{TcpListener, UdpSocket};

use super::fleet::{Fleet, HOST, application, eventually, slice};

/// Long enough that no test lives to see a second poll.
const NEVER: Duration = Duration::from_secs(300);
const ADDRESSES: [&str; 3] = ["10.0.0.1", "10.1.0.1", "10.2.0.1"];

async fn start(net: u8, poll: Duration, pushing: &[&str]) -> Fleet {
    let fleet = Fleet::start_with(net, &["eu", "us", "za"], poll, pushing).await;
    for (cluster, address) in fleet.clusters.iter().zip(ADDRESSES) {
        let strategy = json!({"type": "failover", "primaryGeoTag": "eu", "dnsTtlSeconds": 5});
        application(cluster, address, strategy).await;
    }
    agree(&fleet, "10.0.0.1").await;
    fleet
}

async fn agree(fleet: &Fleet, expected: &str) {
    eventually(&format!("everybody answers {expected}"), async || {
        for cluster in &fleet.clusters {
            if cluster.dig(HOST).await != expected {
                return false;
            }
        }
        true
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_fleet_that_pushes_needs_no_polling() {
    // Zero is never, the other longer than the test.
    for (net, poll) in [(84, NEVER), (85, Duration::ZERO)] {
        let fleet = start(net, poll, &["eu", "us", "za"]).await;
        for _ in 0..3 {
            fleet.clusters[0].put("endpointslices", slice(false)).await;
            agree(&fleet, "10.1.0.1 10.2.0.1").await;
            fleet.clusters[1].put("endpointslices", slice(false)).await;
            agree(&fleet, "10.2.0.1").await;
            fleet.clusters[1].put("endpointslices", slice(true)).await;
            fleet.clusters[0].put("endpointslices", slice(true)).await;
            agree(&fleet, "10.0.0.1").await;
        }
        fleet.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_cluster_without_the_key_is_polled_and_polls() {
    let fleet = start(86, Duration::from_secs(1), &["eu", "us"]).await;
    fleet.clusters[0].put("endpointslices", slice(false)).await;
    agree(&fleet, "10.1.0.1 10.2.0.1").await;
    fleet.clusters[2].put("endpointslices", slice(false)).await;
    agree(&fleet, "10.1.0.1").await;
    fleet.clusters[2].put("endpointslices", slice(true)).await;
    fleet.clusters[0].put("endpointslices", slice(true)).await;
    agree(&fleet, "10.0.0.1").await;
    fleet.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn polling_goes_on_when_pushing_ends() {
    // It rests while changes are pushed.
    let poll = Duration::from_secs(2);
    let mut fleet = start(87, poll, &["eu", "us", "za"]).await;
    fleet.clusters[0].put("endpointslices", slice(false)).await;
    agree(&fleet, "10.1.0.1 10.2.0.1").await;
    // The server of eu comes back as one that knows no key, with the primary healthy again.
    fleet.clusters[0].stop_dns().await;
    fleet.clusters[0].put("endpointslices", slice(true)).await;
    fleet.clusters[0].start_dns_without_key();
    agree(&fleet, "10.0.0.1").await;
    fleet.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_peer_that_accepts_and_never_answers_delays_nobody() {
    // Nobody is polled in time: what the others agree on was pushed past the peer that stalls.
    let mut fleet = start(88, NEVER, &["eu", "us", "za"]).await;
    let stalled = fleet.clusters[2].dns;
    fleet.clusters[2].stop_dns().await;
    let _silent = UdpSocket::bind(stalled).await.unwrap();
    let listener = TcpListener::bind(stalled).await.unwrap();
    let accepting = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok(accepted) = listener.accept().await {
            held.push(accepted);
        }
    });
    let others = &fleet.clusters[..2];
    let agreed = async |expected: &[&str]| {
        eventually(&format!("the others answer {expected:?}"), async || {
            for cluster in others {
                if !expected.contains(&cluster.dig(HOST).await.as_str()) {
                    return false;
                }
            }
            true
        })
        .await
    };
    for _ in 0..3 {
        others[0].put("endpointslices", slice(false)).await;
        // It counts until its patience is over.
        agreed(&["10.1.0.1 10.2.0.1", "10.1.0.1"]).await;
        others[0].put("endpointslices", slice(true)).await;
        agreed(&["10.0.0.1"]).await;
    }
    others[0].put("endpointslices", slice(false)).await;
    agreed(&["10.1.0.1"]).await;
    accepting.abort();
    fleet.stop().await;
}
