mod plugin;

use std::collections::BTreeMap;

use maxminddb_writer::Database;
use maxminddb_writer::metadata::IpVersion;
use maxminddb_writer::paths::IpAddrWithMask;

use super::*;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// A database of networks with a `datacenter` and, nested, a `country.code`.
pub(crate) fn database(networks: &[(&str, u8, &str, &str)]) -> Vec<u8> {
    let mut database = Database::default();
    database.metadata.ip_version = IpVersion::V4;
    database.metadata.binary_format_major_version = 2;
    for (network, bits, datacenter, country) in networks {
        let nested = BTreeMap::from([("code", *country)]);
        let value = serde_json::json!({ "datacenter": datacenter, "country": nested });
        let data = database.insert_value(value).unwrap();
        database.insert_node(IpAddrWithMask::new(ip(network), *bits), data);
    }
    database.write_to(Vec::new()).unwrap()
}

pub(crate) fn sites() -> Vec<u8> {
    database(&[
        ("192.200.1.0", 24, "site1", "DE"),
        ("192.200.2.0", 24, "site2", "US"),
        ("10.0.1.0", 24, "site1", "DE"),
        ("10.0.2.0", 24, "site2", "US"),
        ("10.0.3.0", 24, "site3", "DE"),
        ("172.16.0.0", 12, "elsewhere", "US"),
    ])
}

#[test]
fn targets_of_the_clients_place_are_near() {
    let geo = Geo::new(sites(), &["datacenter", "country.code"]).unwrap();
    let targets = ["10.0.1.1", "10.0.2.1", "10.0.3.1", "10.0.2.2"].map(ip);
    for (client, expected) in [
        ("192.200.1.77", &[0][..]),
        ("192.200.2.1", &[1, 3]),
        // No datacenter in common, but the country.
        ("172.16.5.5", &[1, 3]),
        ("203.0.113.1", &[]),
        ("2001:db8::1", &[]),
    ] {
        let mut near = [0; 8];
        let n_near = geo.nearest(ip(client), targets.into_iter(), &mut near);
        assert_eq!(&near[..n_near], expected, "{client}");
    }
}

#[test]
fn the_scope_is_the_network_of_the_database() {
    let geo = Geo::new(sites(), &["datacenter"]).unwrap();
    assert_eq!(geo.scope(ip("192.200.1.0")), 24);
    assert_eq!(geo.scope(ip("172.20.0.0")), 12);
}

#[test]
fn unusable_databases_and_fields_are_refused() {
    assert!(matches!(
        Geo::new(b"nonsense".to_vec(), &["a"]),
        Err(Error::Database(_))
    ));
    for fields in [&[][..], &[""], &["a..b"], &["a.b.c.d.e.f.g.h.i"], &["a"; 9]] {
        assert!(
            matches!(Geo::new(sites(), fields), Err(Error::Field { .. })),
            "{fields:?}"
        );
    }
}

#[test]
fn subnets_are_read_strictly() {
    let subnet = |address: &str, source| {
        Ok(Some(Subnet {
            address: ip(address),
            source,
        }))
    };
    for (value, expected) in [
        (&[0, 1, 24, 0, 192, 200, 1][..], subnet("192.200.1.0", 24)),
        (&[0, 1, 20, 0, 192, 200, 16], subnet("192.200.16.0", 20)),
        (&[0, 1, 0, 0], subnet("0.0.0.0", 0)),
        (&[0, 1, 32, 0, 1, 2, 3, 4], subnet("1.2.3.4", 32)),
        (&[0, 2, 32, 0, 0x20, 1, 0xd, 0xb8], subnet("2001:db8::", 32)),
        (&[0, 3, 8, 0, 1], Ok(None)),
        (&[], Err(MalformedSubnet)),
        (&[0, 1, 24], Err(MalformedSubnet)),
        (&[0, 1, 24, 0, 192, 200], Err(MalformedSubnet)),
        (&[0, 1, 24, 0, 192, 200, 1, 0], Err(MalformedSubnet)),
        (&[0, 1, 23, 0, 192, 200, 1], Err(MalformedSubnet)),
        (&[0, 1, 33, 0, 1, 2, 3, 4, 5], Err(MalformedSubnet)),
        (&[0, 1, 24, 1, 192, 200, 1], Err(MalformedSubnet)),
    ] {
        assert_eq!(Subnet::parse(value), expected, "{value:?}");
    }
}
