//! The delegation in an Infoblox grid: the `zone_delegated` object, read, changed and written whole.
//!
//! WAPI has no compare-and-swap, so two clusters that write at once can undo each other. After each write the object is
//! read again: when our entry is not there, or one that was there is gone, somebody wrote in between and it is done once
//! more, after a pause of random length. (k8gb neither locks nor looks again, takes a failed read for "no such zone",
//! and ignores the view when it reads, D15.)
//!
//! Source: k8gb v0.21 `controllers/providers/dns/infoblox.go`; research §3.11. k8gb's heartbeat records in TXT are gone
//! since its version 0.9 (k8gb#175); none are written here either.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::delegate::Records;

/// Fields that are asked for.
pub const FIELDS: &str = "fqdn,view,delegate_to,delegated_ttl";

/// A name server of a delegation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Server {
    /// Address as text; orders the entries, as k8gb does.
    pub address: String,
    /// Name.
    pub name: String,
}

/// A delegated zone, as the grid has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Reference for changes.
    pub reference: String,
    /// Its name servers, in the grid's order.
    pub servers: Vec<Server>,
}

/// What to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Make the zone.
    Create(Value),
    /// Change the zone at this reference.
    Update(String, Value),
    /// Delete the zone at this reference: nobody is left.
    Delete(String),
}

/// The zone in an answer to a search; none when there is no such zone.
///
/// # Errors
/// What is wrong with the answer. It must not be taken for "no such zone".
pub fn found(answer: &Value) -> Result<Option<Zone>, String> {
    let all = answer.as_array().ok_or("the answer is no list of zones")?;
    let zone = match all.as_slice() {
        [] => return Ok(None),
        [zone] => zone,
        many => return Err(format!("{} zones of one name in one view", many.len())),
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let reference = text(&zone["_ref"]);
    if reference.is_empty() {
        return Err("the zone has no reference".into());
    }
    let servers = zone["delegate_to"].as_array().into_iter().flatten();
    let servers = servers
        .map(|server| Server {
            address: text(&server["address"]),
            name: text(&server["name"]),
        })
        .collect();
    Ok(Some(Zone { reference, servers }))
}

/// The name servers as they should be: those of others as they are, and ours.
pub fn wanted(zone: Option<&Zone>, records: &Records) -> Vec<Server> {
    let others = zone.into_iter().flat_map(|zone| &zone.servers);
    let others = others
        .filter(|server| server.name != records.own_name)
        .cloned();
    let own = records.addresses.iter().map(|ip| Server {
        address: ip.to_string(),
        name: records.own_name.clone(),
    });
    let all: BTreeSet<Server> = others.chain(own).collect();
    all.into_iter().collect()
}

/// The call that makes the grid say what it should about us; none when it does.
pub fn plan(zone: Option<&Zone>, records: &Records, view: &str) -> Option<Call> {
    let servers = wanted(zone, records);
    let has: BTreeSet<&Server> = zone.into_iter().flat_map(|zone| &zone.servers).collect();
    if has == servers.iter().collect() {
        return None;
    }
    let delegate_to: Vec<Value> = servers
        .iter()
        .map(|server| json!({ "name": server.name, "address": server.address }))
        .collect();
    match zone {
        None => Some(Call::Create(json!({
            "fqdn": records.zone,
            "view": view,
            "zone_format": "FORWARD",
            "comment": "created by k8gb",
            "disable": false,
            "locked": false,
            "use_delegated_ttl": true,
            "delegated_ttl": records.ttl_seconds,
            "delegate_to": delegate_to,
        }))),
        Some(zone) if servers.is_empty() => Some(Call::Delete(zone.reference.clone())),
        Some(zone) => Some(Call::Update(
            zone.reference.clone(),
            json!({
                "comment": "updated by k8gb",
                "use_delegated_ttl": true,
                "delegated_ttl": records.ttl_seconds,
                "delegate_to": delegate_to,
            }),
        )),
    }
}

/// Whether the zone, read again, has what we wrote and still has what others had.
pub fn took(before: Option<&Zone>, after: Option<&Zone>, records: &Records) -> bool {
    let servers: BTreeSet<&Server> = after.into_iter().flat_map(|zone| &zone.servers).collect();
    let ours = servers
        .iter()
        .filter(|server| server.name == records.own_name)
        .count();
    wanted(before, records)
        .iter()
        .all(|server| servers.contains(server))
        && ours == records.addresses.len()
}

#[cfg(test)]
mod tests;
