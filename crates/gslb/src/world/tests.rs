use std::collections::BTreeSet;

use flotilla_api::gslb::NamespacedName;
use serde_json::json;

use super::{Change, Dep, GslbId, World};
use crate::{health::Backend, key::Key, kinds::Kind};

fn gslb_id(name: &str) -> GslbId {
    GslbId {
        legacy: false,
        key: Key::new("test", name),
    }
}

fn slice(name: &str, ready: bool) -> Change {
    Change::Put(json!({
        "metadata": {"namespace": "test", "name": name, "labels": {"kubernetes.io/service-name": "app"}},
        "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": ready}}],
    }))
}

fn service() -> Change {
    Change::Put(
        json!({"metadata": {"namespace": "test", "name": "app"}, "spec": {"type": "ClusterIP"}}),
    )
}

#[test]
fn readiness_flips_touch_exactly_the_readers_of_the_service() {
    let mut world = World::default();
    let app = NamespacedName {
        name: "app".into(),
        namespace: "test".into(),
    };
    let reads = Dep::Object(Kind::Service, Key::new("test", "app"));
    world.set_reads(&gslb_id("reader"), BTreeSet::from([reads.clone()]));
    world.set_reads(
        &gslb_id("other"),
        BTreeSet::from([Dep::Object(Kind::Service, Key::new("test", "db"))]),
    );
    let reader = BTreeSet::from([gslb_id("reader")]);

    assert_eq!(world.backend(&app), Backend::Missing);
    assert_eq!(
        world.apply(Kind::Service, service()).gslbs,
        reader,
        "it appears later"
    );
    assert_eq!(
        world.apply(Kind::Service, service()).gslbs.len(),
        0,
        "the same again"
    );
    assert_eq!(world.backend(&app), Backend::NotReady);
    assert_eq!(
        world.apply(Kind::EndpointSlice, slice("a", true)).health,
        reader
    );
    assert_eq!(world.backend(&app), Backend::Ready);
    assert_eq!(
        world
            .apply(Kind::EndpointSlice, slice("b", true))
            .health
            .len(),
        0
    );
    assert_eq!(
        world
            .apply(Kind::EndpointSlice, slice("a", false))
            .health
            .len(),
        0
    );
    let gone = Change::Gone(Key::new("test", "b"));
    assert_eq!(world.apply(Kind::EndpointSlice, gone).health, reader);
    assert_eq!(world.backend(&app), Backend::NotReady);

    world.set_reads(&gslb_id("reader"), BTreeSet::new());
    assert_eq!(
        world
            .apply(Kind::EndpointSlice, slice("a", true))
            .health
            .len(),
        0
    );
    assert_eq!(world.readers(&reads).count(), 0);
}

#[test]
fn a_new_list_removes_what_it_does_not_name() {
    let mut world = World::default();
    world.apply(Kind::Service, service());
    world.apply(Kind::Service, Change::Listed(vec![]));
    assert!(world.services.is_empty() && world.referents.is_empty());
    assert!(!world.is_synced());
    for kind in Kind::ALL {
        world.apply(kind, Change::Absent);
    }
    assert!(world.is_synced());
}

#[test]
fn an_unreadable_object_is_noted_and_the_others_stay() {
    let mut world = World::default();
    let gslb = |name: &str, spec| {
        Change::Put(json!({"metadata": {"namespace": "test", "name": name}, "spec": spec}))
    };
    world.apply(
        Kind::Gslb,
        gslb("good", json!({"strategy": {"type": "roundRobin"}})),
    );
    let touched = world.apply(Kind::Gslb, gslb("bad", json!({"strategy": {}})));
    assert_eq!(touched.gslbs, BTreeSet::from([gslb_id("bad")]));
    assert!(world.unreadable[&(Kind::Gslb, Key::new("test", "bad"))].contains("type"));
    assert_eq!(world.gslbs.len(), 1);
}
