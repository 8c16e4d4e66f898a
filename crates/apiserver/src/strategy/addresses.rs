//! Which cluster addresses and node ports services get.
//!
//! Taken addresses are read from the stored services themselves, so there is no second record that
//! could disagree; IPAddress objects follow them. What was given out in the last seconds is remembered,
//! because two services that are created at once both see the store without the other.
//!
//! The ranges are those of the ServiceCIDR objects, `kubernetes` first; its families are the cluster's.
//!
//! Source: Kubernetes v1.35, `pkg/registry/core/service/{ipallocator,portallocator,storage}`.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, Ipv4Addr},
    sync::{Mutex, PoisonError},
};

use flotilla_machinery::{
    group::GroupKind,
    status::{FieldError, Status},
};
use ipnet::{IpNet, Ipv4Net};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{
    families,
    fill::{at, items, list, text},
    ranges::{AddressRange, NODE_PORTS, pick_port},
    services::{is_zero, needs_health_port, needs_node_ports},
};
use crate::{
    registry::Context,
    store::{Object, ObjectKey, ResourceKey},
};

/// Cluster addresses when no ServiceCIDR says otherwise: 10.96.0.0/16.
pub const DEFAULT_CIDR: IpNet = IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(10, 96, 0, 0), 16));

/// The number before the first port that a dry run shows.
const NODE_PORTS_DRY: u32 = 32_768;

/// How long something given out is held before the store must show it.
const HELD: SignedDuration = SignedDuration::from_secs(10);

/// Deals out addresses and ports.
#[derive(Default)]
pub(super) struct Addresses {
    held: Mutex<BTreeMap<Held, (ObjectKey, Timestamp)>>,
}

