//! From pods to slices.

use flotilla_machinery::texts::Texts;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn service(spec: Value) -> Service {
    let object = json!({"metadata": {"name": "web", "namespace": "ns", "uid": "s", "labels": {"team": "a"}}, "spec": spec});
    serde_json::from_value(object).unwrap()
}

/// `name address [ready|unready] [terminating] [node=…] [done]`.
fn pod(text: &str) -> Candidate {
    let words: Vec<_> = text.split(' ').collect();
    let has = |word: &str| words.contains(&word);
    let node = words.iter().find_map(|word| word.strip_prefix("node="));
    let mut object = json!({
        "metadata": {"name": words[0], "namespace": "ns", "uid": format!("uid-{}", words[0]), "labels": {"app": "web"}},
        "spec": {
            "nodeName": node,
            "hostname": words[0], "subdomain": "web",
            "containers": [{"name": "c", "ports": [{"name": "http", "containerPort": 8080}]}],
        },
        "status": {
            "podIP": words[1], "phase": if has("done") { "Succeeded" } else { "Running" },
            "conditions": [{"type": "Ready", "status": if has("ready") { "True" } else { "False" }}],
        },
    });
    if has("terminating") {
        object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    }
    Candidate::new(
        &serde_json::from_value(object).unwrap(),
        &mut Texts::default(),
    )
}

fn shown(groups: &Groups) -> Vec<String> {
    groups
        .iter()
        .flat_map(|(group, endpoints)| {
            let ports = group
                .ports
                .iter()
                .map(|port| format!("{}:{}/{}", port.name, port.port, port.protocol));
            let head = format!(
                "{} [{}]",
                group.family.as_str(),
                ports.collect::<Vec<_>>().join(" ")
            );
            let lines = endpoints.iter().map(|endpoint| {
                let conditions = endpoint.conditions.clone().unwrap_or_default();
                let flag =
                    |value: Option<bool>| value.map_or('?', |value| if value { 'y' } else { 'n' });
                format!(
                    "  {} {}{}{} {}",
                    endpoint.addresses[0],
                    flag(conditions.ready),
                    flag(conditions.serving),
                    flag(conditions.terminating),
                    endpoint.zone.as_deref().unwrap_or("-"),
                )
            });
            std::iter::once(head).chain(lines).collect::<Vec<_>>()
        })
        .collect()
}

const PODS: [&str; 6] = [
    "a 10.0.0.2 ready node=n1",
    "b 10.0.0.1 unready",
    "c 10.0.0.3 ready terminating",
    "d 10.0.0.4 ready done",
    "e fd00::5 ready",
    "f  ready",
];

#[test]
fn readiness_and_termination_become_conditions() {
    let pods = PODS.map(pod);
    let zone = |node: &str| (node == "n1").then(|| "z1".to_owned());
    let service =
        service(json!({"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": "http"}]}));
    assert_eq!(
        shown(&endpoints(&service, &pods, zone)),
        [
            "IPv4 [:8080/TCP]",
            "  10.0.0.1 nnn -",
            "  10.0.0.2 yyn z1",
            "  10.0.0.3 nyy -"
        ]
    );
}

#[test]
fn unready_addresses_are_published_on_request_and_both_families_if_named() {
    let pods = PODS.map(pod);
    let service = service(json!({
        "selector": {"app": "web"}, "ports": [{"port": 80}], "publishNotReadyAddresses": true,
        "ipFamilies": ["IPv4", "IPv6"],
    }));
    assert_eq!(
        shown(&endpoints(&service, &pods, |_| None)),
        [
            "IPv4 [:80/TCP]",
            "  10.0.0.1 ynn -",
            "  10.0.0.2 yyn -",
            "  10.0.0.3 yyy -",
            "IPv6 [:80/TCP]",
            "  fd00::5 yyn -",
        ]
    );
}

#[test]
fn pods_with_other_ports_are_grouped_apart_and_unknown_names_left_out() {
    let mut other = pod("b 10.0.0.2 ready");
    other.ports = Box::default();
    let service = service(json!({
        "selector": {"app": "web"},
        "ports": [{"name": "web", "port": 80, "targetPort": "http"}, {"name": "dns", "port": 53, "protocol": "UDP"}],
    }));
    assert_eq!(
        shown(&endpoints(
            &service,
            &[pod("a 10.0.0.1 ready"), other],
            |_| None
        )),
        [
            "IPv4 [dns:53/UDP]",
            "  10.0.0.2 yyn -",
            "IPv4 [dns:53/UDP web:8080/TCP]",
            "  10.0.0.1 yyn -"
        ]
    );
}

