//! Both providers against doubles of their APIs that are as strict as the originals where it matters.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use prometheus_client::registry::Registry;
use roxmltree::Document;
use serde_json::{Value, json};

use super::{
    Delegations, Error,
    double::{Asked, Double},
    infoblox::Grid,
    route53::Route53,
};
use crate::{
    config::{Config, Infoblox, Provider, Route53 as Route53Settings},
    delegate::Records,
    metrics::Metrics,
    providers::credentials::{Keys, Secret, Source},
};

fn records(tag: &str, addresses: &[&str]) -> Records {
    Records {
        zone: "cloud.example.com".into(),
        parent: "example.com".into(),
        own_name: format!("gslb-ns-{tag}-cloud.example.com"),
        addresses: addresses.iter().map(|ip| ip.parse().unwrap()).collect(),
        ttl_seconds: 30,
    }
}

/// A hosted zone: values by name and type, and what goes wrong with the next changes.
#[derive(Default)]
struct Hosted {
    sets: BTreeMap<(String, String), Vec<String>>,
    /// Refusals to give before anything is carried out.
    refuse: Vec<&'static str>,
    /// A name server that somebody else adds just before the next batch arrives.
    intruder: Option<String>,
    n_batches: usize,
    /// Whether each list has one set per page.
    small_pages: bool,
}

impl Hosted {
    fn play(&mut self, asked: &Asked) -> (u16, String) {
        assert!(
            asked
                .head
                .to_ascii_lowercase()
                .contains("authorization: aws4-hmac-sha256 credential=id/")
        );
        if asked.target.contains("hostedzonesbyname") {
            return (
                200,
                "<R><HostedZones><HostedZone><Id>/hostedzone/Z9</Id><Name>example.com.</Name></HostedZone></HostedZones></R>".into(),
            );
        }
        assert!(
            asked.target.starts_with("/2013-04-01/hostedzone/Z9/rrset"),
            "{}",
            asked.target
        );
        match asked.method.as_str() {
            "GET" => (200, self.list(&asked.target)),
            _ => self.change(&asked.body),
        }
    }

    fn list(&self, target: &str) -> String {
        let (_, query) = target.split_once('?').unwrap();
        let value = |key: &str| {
            let part = query
                .split('&')
                .find_map(|part| part.strip_prefix(key))
                .unwrap();
            part.to_owned()
        };
        let start = (
            format!("{}.", value("name=").trim_end_matches('.')),
            value("type="),
        );
        let mut rest = self.sets.range(start..).peekable();
        let n_page = if self.small_pages { 1 } else { 100 };
        let mut xml = String::from("<ListResourceRecordSetsResponse><ResourceRecordSets>");
        for ((name, kind), values) in rest.by_ref().take(n_page) {
            xml += &format!(
                "<ResourceRecordSet><Name>{name}</Name><Type>{kind}</Type><TTL>60</TTL><ResourceRecords>"
            );
            for value in values {
                xml += &format!("<ResourceRecord><Value>{value}</Value></ResourceRecord>");
            }
            xml += "</ResourceRecords></ResourceRecordSet>";
        }
        xml += "</ResourceRecordSets>";
        if let Some(((name, kind), _)) = rest.peek() {
            xml += &format!(
                "<IsTruncated>true</IsTruncated><NextRecordName>{name}</NextRecordName><NextRecordType>{kind}</NextRecordType>"
            );
        }
        xml + "</ListResourceRecordSetsResponse>"
    }

    /// All or nothing: what is deleted must look as it is said, what is created must not be there.
    fn change(&mut self, body: &str) -> (u16, String) {
        self.n_batches += 1;
        if let Some(code) = self.refuse.pop() {
            return (
                400,
                format!("<E><Error><Code>{code}</Code><Message>wait</Message></Error></E>"),
            );
        }
        let ns = ("cloud.example.com.".to_owned(), "NS".to_owned());
        if let Some(intruder) = self.intruder.take() {
            self.sets.entry(ns).or_default().push(intruder);
        }
        let document = Document::parse(body).unwrap();
        let text = |node: roxmltree::Node<'_, '_>, name: &str| {
            let found = node.descendants().find(|n| n.tag_name().name() == name);
            found.and_then(|n| n.text()).unwrap_or_default().to_owned()
        };
        let mut sets = self.sets.clone();
        for change in document
            .descendants()
            .filter(|n| n.tag_name().name() == "Change")
        {
            let at = (text(change, "Name"), text(change, "Type"));
            let values = change
                .descendants()
                .filter(|n| n.tag_name().name() == "Value");
            let mut values: Vec<String> =
                values.filter_map(|n| n.text()).map(str::to_owned).collect();
            values.sort();
            let mut there = sets.get(&at).cloned().unwrap_or_default();
            there.sort();
            let fits = match text(change, "Action").as_str() {
                "DELETE" => sets.remove(&at).is_some() && there == values,
                _ => sets.insert(at, values).is_none(),
            };
            if !fits {
                let xml = "<InvalidChangeBatch><Messages><Message>the values do not match</Message></Messages></InvalidChangeBatch>";
                return (400, xml.into());
            }
        }
        self.sets = sets;
        (200, "<ChangeResourceRecordSetsResponse/>".into())
    }

