//! The objects every cluster has from the first moment: four namespaces, the `kubernetes` service
//! with its endpoints, two priority classes, the CA for extensions, the system's roles, and the
//! suggested flow schemas with their priority levels.

use std::net::{IpAddr, SocketAddr};

use flotilla_machinery::status::{Reason, Status};
use http::{Method, Request};
use ipnet::IpNet;
use serde_json::{Value, json};

use crate::{
    auth::bootstrap::{must_be_replaced, policy, reconcile},
    errand,
    flow::{self, defaults},
    meta,
    service::Service,
    store::{ObjectKey, ResourceKey},
};

const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// Name, value and what it is for.
const PRIORITY_CLASSES: [(&str, i64, &str); 2] = [
    (
        "system-cluster-critical",
        2_000_000_000,
        "For pods the cluster cannot do without, but that may move to another node.",
    ),
    (
        "system-node-critical",
        2_000_001_000,
        "For pods that a node cannot do without and that must not move.",
    ),
];

/// Writes what is missing. Runs before the server listens, on every start.
///
/// # Errors
/// When the server refuses one of the objects.
pub(crate) async fn run(
    service: &Service,
    service_cidrs: &[IpNet],
    listening: Option<SocketAddr>,
    client_ca: &str,
) -> Result<(), Status> {
    let namespaces = NAMESPACES.map(|name| {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        ensure(service, "/api/v1/namespaces", object)
    });
    futures::future::try_join_all(namespaces).await?;
    // Before the first service, which takes its address from there.
    let cidrs = "/apis/networking.k8s.io/v1/servicecidrs";
    ensure(service, cidrs, service_cidr(service_cidrs)).await?;
    let base = "/api/v1/namespaces/default";
    let services = format!("{base}/services");
    let address = first_address(service)?;
    let kubernetes = ensure(service, &services, kubernetes_service(address));
    let config_maps = "/api/v1/namespaces/kube-system/configmaps";
    let authentication = put(service, config_maps, authentication(client_ca));
    let classes = futures::future::try_join_all(PRIORITY_CLASSES.map(|class| {
        let classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
        ensure(service, classes, priority_class(class))
    }));
    let flows = flows(service);
    futures::future::try_join5(kubernetes, roles(service), authentication, classes, flows).await?;
    let Some(address) = listening else {
        return Ok(());
    };
    let slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
    futures::future::try_join(
        put(service, &format!("{base}/endpoints"), endpoints(address)),
        put(service, slices, endpoint_slice(address)),
    )
    .await?;
    Ok(())
}

fn service_cidr(cidrs: &[IpNet]) -> Value {
    let cidrs: Vec<String> = cidrs.iter().map(ToString::to_string).collect();
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "ServiceCIDR",
        "metadata": {"name": "kubernetes",
            "finalizers": ["networking.k8s.io/service-cidr-finalizer"]},
        "spec": {"cidrs": cidrs},
    })
}

/// The first address of the stored range.
fn first_address(service: &Service) -> Result<IpAddr, Status> {
    let state = service.engine().store.state();
    let key = ResourceKey::new("networking.k8s.io", "servicecidrs");
    let object = state.get(&key, &ObjectKey::new("", "kubernetes"));
    let object: Option<Value> = object.and_then(|o| serde_json::from_slice(&o.body).ok());
    let cidr = object.as_ref().and_then(|o| o["spec"]["cidrs"][0].as_str());
    let cidr: Option<IpNet> = cidr.and_then(|cidr| cidr.parse().ok());
    let first = cidr.and_then(|cidr| cidr.hosts().next());
    first.ok_or_else(|| Status::internal("the ServiceCIDR `kubernetes` has no address"))
}

/// What extension servers and components that check client certificates read.
fn authentication(client_ca: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "extension-apiserver-authentication", "namespace": "kube-system"},
        "data": {"client-ca-file": client_ca},
    })
}

fn priority_class((name, value, description): (&str, i64, &str)) -> Value {
    json!({
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "description": description,
    })
}

/// Roles and bindings, all at once so that they share a few commits; bindings need their roles.
async fn roles(service: &Service) -> Result<(), Status> {
    let (bindings, roles): (Vec<_>, Vec<_>) = policy()
        .iter()
        .partition(|object| object.get("roleRef").is_some());
    futures::future::try_join_all(roles.into_iter().map(|role| reconciled(service, role))).await?;
    let bindings = bindings
        .into_iter()
        .map(|binding| reconciled(service, binding));
    futures::future::try_join_all(bindings).await?;
    Ok(())
}

