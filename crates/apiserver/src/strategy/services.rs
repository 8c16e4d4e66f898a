//! Services: defaults, what changes with the type, and validity. Addresses are dealt out in
//! [`super::addresses`].
//!
//! Source: Kubernetes v1.35, `pkg/apis/core/v1/defaults.go`, `pkg/registry/core/service`,
//! `pkg/apis/core/validation` (ValidateService, ValidateServiceUpdate).

use std::collections::BTreeSet;

use flotilla_machinery::{
    builtin, names,
    status::{FieldError, Status},
};
use serde_json::{Value, json};

use super::{
    addresses::Addresses,
    fill::{at, fill, is_unset, items, list, schema_defaults, text},
    pod_check::{PROTOCOLS, check_port},
    rules::{Errors, complain, one_of},
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
        if object["spec"].is_object() {
            fill_spec(&mut object["spec"]);
        }
    }

    fn prepare_create(&self, cx: &Context<'_>, object: &mut Value) {
        generic::prepare_create(cx, object);
        object["status"] = json!({"loadBalancer": {}});
    }

    fn prepare_update(&self, cx: &Context<'_>, new: &mut Value, old: &Value) {
        generic::prepare_update(cx, new, old);
        if cx.subresource.is_empty() && new["spec"].is_object() {
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
        self.addresses.allocate(cx, object, old)
    }

    fn takes_turns(&self) -> bool {
        true
    }

    fn validate_create(&self, _: &Context<'_>, object: &Value) -> Errors {
        let mut errors = Errors::new();
        check_spec(&object["spec"], &mut errors);
        errors
    }

    fn validate_update(&self, cx: &Context<'_>, new: &Value, old: &Value) -> Errors {
        let mut errors = Errors::new();
        if !cx.subresource.is_empty() {
            return errors;
        }
        check_spec(&new["spec"], &mut errors);
        let has_ip = |object: &Value| text(object, "spec.type") != "ExternalName";
        let (new_ips, old_ips) = (at(new, "spec.clusterIPs"), at(old, "spec.clusterIPs"));
        if has_ip(new) && has_ip(old) && new_ips.get(0) != old_ips.get(0) {
            let detail = "may not change once set";
            errors.push(FieldError::invalid(
                "spec.clusterIPs[0]",
                new_ips.clone(),
                detail,
            ));
        }
        let family = |object: &Value| at(object, "spec.ipFamilies").get(0).cloned();
        if has_ip(new) && has_ip(old) && family(old).is_some() && family(new) != family(old) {
            errors.push(FieldError::invalid(
                "spec.ipFamilies[0]",
                family(new).unwrap_or_default(),
                "may not change once set",
            ));
        }
        errors
    }

    fn check_name(&self, name: &str, prefix: bool) -> Vec<String> {
        let name = if prefix {
            names::as_prefix(name)
        } else {
            name.into()
        };
        names::dns1035_label(&name)
    }

    fn selectable_fields(&self) -> &[SelectableField] {
        &self.fields
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

fn is_reached_from_outside(spec: &Value) -> bool {
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
        for key in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
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

fn check_spec(spec: &Value, errors: &mut Errors) {
    let kind = text(spec, "type");
    let types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    one_of(&spec["type"], "spec.type", &types, errors);
    one_of(
        &spec["sessionAffinity"],
        "spec.sessionAffinity",
        &["ClientIP", "None"],
        errors,
    );
    let is_headless = text(spec, "clusterIP") == "None";
    if list(spec, "ports").is_empty() && !is_headless && kind != "ExternalName" {
        errors.push(FieldError::required("spec.ports", ""));
    }
    if kind == "LoadBalancer" && is_headless {
        let detail = "may not be set to 'None' for LoadBalancer services";
        errors.push(FieldError::invalid("spec.clusterIPs[0]", "None", detail));
    }
    if kind == "NodePort" && is_headless {
        let detail = "may not be set to 'None' for NodePort services";
        errors.push(FieldError::invalid("spec.clusterIPs[0]", "None", detail));
    }
    if kind == "ExternalName" {
        let name = text(spec, "externalName");
        match name.trim_end_matches('.') {
            "" => errors.push(FieldError::required("spec.externalName", "")),
            host => complain(
                "spec.externalName",
                name,
                names::dns1123_subdomain(host),
                errors,
            ),
        }
    }
    check_ports(spec, kind, errors);
    for (key, value) in spec["selector"].as_object().into_iter().flatten() {
        for complaint in names::qualified_name(key) {
            errors.push(FieldError::invalid(
                "spec.selector",
                key.as_str(),
                complaint,
            ));
        }
        let value = value.as_str().unwrap_or_default();
        for complaint in names::label_value(value) {
            errors.push(FieldError::invalid("spec.selector", value, complaint));
        }
    }
    if !is_unset(spec.get("externalTrafficPolicy")) {
        let path = "spec.externalTrafficPolicy";
        if is_reached_from_outside(spec) {
            one_of(
                &spec["externalTrafficPolicy"],
                path,
                &["Cluster", "Local"],
                errors,
            );
        } else {
            let detail = "may only be set for externally-accessible services";
            errors.push(FieldError::invalid(
                path,
                spec["externalTrafficPolicy"].clone(),
                detail,
            ));
        }
    }
}

fn check_ports(spec: &Value, kind: &str, errors: &mut Errors) {
    let ports = list(spec, "ports");
    let (mut seen_names, mut seen_ports) = (BTreeSet::new(), BTreeSet::new());
    for (index, port) in ports.iter().enumerate() {
        let path = format!("spec.ports[{index}]");
        let name = text(port, "name");
        if name.is_empty() {
            if ports.len() > 1 {
                errors.push(FieldError::required(format!("{path}.name"), ""));
            }
        } else {
            complain(
                &format!("{path}.name"),
                name,
                names::dns1123_label(name),
                errors,
            );
            if !seen_names.insert(name) {
                errors.push(FieldError::duplicate(format!("{path}.name"), name));
            }
        }
        let number = port["port"].as_i64().unwrap_or(0);
        check_port(number, &format!("{path}.port"), errors);
        one_of(
            &port["protocol"],
            &format!("{path}.protocol"),
            &PROTOCOLS,
            errors,
        );
        match &port["targetPort"] {
            Value::String(name) => {
                complain(
                    &format!("{path}.targetPort"),
                    name,
                    names::port_name(name),
                    errors,
                );
            }
            target => check_port(
                target.as_i64().unwrap_or(0),
                &format!("{path}.targetPort"),
                errors,
            ),
        }
        if kind == "ClusterIP" && !is_zero(&port["nodePort"]) {
            let detail = "may not be used when `type` is 'ClusterIP'";
            errors.push(FieldError::forbidden(format!("{path}.nodePort"), detail));
        }
        if !seen_ports.insert((text(port, "protocol"), number)) {
            let value = json!({"protocol": port["protocol"], "port": number});
            errors.push(FieldError::duplicate(path, value));
        }
    }
}
