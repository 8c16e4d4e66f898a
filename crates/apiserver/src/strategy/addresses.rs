//! Which cluster addresses and node ports services get.
//!
//! Taken addresses are read from the stored services themselves, so there is no second record that
//! could disagree. Ranges have two bands, as upstream's: the lower one is for addresses people choose,
//! automatic ones come from the upper band while it lasts. What was given out in the last seconds is
//! remembered, because two services that are created at once both see the store without the other.
//!
//! The range is that of the ServiceCIDR object `kubernetes`, or [`DEFAULT_CIDR`].
//!
//! Source: Kubernetes v1.35, `pkg/registry/core/service/{ipallocator,portallocator,storage}`; bands:
//! KEP-3070 and KEP-3668.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv4Addr,
    sync::{Mutex, PoisonError},
};

use flotilla_machinery::{
    group::GroupKind,
    status::{FieldError, Status},
};
use ipnet::Ipv4Net;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{
    fill::{at, is_unset, items, list, text},
    services::{is_zero, needs_health_port, needs_node_ports},
};
use crate::{
    registry::Context,
    store::{Object, ObjectKey, ResourceKey},
};

/// Cluster addresses when no ServiceCIDR says otherwise: 10.96.0.0/16.
pub const DEFAULT_CIDR: Ipv4Net = Ipv4Net::new_assert(Ipv4Addr::new(10, 96, 0, 0), 16);

/// Ports on nodes, as upstream's default.
const NODE_PORTS: std::ops::RangeInclusive<u32> = 30_000..=32_767;

/// How long something given out is held before the store must show it.
const HELD: SignedDuration = SignedDuration::from_secs(10);

/// Deals out addresses and ports.
#[derive(Default)]
pub(super) struct Addresses {
    held: Mutex<BTreeMap<(Kind, u32), (ObjectKey, Timestamp)>>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Address,
    Port,
}

impl Addresses {
    /// Fills in addresses, families and node ports of a service that lack.
    pub(super) fn allocate(
        &self,
        cx: &Context<'_>,
        service: &mut Value,
        old: Option<&Value>,
    ) -> Result<(), Status> {
        let name = text(service, "metadata.name").to_owned();
        let key = ObjectKey::new(text(service, "metadata.namespace"), &name);
        let refuse = |error| Status::invalid(&GroupKind::new("", "Service"), &name, vec![error]);
        let spec = &mut service["spec"];
        self.address(cx, spec, old, &key).map_err(refuse)?;
        let refuse = |error| Status::invalid(&GroupKind::new("", "Service"), &name, vec![error]);
        self.node_ports(cx, spec, old, &key).map_err(refuse)
    }

    fn address(
        &self,
        cx: &Context<'_>,
        spec: &mut Value,
        old: Option<&Value>,
        key: &ObjectKey,
    ) -> Result<(), FieldError> {
        if text(spec, "type") == "ExternalName" {
            return Ok(());
        }
        if is_unset(spec.get("clusterIP"))
            && let Some(first) = list(spec, "clusterIPs").first().cloned()
        {
            spec["clusterIP"] = first;
        }
        families(spec)?;
        let wanted = text(spec, "clusterIP").to_owned();
        let before = old
            .map(|old| text(old, "spec.clusterIP"))
            .unwrap_or_default();
        if wanted != "None" && (wanted.is_empty() || wanted != before) {
            let range = Range::of_addresses(cidr(cx));
            let taken = self.taken(cx, Kind::Address, key, |object| {
                let address = object.meta.fields.get("spec.clusterIP").unwrap_or_default();
                address
                    .parse::<Ipv4Addr>()
                    .ok()
                    .map(u32::from)
                    .into_iter()
                    .collect()
            });
            let chosen = match wanted.as_str() {
                "" => range
                    .pick(&taken, cx.entropy)
                    .ok_or("range is full".to_owned()),
                wanted => choose_address(wanted, range, &taken),
            };
            let chosen = chosen.map_err(|why| {
                let value = if wanted.is_empty() {
                    json!([])
                } else {
                    json!([wanted])
                };
                FieldError::invalid(
                    "spec.clusterIPs",
                    value,
                    format!("failed to allocate IP {wanted}: {why}"),
                )
            })?;
            self.hold(cx, Kind::Address, chosen, key);
            spec["clusterIP"] = Ipv4Addr::from(chosen).to_string().into();
        }
        if spec["clusterIPs"].get(0) != Some(&spec["clusterIP"]) {
            spec["clusterIPs"] = json!([spec["clusterIP"]]);
        }
        Ok(())
    }

