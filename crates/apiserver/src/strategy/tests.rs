use flotilla_machinery::{builtin, status::aggregate};
use serde_json::{Value, json};

use super::*;
use crate::{
    access::Identity,
    registry::{Context, Registry, Resource, built_in},
    store::{Draft, Expect, ObjectKey, Op, ResourceKey, State, Store, StoreConfig, Write},
};

/// A kind's row, and what a request would do with an object before it is stored.
struct Bench {
    resource: Arc<Resource>,
    entropy: u64,
    subresource: &'static str,
}

fn bench(group: &str, version: &str, plural: &str) -> Bench {
    let registry = Registry::new(built_in());
    let resource = registry
        .get(group, version, plural)
        .expect("a built-in resource")
        .clone();
    Bench {
        resource,
        entropy: 0,
        subresource: "",
    }
}

impl Bench {
    fn at(self, subresource: &'static str) -> Self {
        Self {
            subresource,
            ..self
        }
    }

    fn with<T>(&self, state: &State, f: impl FnOnce(&Context<'_>) -> T) -> T {
        let user = Identity::internal("test");
        f(&Context {
            resource: &self.resource,
            subresource: self.subresource,
            now: "2026-03-10T12:00:00Z".parse().unwrap(),
            entropy: self.entropy,
            dry_run: false,
            user: &user,
            state,
        })
    }

    /// Defaults, preparation, allocation and validation of a new object.
    fn create(&self, state: &State, object: Value) -> Result<Value, String> {
        let mut object = object;
        let rules = &self.resource.strategy;
        self.with(state, |cx| {
            rules.fill_defaults(&mut object);
            rules.prepare_create(cx, &mut object);
            rules
                .allocate(cx, &mut object, None)
                .map_err(|status| status.message.clone())?;
            match rules.validate_create(cx, &object) {
                errors if errors.is_empty() => Ok(object),
                errors => Err(aggregate(&errors)),
            }
        })
    }

    /// The same for a change.
    fn update(&self, state: &State, new: Value, old: &Value) -> Result<Value, String> {
        let mut new = new;
        let rules = &self.resource.strategy;
        self.with(state, |cx| {
            rules.fill_defaults(&mut new);
            rules.prepare_update(cx, &mut new, old);
            rules
                .allocate(cx, &mut new, Some(old))
                .map_err(|status| status.message.clone())?;
            match rules.validate_update(cx, &new, old) {
                errors if errors.is_empty() => Ok(new),
                errors => Err(aggregate(&errors)),
            }
        })
    }

    fn complaint(&self, object: Value) -> String {
        self.create(&State::new(1), object)
            .expect_err("the object is invalid")
    }
}

fn pod(spec: Value) -> Value {
    json!({"metadata": {"name": "p", "namespace": "n"}, "spec": spec})
}

fn one_container() -> Value {
    json!({"containers": [{"name": "c", "image": "nginx"}]})
}

fn service(spec: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "n"}, "spec": spec})
}

/// A store's state with these objects in it.
fn state_with(objects: &[(&str, &str, Value)]) -> Arc<State> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let now = "2026-03-10T12:00:00Z".parse().unwrap();
    let store = Store::open(StoreConfig::new(None), now).unwrap();
    for (group, plural, object) in objects {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or("");
        let write = Write {
            resource: ResourceKey::new(group, plural),
            key: ObjectKey::new(text("/metadata/namespace"), text("/metadata/name")),
            expect: Expect::Absent,
            op: Op::Put(Draft::new(object, Vec::new()).unwrap()),
        };
        runtime.block_on(store.commit(write)).unwrap();
    }
    store.state()
}

