//! Services: defaults, and what changes with the type. Addresses are dealt out in
//! [`super::addresses`], mistakes are found in [`super::service_check`].
//!
//! Source: Kubernetes v1.35, `pkg/apis/core/v1/defaults.go`, `pkg/registry/core/service`.

use flotilla_machinery::{builtin, group::GroupKind, names, status::Status};
use serde_json::{Value, json};

use super::{
    addresses::Addresses,
    field::check,
    fill::{at_mut, fill, is_unset, items, list, schema_defaults, text},
    rules::Errors,
    service_check,
};
use crate::registry::{Context, SelectableField, Strategy, generic};

/// Seconds that client IP affinity lasts: three hours.
const AFFINITY_SECONDS: i64 = 10_800;

/// Rules of services.
pub(super) struct Services {
    fields: [SelectableField; 2],
    addresses: Addresses,
}

impl Default for Services {
    fn default() -> Self {
        Self {
            fields: [
                SelectableField::new("spec.clusterIP"),
                SelectableField::new("spec.type"),
            ],
            addresses: Addresses::default(),
        }
    }
}

impl Strategy for Services {
    fn fill_defaults(&self, object: &mut Value) {
        if let Some(root) = builtin::kind("", "v1", "Service") {
            schema_defaults(object, root);
        }
        fill(object, "spec", json!({}));
        if object["spec"].is_object() {
            fill_spec(&mut object["spec"]);
        }
        if text(object, "spec.type") == "LoadBalancer"
            && let Some(status) = at_mut(object, "status.loadBalancer")
        {
            for entry in items(status, "ingress").filter(|entry| !is_unset(entry.get("ip"))) {
                fill(entry, "ipMode", "VIP");
            }
        }
    }

    fn prepare_create(&self, cx: &Context<'_>, object: &mut Value) {
        generic::prepare_create(cx, object);
        object["status"] = json!({"loadBalancer": {}});
        let spec = &mut object["spec"];
        if !is_unset(spec.get("clusterIP")) && list(spec, "clusterIPs").is_empty() {
            spec["clusterIPs"] = json!([spec["clusterIP"]]);
        }
    }

    fn prepare_update(&self, cx: &Context<'_>, new: &mut Value, old: &Value) {
        generic::prepare_update(cx, new, old);
        if cx.subresource.is_empty() && new["spec"].is_object() {
            follow_address(&mut new["spec"], &old["spec"]);
            keep_allocated(&mut new["spec"], &old["spec"]);
            drop_unneeded(&mut new["spec"], &old["spec"]);
        }
    }

    fn allocate(
        &self,
        cx: &Context<'_>,
        object: &mut Value,
        old: Option<&Value>,
    ) -> Result<(), Status> {
        if !cx.subresource.is_empty() || !object["spec"].is_object() {
            return Ok(());
        }
        let mut errors = Errors::new();
        check(&object["spec"], "spec", &mut errors, |spec| {
            service_check::cluster_addresses(spec, old);
        });
        if !errors.is_empty() {
            let name = text(object, "metadata.name");
            return Err(Status::invalid(
                &GroupKind::new("", "Service"),
                name,
                errors,
            ));
        }
        self.addresses.allocate(cx, object, old)
    }

    fn takes_turns(&self) -> bool {
        true
    }

    fn validate_create(&self, _: &Context<'_>, object: &Value) -> Errors {
        let mut errors = Errors::new();
        check(object, "", &mut errors, |service| {
            service_check::check(service, None);
        });
        errors
    }

    fn validate_update(&self, cx: &Context<'_>, new: &Value, old: &Value) -> Errors {
        let mut errors = Errors::new();
        check(new, "", &mut errors, |service| match cx.subresource {
            "" => {
                service_check::check_change(service, old);
                service_check::check(service, Some(old));
            }
            "status" => {
                let status = service.at("status.loadBalancer");
                let kind = text(new, "spec.type");
                service_check::balancer_status(&status, &old["status"]["loadBalancer"], kind);
            }
            _ => {}
        });
        errors
    }

    fn warnings(&self, cx: &Context<'_>, object: &Value, _: Option<&Value>) -> Vec<String> {
        if cx.subresource.is_empty() {
            service_check::warnings(object)
        } else {
            Vec::new()
        }
    }

    fn check_name(&self, name: &str, prefix: bool) -> Vec<String> {
        let name = if prefix {
            names::as_prefix(name)
        } else {
            name.into()
        };
        names::dns1035_label(&name)
    }

    fn qualifies_finalizers(&self) -> bool {
        true
    }

    fn selectable_fields(&self) -> &[SelectableField] {
        &self.fields
    }

    fn allows_create_on_update(&self) -> bool {
        true
    }

    fn returns_deleted(&self) -> bool {
        true
    }
}

