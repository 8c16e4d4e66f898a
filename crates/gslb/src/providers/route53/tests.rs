use expect_test::expect;

use super::{After, Change, RecordSet, after, assumed, batch, hosted_zone, page, plan, refusal};
use crate::delegate::Records;

fn records(addresses: &[&str]) -> Records {
    Records {
        zone: "cloud.example.com".into(),
        parent: "example.com".into(),
        own_name: "gslb-ns-eu-cloud.example.com".into(),
        addresses: addresses.iter().map(|ip| ip.parse().unwrap()).collect(),
        ttl_seconds: 30,
    }
}

fn set(name: &str, kind: &str, ttl: u32, values: &[&str]) -> RecordSet {
    RecordSet {
        name: name.into(),
        kind: kind.into(),
        ttl_seconds: Some(ttl),
        values: values.iter().map(|v| (*v).to_owned()).collect(),
        foreign: false,
    }
}

fn lines(found: &[RecordSet], addresses: &[&str]) -> Vec<String> {
    let changes = plan(found, &records(addresses)).unwrap();
    changes
        .into_iter()
        .map(|change| {
            let (verb, set) = match change {
                Change::Delete(set) => ("-", set),
                Change::Create(set) => ("+", set),
            };
            let ttl = set.ttl_seconds.unwrap();
            format!(
                "{verb} {} {} {ttl} {}",
                set.name,
                set.kind,
                set.values.join(",")
            )
        })
        .collect()
}

const US: &str = "gslb-ns-us-cloud.example.com.";
const EU: &str = "gslb-ns-eu-cloud.example.com.";
const ZONE: &str = "cloud.example.com.";

#[test]
fn a_cluster_swaps_the_shared_set_and_keeps_what_others_put_there() {
    let glue = set(EU, "A", 30, &["10.0.0.1"]);
    type Row<'a> = (&'a [RecordSet], &'a [&'a str], &'a [&'a str]);
    let both = set(ZONE, "NS", 60, &[US, EU]);
    let table: [Row<'_>; 7] = [
        (
            &[],
            &["10.0.0.1", "2001:db8::1"],
            &[
                "+ cloud.example.com. NS 30 gslb-ns-eu-cloud.example.com.",
                "+ gslb-ns-eu-cloud.example.com. A 30 10.0.0.1",
                "+ gslb-ns-eu-cloud.example.com. AAAA 30 2001:db8::1",
            ],
        ),
        (
            &[set(ZONE, "NS", 60, &[US])],
            &["10.0.0.1"],
            &[
                "- cloud.example.com. NS 60 gslb-ns-us-cloud.example.com.",
                "+ cloud.example.com. NS 60 gslb-ns-eu-cloud.example.com.,gslb-ns-us-cloud.example.com.",
                "+ gslb-ns-eu-cloud.example.com. A 30 10.0.0.1",
            ],
        ),
        (&[both.clone(), glue.clone()], &["10.0.0.1"], &[]),
        // Spelt without dot and in capitals it is the same.
        (
            &[
                set(
                    "Cloud.Example.com",
                    "NS",
                    60,
                    &["GSLB-NS-EU-cloud.example.com"],
                ),
                glue.clone(),
            ],
            &["10.0.0.1"],
            &[],
        ),
        (
            &[both.clone(), glue.clone()],
            &["10.0.0.2"],
            &[
                "- gslb-ns-eu-cloud.example.com. A 30 10.0.0.1",
                "+ gslb-ns-eu-cloud.example.com. A 30 10.0.0.2",
            ],
        ),
        (
            &[both, glue.clone()],
            &[],
            &[
                "- cloud.example.com. NS 60 gslb-ns-us-cloud.example.com.,gslb-ns-eu-cloud.example.com.",
                "+ cloud.example.com. NS 60 gslb-ns-us-cloud.example.com.",
                "- gslb-ns-eu-cloud.example.com. A 30 10.0.0.1",
            ],
        ),
        // The last one takes the delegation with it.
        (
            &[set(ZONE, "NS", 60, &[EU]), glue],
            &[],
            &[
                "- cloud.example.com. NS 60 gslb-ns-eu-cloud.example.com.",
                "- gslb-ns-eu-cloud.example.com. A 30 10.0.0.1",
            ],
        ),
    ];
    for (found, addresses, expected) in table {
        assert_eq!(lines(found, addresses), expected, "{found:?} {addresses:?}");
    }
    let alias = RecordSet {
        foreign: true,
        ..set(EU, "A", 0, &[])
    };
    let error = plan(&[alias], &records(&["10.0.0.1"])).unwrap_err();
    assert!(error.to_string().contains("alias"));
}

