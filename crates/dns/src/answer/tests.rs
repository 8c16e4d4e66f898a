use std::fmt::Write as _;

use super::*;
use crate::catalog::{Catalog, Change};
use crate::message::{FLAG_AA, FLAG_RD, Message, Question, encode_query};
use crate::name::Name;
use crate::record::{Data, Record};
use crate::zone::{Entry, NameServer, RecordSet, Settings};

mod options;
mod properties;
mod rules;
mod signed;

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

/// Zones from short text. `zone <apex> <negative ttl> [<server> <address>…]` starts one; then one record per line, as
/// `<relative name or @> <ttl> <type> <data>`. A type ending in `~` shuffles, `!` makes the name exist without records.
pub(crate) fn catalog(text: &str) -> Catalog {
    let mut changes = Vec::new();
    let mut apex = Name::root();
    let mut entries: Vec<(Name, Entry)> = Vec::new();
    let flush = |apex: &Name, entries: &mut Vec<(Name, Entry)>, changes: &mut Vec<Change>| {
        let sets = entries.drain(..);
        changes.extend(sets.map(|(name, entry)| Change::Set {
            zone: apex.clone(),
            name,
            entry: entry.into(),
        }));
    };
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words = line.split_whitespace().collect::<Vec<_>>();
        if words[0] == "zone" {
            flush(&apex, &mut entries, &mut changes);
            apex = name(words[1]);
            let servers = words[3..].chunks(2).map(|pair| NameServer {
                name: name(pair[0]),
                addresses: pair[1..]
                    .iter()
                    .map(|address| address.parse().unwrap())
                    .collect(),
            });
            let ttl = words[2].parse().unwrap();
            let settings = Settings::k8gb(apex.clone(), 3600, ttl, servers.collect()).unwrap();
            changes.push(Change::Zone(settings));
            continue;
        }
        let owner = match words[0] {
            "@" => apex.clone(),
            relative if apex.is_root() => name(relative),
            relative => name(&format!("{relative}.{apex}")),
        };
        let position = entries.iter().position(|(name, _)| *name == owner);
        let position = position.unwrap_or_else(|| {
            entries.push((owner, Entry::default()));
            entries.len() - 1
        });
        if words[1] == "!" {
            continue;
        }
        let data = data(words[2].trim_end_matches('~'), &words[3..]);
        let sets = &mut entries[position].1.sets;
        match sets
            .iter_mut()
            .find(|set| set.data[0].rtype() == data.rtype())
        {
            Some(set) => set.data.push(data),
            None => sets.push(RecordSet::fixed(words[1].parse().unwrap(), vec![data])),
        }
        if words[2].ends_with('~') {
            sets.iter_mut()
                .for_each(|set| set.order = crate::zone::Order::Shuffle);
        }
    }
    flush(&apex, &mut entries, &mut changes);
    let (catalog, errors) = Catalog::default().with(changes);
    assert_eq!(errors, []);
    catalog
}

fn data(rtype: &str, words: &[&str]) -> Data {
    match rtype {
        "A" => Data::A(words[0].parse().unwrap()),
        "AAAA" => Data::Aaaa(words[0].parse().unwrap()),
        "CNAME" => Data::Cname(name(words[0])),
        "NS" => Data::Ns(name(words[0])),
        "TXT" => Data::txt(words[0]),
        "SRV" => Data::Srv {
            priority: words[0].parse().unwrap(),
            weight: words[1].parse().unwrap(),
            port: words[2].parse().unwrap(),
            target: name(words[3]),
        },
        other => panic!("the fixture knows no {other}"),
    }
}

/// Answers without cookies, as the address 127.0.0.1.
fn answer_into(
    catalog: &Catalog,
    query: &[u8],
    transport: Transport,
    entropy: &mut Entropy,
    out: &mut [u8],
) -> Option<Reply> {
    let context = Context {
        catalog,
        cookies: None,
        geo: None,
        signer: None,
        now_seconds: 0,
    };
    let client = [127, 0, 0, 1].into();
    answer(
        &context,
        &Request {
            query,
            client,
            transport,
        },
        entropy,
        out,
    )
}

/// The reply's bytes to a UDP query with a 1232-octet EDNS buffer.
pub(crate) fn reply(catalog: &Catalog, query: &[u8], transport: Transport) -> Option<Vec<u8>> {
    let mut out = vec![0; TCP_OCTETS_MAX];
    let reply = answer_into(catalog, query, transport, &mut Entropy::new(7), &mut out)?;
    out.truncate(reply.octets);
    Some(out)
}

/// Asks and renders: code and flags, then one line per record.
fn ask(catalog: &Catalog, text: &str) -> String {
    let (owner, rtype) = text.split_once(' ').unwrap();
    let question = Question {
        name: name(owner),
        rtype: rtype.parse().unwrap(),
    };
    let query = encode_query(7, FLAG_RD, &question, Some(1232));
    render(&reply(catalog, &query, Transport::Udp).unwrap())
}

fn render(reply: &[u8]) -> String {
    let message = Message::parse(reply).unwrap();
    let mut out = message.rcode.to_string();
    for (flag, text) in [(FLAG_AA, " aa"), (FLAG_TC, " tc")] {
        out += if message.has(flag) { text } else { "" };
    }
    let sections = [
        ("", &message.answers),
        ("auth ", &message.authorities),
        ("add ", &message.additionals),
    ];
    for (title, records) in sections {
        for record in records {
            write!(out, "\n{title}{record}").unwrap();
        }
    }
    out
}