    fn servers(&self) -> Vec<String> {
        let ns = ("cloud.example.com.".to_owned(), "NS".to_owned());
        let mut servers = self.sets.get(&ns).cloned().unwrap_or_default();
        servers.sort();
        servers.iter().map(|name| name[8..10].to_owned()).collect()
    }
}

struct Aws {
    hosted: Arc<Mutex<Hosted>>,
    settings: Route53Settings,
}

async fn aws() -> Aws {
    let hosted = Arc::new(Mutex::new(Hosted::default()));
    let shared = hosted.clone();
    let double = Double::plain(Box::new(move |asked| shared.lock().unwrap().play(asked))).await;
    let settings = Route53Settings {
        endpoint: format!("http://{}", double.address),
        sts_endpoint: format!("http://{}", double.address),
        hosted_zone_id: None,
        credentials: Source::Given(Keys {
            access_key_id: "id".into(),
            secret_access_key: Secret("secret".into()),
            session_token: None,
        }),
    };
    Aws { hosted, settings }
}

#[tokio::test]
async fn route53_clusters_share_a_zone_without_an_owner() {
    let aws = aws().await;
    aws.hosted.lock().unwrap().small_pages = true;
    let clusters: Vec<(Route53, Records)> = ["eu", "us", "za", "ap"]
        .into_iter()
        .map(|tag| {
            let client = Route53::new(aws.settings.clone()).unwrap();
            (client, records(tag, &["10.0.0.1", "2001:db8::1"]))
        })
        .collect();
    // All at once: whoever is refused reads again.
    let puts = clusters.iter().map(|(client, records)| client.put(records));
    for outcome in futures::future::join_all(puts).await {
        assert!(outcome.unwrap());
    }
    assert_eq!(
        aws.hosted.lock().unwrap().servers(),
        ["ap", "eu", "us", "za"]
    );
    assert_eq!(aws.hosted.lock().unwrap().sets.len(), 1 + 2 * 4);
    let n_batches = aws.hosted.lock().unwrap().n_batches;
    assert!(
        !clusters[0].0.put(&clusters[0].1).await.unwrap(),
        "it says so already"
    );
    assert_eq!(
        aws.hosted.lock().unwrap().n_batches,
        n_batches,
        "nothing is written twice"
    );
    for (tag, left) in [("eu", 3), ("us", 2), ("za", 1), ("ap", 0)] {
        let client = Route53::new(aws.settings.clone()).unwrap();
        assert!(client.put(&records(tag, &[])).await.unwrap());
        assert_eq!(aws.hosted.lock().unwrap().servers().len(), left);
    }
    assert!(
        aws.hosted.lock().unwrap().sets.is_empty(),
        "the last one takes the delegation along"
    );
}

#[tokio::test]
async fn route53_a_set_that_changed_in_between_is_read_again() {
    let aws = aws().await;
    let client = Route53::new(aws.settings.clone()).unwrap();
    client.put(&records("eu", &["10.0.0.1"])).await.unwrap();
    aws.hosted.lock().unwrap().intruder = Some("gslb-ns-za-cloud.example.com.".into());
    let us = Route53::new(aws.settings.clone()).unwrap();
    us.put(&records("us", &["10.1.0.1"])).await.unwrap();
    let hosted = aws.hosted.lock().unwrap();
    assert_eq!(
        (hosted.servers(), hosted.n_batches),
        (vec!["eu".into(), "us".into(), "za".into()], 3)
    );
}