    fn node_ports(
        &self,
        cx: &Context<'_>,
        spec: &mut Value,
        old: Option<&Value>,
        key: &ObjectKey,
    ) -> Result<(), FieldError> {
        let needs_ports = needs_node_ports(spec);
        if !needs_ports && !needs_health_port(spec) {
            return Ok(());
        }
        let own: BTreeSet<u32> = old.map(|old| ports_of(&old["spec"])).unwrap_or_default();
        let mut taken = self.taken(cx, Kind::Port, key, |object| {
            let kind = object.meta.fields.get("spec.type");
            if !matches!(kind, Some("NodePort" | "LoadBalancer")) {
                return BTreeSet::new();
            }
            let service: Value = serde_json::from_slice(&object.body).unwrap_or_default();
            ports_of(&service["spec"])
        });
        let range = Range::of_ports();
        // One port number with two protocols gets one node port.
        let mut shared: BTreeMap<i64, u32> = BTreeMap::new();
        let ports = items(spec, "ports").enumerate().filter(|_| needs_ports);
        for (index, port) in ports {
            let number = port["port"].as_i64().unwrap_or(0);
            let wanted = port["nodePort"].as_i64().unwrap_or(0);
            let path = || format!("spec.ports[{index}].nodePort");
            let full =
                || FieldError::internal(path(), "failed to allocate a nodePort: range is full");
            let chosen = match (wanted, shared.get(&number)) {
                (0, Some(port)) => *port,
                (0, None) => range
                    .pick(&taken, cx.entropy.rotate_left(index as u32))
                    .ok_or_else(full)?,
                (wanted, _) => {
                    let port = u32::try_from(wanted).unwrap_or(0);
                    let is_shared = shared.values().any(|shared| *shared == port);
                    choose_port(port, &taken, own.contains(&port) || is_shared)
                        .map_err(|why| FieldError::invalid(path(), wanted, why))?
                }
            };
            shared.insert(number, chosen);
            taken.insert(chosen);
            self.hold(cx, Kind::Port, chosen, key);
            port["nodePort"] = chosen.into();
        }
        if needs_health_port(spec) && is_zero(&spec["healthCheckNodePort"]) {
            let path = "spec.healthCheckNodePort";
            let full =
                || FieldError::internal(path, "failed to allocate a nodePort: range is full");
            let chosen = range
                .pick(&taken, cx.entropy.rotate_left(32))
                .ok_or_else(full)?;
            self.hold(cx, Kind::Port, chosen, key);
            spec["healthCheckNodePort"] = chosen.into();
        }
        Ok(())
    }

    /// What other services have, or were given a moment ago.
    fn taken(
        &self,
        cx: &Context<'_>,
        kind: Kind,
        own: &ObjectKey,
        of: impl Fn(&Object) -> BTreeSet<u32>,
    ) -> BTreeSet<u32> {
        let services = ResourceKey::new("", "services");
        let stored = cx
            .state
            .collection(&services)
            .into_iter()
            .flat_map(|all| &all.objects);
        let mut taken: BTreeSet<u32> = stored
            .filter(|(key, _)| *key != own)
            .flat_map(|(_, object)| of(object))
            .collect();
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        taken.extend(
            held.iter()
                .filter(|((k, _), (key, since))| {
                    *k == kind && key != own && cx.now.duration_since(*since) < HELD
                })
                .map(|((_, value), _)| *value),
        );
        taken
    }

    fn hold(&self, cx: &Context<'_>, kind: Kind, value: u32, key: &ObjectKey) {
        if cx.dry_run {
            return;
        }
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|_, (_, since)| cx.now.duration_since(*since) < HELD);
        held.insert((kind, value), (key.clone(), cx.now));
    }
}