fn fill_spec(spec: &mut Value) {
    fill(spec, "sessionAffinity", "None");
    match text(spec, "sessionAffinity") {
        "ClientIP" => {
            fill(spec, "sessionAffinityConfig", json!({}));
            fill(&mut spec["sessionAffinityConfig"], "clientIP", json!({}));
            let client = &mut spec["sessionAffinityConfig"]["clientIP"];
            fill(client, "timeoutSeconds", AFFINITY_SECONDS);
        }
        _ => {
            spec.as_object_mut()
                .map(|spec| spec.remove("sessionAffinityConfig"));
        }
    }
    fill(spec, "type", "ClusterIP");
    for port in items(spec, "ports") {
        fill(port, "protocol", "TCP");
        let target = port.get("targetPort");
        if is_unset(target) || target == Some(&json!(0)) {
            port["targetPort"] = port["port"].clone();
        }
    }
    if is_reached_from_outside(spec) {
        fill(spec, "externalTrafficPolicy", "Cluster");
    }
    let kind = text(spec, "type").to_owned();
    if kind != "ExternalName" {
        fill(spec, "internalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        fill(spec, "allocateLoadBalancerNodePorts", true);
    }
}

/// Whether clients outside the cluster reach the service.
pub(super) fn is_reached_from_outside(spec: &Value) -> bool {
    match text(spec, "type") {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => !list(spec, "externalIPs").is_empty(),
        _ => false,
    }
}

/// Whether the service has ports on every node.
pub(super) fn needs_node_ports(spec: &Value) -> bool {
    match text(spec, "type") {
        "NodePort" => true,
        "LoadBalancer" => spec["allocateLoadBalancerNodePorts"] != false,
        _ => false,
    }
}

/// Whether the balancer asks nodes for their health at a port of its own.
pub(super) fn needs_health_port(spec: &Value) -> bool {
    text(spec, "type") == "LoadBalancer" && text(spec, "externalTrafficPolicy") == "Local"
}

/// A client that knows only the one address and changes it means the first of the list too.
fn follow_address(new: &mut Value, old: &Value) {
    if new["clusterIP"] == old["clusterIP"] || new["clusterIPs"] != old["clusterIPs"] {
        return;
    }
    if is_unset(new.get("clusterIP")) {
        new.as_object_mut().map(|spec| spec.remove("clusterIPs"));
    } else if !list(new, "clusterIPs").is_empty() {
        new["clusterIPs"][0] = new["clusterIP"].clone();
    } else {
        new["clusterIPs"] = json!([new["clusterIP"]]);
    }
}

/// An update that leaves out what the server chose keeps it.
fn keep_allocated(new: &mut Value, old: &Value) {
    let has_ip = |spec: &Value| text(spec, "type") != "ExternalName";
    if has_ip(new) && has_ip(old) {
        if is_unset(new.get("clusterIP")) && list(new, "clusterIPs").is_empty() {
            new["clusterIP"] = old["clusterIP"].clone();
        }
        if list(new, "clusterIPs").is_empty() && new["clusterIP"] == old["clusterIP"] {
            new["clusterIPs"] = old["clusterIPs"].clone();
        }
        for key in ["ipFamilies", "ipFamilyPolicy"] {
            if is_unset(new.get(key)) && !old[key].is_null() {
                new[key] = old[key].clone();
            }
        }
    }
    if needs_node_ports(new) && needs_node_ports(old) {
        for port in items(new, "ports").filter(|port| is_zero(&port["nodePort"])) {
            let same = list(old, "ports")
                .iter()
                .find(|o| o["port"] == port["port"] && o["protocol"] == port["protocol"]);
            if let Some(same) = same.filter(|same| !is_zero(&same["nodePort"])) {
                port["nodePort"] = same["nodePort"].clone();
            }
        }
    }
    if needs_health_port(new) && needs_health_port(old) && is_zero(&new["healthCheckNodePort"]) {
        new["healthCheckNodePort"] = old["healthCheckNodePort"].clone();
    }
}

/// Fields that only the old type has are cleared unless the user changed them.
fn drop_unneeded(new: &mut Value, old: &Value) {
    let mut clear: Vec<&str> = Vec::new();
    let same = |new: &Value, key: &str| new[key] == old[key];
    if text(new, "type") == "ExternalName" && text(old, "type") != "ExternalName" {
        for key in [
            "clusterIP",
            "clusterIPs",
            "ipFamilies",
            "ipFamilyPolicy",
            "internalTrafficPolicy",
        ] {
            if same(new, key) {
                clear.push(key);
            }
        }
    }
    if !is_reached_from_outside(new) && same(new, "externalTrafficPolicy") {
        clear.push("externalTrafficPolicy");
    }
    if !needs_health_port(new) && same(new, "healthCheckNodePort") {
        clear.push("healthCheckNodePort");
    }
    if text(new, "type") != "LoadBalancer" {
        for key in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
            if same(new, key) {
                clear.push(key);
            }
        }
    }
    if needs_node_ports(old) && !needs_node_ports(new) {
        let old_ports: Vec<&Value> = list(old, "ports").iter().map(|p| &p["nodePort"]).collect();
        for port in items(new, "ports") {
            if old_ports.contains(&&port["nodePort"]) {
                port.as_object_mut().map(|port| port.remove("nodePort"));
            }
        }
    }
    if let Some(map) = new.as_object_mut() {
        map.retain(|key, _| !clear.contains(&key.as_str()));
    }
}

pub(super) fn is_zero(value: &Value) -> bool {
    value.as_i64().unwrap_or(0) == 0
}