/// A store's state with these services in it.
fn stored(services: &[Value]) -> Arc<State> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let now = "2026-03-10T12:00:00Z".parse().unwrap();
    let store = Store::open(StoreConfig::new(None), now).unwrap();
    for (at, service) in services.iter().enumerate() {
        let mut service = service.clone();
        let name = format!("stored-{at}");
        service["metadata"]["name"] = name.as_str().into();
        let text = |path: &str| {
            service
                .pointer(path)
                .and_then(Value::as_str)
                .unwrap_or("")
                .to_owned()
        };
        let fields = vec![
            ("spec.clusterIP".to_owned(), text("/spec/clusterIP")),
            ("spec.type".to_owned(), text("/spec/type")),
        ];
        let draft = Draft::new(&service, fields).unwrap();
        let write = Write {
            resource: ResourceKey::new("", "services"),
            key: ObjectKey::new("n", &name),
            expect: Expect::Absent,
            op: Op::Put(draft),
        };
        runtime.block_on(store.commit(write)).unwrap();
    }
    store.state()
}

#[test]
fn pods_are_filled_in_as_upstream_does() {
    let created = bench("", "v1", "pods")
        .create(&State::new(1), pod(one_container()))
        .unwrap();
    assert_eq!(
        created["spec"],
        json!({
            "containers": [{
                "name": "c", "image": "nginx", "imagePullPolicy": "Always", "resources": {},
                "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
            }],
            "dnsPolicy": "ClusterFirst", "enableServiceLinks": true, "preemptionPolicy": "PreemptLowerPriority",
            "priority": 0, "restartPolicy": "Always", "schedulerName": "default-scheduler",
            "securityContext": {}, "serviceAccount": "default", "serviceAccountName": "default",
            "terminationGracePeriodSeconds": 30,
            "tolerations": [
                {"effect": "NoExecute", "key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 300},
                {"effect": "NoExecute", "key": "node.kubernetes.io/unreachable", "operator": "Exists", "tolerationSeconds": 300},
            ],
        })
    );
    assert_eq!(
        created["status"],
        json!({"phase": "Pending", "qosClass": "BestEffort"})
    );
    assert_eq!(created["metadata"]["generation"], 1);
}

#[test]
fn images_without_a_fixed_tag_are_always_pulled() {
    for (image, policy) in [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.2", "IfNotPresent"),
        ("reg:5000/nginx", "Always"),
        ("reg:5000/nginx:1", "IfNotPresent"),
        ("nginx@sha256:ab", "IfNotPresent"),
    ] {
        let mut spec = json!({"containers": [{"image": image}]});
        pod_spec::fill_pod_spec(&mut spec);
        assert_eq!(spec["containers"][0]["imagePullPolicy"], policy, "{image}");
    }
}

#[test]
fn volumes_and_probes_get_their_defaults() {
    let mut spec = json!({
        "volumes": [{"name": "a"}, {"name": "b", "secret": {"secretName": "s"}}, {"name": "c", "hostPath": {"path": "/"}},
            {"name": "d", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}],
        "containers": [{"livenessProbe": {"httpGet": {"port": 80}}}],
    });
    pod_spec::fill_pod_spec(&mut spec);
    assert_eq!(
        spec["volumes"],
        json!([{"name": "a", "emptyDir": {}}, {"name": "b", "secret": {"secretName": "s", "defaultMode": 420}},
            {"name": "c", "hostPath": {"path": "/", "type": ""}},
            {"name": "d", "projected": {"defaultMode": 420,
                "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}]}}])
    );
    assert_eq!(
        spec["containers"][0]["livenessProbe"],
        json!({"httpGet": {"port": 80, "path": "/", "scheme": "HTTP"}, "timeoutSeconds": 1,
            "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3})
    );
}

#[test]
fn mistakes_in_pods_are_named() {
    let pods = bench("", "v1", "pods");
    for (spec, expected) in [
        (json!({}), "spec.containers: Required value"),
        (
            json!({"containers": [{"name": "c"}]}),
            "spec.containers[0].image: Required value",
        ),
        (
            json!({"containers": [{"name": "c", "image": "i"}, {"name": "c", "image": "i"}]}),
            "spec.containers[1].name: Duplicate value: \"c\"",
        ),
        (
            json!({"containers": [{"name": "c", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/"}]}]}),
            "spec.containers[0].volumeMounts[0].name: Not found: \"v\"",
        ),
        (
            json!({"restartPolicy": "Sometimes", "containers": [{"name": "c", "image": "i"}]}),
            "spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", \"OnFailure\", \"Never\"",
        ),
        (
            json!({"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 70000}]}]}),
            "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
        ),
    ] {
        assert_eq!(pods.complaint(pod(spec)), expected);
    }
    let mut wrong_class = one_container();
    wrong_class["priorityClassName"] = "high".into();
    assert!(
        pods.complaint(pod(wrong_class))
            .contains("no PriorityClass with name high was found")
    );
}

#[test]
fn a_pod_may_change_its_image_but_not_its_command() {
    let (pods, state) = (bench("", "v1", "pods"), State::new(1));
    let old = pods.create(&state, pod(one_container())).unwrap();
    let mut new = old.clone();
    new["spec"]["containers"][0]["image"] = "nginx:2".into();
    let new = pods.update(&state, new, &old).unwrap();
    assert_eq!(new["metadata"]["generation"], 2);
    let mut new = old.clone();
    new["spec"]["containers"][0]["command"] = json!(["sh"]);
    let error = pods.update(&state, new, &old).unwrap_err();
    assert!(
        error.starts_with("spec: Forbidden: pod updates may not change fields"),
        "{error}"
    );
}

#[test]
fn pods_without_a_node_stop_at_once() {
    let rules = bench("", "v1", "pods").resource.strategy.clone();
    for (spec, phase, requested, expected) in [
        (json!({}), "Pending", None, 0),
        (json!({"nodeName": "a"}), "Running", None, 30),
        (
            json!({"nodeName": "a", "terminationGracePeriodSeconds": 5}),
            "Running",
            None,
            5,
        ),
        (
            json!({"nodeName": "a", "terminationGracePeriodSeconds": 5}),
            "Running",
            Some(9),
            9,
        ),
        (json!({"nodeName": "a"}), "Running", Some(-1), 1),
        (json!({"nodeName": "a"}), "Succeeded", None, 0),
    ] {
        let pod = json!({"spec": spec, "status": {"phase": phase}});
        assert_eq!(rules.grace(&pod, requested), Some(expected), "{pod}");
    }
}

#[test]
fn quality_of_service_follows_requests_and_limits() {
    let pods = bench("", "v1", "pods");
    let both = json!({"cpu": "1", "memory": "1Gi"});
    for (resources, expected) in [
        (json!({}), "BestEffort"),
        (json!({"requests": {"cpu": "1"}}), "Burstable"),
        (json!({"limits": both}), "Guaranteed"),
        (
            json!({"limits": both, "requests": {"cpu": "500m"}}),
            "Burstable",
        ),
    ] {
        let spec = json!({"containers": [{"name": "c", "image": "i", "resources": resources}]});
        let created = pods.create(&State::new(1), pod(spec)).unwrap();
        assert_eq!(created["status"]["qosClass"], expected, "{resources}");
    }
}

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "n"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": one_container()},
        },
    })
}

#[test]
fn deployments_roll_by_default() {
    let (deployments, state) = (bench("apps", "v1", "deployments"), State::new(1));
    let created = deployments.create(&state, deployment()).unwrap();
    let spec = &created["spec"];
    assert_eq!(spec["replicas"], 1);
    assert_eq!(spec["revisionHistoryLimit"], 10);
    assert_eq!(spec["progressDeadlineSeconds"], 600);
    assert_eq!(
        spec["strategy"],
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}})
    );
    assert_eq!(spec["template"]["spec"]["restartPolicy"], "Always");
    assert!(spec["template"]["spec"].get("enableServiceLinks").is_none());

    let mut other = created.clone();
    other["spec"]["selector"] = json!({"matchLabels": {"a": "b", "c": "d"}});
    other["spec"]["template"]["metadata"]["labels"] = json!({"a": "b", "c": "d"});
    let error = deployments.update(&state, other, &created).unwrap_err();
    assert!(
        error.starts_with("spec.selector: Invalid value: "),
        "{error}"
    );
    assert!(error.ends_with(": field is immutable"), "{error}");
}

#[test]
fn mistakes_in_deployments_are_named() {
    let deployments = bench("apps", "v1", "deployments");
    let mut object = deployment();
    object["spec"]["template"]["metadata"]["labels"] = json!({"a": "c"});
    assert_eq!(
        deployments.complaint(object),
        "spec.template.metadata.labels: Invalid value: {\"a\":\"c\"}: `selector` does not match template `labels`"
    );
    let mut object = deployment();
    object["spec"]["replicas"] = (-1).into();
    assert_eq!(
        deployments.complaint(object),
        "spec.replicas: Invalid value: -1: must be greater than or equal to 0"
    );
    let mut object = deployment();
    object["spec"]["template"]["spec"]["restartPolicy"] = "Never".into();
    assert_eq!(
        deployments.complaint(object),
        "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\""
    );
}

#[test]
fn jobs_select_their_own_pods() {
    let (jobs, state) = (bench("batch", "v1", "jobs"), State::new(1));
    let mut spec = one_container();
    spec["restartPolicy"] = "Never".into();
    let job = json!({
        "metadata": {"name": "j", "namespace": "n", "uid": "u-1"},
        "spec": {"template": {"spec": spec}},
    });
    let created = jobs.create(&state, job).unwrap();
    let labels = &created["spec"]["template"]["metadata"]["labels"];
    assert_eq!(
        *labels,
        json!({"batch.kubernetes.io/controller-uid": "u-1", "batch.kubernetes.io/job-name": "j",
            "controller-uid": "u-1", "job-name": "j"})
    );
    let selector = json!({"matchLabels": {"batch.kubernetes.io/controller-uid": "u-1"}});
    assert_eq!(created["spec"]["selector"], selector);
    assert_eq!(created["spec"]["completions"], 1);
    assert_eq!(created["spec"]["backoffLimit"], 6);
    assert_eq!(
        created["spec"]["podReplacementPolicy"],
        "TerminatingOrFailed"
    );

    // Queues place the pods of suspended jobs, but nobody places those of running ones.
    let mut placed = created.clone();
    placed["spec"]["template"]["spec"]["nodeSelector"] = json!({"zone": "a"});
    assert!(jobs.update(&state, placed.clone(), &created).is_err());
    let mut suspended = created.clone();
    suspended["spec"]["suspend"] = true.into();
    jobs.update(&state, placed, &suspended).unwrap();
}

#[test]
fn services_get_an_address_from_the_upper_band() {
    let services = bench("", "v1", "services");
    let spec = json!({"ports": [{"port": 80}], "selector": {"a": "b"}});
    let created = services.create(&State::new(1), service(spec)).unwrap();
    assert_eq!(
        created["spec"],
        json!({
            "clusterIP": "10.96.1.1", "clusterIPs": ["10.96.1.1"], "internalTrafficPolicy": "Cluster",
            "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
            "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
            "selector": {"a": "b"}, "sessionAffinity": "None", "type": "ClusterIP",
        })
    );
    assert_eq!(created["status"], json!({"loadBalancer": {}}));
    let state = stored(&[created]);
    let next = service(json!({"ports": [{"port": 80}]}));
    let second = services.create(&state, next).unwrap();
    assert_eq!(second["spec"]["clusterIP"], "10.96.1.2");
    let taken = service(json!({"ports": [{"port": 80}], "clusterIP": "10.96.1.1"}));
    let error = services.create(&state, taken).unwrap_err();
    assert!(
        error.ends_with("failed to allocate IP 10.96.1.1: provided IP is already allocated"),
        "{error}"
    );
    let outside = service(json!({"ports": [{"port": 80}], "clusterIP": "10.0.0.1"}));
    let error = services.create(&state, outside).unwrap_err();
    assert!(
        error.ends_with("The range of valid IPs is 10.96.0.0/16"),
        "{error}"
    );
}

#[test]
fn two_services_created_at_once_do_not_share_an_address() {
    let services = bench("", "v1", "services");
    let state = State::new(1);
    let named = |name: &str| {
        let mut object = service(json!({"ports": [{"port": 80}], "type": "NodePort"}));
        object["metadata"]["name"] = name.into();
        services.create(&state, object).unwrap()
    };
    let (one, two) = (named("one"), named("two"));
    assert_ne!(one["spec"]["clusterIP"], two["spec"]["clusterIP"]);
    assert_ne!(
        one["spec"]["ports"][0]["nodePort"],
        two["spec"]["ports"][0]["nodePort"]
    );
}

#[test]
fn node_ports_are_dealt_out_and_shared_between_protocols() {
    let services = bench("", "v1", "services");
    let ports = json!([
        {"name": "a", "port": 53, "protocol": "TCP"}, {"name": "b", "port": 53, "protocol": "UDP"},
        {"name": "c", "port": 80, "nodePort": 30080},
    ]);
    let object = service(json!({"type": "NodePort", "ports": ports}));
    let created = services.create(&State::new(1), object).unwrap();
    let ports: Vec<_> = created["spec"]["ports"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["nodePort"].clone())
        .collect();
    assert_eq!(ports, [json!(30086), json!(30086), json!(30080)]);
    assert_eq!(created["spec"]["externalTrafficPolicy"], "Cluster");
    let state = stored(&[created]);
    for (port, why) in [
        (30080, "provided port is already allocated"),
        (80, "The range of valid ports is 30000-32767"),
    ] {
        let object = service(json!({"type": "NodePort", "ports": [{"port": 1, "nodePort": port}]}));
        let error = services.create(&state, object).unwrap_err();
        assert!(
            error.contains("spec.ports[0].nodePort") && error.ends_with(why),
            "{error}"
        );
    }
}

#[test]
fn services_keep_and_give_back_what_their_type_needs() {
    let (services, state) = (bench("", "v1", "services"), State::new(1));
    let object = service(json!({"type": "NodePort", "ports": [{"port": 80}]}));
    let old = services.create(&state, object).unwrap();
    // A manifest without addresses keeps them.
    let object = service(json!({"type": "NodePort", "ports": [{"port": 80}]}));
    let kept = services.update(&state, object, &old).unwrap();
    assert_eq!(kept["spec"], old["spec"]);
    // Back to ClusterIP: node port and traffic policy go, the address stays.
    let mut plain = old.clone();
    plain["spec"]["type"] = "ClusterIP".into();
    let plain = services.update(&state, plain, &old).unwrap();
    assert!(plain["spec"]["ports"][0].get("nodePort").is_none());
    assert!(plain["spec"].get("externalTrafficPolicy").is_none());
    assert_eq!(plain["spec"]["clusterIP"], old["spec"]["clusterIP"]);
    // To ExternalName: the address goes too.
    let mut named = plain.clone();
    named["spec"]["type"] = "ExternalName".into();
    named["spec"]["externalName"] = "example.com".into();
    let named = services.update(&state, named, &plain).unwrap();
    assert!(named["spec"].get("clusterIP").is_none() && named["spec"].get("clusterIPs").is_none());
    let mut moved = plain.clone();
    moved["spec"]["clusterIP"] = "10.96.0.77".into();
    moved["spec"]["clusterIPs"] = json!(["10.96.0.77"]);
    let error = services.update(&state, moved, &plain).unwrap_err();
    assert!(error.contains("may not change once set"), "{error}");
}

#[test]
fn headless_services_have_no_address() {
    let services = bench("", "v1", "services");
    let object = service(json!({"clusterIP": "None", "selector": {"a": "b"}}));
    let created = services.create(&State::new(1), object).unwrap();
    assert_eq!(created["spec"]["clusterIPs"], json!(["None"]));
    let object = service(json!({"clusterIP": "None"}));
    let created = services.create(&State::new(1), object).unwrap();
    assert_eq!(created["spec"]["ipFamilies"], json!(["IPv4", "IPv6"]));
}

#[test]
fn secrets_are_stored_encoded() {
    let secrets = bench("", "v1", "secrets");
    let object =
        json!({"metadata": {"name": "s"}, "stringData": {"k": "v"}, "data": {"k": "eA=="}});
    let created = secrets.create(&State::new(1), object).unwrap();
    assert_eq!(created["data"], json!({"k": "dg=="}));
    assert_eq!(created["type"], "Opaque");
    assert!(created.get("stringData").is_none());
    let tls = json!({"type": "kubernetes.io/tls", "data": {"tls.crt": ""}});
    assert_eq!(secrets.complaint(tls), "data[tls.key]: Required value");
    let mut other = created.clone();
    other["type"] = "x".into();
    let error = secrets.update(&State::new(1), other, &created).unwrap_err();
    assert_eq!(error, "type: Invalid value: \"x\": field is immutable");
}

#[test]
fn immutable_config_maps_keep_their_data() {
    let config_maps = bench("", "v1", "configmaps");
    let old = json!({"data": {"a": "1"}, "immutable": true});
    let error = config_maps
        .update(&State::new(1), json!({"data": {"a": "2"}}), &old)
        .unwrap_err();
    assert_eq!(
        error,
        "[immutable: Forbidden: field is immutable when `immutable` is set, \
         data: Forbidden: field is immutable when `immutable` is set]"
    );
}

#[test]
fn mistakes_in_other_kinds_are_named() {
    let backend = json!({"service": {"name": "s", "port": {"number": 80}}});
    for (group, plural, object, expected) in [
        (
            "networking.k8s.io",
            "ingresses",
            json!({"spec": {"rules": [{"http": {"paths": [{"path": "x", "pathType": "Prefix", "backend": backend}]}}]}}),
            "spec.rules[0].http.paths[0].path: Invalid value: \"x\": must be an absolute path",
        ),
        (
            "rbac.authorization.k8s.io",
            "roles",
            json!({"kind": "Role", "rules": [{"apiGroups": [""], "resources": ["pods"]}]}),
            "rules[0].verbs: Required value: verbs must contain at least one value",
        ),
        (
            "rbac.authorization.k8s.io",
            "clusterrolebindings",
            json!({"kind": "ClusterRoleBinding", "roleRef": {"kind": "Role", "name": "r"}}),
            "roleRef.kind: Unsupported value: \"Role\": supported values: \"ClusterRole\"",
        ),
        (
            "scheduling.k8s.io",
            "priorityclasses",
            json!({"metadata": {"name": "big"}, "value": 2_000_000_000}),
            "value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
        ),
        (
            "",
            "persistentvolumeclaims",
            json!({"spec": {"resources": {"requests": {"storage": "1Gi"}}}}),
            "spec.accessModes: Required value: at least 1 access mode is required",
        ),
        (
            "policy",
            "poddisruptionbudgets",
            json!({"spec": {"maxUnavailable": -1}}),
            "spec.maxUnavailable: Invalid value: -1: must be greater than or equal to 0",
        ),
    ] {
        assert_eq!(
            bench(group, "v1", plural).complaint(object),
            expected,
            "{plural}"
        );
    }
}

#[test]
fn events_and_autoscalers_change_their_shape_and_back() {
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "involvedObject": {"kind": "Pod"}, "message": "m",
        "source": {"component": "c"}, "count": 2, "reportingComponent": "r", "reason": "x",
    });
    let rules = bench("events.k8s.io", "v1", "events")
        .resource
        .strategy
        .clone();
    let mut changed = event.clone();
    rules.read_stored(&mut changed);
    assert_eq!(
        changed,
        json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "regarding": {"kind": "Pod"},
            "note": "m", "deprecatedSource": {"component": "c"}, "deprecatedCount": 2,
            "reportingController": "r", "reason": "x"})
    );
    rules.write_stored(&mut changed);
    assert_eq!(changed, event);

    let cpu = json!({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}});
    let other = json!({"type": "Pods", "pods": {"metric": {"name": "m"}}});
    let autoscaler = json!({
        "apiVersion": "autoscaling/v2", "metadata": {"name": "h"},
        "spec": {"maxReplicas": 3, "metrics": [cpu, other], "behavior": {"scaleUp": {}}},
    });
    let rules = bench("autoscaling", "v1", "horizontalpodautoscalers")
        .resource
        .strategy
        .clone();
    let mut changed = autoscaler.clone();
    rules.read_stored(&mut changed);
    assert_eq!(changed["apiVersion"], "autoscaling/v1");
    assert_eq!(
        changed["spec"],
        json!({"maxReplicas": 3, "targetCPUUtilizationPercentage": 50})
    );
    rules.write_stored(&mut changed);
    assert_eq!(changed, autoscaler);
}

#[test]
fn no_rule_stumbles_over_an_empty_object() {
    let state = State::new(1);
    for row in builtin::resources() {
        let bench = bench(row.group, row.version, row.plural);
        let object = json!({"apiVersion": row.api_version(), "kind": row.kind, "metadata": {"name": "x", "namespace": "n"}});
        let _ = bench.create(&state, object.clone());
        let _ = bench.update(&state, object.clone(), &object);
        let mut odd = object.clone();
        odd["spec"] = json!({});
        odd["status"] = json!({});
        let _ = bench.create(&state, odd.clone());
        let _ = bench.update(&state, odd, &object);
    }
}

#[test]
fn filling_defaults_twice_changes_nothing() {
    for (group, plural, object) in [
        ("", "pods", pod(one_container())),
        ("apps", "deployments", deployment()),
        (
            "",
            "services",
            service(json!({"type": "LoadBalancer", "ports": [{"port": 1}]})),
        ),
    ] {
        let rules = bench(group, "v1", plural).resource.strategy.clone();
        let mut once = object;
        rules.fill_defaults(&mut once);
        let mut twice = once.clone();
        rules.fill_defaults(&mut twice);
        assert_eq!(once, twice, "{plural}");
    }
}

#[test]
fn limit_ranges_fill_in_and_refuse() {
    let range = json!({
        "apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l", "namespace": "n"},
        "spec": {"limits": [{"type": "Container", "default": {"cpu": "500m"},
            "defaultRequest": {"cpu": "100m"}, "max": {"cpu": "1"}}]},
    });
    let state = state_with(&[("", "limitranges", range)]);
    let pods = bench("", "v1", "pods");
    let created = pods.create(&state, pod(one_container())).unwrap();
    let resources = json!({"limits": {"cpu": "500m"}, "requests": {"cpu": "100m"}});
    assert_eq!(created["spec"]["containers"][0]["resources"], resources);
    assert_eq!(created["status"]["qosClass"], "Burstable");
    let mut greedy = one_container();
    greedy["containers"][0]["resources"] = json!({"limits": {"cpu": "2"}});
    let error = pods.create(&state, pod(greedy)).unwrap_err();
    assert_eq!(
        error,
        "pods \"p\" is forbidden: maximum cpu usage per Container is 1, but limit is 2"
    );
}