/// Sets families and policy: one family, IPv4. Services without selector and address are the
/// exception; they are not ours to fill, so both families are allowed.
fn families(spec: &mut Value) -> Result<(), FieldError> {
    let is_headless = text(spec, "clusterIP") == "None";
    let has_selector = spec["selector"]
        .as_object()
        .is_some_and(|selector| !selector.is_empty());
    let policy = text(spec, "ipFamilyPolicy");
    if is_headless && !has_selector {
        if policy.is_empty() {
            spec["ipFamilyPolicy"] = "RequireDualStack".into();
        }
        if list(spec, "ipFamilies").is_empty() {
            spec["ipFamilies"] = match text(spec, "ipFamilyPolicy") {
                "SingleStack" => json!(["IPv4"]),
                _ => json!(["IPv4", "IPv6"]),
            };
        }
        return Ok(());
    }
    if policy == "RequireDualStack" {
        let detail = "this cluster is not configured for dual-stack services";
        return Err(FieldError::invalid("spec.ipFamilyPolicy", policy, detail));
    }
    if let Some(other) = list(spec, "ipFamilies")
        .iter()
        .find(|family| *family != "IPv4")
    {
        let detail = "not configured on this cluster";
        return Err(FieldError::invalid(
            "spec.ipFamilies[0]",
            other.clone(),
            detail,
        ));
    }
    if policy.is_empty() {
        spec["ipFamilyPolicy"] = "SingleStack".into();
    }
    spec["ipFamilies"] = json!(["IPv4"]);
    Ok(())
}

fn cidr(cx: &Context<'_>) -> Ipv4Net {
    let key = ResourceKey::new("networking.k8s.io", "servicecidrs");
    let stored = cx.state.get(&key, &ObjectKey::new("", "kubernetes"));
    let object: Option<Value> = stored.and_then(|o| serde_json::from_slice(&o.body).ok());
    let cidrs = object
        .as_ref()
        .map(|object| list(object, "spec.cidrs"))
        .unwrap_or_default();
    let mut parsed = cidrs.iter().filter_map(|cidr| cidr.as_str()?.parse().ok());
    parsed.next().unwrap_or(DEFAULT_CIDR)
}

fn choose_address(wanted: &str, range: Range, taken: &BTreeSet<u32>) -> Result<u32, String> {
    let address: Ipv4Addr = wanted
        .parse()
        .map_err(|_| "not a valid IP address".to_owned())?;
    let value = u32::from(address);
    if !range.contains(value) {
        return Err(format!(
            "the provided IP ({wanted}) is not in the valid range. The range of valid IPs is {}",
            range.text
        ));
    }
    match taken.contains(&value) {
        true => Err("provided IP is already allocated".to_owned()),
        false => Ok(value),
    }
}

fn choose_port(port: u32, taken: &BTreeSet<u32>, is_own: bool) -> Result<u32, String> {
    if !NODE_PORTS.contains(&port) {
        return Err(
            "provided port is not in the valid range. The range of valid ports is 30000-32767"
                .to_owned(),
        );
    }
    match taken.contains(&port) && !is_own {
        true => Err("provided port is already allocated".to_owned()),
        false => Ok(port),
    }
}

fn ports_of(spec: &Value) -> BTreeSet<u32> {
    let ports = list(spec, "ports").iter().map(|port| &port["nodePort"]);
    let numbers = ports
        .chain([at(spec, "healthCheckNodePort")])
        .filter_map(Value::as_u64);
    numbers
        .filter_map(|number| u32::try_from(number).ok())
        .filter(|port| *port != 0)
        .collect()
}

/// A range of numbers with a lower band that is used only by choice or when nothing else is left.
#[derive(Clone, Copy)]
struct Range {
    first: u32,
    last: u32,
    band: u32,
    text: Ipv4Net,
}

impl Range {
    /// Without the network's own address and the broadcast address.
    fn of_addresses(cidr: Ipv4Net) -> Self {
        let (first, last) = (u32::from(cidr.network()), u32::from(cidr.broadcast()));
        let size = last - first;
        let band = (size / 16).clamp(16, 256).min(size / 2);
        Self {
            first: first + 1,
            last: last.saturating_sub(1).max(first),
            band,
            text: cidr,
        }
    }

    fn of_ports() -> Self {
        let (first, last) = (*NODE_PORTS.start(), *NODE_PORTS.end());
        Self {
            first,
            last,
            band: ((last - first + 1) / 32).clamp(16, 128),
            text: DEFAULT_CIDR,
        }
    }

    fn contains(self, value: u32) -> bool {
        (self.first..=self.last).contains(&value)
    }

    /// A free number, from a random place of the upper band on.
    fn pick(self, taken: &BTreeSet<u32>, entropy: u64) -> Option<u32> {
        let upper = self.first + self.band;
        let bands = [(upper, self.last), (self.first, upper - 1)];
        bands
            .into_iter()
            .filter(|(low, high)| low <= high)
            .find_map(|(low, high)| {
                let size = u64::from(high - low) + 1;
                let start = entropy % size;
                let all = (0..size).map(|step| low + ((start + step) % size) as u32);
                all.into_iter().find(|value| !taken.contains(value))
            })
    }
}