#[test]
fn a_service_without_endpoints_has_one_empty_slice() {
    let service = service(json!({"selector": {"app": "web"}, "ports": [{"port": 80}]}));
    let groups = endpoints(&service, &[], |_| None);
    assert_eq!(shown(&groups), ["IPv4 []"]);
    let plan = pack(&groups, &[], &owner());
    assert_eq!(
        (plan.create.len(), plan.create[0].ports.as_ref()),
        (1, None)
    );
    let existing = settle(&plan, &[]);
    assert_eq!(pack(&groups, &existing, &owner()), Plan::default());
}

#[test]
fn hostnames_and_references_lead_back_to_the_pod() {
    let service = service(json!({"selector": {"app": "web"}, "ports": [{"port": 80}]}));
    let groups = endpoints(&service, &[pod("a 10.0.0.1 ready node=n")], |_| None);
    let endpoint = &groups.values().next().unwrap()[0];
    assert_eq!(endpoint.hostname.as_deref(), Some("a"));
    assert_eq!(endpoint.node_name.as_deref(), Some("n"));
    assert_eq!(
        endpoint.target_ref.as_ref().unwrap().uid.as_deref(),
        Some("uid-a")
    );
}

#[test]
fn who_writes_slices_for_what() {
    let managed = |spec| is_managed(&service(spec));
    assert!(managed(json!({"selector": {"a": "b"}})));
    assert!(!managed(json!({"selector": {}})));
    assert!(!managed(json!({})));
    assert!(!managed(
        json!({"selector": {"a": "b"}, "type": "ExternalName"})
    ));
    let endpoints = |metadata: Value| {
        serde_json::from_value::<Endpoints>(json!({"metadata": metadata})).unwrap()
    };
    let (plain, selecting) = (service(json!({})), service(json!({"selector": {"a": "b"}})));
    assert!(is_mirrored(&endpoints(json!({})), Some(&plain)));
    assert!(!is_mirrored(&endpoints(json!({})), None));
    assert!(!is_mirrored(&endpoints(json!({})), Some(&selecting)));
    assert!(!is_mirrored(
        &endpoints(json!({"labels": {SKIP_MIRROR: "true"}})),
        Some(&plain)
    ));
    let leader = json!({"annotations": {"control-plane.alpha.kubernetes.io/leader": "x"}});
    assert!(!is_mirrored(&endpoints(leader), Some(&plain)));
}

#[test]
fn hand_written_endpoints_are_mirrored_by_family_and_ports() {
    let endpoints: Endpoints = serde_json::from_value(json!({
        "metadata": {"name": "web"},
        "subsets": [
            {"addresses": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}], "notReadyAddresses": [{"ip": "10.0.0.2"}],
             "ports": [{"name": "x", "port": 1}]},
            {"addresses": [{"ip": "10.0.0.3"}], "ports": [{"name": "y", "port": 2, "protocol": "UDP"}]},
        ],
    }))
    .unwrap();
    assert_eq!(
        shown(&mirrored(&endpoints)),
        [
            "IPv4 [x:1/TCP]",
            "  10.0.0.1 y?? -",
            "  10.0.0.2 n?? -",
            "IPv4 [y:2/UDP]",
            "  10.0.0.3 y?? -",
            "IPv6 [x:1/TCP]",
            "  fd00::1 y?? -",
        ]
    );
}

fn owner() -> Owner {
    Owner {
        namespace: "ns".into(),
        service: "web".into(),
        reference: controller_reference("Service", "web".into(), "s".into()),
        labels: BTreeMap::from([("team".into(), "a".into())]),
        headless: false,
        managed_by: CONTROLLER,
    }
}

/// What is stored after a plan was carried out.
fn settle(plan: &Plan, existing: &[EndpointSlice]) -> Vec<EndpointSlice> {
    let updated = |slice: &EndpointSlice| {
        plan.update
            .iter()
            .find(|new| new.name_any() == slice.name_any())
            .cloned()
    };
    let mut after: Vec<_> = existing
        .iter()
        .filter(|slice| !plan.delete.contains(&slice.name_any()))
        .map(|slice| updated(slice).unwrap_or_else(|| slice.clone()))
        .collect();
    for slice in &plan.create {
        let mut slice = slice.clone();
        let next = (0..).find(|n| {
            !existing
                .iter()
                .chain(&after)
                .any(|old| old.name_any() == format!("web-{n}"))
        });
        slice.metadata.name = next.map(|n| format!("web-{n}"));
        after.push(slice);
    }
    after
}