#[test]
fn requests_stay_within_limits() {
    let mut spec = one_container();
    spec["containers"][0]["resources"] =
        json!({"limits": {"cpu": "1"}, "requests": {"cpu": "1500m"}});
    assert_eq!(
        bench("", "v1", "pods").complaint(pod(spec)),
        "spec.containers[0].resources.requests: Invalid value: \"1500m\": must be less than or equal to cpu limit of 1"
    );
}

#[test]
fn default_classes_are_filled_in() {
    let class = |kind: &str, name: &str, annotation: &str| json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "annotations": {annotation: "true"}}});
    let state = state_with(&[
        (
            "storage.k8s.io",
            "storageclasses",
            class(
                "StorageClass",
                "fast",
                "storageclass.kubernetes.io/is-default-class",
            ),
        ),
        (
            "networking.k8s.io",
            "ingressclasses",
            class(
                "IngressClass",
                "edge",
                "ingressclass.kubernetes.io/is-default-class",
            ),
        ),
    ]);
    let claim = json!({"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}}}});
    let claim = bench("", "v1", "persistentvolumeclaims")
        .create(&state, claim)
        .unwrap();
    assert_eq!(claim["spec"]["storageClassName"], "fast");
    let backend = json!({"service": {"name": "s", "port": {"number": 80}}});
    let ingress = json!({"metadata": {"name": "i"}, "spec": {"defaultBackend": backend}});
    let ingress = bench("networking.k8s.io", "v1", "ingresses")
        .create(&state, ingress)
        .unwrap();
    assert_eq!(ingress["spec"]["ingressClassName"], "edge");
}

#[test]
fn requests_for_certificates_say_who_asks_and_stay_as_they_were() {
    let state = State::new(1);
    let requests = || bench("certificates.k8s.io", "v1", "certificatesigningrequests");
    let request = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K";
    let spec = json!({"request": request, "usages": ["client auth"], "signerName": "example.com/x",
        "username": "somebody else", "groups": ["system:masters"]});
    let made = requests()
        .create(&state, json!({"metadata": {"name": "r"}, "spec": spec}))
        .unwrap();
    assert_eq!(made["spec"]["username"], "test");
    assert_ne!(made["spec"]["groups"], json!(["system:masters"]));

    let approval = json!({"type": "Approved", "status": "True", "reason": "x"});
    let mut wanted = made.clone();
    wanted["spec"]["username"] = "somebody else".into();
    wanted["status"] = json!({"conditions": [approval], "certificate": "eA=="});
    let plain = requests().update(&state, wanted.clone(), &made).unwrap();
    assert_eq!(
        (&plain["spec"], &plain["status"]["conditions"]),
        (&made["spec"], &Value::Null)
    );
    assert_eq!(
        requests()
            .at("status")
            .update(&state, wanted.clone(), &made),
        Err(
            "status.conditions: Forbidden: updates may not add a condition of type \"Approved\""
                .to_owned()
        )
    );
    let approved = requests()
        .at("approval")
        .update(&state, wanted, &made)
        .unwrap();
    assert_eq!(approved["spec"], made["spec"]);
    assert_eq!(approved["status"]["certificate"], Value::Null);
    let since = &approved["status"]["conditions"][0]["lastTransitionTime"];
    assert_eq!(since, "2026-03-10T12:00:00Z");

    let mut signed = approved.clone();
    signed["status"]["certificate"] = "eA==".into();
    signed["status"]["conditions"][0]["reason"] = "changed".into();
    let signed = requests()
        .at("status")
        .update(&state, signed, &approved)
        .unwrap();
    assert_eq!(signed["status"]["certificate"], "eA==");
    assert_eq!(
        signed["status"]["conditions"],
        approved["status"]["conditions"]
    );
}

#[test]
fn what_counts_as_a_new_generation_depends_on_the_kind() {
    let state = State::new(1);
    let generation = |rules: &Bench, new: &Value, old: &Value| {
        let new = rules.update(&state, new.clone(), old).unwrap();
        new["metadata"]["generation"].clone()
    };
    let slices = bench("discovery.k8s.io", "v1", "endpointslices");
    let slice =
        json!({"metadata": {"name": "s"}, "addressType": "IPv4", "endpoints": null, "ports": null});
    let old = slices.create(&state, slice).unwrap();
    let mut new = old.clone();
    new["endpoints"] = json!([]);
    assert_eq!(
        generation(&slices, &new, &old),
        1,
        "no endpoints either way"
    );
    new["metadata"]["labels"] = json!({"a": "b"});
    assert_eq!(generation(&slices, &new, &old), 2, "labels select");

    let classes = bench("scheduling.k8s.io", "v1", "priorityclasses");
    let class = json!({"metadata": {"name": "c"}, "value": 1});
    let old = classes.create(&state, class).unwrap();
    let mut new = old.clone();
    new["description"] = "x".into();
    assert_eq!(generation(&classes, &new, &old), 1);

    let drivers = bench("storage.k8s.io", "v1", "csidrivers");
    let driver = json!({"metadata": {"name": "d"}, "spec": {}});
    let old = drivers.create(&state, driver).unwrap();
    assert_eq!(old["metadata"]["generation"], Value::Null);
    let mut new = old.clone();
    new["spec"]["requiresRepublish"] = true.into();
    assert_eq!(generation(&drivers, &new, &old), 1);
}