#[tokio::test]
async fn route53_refusals_reach_the_log_in_its_own_words() {
    let aws = aws().await;
    let client = Route53::new(aws.settings.clone()).unwrap();
    for code in ["Throttling", "PriorRequestNotComplete", "AccessDenied"] {
        aws.hosted.lock().unwrap().refuse.push(code);
        let error = client.put(&records("eu", &["10.0.0.1"])).await.unwrap_err();
        assert!(error.to_string().contains(code), "{error}");
    }
    let missing = Records {
        parent: "example.org".into(),
        ..records("eu", &["10.0.0.1"])
    };
    let error = client.put(&missing).await.unwrap_err();
    assert!(matches!(error, Error::NoHostedZone(_)), "{error}");
}

#[tokio::test]
async fn route53_keys_come_from_files_and_from_sts() {
    let aws = aws().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("credentials");
    std::fs::write(
        &path,
        "[dns]\naws_access_key_id=id\naws_secret_access_key=s\n",
    )
    .unwrap();
    let file = |profile: &str| Route53Settings {
        credentials: Source::File {
            path: path.clone(),
            profile: profile.into(),
        },
        ..aws.settings.clone()
    };
    let client = Route53::new(file("dns")).unwrap();
    assert!(client.put(&records("eu", &["10.0.0.1"])).await.unwrap());
    let client = Route53::new(file("absent")).unwrap();
    let error = client.put(&records("eu", &["10.0.0.1"])).await.unwrap_err();
    assert!(error.to_string().contains("no complete profile"), "{error}");

    let n_asked = Arc::new(Mutex::new(0));
    let counted = n_asked.clone();
    let sts = Double::plain(Box::new(move |asked| {
        *counted.lock().unwrap() += 1;
        assert!(asked.body.ends_with("WebIdentityToken=token"), "{}", asked.body);
        let keys = "<R><Credentials><AccessKeyId>id</AccessKeyId><SecretAccessKey>s</SecretAccessKey>\
            <SessionToken>t</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></R>";
        (200, keys.into())
    }))
    .await;
    let token_file = folder.path().join("token");
    std::fs::write(&token_file, "token\n").unwrap();
    let client = Route53::new(Route53Settings {
        sts_endpoint: format!("http://{}", sts.address),
        credentials: Source::WebIdentity {
            token_file,
            role_arn: "arn:aws:iam::1:role/dns".into(),
            session_name: "flotilla".into(),
        },
        ..aws.settings.clone()
    })
    .unwrap();
    assert!(!client.put(&records("eu", &["10.0.0.1"])).await.unwrap());
    assert_eq!(*n_asked.lock().unwrap(), 1, "keys are kept until they end");
}

/// A grid with one view.
#[derive(Default)]
struct Wapi {
    zone: Option<Value>,
    /// Name servers that somebody else writes just after the next change, in place of everything.
    overwrite: Vec<Value>,
    broken: bool,
    calls: Vec<String>,
}

impl Wapi {
    fn play(&mut self, asked: &Asked) -> (u16, String) {
        assert!(asked.head.contains("Basic dXNlcjpwYXNz"), "{}", asked.head);
        self.calls
            .push(format!("{} {}", asked.method, asked.target));
        if self.broken {
            return (
                500,
                json!({"Error": "x", "text": "the database is away"}).to_string(),
            );
        }
        let body: Value = serde_json::from_str(&asked.body).unwrap_or_default();
        match asked.method.as_str() {
            "GET" => {
                assert!(asked.target.contains("view=inside"), "{}", asked.target);
                let list: Vec<&Value> = self.zone.iter().collect();
                return (200, json!(list).to_string());
            }
            "DELETE" => self.zone = None,
            _ => {
                let mut zone = body;
                zone["_ref"] = json!("zone_delegated/ZG5z:cloud.example.com/inside");
                if !self.overwrite.is_empty() {
                    zone["delegate_to"] = json!(std::mem::take(&mut self.overwrite));
                }
                self.zone = Some(zone);
            }
        }
        (
            200,
            json!("zone_delegated/ZG5z:cloud.example.com/inside").to_string(),
        )
    }

    fn servers(&self) -> Vec<String> {
        let servers = self
            .zone
            .as_ref()
            .and_then(|zone| zone["delegate_to"].as_array());
        let servers = servers.into_iter().flatten();
        servers
            .map(|s| s["name"].as_str().unwrap()[8..10].to_owned())
            .collect()
    }
}

