//! Services, their endpoints, ingresses and what guards them.

use serde_json::Value;

use super::format::{View, at, join, list, load_balancer, or_none, shortened, text as text_at};
use super::{AGE, NAME, Printer, text, wide};

pub(super) const PRINTERS: &[Printer] = &[
    Printer {
        group: "",
        kind: "Service",
        columns: &[
            NAME,
            text("Type"),
            text("Cluster-IP"),
            text("External-IP"),
            text("Port(s)"),
            AGE,
            wide("Selector"),
        ],
        cells: service,
    },
    Printer {
        group: "",
        kind: "Endpoints",
        columns: &[NAME, text("Endpoints"), AGE],
        cells: |v| vec![v.name(), endpoints(v.list("subsets")).into(), v.age()],
    },
    Printer {
        group: "discovery.k8s.io",
        kind: "EndpointSlice",
        columns: &[
            NAME,
            text("AddressType"),
            text("Ports"),
            text("Endpoints"),
            AGE,
        ],
        cells: endpoint_slice,
    },
    Printer {
        group: "networking.k8s.io",
        kind: "Ingress",
        columns: &[
            NAME,
            text("Class"),
            text("Hosts"),
            text("Address"),
            text("Ports"),
            AGE,
        ],
        cells: ingress,
    },
    Printer {
        group: "networking.k8s.io",
        kind: "IngressClass",
        columns: &[NAME, text("Controller"), text("Parameters"), AGE],
        cells: ingress_class,
    },
    Printer {
        group: "networking.k8s.io",
        kind: "NetworkPolicy",
        columns: &[NAME, text("Pod-Selector"), AGE],
        cells: |v| vec![v.name(), v.selector("spec.podSelector").into(), v.age()],
    },
    Printer {
        group: "networking.k8s.io",
        kind: "IPAddress",
        columns: &[NAME, text("ParentRef")],
        cells: ip_address,
    },
    Printer {
        group: "networking.k8s.io",
        kind: "ServiceCIDR",
        columns: &[NAME, text("CIDRs"), AGE],
        cells: |v| {
            let cidrs = v.list("spec.cidrs").iter().filter_map(Value::as_str);
            vec![v.name(), join(cidrs).into(), v.age()]
        },
    },
];

fn service(view: &View<'_>) -> Vec<Value> {
    let cluster_ip = match view.list("spec.clusterIPs").first().and_then(Value::as_str) {
        Some(first) => first,
        None => view.text("spec.clusterIP"),
    };
    let ports = view.list("spec.ports").iter().map(|port| {
        let number = |key: &str| port[key].as_i64().unwrap_or_default();
        let protocol = text_at(port, "protocol");
        match number("nodePort") {
            0 => format!("{}/{protocol}", number("port")),
            node_port => format!("{}:{node_port}/{protocol}", number("port")),
        }
    });
    vec![
        view.name(),
        view.text("spec.type").into(),
        or_none(cluster_ip.to_owned()).into(),
        external_ip(view).into(),
        or_none(join(ports)).into(),
        view.age(),
        view.labels("spec.selector").into(),
    ]
}

fn external_ip(view: &View<'_>) -> String {
    let external = join(
        view.list("spec.externalIPs")
            .iter()
            .filter_map(Value::as_str),
    );
    match view.text("spec.type") {
        "ClusterIP" | "NodePort" => or_none(external),
        "LoadBalancer" => match (load_balancer(view.at("status")), external) {
            (balancer, external) if balancer.is_empty() && external.is_empty() => {
                "<pending>".to_owned()
            }
            (balancer, external) => join(
                [balancer, external]
                    .into_iter()
                    .filter(|part| !part.is_empty()),
            ),
        },
        "ExternalName" => view.text("spec.externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

fn endpoints(subsets: &[Value]) -> String {
    let mut addresses = Vec::new();
    for subset in subsets {
        let ips = || {
            list(subset, "addresses")
                .iter()
                .map(|address| text_at(address, "ip"))
        };
        let ports = list(subset, "ports");
        if ports.is_empty() {
            addresses.extend(ips().map(str::to_owned));
        }
        for port in ports {
            let port = port["port"].as_i64().unwrap_or_default();
            addresses.extend(ips().map(|ip| match ip.contains(':') {
                true => format!("[{ip}]:{port}"),
                false => format!("{ip}:{port}"),
            }));
        }
    }
    or_none(shortened(addresses, 3))
}

fn endpoint_slice(view: &View<'_>) -> Vec<Value> {
    let or_unset = |text: String| {
        if text.is_empty() {
            "<unset>".to_owned()
        } else {
            text
        }
    };
    let ports = view.list("ports").iter();
    let ports = ports.map(|p| {
        p["port"]
            .as_i64()
            .map_or("*".to_owned(), |port| port.to_string())
    });
    let addresses = view
        .list("endpoints")
        .iter()
        .flat_map(|e| list(e, "addresses"));
    let addresses = addresses.filter_map(|address| address.as_str().map(str::to_owned));
    vec![
        view.name(),
        view.text("addressType").into(),
        or_unset(shortened(ports.collect(), 3)).into(),
        or_unset(shortened(addresses.collect(), 3)).into(),
        view.age(),
    ]
}

fn ingress(view: &View<'_>) -> Vec<Value> {
    let rules = view.list("spec.rules").iter();
    let hosts: Vec<String> = rules
        .map(|rule| text_at(rule, "host").to_owned())
        .filter(|host| !host.is_empty())
        .collect();
    let hosts = if hosts.is_empty() {
        "*".to_owned()
    } else {
        shortened(hosts, 3)
    };
    let ports = if view.list("spec.tls").is_empty() {
        "80"
    } else {
        "80, 443"
    };
    vec![
        view.name(),
        view.text_or("spec.ingressClassName", "<none>").into(),
        hosts.into(),
        load_balancer(view.at("status")).into(),
        ports.into(),
        view.age(),
    ]
}

fn ingress_class(view: &View<'_>) -> Vec<Value> {
    let parameters = view.at("spec.parameters");
    let parameters = match text_at(parameters, "apiGroup") {
        _ if !parameters.is_object() => "<none>".to_owned(),
        "" => format!(
            "{}/{}",
            text_at(parameters, "kind"),
            text_at(parameters, "name")
        ),
        group => {
            format!(
                "{}.{group}/{}",
                text_at(parameters, "kind"),
                text_at(parameters, "name")
            )
        }
    };
    vec![
        view.name(),
        view.text("spec.controller").into(),
        parameters.into(),
        view.age(),
    ]
}

fn ip_address(view: &View<'_>) -> Vec<Value> {
    let parent = at(view.object, "spec.parentRef");
    let parts = ["group", "resource", "namespace", "name"].map(|key| text_at(parent, key));
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    vec![
        view.name(),
        or_none(parts.collect::<Vec<_>>().join("/")).into(),
    ]
}
