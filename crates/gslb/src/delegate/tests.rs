use super::{Records, lines};

#[test]
fn a_cluster_touches_only_its_own_records() {
    let records = |addresses: &[&str]| Records {
        zone: "cloud.example.com".into(),
        parent: "example.com".into(),
        own_name: "gslb-ns-eu-cloud.example.com".into(),
        addresses: addresses.iter().map(|ip| ip.parse().unwrap()).collect(),
        ttl_seconds: 30,
    };
    let texts = |addresses: &[&str]| {
        let lines = lines(&records(addresses)).unwrap();
        lines
            .iter()
            .map(|line| format!("{line:?}"))
            .collect::<Vec<_>>()
    };
    let add = texts(&["127.1.1.1", "2001:db8::1"]);
    assert_eq!(add.len(), 5);
    assert!(
        add[..2]
            .iter()
            .all(|line| line.starts_with("DeleteSet") && line.contains("gslb-ns-eu"))
    );
    assert!(add[4].starts_with("Add") && add[4].contains("Ns"));
    let remove = texts(&[]);
    assert!(remove[0].starts_with("Delete {") && remove[0].contains("gslb-ns-eu"));
    assert_eq!(remove.len(), 2);
}
