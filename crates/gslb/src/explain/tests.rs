use std::collections::BTreeMap;

use expect_test::expect;
use jiff::Timestamp;

use super::{Facts, Scenario, explain, outlook::outlook, what_if};
use crate::{
    health::Health,
    select::Strategy,
    sight::{Sight, Sighting},
    spec,
    view::{Answer, Family, Observation},
};

fn said(ips: Option<&[&str]>) -> Observation {
    let answer = match ips {
        Some(ips) => Answer::Targets {
            addresses: ips.iter().map(|ip| ip.parse().unwrap()).collect(),
            ttl_seconds: 5,
        },
        None => Answer::Silence,
    };
    let server = ips.map(|_| "127.1.1.1:1053".parse().unwrap());
    Observation {
        answer,
        at: Timestamp::from_second(1_800_000_000).unwrap(),
        server,
    }
}

fn facts() -> Facts {
    let spec = serde_json::from_str(r#"{"strategy":{"type":"failover","primaryGeoTag":"eu"}}"#);
    let only_v4 = |ips| {
        BTreeMap::from([
            (Family::V4, said(ips)),
            (Family::V6, said(ips.map(|_| &[][..]))),
        ])
    };
    Facts {
        host: "app.cloud.example.com".into(),
        gslb: "test/app".into(),
        zone: "cloud.example.com".into(),
        pushed: vec!["eu".into()],
        geo_tag: "us".into(),
        rules: spec::rules(&spec.unwrap(), &BTreeMap::new(), Default::default()).unwrap(),
        health: Health::Healthy,
        addresses: vec!["10.1.0.1".parse().unwrap()],
        peers: BTreeMap::from([
            ("eu".to_owned(), only_v4(Some(&["10.0.0.1"]))),
            ("za".to_owned(), only_v4(None)),
        ]),
        served: only_v4(Some(&["10.1.0.1"])),
        sights: BTreeMap::new(),
        problem: String::new(),
        now: Timestamp::from_second(1_800_000_000).unwrap(),
    }
}

#[test]
fn an_explanation_reads_like_one() {
    expect![[r#"
        app.cloud.example.com as seen by us
          Gslb test/app, zone cloud.example.com, strategy failover, order eu
          us (this cluster): Healthy, 10.1.0.1
          eu: vouches for 10.0.0.1 from 127.1.1.1:1053 at 2027-01-15T08:00:00Z, heard by push
          za: does not answer at 2027-01-15T08:00:00Z, heard by poll
          A answer: 10.1.0.1, TTL 5 s
            with what is known now it would be: 10.0.0.1
            - us (this cluster) is healthy
            - eu vouches for its addresses
            - za did not answer
            - the primary serves: eu
    "#]]
    .assert_eq(&explain(&facts()).to_string());
}

#[test]
fn options_and_views_are_told() {
    let mut facts = facts();
    facts.rules.options.witness = true;
    facts.rules.options.hold = jiff::SignedDuration::from_secs(60);
    let sight = |text: &str| Sighting::Said(Sight::parse(text).unwrap());
    facts.sights = BTreeMap::from([
        (
            "us".into(),
            sight("v=1 by=us share=100 eu=recovering us=healthy za=silent"),
        ),
        ("za".into(), Sighting::Silence),
    ]);
    expect![[r#"
        app.cloud.example.com as seen by us
          Gslb test/app, zone cloud.example.com, strategy failover, order eu
          us (this cluster): Healthy, 10.1.0.1
          eu: vouches for 10.0.0.1 from 127.1.1.1:1053 at 2027-01-15T08:00:00Z, heard by push
          za: does not answer at 2027-01-15T08:00:00Z, heard by poll
          option: a silent primary is given up when most other clusters lost it too
          option: a cluster that came back is watched for 60 s before it is used
          view of us: v=1 by=us share=100 eu=recovering us=healthy za=silent
          view of za: does not answer
          A answer: 10.1.0.1, TTL 5 s
            - us (this cluster) is healthy
            - eu vouches for its addresses
            - za did not answer
            - eu is back and is used from 2027-01-15T08:01:00Z on, or when nobody else can serve
            - the primary cannot serve, every other healthy cluster does: us
    "#]]
    .assert_eq(&explain(&facts).to_string());
}

#[test]
fn the_same_is_there_as_data() {
    let json = serde_json::to_value(explain(&facts())).unwrap();
    assert_eq!(json["peers"][1]["says"], "does not answer");
    assert_eq!(json["answers"][0]["served"][0], "10.1.0.1");
    assert_eq!(json["answers"][0]["why"].as_array().unwrap().len(), 4);
    assert_eq!(json["geoTag"], "us");
}

#[test]
fn what_if_tells_what_each_cluster_would_answer() {
    let addresses = [("eu", "10.0.0.1"), ("us", "10.1.0.1"), ("za", "10.2.0.1")]
        .map(|(tag, ip)| (tag.to_owned(), vec![ip.parse().unwrap()]))
        .into();
    let failover = Strategy::Failover {
        order: vec!["eu".into()],
    };
    let tags = |scenario: &Scenario| {
        what_if(&failover, &addresses, scenario)
            .into_iter()
            .map(|(observer, s)| {
                let tags: Vec<_> = s.targets.into_keys().collect();
                format!("{observer}:{}", tags.join("+"))
            })
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(tags(&Scenario::default()), "eu:eu us:eu za:eu");
    let cut = Scenario {
        partitions: [("eu".to_owned(), "us".to_owned())].into(),
        ..Scenario::default()
    };
    assert_eq!(tags(&cut), "eu:eu us:us+za za:eu");
    let ill = Scenario {
        unhealthy: ["eu".to_owned()].into(),
        ..Scenario::default()
    };
    assert_eq!(tags(&ill), "eu:us+za us:us+za za:us+za");
    let witnessed = Scenario {
        witnessed: true,
        ..cut
    };
    assert_eq!(tags(&witnessed), "eu:eu us:eu za:eu", "za still hears eu");
    let gone = |tag: &str| ("eu".to_owned(), tag.to_owned());
    let witnessed = Scenario {
        partitions: [gone("us"), gone("za")].into(),
        ..witnessed
    };
    assert_eq!(tags(&witnessed), "eu:eu us:us+za za:us+za");
}

#[test]
fn an_outlook_starts_from_the_state_of_now() {
    let mut facts = facts();
    let za = facts.peers.get_mut("za").unwrap();
    za.insert(Family::V4, said(Some(&["10.2.0.1"])));
    let scenario = Scenario {
        unhealthy: ["eu".to_owned()].into(),
        partitions: [("us".to_owned(), "za".to_owned())].into(),
        ..Scenario::default()
    };
    expect![[r#"
        app.cloud.example.com, strategy failover
          eu would answer with us+za: 10.1.0.1, 10.2.0.1
            A: eu (this cluster) is Unhealthy; us vouches for its addresses; za vouches for its addresses; the primary cannot serve, every other healthy cluster does: us, za
          us would answer with us: 10.1.0.1
            A: us (this cluster) is healthy; eu answered that it has none; za did not answer; the primary cannot serve, every other healthy cluster does: us
          za would answer with za: 10.2.0.1
            A: za (this cluster) is healthy; eu answered that it has none; us did not answer; the primary cannot serve, every other healthy cluster does: za
    "#]]
    .assert_eq(&outlook(&facts, &scenario).unwrap().to_string());

    facts.health = Health::Unhealthy;
    let now = outlook(&facts, &Scenario::default()).unwrap();
    assert_eq!(now.without_addresses, ["us"]);
    assert!(now.clusters.iter().all(|c| c.serving == ["eu"]), "{now}");
    let typo = Scenario {
        unhealthy: ["ue".to_owned()].into(),
        ..Scenario::default()
    };
    assert_eq!(
        outlook(&facts, &typo).unwrap_err().to_string(),
        "\"ue\" is no cluster of the zone cloud.example.com; there are eu, us, za"
    );
}