/// Creates a role or binding, or gives the stored one what it lacks.
async fn reconciled(service: &Service, wanted: &Value) -> Result<(), Status> {
    let plural = match wanted["kind"].as_str().unwrap_or("") {
        "ClusterRole" => "clusterroles",
        "ClusterRoleBinding" => "clusterrolebindings",
        "Role" => "roles",
        _ => "rolebindings",
    };
    let (namespace, name) = (meta::text(wanted, "namespace"), meta::text(wanted, "name"));
    let base = "/apis/rbac.authorization.k8s.io/v1";
    let collection = match namespace {
        "" => format!("{base}/{plural}"),
        namespace => format!("{base}/namespaces/{namespace}/{plural}"),
    };
    let state = service.engine().store.state();
    let key = ResourceKey::new("rbac.authorization.k8s.io", plural);
    let Some(found) = state.get(&key, &ObjectKey::new(namespace, name)) else {
        return ensure(service, &collection, wanted.clone()).await;
    };
    let found: Value = serde_json::from_slice(&found.body).map_err(Status::internal)?;
    let one = format!("{collection}/{name}");
    if must_be_replaced(&found, wanted) {
        request(service, Method::DELETE, &one, &Value::Null).await?;
        return ensure(service, &collection, wanted.clone()).await;
    }
    match reconcile(&found, wanted) {
        Some(merged) => request(service, Method::PUT, &one, &merged).await,
        None => Ok(()),
    }
}

/// Priority levels and flow schemas.
async fn flows(service: &Service) -> Result<(), Status> {
    let objects = defaults::objects();
    let written = objects.iter().map(|object| flow_object(service, object));
    futures::future::try_join_all(written).await?;
    Ok(())
}

async fn flow_object(service: &Service, wanted: &Value) -> Result<(), Status> {
    let plural = match wanted["kind"].as_str() {
        Some("FlowSchema") => "flowschemas",
        _ => "prioritylevelconfigurations",
    };
    let name = meta::text(wanted, "name");
    let collection = format!("/apis/{}/v1/{plural}", flow::GROUP);
    let query = format!("fieldManager={}", defaults::MANAGER);
    let state = service.engine().store.state();
    let key = ResourceKey::new(flow::GROUP, plural);
    let Some(found) = state.get(&key, &ObjectKey::new("", name)) else {
        return ensure(service, &format!("{collection}?{query}"), wanted.clone()).await;
    };
    let found: Value = serde_json::from_slice(&found.body).map_err(Status::internal)?;
    match defaults::revise(&found, wanted) {
        Some(revised) => {
            let one = format!("{collection}/{name}?{query}");
            request(service, Method::PUT, &one, &revised).await
        }
        None => Ok(()),
    }
}

fn kubernetes_service(address: IpAddr) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "type": "ClusterIP",
            "clusterIP": address.to_string(),
            "clusterIPs": [address.to_string()],
            "ipFamilies": [if address.is_ipv4() { "IPv4" } else { "IPv6" }],
            "ipFamilyPolicy": "SingleStack",
            "internalTrafficPolicy": "Cluster",
            "sessionAffinity": "None",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
        },
    })
}

fn endpoints(address: SocketAddr) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"},
        },
        "subsets": [{
            "addresses": [{"ip": reachable(address.ip())}],
            "ports": [{"name": "https", "port": address.port(), "protocol": "TCP"}],
        }],
    })
}

fn endpoint_slice(address: SocketAddr) -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"kubernetes.io/service-name": "kubernetes"},
        },
        "addressType": if address.is_ipv4() { "IPv4" } else { "IPv6" },
        "endpoints": [{"addresses": [reachable(address.ip())], "conditions": {"ready": true}}],
        "ports": [{"name": "https", "port": address.port(), "protocol": "TCP"}],
    })
}

fn reachable(ip: IpAddr) -> String {
    if ip.is_unspecified() {
        "127.0.0.1".to_owned()
    } else {
        ip.to_string()
    }
}

/// Creates an object unless it exists.
async fn ensure(service: &Service, collection: &str, object: Value) -> Result<(), Status> {
    match request(service, Method::POST, collection, &object).await {
        Err(status) if status.reason == Reason::AlreadyExists => Ok(()),
        result => result,
    }
}

/// Creates an object, or brings the existing one to this state.
async fn put(service: &Service, collection: &str, object: Value) -> Result<(), Status> {
    match request(service, Method::POST, collection, &object).await {
        Err(status) if status.reason == Reason::AlreadyExists => {
            let name = meta::text(&object, "name");
            request(
                service,
                Method::PUT,
                &format!("{collection}/{name}"),
                &object,
            )
            .await
        }
        result => result,
    }
}

async fn request(
    service: &Service,
    method: Method,
    path: &str,
    object: &Value,
) -> Result<(), Status> {
    let request = Request::builder().method(method).uri(path);
    errand::send(service, errand::SERVER, request, object).await
}
