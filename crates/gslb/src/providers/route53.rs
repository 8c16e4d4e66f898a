//! The delegation in Amazon Route 53: what to change, and the API's documents.
//!
//! Route 53 has no way to add one value to a set, so the set is replaced: one batch deletes the set *as it was read*
//! and creates the new one. A batch is carried out whole or not at all, and deleting a set that looks different by now
//! is refused (`InvalidChangeBatch`), so the batch works as a compare-and-swap and several clusters share a zone without
//! an owner. Whoever is refused reads again and tries again.
//!
//! Source: Amazon Route 53 API Reference 2013-04-01, ChangeResourceRecordSets, ListResourceRecordSets,
//! ListHostedZonesByName.

use std::{collections::BTreeSet, fmt::Write, net::IpAddr};

use roxmltree::{Document, Node};

use crate::delegate::Records;

/// Namespace of the documents.
const NAMESPACE: &str = "https://route53.amazonaws.com/doc/2013-04-01/";

/// A set of records, as Route 53 has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordSet {
    /// Name with its final dot.
    pub name: String,
    /// NS, A or AAAA.
    pub kind: String,
    /// TTL in seconds; sets that point elsewhere (aliases) have none.
    pub ttl_seconds: Option<u32>,
    /// Values, as they stand.
    pub values: Vec<String>,
    /// Whether it is of a kind we do not write: an alias, or one of several with a routing policy.
    pub foreign: bool,
}

/// One part of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Takes the set away, if it looks exactly like this.
    Delete(RecordSet),
    /// Makes the set, if there is none.
    Create(RecordSet),
}

/// One page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The sets.
    pub sets: Vec<RecordSet>,
    /// Name and type with which the next page begins.
    pub next: Option<(String, String)>,
}

/// Why Route 53 did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Refusal {
    /// Code, such as `InvalidChangeBatch`.
    pub code: String,
    /// A sentence.
    pub message: String,
}

/// What to do after a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// Somebody else was faster: read again and try again at once.
    ReadAgain,
    /// Wait and try again.
    Wait,
    /// It will be refused again; say so.
    GiveUp,
}

/// A set stands where ours has to, and we do not know what it means.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the {kind} set of {name} is an alias or has a routing policy; remove it to delegate the zone"
)]
pub struct Occupied {
    /// Name of the set.
    pub name: String,
    /// Its type.
    pub kind: String,
}

/// The batch that makes the parent zone say what it should about us; empty when it does.
///
/// `found` are the sets at the zone's name and at our name server's name.
///
/// # Errors
/// When a set of another kind stands in the way.
pub fn plan(found: &[RecordSet], records: &Records) -> Result<Vec<Change>, Occupied> {
    let present = !records.addresses.is_empty();
    let own_name = dotted(&records.own_name);
    let mut changes = Vec::new();
    let zone = dotted(&records.zone);
    let before = standing(found, &zone, "NS")?;
    let others = before.into_iter().flat_map(|set| &set.values);
    let mut servers: BTreeSet<String> = others
        .filter(|value| !same(value, &own_name))
        .cloned()
        .collect();
    if present {
        servers.insert(own_name.clone());
    }
    swap(before, records, &zone, "NS", servers, &mut changes);
    for (kind, is_kind) in [
        ("A", IpAddr::is_ipv4 as fn(&IpAddr) -> bool),
        ("AAAA", IpAddr::is_ipv6),
    ] {
        let before = standing(found, &own_name, kind)?;
        let ips = records.addresses.iter().filter(|ip| is_kind(ip));
        let wanted = ips.map(IpAddr::to_string).collect();
        swap(before, records, &own_name, kind, wanted, &mut changes);
    }
    Ok(changes)
}

fn standing<'a>(
    found: &'a [RecordSet],
    name: &str,
    kind: &str,
) -> Result<Option<&'a RecordSet>, Occupied> {
    let set = found
        .iter()
        .find(|set| same(&set.name, name) && set.kind == kind);
    match set {
        Some(set) if set.foreign => Err(Occupied {
            name: name.to_owned(),
            kind: kind.to_owned(),
        }),
        other => Ok(other),
    }
}

/// Replaces a set unless it says already what it should. The TTL of a set that others share stays theirs.
fn swap(
    before: Option<&RecordSet>,
    records: &Records,
    name: &str,
    kind: &str,
    wanted: BTreeSet<String>,
    changes: &mut Vec<Change>,
) {
    let folded = |value: &String| value.trim_end_matches('.').to_ascii_lowercase();
    let has: BTreeSet<String> = before
        .into_iter()
        .flat_map(|set| &set.values)
        .map(folded)
        .collect();
    if has == wanted.iter().map(folded).collect() {
        return;
    }
    changes.extend(before.cloned().map(Change::Delete));
    if !wanted.is_empty() {
        let shared = before
            .and_then(|set| set.ttl_seconds)
            .filter(|_| kind == "NS");
        changes.push(Change::Create(RecordSet {
            name: name.to_owned(),
            kind: kind.to_owned(),
            ttl_seconds: Some(shared.unwrap_or(records.ttl_seconds)),
            values: wanted.into_iter().collect(),
            foreign: false,
        }));
    }
}

fn dotted(name: &str) -> String {
    format!("{}.", name.trim_end_matches('.'))
}

fn same(a: &str, b: &str) -> bool {
    a.trim_end_matches('.')
        .eq_ignore_ascii_case(b.trim_end_matches('.'))
}