#[test]
fn a_batch_is_the_document_of_the_api() {
    let changes = plan(&[set(ZONE, "NS", 60, &[US])], &records(&[])).unwrap();
    assert_eq!(changes, []);
    let changes = [Change::Delete(set("a&b.", "A", 5, &["10.0.0.1"]))];
    expect![[r#"<?xml version="1.0" encoding="UTF-8"?><ChangeResourceRecordSetsRequest xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><ChangeBatch><Comment>delegation kept by flotilla</Comment><Changes><Change><Action>DELETE</Action><ResourceRecordSet><Name>a&amp;b.</Name><Type>A</Type><TTL>5</TTL><ResourceRecords><ResourceRecord><Value>10.0.0.1</Value></ResourceRecord></ResourceRecords></ResourceRecordSet></Change></Changes></ChangeBatch></ChangeResourceRecordSetsRequest>"#]]
        .assert_eq(&batch(&changes));
}

#[test]
fn documents_of_the_api_are_read() {
    let xml = r#"<?xml version="1.0"?><ListResourceRecordSetsResponse xmlns="https://route53.amazonaws.com/doc/2013-04-01/">
        <ResourceRecordSets><ResourceRecordSet><Name>cloud.example.com.</Name><Type>NS</Type><TTL>60</TTL>
        <ResourceRecords><ResourceRecord><Value>gslb-ns-us-cloud.example.com.</Value></ResourceRecord></ResourceRecords>
        </ResourceRecordSet><ResourceRecordSet><Name>x.example.com.</Name><Type>A</Type><AliasTarget/></ResourceRecordSet>
        </ResourceRecordSets><IsTruncated>true</IsTruncated><NextRecordName>y.</NextRecordName>
        <NextRecordType>A</NextRecordType></ListResourceRecordSetsResponse>"#;
    let read = page(xml).unwrap();
    assert_eq!(read.sets[0], set(ZONE, "NS", 60, &[US]));
    assert!(read.sets[1].foreign);
    assert_eq!(read.next, Some(("y.".into(), "A".into())));
    assert_eq!(page("<html/>"), None);
    let zones = r#"<ListHostedZonesByNameResponse><HostedZones>
        <HostedZone><Id>/hostedzone/Z1</Id><Name>example.com.</Name><Config><PrivateZone>true</PrivateZone></Config></HostedZone>
        <HostedZone><Id>/hostedzone/Z2</Id><Name>example.com.</Name><Config><PrivateZone>false</PrivateZone></Config></HostedZone>
        </HostedZones></ListHostedZonesByNameResponse>"#;
    assert_eq!(hosted_zone(zones, "example.com").as_deref(), Some("Z2"));
    assert_eq!(hosted_zone(zones, "example.org"), None);
    let keys = "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>\
        <AccessKeyId>A</AccessKeyId><SecretAccessKey>B</SecretAccessKey><SessionToken>C</SessionToken>\
        <Expiration>2026-12-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult>\
        </AssumeRoleWithWebIdentityResponse>";
    assert_eq!(assumed(keys).unwrap().3, "2026-12-01T00:00:00Z");
}

#[test]
fn refusals_say_what_to_do_next() {
    let error = |code: &str| {
        format!(
            "<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>m</Message></Error></ErrorResponse>"
        )
    };
    let batch = "<InvalidChangeBatch><Messages><Message>values do not match</Message></Messages></InvalidChangeBatch>";
    let table = [
        (400, error("InvalidChangeBatch"), After::ReadAgain),
        (400, batch.to_owned(), After::ReadAgain),
        (400, error("PriorRequestNotComplete"), After::Wait),
        (400, error("Throttling"), After::Wait),
        (503, String::new(), After::Wait),
        (403, error("SignatureDoesNotMatch"), After::GiveUp),
        (404, error("NoSuchHostedZone"), After::GiveUp),
        (200, "<odd/>".to_owned(), After::GiveUp),
    ];
    for (status, xml, expected) in table {
        let said = refusal(status, &xml);
        assert_eq!(after(status, &said), expected, "{said}");
    }
    assert_eq!(
        refusal(400, batch).to_string(),
        "InvalidChangeBatch: values do not match"
    );
}
