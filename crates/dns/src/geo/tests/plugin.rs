//! Which targets are near whom, as k8gb's DNS plugin says it.
//!
//! Source: k8gb-io/coredns-crd-plugin@4328512 `common/k8sctrl/ep_test.go` (`TestExtractGeo`) and `testdata/geogen`, re-expressed. Of its
//! fifteen rows two hold texts that are no addresses: here those are refused when a query or a DNSEndpoint is read, so the row with
//! such a target stands without it and the one with such a client cannot be written.

use std::net::IpAddr;

use maxminddb_writer::Database;
use maxminddb_writer::metadata::IpVersion;
use maxminddb_writer::paths::IpAddrWithMask;
use serde_json::json;

use super::super::{CurrentGeo, Error, Geo};

/// Addresses of targets and clients with country, continent and city.
const PLACES: [(&str, [&str; 3]); 8] = [
    ("192.200.0.1", ["US", "NA", "New York"]),
    ("192.200.0.2", ["GB", "EU", "London"]),
    ("192.200.0.3", ["JP", "AS", "Tokyo"]),
    ("192.200.0.4", ["CA", "NA", "Toronto"]),
    ("192.200.0.5", ["DE", "EU", "Berlin"]),
    ("192.201.0.1", ["US", "NA", "New York"]),
    ("192.201.0.2", ["GB", "EU", "London"]),
    ("192.201.0.3", ["JP", "AS", "Tokyo"]),
];
const US: &str = "192.200.0.1";
const UK: &str = "192.200.0.2";
const JP: &str = "192.200.0.3";
const CA: &str = "192.200.0.4";
const DE: &str = "192.200.0.5";
const NOWHERE: &str = "5.6.7.8";
const COUNTRY: &str = "country.iso_code";
const CONTINENT: &str = "continent.code";
const CITY: &str = "city.names.en";

fn database() -> Vec<u8> {
    let mut database = Database::default();
    database.metadata.ip_version = IpVersion::V4;
    database.metadata.binary_format_major_version = 2;
    for (address, [country, continent, city]) in PLACES {
        let place = json!({"country": {"iso_code": country}, "continent": {"code": continent},
            "city": {"names": {"en": city}}});
        let data = database.insert_value(place).unwrap();
        database.insert_node(IpAddrWithMask::new(address.parse().unwrap(), 32), data);
    }
    database.write_to(Vec::new()).unwrap()
}

/// The targets near the client; none means that all are given.
fn near<'a>(client: &str, targets: &[&'a str], fields: &[&str]) -> Vec<&'a str> {
    let geo = Geo::new(database(), fields).unwrap();
    let addresses = targets
        .iter()
        .map(|target| target.parse::<IpAddr>().unwrap());
    let mut positions = [0; 8];
    let n_near = geo.nearest(client.parse().unwrap(), addresses, &mut positions);
    let found = positions[..n_near].iter();
    found
        .map(|position| targets[usize::from(*position)])
        .collect()
}

#[test]
fn the_first_field_with_a_match_decides() {
    let (us, uk) = ("192.201.0.1", "192.201.0.2");
    let both = &[COUNTRY, CONTINENT][..];
    for (row, client, targets, fields, expected) in [
        (
            "one field",
            us,
            &[US, UK, JP][..],
            &[COUNTRY][..],
            &[US][..],
        ),
        ("the first of two fields", us, &[US, CA], both, &[US]),
        ("the second of two fields", us, &[UK, CA], both, &[CA]),
        ("no field", us, &[UK, JP], both, &[]),
        (
            "several targets by one field",
            us,
            &[US, CA, UK],
            &[CONTINENT],
            &[US, CA],
        ),
        (
            "the third field",
            us,
            &[CA, UK],
            &[CITY, COUNTRY, CONTINENT],
            &[CA],
        ),
        ("a client of no place", "1.2.3.4", &[US], &[COUNTRY], &[]),
        (
            "a target of no place",
            us,
            &[US, NOWHERE],
            &[COUNTRY],
            &[US],
        ),
        (
            "a field the database lacks",
            us,
            &[US],
            &["nonexistent.field", COUNTRY],
            &[US],
        ),
        (
            "a target that is no address, left out",
            uk,
            &[US, UK],
            &[COUNTRY],
            &[UK],
        ),
        ("the city", uk, &[US, UK, JP], &[CITY], &[UK]),
        (
            "all targets by the continent",
            uk,
            &[UK, DE],
            &[CONTINENT],
            &[UK, DE],
        ),
    ] {
        assert_eq!(near(client, targets, fields), expected, "{row}");
    }
}

/// The plugin takes both and gives all targets; without a field we do not start, because the setting means something else.
#[test]
fn without_a_database_nothing_is_compared_and_without_a_field_none_is_read() {
    assert!(CurrentGeo::default().load().is_none());
    assert!(matches!(
        Geo::new(database(), &[]),
        Err(Error::Field { .. })
    ));
}