async fn grid() -> (Arc<Mutex<Wapi>>, Infoblox, tempfile::TempDir) {
    let wapi = Arc::new(Mutex::new(Wapi::default()));
    let shared = wapi.clone();
    let double = Double::tls(Box::new(move |asked| shared.lock().unwrap().play(asked))).await;
    let folder = tempfile::tempdir().unwrap();
    let ca_file = folder.path().join("ca.pem");
    std::fs::write(&ca_file, &double.certificate).unwrap();
    let settings = Infoblox {
        grid_host: "127.0.0.1".into(),
        port: double.address.port(),
        username: "user".into(),
        password: "pass".into(),
        version: "2.12".into(),
        request_timeout: Duration::from_secs(20),
        n_connections: 2,
        view: "inside".into(),
        ca_file: Some(ca_file),
    };
    (wapi, settings, folder)
}

#[tokio::test]
async fn infoblox_clusters_keep_each_others_name_servers() {
    let (wapi, settings, _folder) = grid().await;
    let mut registry = Registry::default();
    let metrics = Metrics::register(&mut registry, "k8gb");
    let grid = Grid::new(settings, metrics).unwrap();
    assert!(grid.put(&records("eu", &["10.0.0.1"])).await.unwrap());
    assert!(grid.put(&records("us", &["10.1.0.1"])).await.unwrap());
    assert!(!grid.put(&records("us", &["10.1.0.1"])).await.unwrap());
    assert_eq!(wapi.lock().unwrap().servers(), ["eu", "us"]);
    assert!(wapi.lock().unwrap().calls[0].starts_with("GET /wapi/v2.12/zone_delegated?"));
    // Another cluster that read before us writes after us: ours is gone, and is put there again.
    let lone = json!({"name": "gslb-ns-eu-cloud.example.com", "address": "10.0.0.1"});
    wapi.lock().unwrap().overwrite = vec![lone];
    assert!(grid.put(&records("za", &["10.2.0.1"])).await.unwrap());
    assert_eq!(wapi.lock().unwrap().servers(), ["eu", "za"]);
    for tag in ["eu", "za"] {
        assert!(grid.put(&records(tag, &[])).await.unwrap());
    }
    assert_eq!(
        wapi.lock().unwrap().zone,
        None,
        "the last one takes the zone along"
    );
    let mut page = String::new();
    prometheus_client::encoding::text::encode(&mut page, &registry).unwrap();
    for series in [
        "k8gb_infoblox_request_duration_count{request=\"ZoneCreate\",success=\"true\"} 1",
        "k8gb_infoblox_zone_updates_total 6",
    ] {
        assert!(page.contains(series), "no {series} in\n{page}");
    }
}

#[tokio::test]
async fn d15_infoblox_is_verified_and_a_failed_read_creates_nothing() {
    let (wapi, settings, _folder) = grid().await;
    wapi.lock().unwrap().broken = true;
    let grid = Grid::new(settings.clone(), Metrics::default()).unwrap();
    let error = grid.put(&records("eu", &["10.0.0.1"])).await.unwrap_err();
    assert!(
        error.to_string().contains("the database is away"),
        "{error}"
    );
    assert_eq!(wapi.lock().unwrap().calls.len(), 1);
    let stranger = Infoblox {
        ca_file: None,
        ..settings
    };
    let grid = Grid::new(stranger, Metrics::default()).unwrap();
    assert!(
        grid.put(&records("eu", &["10.0.0.1"])).await.is_err(),
        "its certificate is not trusted"
    );
    assert_eq!(wapi.lock().unwrap().calls.len(), 1);
}

#[tokio::test]
async fn a_wish_is_carried_out_once_although_the_engine_repeats_it() {
    let aws = aws().await;
    let env = |name: &str| match name {
        "CLUSTER_GEO_TAG" => Some("eu".to_owned()),
        "EDGE_DNS_SERVERS" => Some("10.0.0.53".to_owned()),
        _ => None,
    };
    let mut config = Config::parse(&env).unwrap().config;
    config.provider = Provider::Route53(aws.settings.clone());
    let delegations: Delegations = super::start(&config, &Metrics::default()).unwrap();
    let task = tokio::spawn(delegations.clone().run());
    for _ in 0..3 {
        delegations.set(records("eu", &["10.0.0.1"]));
    }
    while aws.hosted.lock().unwrap().servers().is_empty() {
        tokio::task::yield_now().await;
    }
    delegations.set(records("eu", &["10.0.0.1"]));
    delegations.set(records("eu", &[]));
    while !aws.hosted.lock().unwrap().servers().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(aws.hosted.lock().unwrap().n_batches, 2);
    task.abort();
}