#[test]
fn slices_carry_the_labels_of_their_service_and_their_own() {
    let service = service(json!({"selector": {"app": "web"}, "ports": [{"port": 80}]}));
    let groups = endpoints(&service, &[pod("a 10.0.0.1 ready")], |_| None);
    let plan = pack(
        &groups,
        &[],
        &Owner {
            headless: true,
            ..owner()
        },
    );
    let slice = &plan.create[0];
    let labels: Vec<_> = slice
        .labels()
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    assert_eq!(
        labels,
        [
            "endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io",
            "kubernetes.io/service-name=web",
            "service.kubernetes.io/headless=",
            "team=a",
        ]
    );
    assert_eq!(slice.metadata.generate_name.as_deref(), Some("web-"));
    // A label that changes at the Service rewrites the slice.
    let existing = settle(&plan, &[]);
    assert_eq!(pack(&groups, &existing, &owner()).update.len(), 1);
}

#[test]
fn one_changed_pod_of_many_writes_one_slice() {
    let service = service(json!({"selector": {"app": "web"}, "ports": [{"port": 80}]}));
    let mut pods: Vec<_> = (0..250)
        .map(|n| pod(&format!("p{n} 10.0.{}.{} ready", n / 100, n % 100)))
        .collect();
    let groups = endpoints(&service, &pods, |_| None);
    let plan = pack(&groups, &[], &owner());
    let sizes: Vec<_> = plan
        .create
        .iter()
        .map(|slice| slice.endpoints.len())
        .collect();
    assert_eq!(sizes, [100, 100, 50]);
    let existing = settle(&plan, &[]);
    pods[7] = pod("p7 10.0.0.7 unready");
    let plan = pack(&endpoints(&service, &pods, |_| None), &existing, &owner());
    assert_eq!(
        (plan.create.len(), plan.update.len(), plan.delete.len()),
        (0, 1, 0)
    );
    // One goes and one comes: both in the slice that is written anyway.
    pods[7] = pod("new 10.9.9.9 ready");
    let plan = pack(&endpoints(&service, &pods, |_| None), &existing, &owner());
    assert_eq!(
        (plan.create.len(), plan.update.len(), plan.delete.len()),
        (0, 1, 0)
    );
    // Everything goes: one empty slice stays.
    let none = endpoints(&service, &[], |_| None);
    let plan = pack(&none, &existing, &owner());
    assert_eq!(
        (plan.create.len(), plan.update.len(), plan.delete.len()),
        (1, 0, 3)
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_history_of_pods_ends_in_slices_that_hold_each_endpoint_once(
        rounds in prop::collection::vec(prop::collection::btree_map(0..400_u16, 0..3_u8, 0..300), 1..5),
    ) {
        let service = service(json!({"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": "http"}]}));
        let mut existing = Vec::new();
        for pods in rounds {
            let pods: Vec<_> = pods
                .into_iter()
                .map(|(n, kind)| {
                    let state = if kind == 0 { "unready" } else { "ready" };
                    let mut pod = pod(&format!("p{n} 10.0.{}.{} {state}", n / 250, n % 250));
                    if kind == 2 {
                        pod.ports = Box::default();
                    }
                    pod
                })
                .collect();
            let groups = endpoints(&service, &pods, |_| None);
            let plan = pack(&groups, &existing, &owner());
            existing = settle(&plan, &existing);
            let mut found = Groups::new();
            for slice in &existing {
                prop_assert!(slice.endpoints.len() <= ENDPOINTS_MAX);
                let mut ports: Vec<_> = slice.ports.iter().flatten().map(Port::from_api).collect();
                ports.sort();
                let group = Group { family: Family::IPv4, ports };
                found.entry(group).or_default().extend(slice.endpoints.iter().cloned());
            }
            tidy_sort(&mut found);
            prop_assert_eq!(&found, &groups);
            prop_assert_eq!(pack(&groups, &existing, &owner()), Plan::default(), "done is done");
        }
    }
}

fn tidy_sort(groups: &mut Groups) {
    for endpoints in groups.values_mut() {
        endpoints.sort_by(|a, b| a.addresses.cmp(&b.addresses));
    }
}

#[test]
fn pods_that_wait_or_are_over_do_not_count() {
    assert!(pod("a 10.0.0.1 ready").counts());
    assert!(pod("a 10.0.0.1 terminating").counts());
    assert!(!pod("a 10.0.0.1 done").counts());
    let waiting = serde_json::from_value(json!({"metadata": {"name": "a"}})).unwrap();
    assert!(!Candidate::new(&waiting, &mut Texts::default()).counts());
}