/// Something there is only once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Held {
    Address(IpAddr),
    Port(u32),
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
        self.addresses(cx, spec, old, &key).map_err(refuse)?;
        let refuse = |error| Status::invalid(&GroupKind::new("", "Service"), &name, vec![error]);
        self.node_ports(cx, spec, old, &key).map_err(refuse)
    }

    fn addresses(
        &self,
        cx: &Context<'_>,
        spec: &mut Value,
        old: Option<&Value>,
        key: &ObjectKey,
    ) -> Result<(), FieldError> {
        if text(spec, "type") == "ExternalName" {
            return Ok(());
        }
        let first = text(spec, "clusterIP").to_owned();
        if list(spec, "clusterIPs").is_empty() && !first.is_empty() {
            spec["clusterIPs"] = json!([first]);
        }
        let ranges = ranges(cx);
        let offered = offered(&ranges);
        let old_spec = old.map(|old| &old["spec"]);
        families::settle(spec, old_spec, &offered)?;
        if first == "None" {
            spec["clusterIPs"] = json!(["None"]);
            return Ok(());
        }
        let families: Vec<String> = list(spec, "ipFamilies")
            .iter()
            .filter_map(|family| family.as_str().map(str::to_owned))
            .collect();
        let before = old_spec
            .map(|old| list(old, "clusterIPs"))
            .unwrap_or_default();
        let mut addresses = list(spec, "clusterIPs").to_vec();
        addresses.truncate(families.len());
        let mut taken = None;
        for (at, family) in families.iter().enumerate() {
            let wanted = addresses.get(at).and_then(Value::as_str).unwrap_or("");
            if !wanted.is_empty() && before.iter().any(|old| old == wanted) {
                continue;
            }
            let taken =
                taken.get_or_insert_with(|| self.taken_addresses(cx, key, offered.len() > 1));
            let chosen = match dry_address(&ranges, family) {
                // As upstream, a dry run shows the network's own address and takes none.
                Some(network) if cx.dry_run && wanted.is_empty() => Ok(network),
                _ => choose(&ranges, family, wanted, taken, cx.entropy),
            };
            let chosen = chosen.map_err(|why| {
                let asked = match wanted {
                    "" => json!([]),
                    wanted => json!([wanted]),
                };
                let detail = format!("failed to allocate IP {wanted}: {why}");
                FieldError::invalid("spec.clusterIPs", asked, detail)
            })?;
            self.hold(cx, Held::Address(chosen), key);
            taken.insert(chosen);
            let chosen = Value::from(chosen.to_string());
            match addresses.get_mut(at) {
                Some(address) => *address = chosen,
                None => addresses.push(chosen),
            }
        }
        spec["clusterIP"] = addresses.first().cloned().unwrap_or_default();
        spec["clusterIPs"] = addresses.into();
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
        let mut taken = self.taken_ports(cx, key);
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
                // As upstream, a dry run shows numbers that no port has.
                (0, None) if cx.dry_run => {
                    let last = shared.values().copied().max();
                    last.unwrap_or(NODE_PORTS_DRY) + 1
                }
                (0, None) => {
                    pick_port(&taken, cx.entropy.rotate_left(index as u32)).ok_or_else(full)?
                }
                (wanted, _) => {
                    let port = u32::try_from(wanted).unwrap_or(0);
                    let is_shared = shared.get(&number) == Some(&port);
                    let is_own = own.contains(&port) || is_shared;
                    choose_port(port, &taken, is_own, cx.dry_run)
                        .map_err(|why| FieldError::invalid(path(), wanted, why))?
                }
            };
            shared.insert(number, chosen);
            taken.insert(chosen);
            self.hold(cx, Held::Port(chosen), key);
            port["nodePort"] = chosen.into();
        }
        if needs_health_port(spec) && is_zero(&spec["healthCheckNodePort"]) {
            let path = "spec.healthCheckNodePort";
            let full =
                || FieldError::internal(path, "failed to allocate a nodePort: range is full");
            let chosen = pick_port(&taken, cx.entropy.rotate_left(32)).ok_or_else(full)?;
            self.hold(cx, Held::Port(chosen), key);
            spec["healthCheckNodePort"] = chosen.into();
        }
        Ok(())
    }

    /// Addresses that other services have, or were given a moment ago.
    fn taken_addresses(&self, cx: &Context<'_>, own: &ObjectKey, dual: bool) -> BTreeSet<IpAddr> {
        let stored = others(cx, own).flat_map(|object| {
            if dual {
                let service: Value = serde_json::from_slice(&object.body).unwrap_or_default();
                let list = list(&service, "spec.clusterIPs").iter();
                return list.filter_map(|ip| ip.as_str()?.parse().ok()).collect();
            }
            let address = object.meta.fields.get("spec.clusterIP").unwrap_or_default();
            Vec::from_iter(address.parse::<IpAddr>().ok())
        });
        let mut taken: BTreeSet<IpAddr> = stored.collect();
        taken.extend(
            self.held(cx, own)
                .into_iter()
                .filter_map(|held| match held {
                    Held::Address(address) => Some(address),
                    Held::Port(_) => None,
                }),
        );
        taken
    }

    /// Node ports that other services have, or were given a moment ago.
    fn taken_ports(&self, cx: &Context<'_>, own: &ObjectKey) -> BTreeSet<u32> {
        let stored = others(cx, own).filter(|object| {
            let kind = object.meta.fields.get("spec.type");
            matches!(kind, Some("NodePort" | "LoadBalancer"))
        });
        let stored = stored.flat_map(|object| {
            let service: Value = serde_json::from_slice(&object.body).unwrap_or_default();
            ports_of(&service["spec"])
        });
        let mut taken: BTreeSet<u32> = stored.collect();
        taken.extend(
            self.held(cx, own)
                .into_iter()
                .filter_map(|held| match held {
                    Held::Port(port) => Some(port),
                    Held::Address(_) => None,
                }),
        );
        taken
    }

    fn held(&self, cx: &Context<'_>, own: &ObjectKey) -> Vec<Held> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.iter()
            .filter(|(_, (key, since))| key != own && cx.now.duration_since(*since) < HELD)
            .map(|(held, _)| *held)
            .collect()
    }

    fn hold(&self, cx: &Context<'_>, value: Held, key: &ObjectKey) {
        if cx.dry_run {
            return;
        }
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|_, (_, since)| cx.now.duration_since(*since) < HELD);
        held.insert(value, (key.clone(), cx.now));
    }
}

