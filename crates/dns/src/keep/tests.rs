use super::*;
use crate::name::Name;
use crate::record::Data;
use crate::zone::{Entry, RecordSet, Settings};

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

/// Publishes a zone with one host.
fn changes(host: &str) -> Vec<Change> {
    let zone = name("cloud.example.com");
    let entry = Entry::of(RecordSet::fixed(5, vec![Data::A([127, 1, 1, 1].into())]));
    vec![
        Change::Zone(Settings::k8gb(zone.clone(), 0, 30, vec![]).unwrap()),
        Change::Set {
            name: zone.child(host).unwrap(),
            zone,
            entry: entry.into(),
        },
    ]
}

/// The hosts that are answered, and whether they are remembered only.
fn hosts(zones: &Zones) -> Vec<(String, bool)> {
    let catalog = zones.snapshot();
    let mut hosts = Vec::new();
    for zone in catalog.zones() {
        let entries = zone.entries().filter(|(_, entry)| !entry.sets.is_empty());
        let remembered = zone.remembered_from().is_some();
        hosts.extend(entries.map(|(name, _)| (name.to_string(), remembered)));
    }
    hosts.sort();
    hosts
}

#[test]
fn a_restart_answers_what_was_published_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deeper/zones");
    let zones = Zones::new();
    let keeper = Keeper::start(path.clone(), Arc::clone(&zones));
    assert_eq!(keeper.publish(changes("app")), []);
    drop(keeper);
    let zones = Zones::new();
    let keeper = Keeper::start(path.clone(), Arc::clone(&zones));
    let app = "app.cloud.example.com".to_owned();
    assert_eq!(hosts(&zones), [(app.clone(), true)]);
    assert_eq!(keeper.publish(changes("app")), []);
    assert_eq!(hosts(&zones), [(app, false)]);
    drop(keeper);
    assert!(!path.with_extension("new").exists());
}

#[test]
fn changes_are_on_disk_soon_without_a_clean_stop() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zones");
    let keeper = Keeper::start(path.clone(), Zones::new());
    keeper.publish(changes("app"));
    let deadline = now() + Duration::from_secs(30);
    while !path.exists() {
        assert!(now() < deadline, "nothing was written");
        thread::yield_now();
    }
    let found = read(&path).unwrap().unwrap();
    assert_eq!(found[0].n_names(), 4);
    drop(keeper);
}

#[test]
fn unusable_files_cost_nothing_but_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zones");
    fs::write(&path, b"something else").unwrap();
    let error = chain(&read(&path).unwrap_err());
    let expected = format!(
        "{} cannot be used: not a snapshot of DNS zones",
        path.display()
    );
    assert_eq!(error, expected);
    let zones = Zones::new();
    let keeper = Keeper::start(path.clone(), Arc::clone(&zones));
    assert_eq!(hosts(&zones), []);
    keeper.publish(changes("app"));
    drop(keeper);
    assert!(
        read(&path).unwrap().is_some(),
        "it is replaced by a good one"
    );
}

#[test]
fn zones_older_than_a_day_are_not_served() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zones");
    let zones = Zones::new();
    zones.publish(changes("app"));
    let written_at = 1_700_000_000;
    let file = snapshot::encode(&zones.snapshot(), written_at).unwrap();
    replace(&path, &file).unwrap();
    for (after, served) in [(0, 1), (86_400, 1), (86_401, 0)] {
        let zones = Zones::new();
        recall(&path, &zones, written_at + after);
        assert_eq!(hosts(&zones).len(), served, "{after} s later");
        let shared = Shared {
            zones: Arc::clone(&zones),
            path: path.clone(),
            state: Mutex::default(),
            changed: Condvar::new(),
        };
        shared.expire(written_at + 86_401);
        assert_eq!(hosts(&zones), [], "the limit holds while running too");
    }
}
