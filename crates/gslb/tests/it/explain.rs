//! Explanations made from nothing but a client and DNS.

use std::time::Duration;

use flotilla_gslb::drain::drain;
use flotilla_gslb::explain::ask::{Ask, explain_host, facts};
use flotilla_gslb::ramp::Drain;
use serde_json::json;

use crate::fleet::{Fleet, HOST, application, eventually};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn any_cluster_can_be_asked_why() {
    let fleet = Fleet::start(84, &["eu", "us"], Duration::from_secs(1)).await;
    for (cluster, address) in fleet.clusters.iter().zip(["10.0.0.1", "10.1.0.1"]) {
        application(
            cluster,
            address,
            json!({"type": "failover", "primaryGeoTag": "eu"}),
        )
        .await;
    }
    let us = &fleet.clusters[1];
    let ask = Ask {
        ports: us.config.peer_ports(),
        ..Ask::default()
    };
    let mut text = String::new();
    eventually("us explains that eu serves", async || {
        let Ok(explanation) = explain_host(&us.client, HOST, &ask).await else {
            return false;
        };
        text = explanation.to_string();
        explanation.answers.first().is_some_and(|answer| {
            answer.served.as_ref() == Some(&answer.expected)
                && answer.expected == ["10.0.0.1".parse::<std::net::IpAddr>().unwrap()]
        })
    })
    .await;
    for part in [
        "as seen by us",
        "eu: vouches for 10.0.0.1",
        "the primary serves: eu",
        "order eu",
    ] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
    let error = explain_host(&us.client, "nobody.cloud.example.com", &ask)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("nobody.cloud.example.com"));
    let drained = drain(&us.client, HOST, true, None).await.unwrap();
    assert_eq!((drained.changed, drained.hosts), (true, vec![HOST.into()]));
    assert!(!drain(&us.client, HOST, true, None).await.unwrap().changed);
    eventually("us offers nothing while it is drained", async || {
        facts(&us.client, HOST, &ask).await.is_ok_and(|facts| {
            facts.rules.options.drain == Drain::Out(None) && facts.addresses.is_empty()
        })
    })
    .await;
    assert!(drain(&us.client, HOST, false, None).await.unwrap().changed);
    fleet.stop().await;
}