/// The body of a ChangeResourceRecordSets request.
pub fn batch(changes: &[Change]) -> String {
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\
         <ChangeResourceRecordSetsRequest xmlns=\"{NAMESPACE}\"><ChangeBatch>\
         <Comment>delegation kept by flotilla</Comment><Changes>"
    );
    for change in changes {
        let (action, set) = match change {
            Change::Delete(set) => ("DELETE", set),
            Change::Create(set) => ("CREATE", set),
        };
        // Writing to a string cannot fail.
        let _ = write!(
            xml,
            "<Change><Action>{action}</Action><ResourceRecordSet><Name>{}</Name><Type>{}</Type>\
             <TTL>{}</TTL><ResourceRecords>",
            escape(&set.name),
            escape(&set.kind),
            set.ttl_seconds.unwrap_or_default(),
        );
        for value in &set.values {
            let value = escape(value);
            let _ = write!(
                xml,
                "<ResourceRecord><Value>{value}</Value></ResourceRecord>"
            );
        }
        xml.push_str("</ResourceRecords></ResourceRecordSet></Change>");
    }
    xml.push_str("</Changes></ChangeBatch></ChangeResourceRecordSetsRequest>");
    xml
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Reads a page of ListResourceRecordSets; none when it is something else.
pub fn page(xml: &str) -> Option<Page> {
    let document = Document::parse(xml).ok()?;
    let root = document.root_element();
    if root.tag_name().name() != "ListResourceRecordSetsResponse" {
        return None;
    }
    let sets = children(root, "ResourceRecordSets")
        .flat_map(|list| children(list, "ResourceRecordSet"))
        .map(|set| RecordSet {
            name: text(set, "Name"),
            kind: text(set, "Type"),
            ttl_seconds: text(set, "TTL").parse().ok(),
            values: children(set, "ResourceRecords")
                .flat_map(|list| children(list, "ResourceRecord"))
                .map(|record| text(record, "Value"))
                .collect(),
            foreign: ["AliasTarget", "SetIdentifier", "TrafficPolicyInstanceId"]
                .iter()
                .any(|name| children(set, name).next().is_some()),
        })
        .collect();
    let next = (text(root, "IsTruncated") == "true")
        .then(|| (text(root, "NextRecordName"), text(root, "NextRecordType")));
    Some(Page { sets, next })
}

/// The id of the public hosted zone of this name in an answer of ListHostedZonesByName.
pub fn hosted_zone(xml: &str, name: &str) -> Option<String> {
    let document = Document::parse(xml).ok()?;
    let root = document.root_element();
    let found = children(root, "HostedZones")
        .flat_map(|list| children(list, "HostedZone"))
        .find(|zone| {
            let private = children(*zone, "Config").any(|c| text(c, "PrivateZone") == "true");
            same(&text(*zone, "Name"), name) && !private
        })?;
    let id = text(found, "Id");
    Some(id.trim_start_matches("/hostedzone/").to_owned())
}

/// Reads an error document.
pub fn refusal(status: u16, xml: &str) -> Refusal {
    let read = || -> Option<Refusal> {
        let document = Document::parse(xml).ok()?;
        let root = document.root_element();
        if root.tag_name().name() == "InvalidChangeBatch" {
            let all = root
                .descendants()
                .filter(|n| n.tag_name().name() == "Message");
            let all: Vec<&str> = all.filter_map(|node| node.text()).collect();
            return Some(Refusal {
                code: "InvalidChangeBatch".into(),
                message: all.join("; "),
            });
        }
        let error = root
            .descendants()
            .find(|n| n.tag_name().name() == "Error")?;
        Some(Refusal {
            code: text(error, "Code"),
            message: text(error, "Message"),
        })
    };
    read().unwrap_or_else(|| Refusal {
        code: format!("HTTP {status}"),
        message: "the reply is no error document of Route 53".into(),
    })
}

/// What to do after a refusal with this status.
pub fn after(status: u16, refusal: &Refusal) -> After {
    match (refusal.code.as_str(), status) {
        ("InvalidChangeBatch", _) => After::ReadAgain,
        ("PriorRequestNotComplete" | "Throttling" | "ThrottlingException", _) => After::Wait,
        (_, 429 | 500..=599) => After::Wait,
        _ => After::GiveUp,
    }
}

/// The keys in an answer of STS to AssumeRoleWithWebIdentity: id, secret, token and when they expire.
pub fn assumed(xml: &str) -> Option<(String, String, String, String)> {
    let document = Document::parse(xml).ok()?;
    let keys = document
        .descendants()
        .find(|node| node.tag_name().name() == "Credentials")?;
    let part = |name| Some(text(keys, name)).filter(|text| !text.is_empty());
    Some((
        part("AccessKeyId")?,
        part("SecretAccessKey")?,
        part("SessionToken")?,
        part("Expiration")?,
    ))
}

fn children<'a, 'b>(
    node: Node<'a, 'b>,
    name: &'a str,
) -> impl Iterator<Item = Node<'a, 'b>> + use<'a, 'b> {
    node.children()
        .filter(move |child| child.tag_name().name() == name)
}

fn text(node: Node<'_, '_>, name: &str) -> String {
    let child = node
        .children()
        .find(|child| child.tag_name().name() == name);
    child
        .and_then(|child| child.text())
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests;