/// Every stored service but this one.
fn others<'a>(cx: &'a Context<'_>, own: &'a ObjectKey) -> impl Iterator<Item = &'a Object> {
    let services = cx.state.collection(&ResourceKey::new("", "services"));
    let all = services.into_iter().flat_map(|all| &all.objects);
    all.filter(move |(key, _)| *key != own)
        .map(|(_, object)| &**object)
}

/// The ranges of the cluster, those of the ServiceCIDR `kubernetes` first.
fn ranges(cx: &Context<'_>) -> Vec<AddressRange> {
    let key = ResourceKey::new("networking.k8s.io", "servicecidrs");
    let stored = cx.state.collection(&key);
    let mut objects: Vec<&Object> = stored
        .into_iter()
        .flat_map(|all| all.list(None, None))
        .filter(|object| !object.meta.deleting)
        .map(|object| &**object)
        .collect();
    objects.sort_by_key(|object| &*object.key.name != "kubernetes");
    let ranges: Vec<AddressRange> = objects
        .into_iter()
        .flat_map(|object| {
            let object: Value = serde_json::from_slice(&object.body).unwrap_or_default();
            let cidrs = list(&object, "spec.cidrs").iter();
            cidrs
                .filter_map(|cidr| cidr.as_str()?.parse::<IpNet>().ok())
                .collect::<Vec<_>>()
        })
        .map(AddressRange::new)
        .collect();
    match ranges.is_empty() {
        true => vec![AddressRange::new(DEFAULT_CIDR)],
        false => ranges,
    }
}

/// The families of these ranges, each once, in their order.
fn offered(ranges: &[AddressRange]) -> Vec<&'static str> {
    let mut out = Vec::new();
    for range in ranges {
        let family = families::of(range.cidr().addr());
        if !out.contains(&family) {
            out.push(family);
        }
    }
    out
}

/// The address that was asked for, or a free one of the family.
/// What a dry run shows as the address.
fn dry_address(ranges: &[AddressRange], family: &str) -> Option<IpAddr> {
    let mut networks = ranges.iter().map(|range| range.cidr().network());
    networks.find(|network| families::of(*network) == family)
}

fn choose(
    ranges: &[AddressRange],
    family: &str,
    wanted: &str,
    taken: &BTreeSet<IpAddr>,
    entropy: u64,
) -> Result<IpAddr, String> {
    let mut ranges = ranges
        .iter()
        .filter(|range| families::of(range.cidr().addr()) == family);
    if wanted.is_empty() {
        let free = ranges.find_map(|range| range.pick(taken, entropy));
        return free.ok_or_else(|| "range is full".to_owned());
    }
    let address: IpAddr = wanted
        .parse()
        .map_err(|_| "not a valid IP address".to_owned())?;
    let first = ranges.clone().next();
    if !ranges.any(|range| range.contains(address)) {
        let cidr = first.map_or(DEFAULT_CIDR, AddressRange::cidr);
        return Err(format!(
            "the provided IP ({wanted}) is not in the valid range. The range of valid IPs is {cidr}"
        ));
    }
    match taken.contains(&address) {
        true => Err("provided IP is already allocated".to_owned()),
        false => Ok(address),
    }
}

/// As upstream, a dry run looks only for conflicts.
fn choose_port(
    port: u32,
    taken: &BTreeSet<u32>,
    is_own: bool,
    dry_run: bool,
) -> Result<u32, String> {
    if !NODE_PORTS.contains(&port) && !dry_run {
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
