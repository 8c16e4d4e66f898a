//! The answer to a query: a pure function from a catalog, the query's bytes and some entropy to the reply's bytes.
//!
//! | question | reply |
//! |---|---|
//! | bytes that are no query | nothing, FORMERR, NOTIMP or BADVERS: [`crate::message::query`] |
//! | a name in no zone, another class | REFUSED, not authoritative |
//! | AXFR, IXFR | REFUSED; other questions about questions (TSIG, MAILB …) NOTIMP |
//! | a name at or below a delegation | referral: NS in authority, glue in additional, not authoritative; DS at the cut itself is ours |
//! | apex SOA, NS | from the zone's settings, with NS in authority and the servers' addresses in additional |
//! | records of the type | those, in the order their set asks for |
//! | a CNAME | it, then what its target says, at most [`CNAME_HOPS_MAX`] times, as long as the target is in one of our zones |
//! | a name without such records, or above other names | NODATA: NOERROR with the SOA in authority |
//! | a name that does not exist | the closest wildcard's records, else NXDOMAIN with the SOA in authority |
//! | ANY | one HINFO record (RFC 8482) |
//! | SRV, MX, SVCB, HTTPS | those, and the addresses of the hosts they name that this zone has, as far as there is room |
//!
//! Of sets that ask for it only what is near the client is given: near the subnet a resolver names (RFC 7871), else near the sender.
//! The subnet is given back with the length of the network the answer is good for, 0 when it does not depend on the place.
//!
//! Replies are authoritative (AA) except referrals and refusals. They echo the question octet by octet, RD and CD, never set RA,
//! and carry an OPT record exactly when the query did. Where there is room it says more (RFC 8914): why a query is refused, that the
//! zone is remembered from before a restart, or what the name's entry gives as its reason. Over UDP they stay within what the client takes (512 without EDNS, at most
//! 1232); answers that do not fit are cut after a whole record and TC is set. Nothing here allocates, locks or logs.

mod options;
mod signed;

use std::net::IpAddr;

use crate::catalog::Catalog;
use crate::cookie::Cookies;
use crate::dnssec::Signer;
use crate::geo::Geo;
use crate::message::query::{Query, Reject};
use crate::message::writer::{self, RecordParts, Section};
use crate::message::{FLAG_TC, HEADER_OCTETS, TCP_OCTETS_MAX, Writer};
use crate::name;
use crate::order::{Arrangement, Entropy};
use crate::record::{Rcode, Type};
use crate::zone::{self, NodeRef, OrderRef, RECORDS_PER_SET_MAX, Relocatable, SetRef, Zone};

use signed::Owner;

use options::{EXTENDED_ERROR, Options, extended_error};

/// Longest chain of aliases followed for one question.
pub const CNAME_HOPS_MAX: usize = 8;
/// TTL of the HINFO record that answers ANY, in seconds.
const ANY_TTL_SECONDS: u32 = 3600;
/// RDATA of that record: CPU "RFC8482", no operating system (RFC 8482 §4.2).
const ANY_RDATA: &[u8] = b"\x07RFC8482\x00";
/// Types whose records name hosts that the client will ask for next.
const NAMES_HOSTS: [Type; 4] = [Type::SRV, Type::MX, Type::SVCB, Type::HTTPS];
/// Pointer to the name in the question.
const QUESTION_POINTER: u16 = 0xc000 | HEADER_OCTETS as u16;

/// How a query came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// One datagram, reply limited by what the client announces.
    Udp,
    /// A stream, reply limited to 65,535 octets.
    Tcp,
}

/// What answers depend on besides the query.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The zones.
    pub catalog: &'a Catalog,
    /// Makes DNS cookies; `None` leaves the option unanswered.
    pub cookies: Option<&'a Cookies>,
    /// Tells which addresses are near a client; `None` gives all.
    pub geo: Option<&'a Geo>,
    /// Signs answers for those who ask for signatures, see [`crate::dnssec`]; `None` leaves them unsigned.
    pub signer: Option<&'a Signer>,
    /// Unix time in seconds, modulo 2³².
    pub now_seconds: u32,
}

/// A query and where it comes from.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The message.
    pub query: &'a [u8],
    /// Who sent it, as far as the network knows.
    pub client: IpAddr,
    /// How it came.
    pub transport: Transport,
}

/// A reply that stands in the caller's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// Its length in octets.
    pub octets: usize,
    /// Its code, for counting.
    pub rcode: Rcode,
    /// Whether it was cut short.
    pub truncated: bool,
    /// Whether the client has shown that its address is its own.
    pub verified: bool,
    /// Replies of one kind have one value here: answers from one name, denials of one zone, refusals. For rate limiting.
    pub kind: u64,
}

/// Answers one query into `out`; `None` means that nothing must be sent.
///
/// # Panics
/// When `out` is smaller than 512 octets: the caller provides 1232 for UDP and 65,535 for TCP.
pub fn answer(
    context: &Context<'_>,
    request: &Request<'_>,
    entropy: &mut Entropy,
    out: &mut [u8],
) -> Option<Reply> {
    let Request {
        client, transport, ..
    } = *request;
    let query = match Query::parse(request.query) {
        Ok(query) => query,
        Err(Reject::Drop) => return None,
        Err(Reject::Reply {
            rcode,
            question_octets,
            edns,
        }) => {
            return Some(reject(request.query, rcode, question_octets, edns, out));
        }
    };
    let mut options = Options::new();
    let Ok(asked) = options.read(&query, context, client) else {
        let question_octets = query.question.len();
        return Some(reject(
            request.query,
            Rcode::FORMERR,
            question_octets,
            true,
            out,
        ));
    };
    let octets_max = match transport {
        Transport::Udp => query.udp_octets(),
        Transport::Tcp => TCP_OCTETS_MAX,
    };
    let octets_max = octets_max.min(out.len());
    let mut writer = Writer::new(out, octets_max, query.question);
    if query.edns.is_some() {
        writer.reserve(writer::OPT_OCTETS + options.as_slice().len() + asked.octets());
    }
    // A source length of 0 asks to be answered for the resolver's own place.
    let told = asked.subnet.filter(|subnet| subnet.source > 0);
    let mut scribe = Scribe {
        writer,
        entropy,
        geo: context.geo,
        signer: context.signer,
        dnssec_ok: query.edns.is_some_and(|edns| edns.dnssec_ok),
        now_seconds: context.now_seconds,
        place: told.map_or(client, |subnet| subnet.address),
        by_place: false,
        authoritative: false,
        truncated: false,
        stale: false,
        why: None,
        kind: 0,
    };
    let rcode = scribe.resolve(context.catalog, &query);
    if let Some(subnet) = asked.subnet {
        let told_apart = scribe.by_place && subnet.source > 0;
        let scope = context
            .geo
            .filter(|_| told_apart)
            .map_or(0, |geo| geo.scope(subnet.address));
        options.put_subnet(subnet, scope);
    }
    let verified = asked.verified || transport == Transport::Tcp;
    Some(Reply {
        verified,
        ..scribe.finish(&query, rcode, options)
    })
}

/// Turns a reply into an empty, truncated one: the client is to come over TCP. Gives its length.
///
/// # Panics
/// When `reply` is not a reply to a readable question.
pub fn cut_short(reply: &mut [u8]) -> usize {
    let name_octets =
        name::wire_len(&reply[HEADER_OCTETS..]).expect("our replies echo a whole question");
    reply[2] |= (FLAG_TC >> 8) as u8;
    reply[6..HEADER_OCTETS].fill(0);
    HEADER_OCTETS + name_octets + 4
}

/// A reply that carries nothing but a code.
pub(crate) fn reject(
    query: &[u8],
    rcode: Rcode,
    question_octets: usize,
    edns: bool,
    out: &mut [u8],
) -> Reply {
    let id = u16::from_be_bytes([query[0], query[1]]);
    let flags = u16::from_be_bytes([query[2], query[3]]);
    let question = &query[HEADER_OCTETS..HEADER_OCTETS + question_octets];
    let octets_max = out.len();
    let mut writer = Writer::new(out, octets_max, question);
    let fits = !edns || writer.put_opt(rcode, false, &[]);
    assert!(fits, "header, question and OPT need fewer than 512 octets");
    let n_questions = u16::from(question_octets > 0);
    let octets = writer.finish(id, writer::reply_flags(flags, false), rcode, n_questions);
    Reply {
        octets,
        rcode,
        truncated: false,
        verified: false,
        kind: u64::from(rcode.0),
    }
}

/// Where a name leads within a zone.
enum Found<'a> {
    /// Its own records, or a wildcard's.
    Node(NodeRef<'a>),
    /// A delegation that starts with the last `name_octets` octets in front of the apex.
    Cut(NodeRef<'a>),
    /// Nothing; what stands at the name may say why.
    Missing(Option<NodeRef<'a>>),
}

/// A name on the way to the answer.
#[derive(Clone, Copy)]
struct Step<'a> {
    /// Lower-case, wire form.
    name: &'a [u8],
    /// Where it stands in the reply, for pointers to it.
    at: u16,
}

impl Step<'_> {
    /// A pointer to the part of the name that starts `octets` in.
    fn pointer(self, octets: usize) -> u16 {
        0xc000 | (self.at + octets as u16)
    }

    /// The name that starts `octets` in.
    fn skip(self, octets: usize) -> Self {
        Step {
            name: &self.name[octets..],
            at: self.at + octets as u16,
        }
    }
}

/// Writes one reply.
struct Scribe<'b> {
    writer: Writer<'b>,
    entropy: &'b mut Entropy,
    geo: Option<&'b Geo>,
    signer: Option<&'b Signer>,
    /// The client wants signatures.
    dnssec_ok: bool,
    now_seconds: u32,
    /// Where the client is, as far as we are told.
    place: IpAddr,
    /// Whether the answer depends on it.
    by_place: bool,
    authoritative: bool,
    truncated: bool,
    /// A zone was remembered from before a restart.
    stale: bool,
    /// Info code and text of an extended error.
    why: Option<(u16, &'b [u8])>,
    kind: u64,
}

impl<'b> Scribe<'b> {
    fn resolve(&mut self, catalog: &'b Catalog, query: &Query<'_>) -> Rcode {
        let rtype = query.rtype;
        let mut step = Step {
            name: query.name(),
            at: HEADER_OCTETS as u16,
        };
        // DS belongs to the parent's side of a zone cut; without a parent here the child says that it has none.
        let above = (rtype == Type::DS)
            .then(|| catalog.find_above(step.name))
            .flatten();
        let Some((mut zone, mut relative_octets)) = above.or_else(|| catalog.find(step.name))
        else {
            return Rcode::REFUSED;
        };
        if rtype.is_meta() && rtype != Type::ANY {
            let transfer = [Type::AXFR, Type::IXFR].contains(&rtype);
            return if transfer {
                Rcode::REFUSED
            } else {
                Rcode::NOTIMP
            };
        }
        for _ in 0..=CNAME_HOPS_MAX {
            let relative = &step.name[..relative_octets];
            self.stale |= zone.remembered_from().is_some();
            let node = match find(zone, relative, rtype) {
                Found::Node(node) => node,
                Found::Cut(cut) => {
                    self.refer(zone, cut, step, relative);
                    return Rcode::NOERROR;
                }
                Found::Missing(node) => {
                    self.authoritative = true;
                    self.why = node.and_then(NodeRef::why);
                    self.deny(zone, step, relative_octets);
                    if self.wants_signatures() {
                        self.deny_name(zone, step, relative_octets);
                    }
                    return Rcode::NXDOMAIN;
                }
            };
            self.authoritative = true;
            self.kind = zone::hash(node.name());
            self.why = node.why().or(self.why);
            let alias = node
                .set(Type::CNAME)
                .filter(|_| ![Type::CNAME, Type::ANY].contains(&rtype));
            let Some(alias) = alias else {
                self.give(zone, node, step, relative, rtype);
                return Rcode::NOERROR;
            };
            let target_at = self.writer.len() as u16 + 12;
            self.put_own(zone, Section::Answer, alias, step);
            let Some(target) = alias.rdata().next().filter(|_| !self.truncated) else {
                return Rcode::NOERROR;
            };
            step = Step {
                name: target,
                at: target_at,
            };
            match catalog.find(target) {
                Some(next) => (zone, relative_octets) = next,
                // The rest of the chain is someone else's.
                None => return Rcode::NOERROR,
            }
        }
        Rcode::NOERROR
    }

    /// Records of a name that exists, or NODATA.
    fn give(
        &mut self,
        zone: &Zone,
        node: NodeRef<'_>,
        step: Step<'_>,
        relative: &[u8],
        rtype: Type,
    ) {
        let apex = step.pointer(relative.len());
        let records = zone.apex_records();
        let owner = Owner::of(step);
        let is_apex = relative.is_empty();
        match rtype {
            Type::ANY => {
                let parts = RecordParts {
                    owner: &step.pointer(0).to_be_bytes(),
                    rtype: Type::HINFO,
                    ttl_seconds: ANY_TTL_SECONDS,
                    rdata: ANY_RDATA,
                };
                self.truncated |= !self.writer.put_record(Section::Answer, parts);
                let rdata = [ANY_RDATA];
                self.sign(
                    Section::Answer,
                    zone,
                    &owner,
                    (Type::HINFO, ANY_TTL_SECONDS),
                    &rdata,
                );
            }
            Type::SOA if is_apex => {
                self.truncated |= !self.put_relocatable(Section::Answer, &records.soa, apex);
                self.sign_soa(Section::Answer, zone, &owner, records.ttl_seconds);
                if self.put_relocatable(Section::Authority, &records.ns, apex) {
                    self.sign_ns(Section::Authority, zone, &owner);
                    self.put_glue(zone, apex);
                }
            }
            Type::NS if is_apex => {
                self.truncated |= !self.put_relocatable(Section::Answer, &records.ns, apex);
                self.sign_ns(Section::Answer, zone, &owner);
                self.put_glue(zone, apex);
            }
            Type::DNSKEY | Type::CDS | Type::CDNSKEY if is_apex && self.signer.is_some() => {
                self.put_keys(zone, &owner, rtype);
            }
            Type::NSEC if self.signer.is_some() => {
                self.put_types(Section::Answer, zone, node, &owner, relative);
            }
            _ => match node.set(rtype) {
                Some(set) => {
                    self.put_own(zone, Section::Answer, set, step);
                    if NAMES_HOSTS.contains(&rtype) {
                        self.put_targets(zone, set);
                    }
                }
                None => {
                    self.deny(zone, step, relative.len());
                    if self.wants_signatures() {
                        self.put_types(Section::Authority, zone, node, &owner, relative);
                    }
                }
            },
        }
    }

    /// The SOA that tells how long a negative answer holds; the apex stands `relative_octets` into the name.
    fn deny(&mut self, zone: &Zone, step: Step<'_>, relative_octets: usize) {
        self.kind = zone::hash(zone.apex().wire());
        let records = zone.apex_records();
        let apex = step.pointer(relative_octets);
        self.truncated |= !self.put_relocatable(Section::Authority, &records.negative, apex);
        let owner = Owner::of(step.skip(relative_octets));
        if self.wants_signatures() {
            self.sign_soa(
                Section::Authority,
                zone,
                &owner,
                records.negative_ttl_seconds,
            );
        }
    }

    /// Addresses of the apex's name servers, as many as fit.
    fn put_glue(&mut self, zone: &Zone, apex: u16) {
        for address in &zone.apex_records().glue {
            if !self.put_relocatable(Section::Additional, address, apex) {
                return;
            }
        }
    }

    /// NS records of a delegation and the addresses of its servers that this zone knows.
    ///
    /// Addresses of servers inside the delegated zone are needed to get there: when they do not fit, TC is set (RFC 9471 §3).
    fn refer(&mut self, zone: &Zone, cut: NodeRef<'_>, step: Step<'_>, relative: &[u8]) {
        let Some(servers) = cut.set(Type::NS) else {
            return;
        };
        let cut_name = cut.name();
        self.kind = zone::hash(cut_name);
        let at_cut = step.skip(relative.len() - cut_name.len());
        let mut target_at = self.writer.len() as u16 + 12;
        self.put_set(Section::Authority, servers, at_cut.pointer(0));
        if self.wants_signatures() {
            self.put_delegation_signer(zone, cut, at_cut);
        }
        if self.truncated {
            return;
        }
        for target in servers.rdata() {
            let pointer = 0xc000 | target_at;
            target_at += target.len() as u16 + 12;
            let Some(target) = name::strip_suffix(target, zone.apex().wire()) else {
                continue;
            };
            let Some(node) = zone.node(target) else {
                continue;
            };
            let is_inside = name::strip_suffix(target, cut_name).is_some();
            for rtype in [Type::A, Type::AAAA] {
                let Some(set) = node.set(rtype) else { continue };
                let fits = self.put_all(Section::Additional, set, pointer);
                self.truncated |= is_inside && !fits;
            }
        }
    }

    /// Records of a set of the zone's own, signed for those who want it.
    fn put_own(&mut self, zone: &Zone, section: Section, set: SetRef<'_>, step: Step<'_>) {
        if self.wants_signatures() {
            self.put_signed(zone, section, set, step);
        } else {
            self.put_set(section, set, step.pointer(0));
        }
    }

    /// Records of a set in the order it asks for; over UDP as many as fit.
    fn put_set(&mut self, section: Section, set: SetRef<'_>, owner: u16) {
        let whole = matches!(set.order, OrderRef::Fixed) || set.n_records == 1;
        if whole && self.put_all(section, set, owner) {
            return;
        }
        let arrangement = self.arrange(set);
        self.put_drawn(section, set, arrangement.positions(), owner);
    }

    /// As [`Scribe::put_set`], with a signature behind. Apart, so that the plain path carries nothing of it.
    #[cold]
    #[inline(never)]
    fn put_signed(&mut self, zone: &Zone, section: Section, set: SetRef<'_>, step: Step<'_>) {
        let (pointer, owner) = (step.pointer(0), Owner::of(step));
        let whole = matches!(set.order, OrderRef::Fixed) || set.n_records == 1;
        if whole && self.put_all(section, set, pointer) {
            return self.sign_set(section, zone, &owner, set, None);
        }
        let arrangement = self.arrange(set);
        self.put_drawn(section, set, arrangement.positions(), pointer);
        self.sign_set(section, zone, &owner, set, Some(arrangement.positions()));
    }

    #[inline(always)]
    fn arrange(&mut self, set: SetRef<'_>) -> Arrangement {
        let nearest = matches!(set.order, OrderRef::Nearest);
        match self.geo.filter(|_| nearest) {
            Some(geo) => {
                self.by_place = true;
                Arrangement::near(&set, geo, self.place)
            }
            None => Arrangement::draw(&set, self.entropy),
        }
    }

    #[inline(always)]
    fn put_drawn(&mut self, section: Section, set: SetRef<'_>, positions: &[u16], owner: u16) {
        let stride = usize::from(set.stride);
        if stride == 0 {
            return self.put_uneven(section, set, positions, owner);
        }
        for position in positions {
            let start = usize::from(*position) * stride;
            if !self.put_one(section, &set.wire[start..start + stride], owner) {
                return;
            }
        }
    }

    /// Addresses of the hosts that SRV, MX, SVCB and HTTPS records name, as many as fit (RFC 2782, RFC 1035 §3.3.9, RFC 9460 §4.1).
    #[cold]
    #[inline(never)]
    fn put_targets(&mut self, zone: &Zone, set: SetRef<'_>) {
        let skip = match set.rtype {
            Type::SRV => 6,
            Type::MX | Type::SVCB | Type::HTTPS => 2,
            _ => return,
        };
        if self.truncated {
            return;
        }
        for rdata in set.rdata() {
            let name = &rdata[skip..];
            let name = &name[..name::wire_len(name).unwrap_or(0)];
            let Some(node) =
                name::strip_suffix(name, zone.apex().wire()).and_then(|n| zone.node(n))
            else {
                continue;
            };
            for rtype in [Type::A, Type::AAAA] {
                // All of an order would say too much about sets of which clients get a part.
                let whole = |set: &SetRef<'_>| {
                    !matches!(set.order, OrderRef::Nearest)
                        && !matches!(set.order, OrderRef::Weighted { take, .. } if take > 0)
                };
                let Some(set) = node.set(rtype).filter(whole) else {
                    continue;
                };
                for record in set.records() {
                    let parts = RecordParts {
                        owner: name,
                        rtype,
                        ttl_seconds: set.ttl_seconds(),
                        rdata: &record[12..],
                    };
                    if !self.writer.put_record(Section::Additional, parts) {
                        return;
                    }
                }
            }
        }
    }

    /// Records of different lengths: their places are found first.
    fn put_uneven(&mut self, section: Section, set: SetRef<'_>, positions: &[u16], owner: u16) {
        let mut starts = [0u32; RECORDS_PER_SET_MAX + 1];
        let mut end = 0;
        for (record, start) in set.records().zip(&mut starts[1..]) {
            end += record.len() as u32;
            *start = end;
        }
        for position in positions {
            let position = usize::from(*position);
            let record = &set.wire[starts[position] as usize..starts[position + 1] as usize];
            if !self.put_one(section, record, owner) {
                return;
            }
        }
    }

    fn put_one(&mut self, section: Section, record: &[u8], owner: u16) -> bool {
        let at = self.writer.len();
        let fits = self.writer.put(section, record, 1);
        self.truncated |= !fits;
        if fits && owner != QUESTION_POINTER {
            self.writer.patch(at, owner);
        }
        fits
    }

    /// All records of a set as they stand, or none.
    fn put_all(&mut self, section: Section, set: SetRef<'_>, owner: u16) -> bool {
        let mut at = self.writer.len();
        if !self.writer.put(section, set.wire, set.n_records) {
            return false;
        }
        if owner != QUESTION_POINTER {
            for record in set.records() {
                self.writer.patch(at, owner);
                at += record.len();
            }
        }
        true
    }

    fn put_relocatable(&mut self, section: Section, records: &Relocatable, apex: u16) -> bool {
        let start = self.writer.len();
        let fits = self.writer.put(section, &records.wire, records.n_records);
        if fits {
            for at in &records.pointers {
                self.writer.patch(start + usize::from(*at), apex);
            }
        }
        fits
    }

    fn finish(self, query: &Query<'_>, rcode: Rcode, options: Options) -> Reply {
        let Scribe {
            mut writer,
            authoritative,
            truncated,
            stale,
            why,
            kind,
            ..
        } = self;
        if let Some(edns) = query.edns {
            let start = writer.len();
            let fits = writer.put_opt(rcode, edns.dnssec_ok, options.as_slice());
            assert!(fits, "room for the OPT record was reserved");
            // It explains and is not needed, so it takes only room that is left.
            if let Some((code, text)) = extended_error(rcode, query.rtype.is_transfer(), stale, why)
            {
                let code = code.to_be_bytes();
                let _ = writer.extend_opt(start, EXTENDED_ERROR, &[&code, text])
                    || writer.extend_opt(start, EXTENDED_ERROR, &[&code]);
            }
        }
        let flags = writer::reply_flags(query.flags, authoritative);
        let flags = if truncated { flags | FLAG_TC } else { flags };
        let octets = writer.finish(query.id, flags, rcode, 1);
        Reply {
            octets,
            rcode,
            truncated,
            verified: false,
            kind,
        }
    }
}

/// Looks a relative name up, minding delegations above it and wildcards beside it.
///
/// The plain case is one look-up. Zones with delegations, and misses in zones with wildcards, walk down from the apex and stop at the
/// first name that does not exist.
fn find<'a>(zone: &'a Zone, relative: &[u8], rtype: Type) -> Found<'a> {
    if !zone.has_cuts() {
        let node = zone.node(relative);
        if let Some(node) = node.filter(|node| !node.is_denied()) {
            return Found::Node(node);
        }
        if !zone.has_wildcards() {
            return Found::Missing(node);
        }
    }
    let mut starts = [0u8; name::NAME_OCTETS_MAX / 2 + 1];
    let mut n_labels = 0;
    let mut at = 0;
    while at < relative.len() {
        starts[n_labels] = at as u8;
        n_labels += 1;
        at += 1 + usize::from(relative[at]);
    }
    let mut encloser = &relative[relative.len()..];
    for start in starts[..n_labels].iter().rev() {
        let ancestor = &relative[usize::from(*start)..];
        let node = zone.node(ancestor);
        let Some(node) = node.filter(|node| !node.is_denied()) else {
            return wildcard(zone, encloser, zone.node(relative));
        };
        if node.is_cut() && !(*start == 0 && rtype == Type::DS) {
            return Found::Cut(node);
        }
        encloser = ancestor;
    }
    zone.node(relative)
        .map_or(Found::Missing(None), Found::Node)
}

/// The wildcard below the closest name that exists (RFC 4592 §3.3.1), else nothing; `denied` may say why.
fn wildcard<'a>(zone: &'a Zone, encloser: &[u8], denied: Option<NodeRef<'a>>) -> Found<'a> {
    let mut name = [0; name::NAME_OCTETS_MAX + 2];
    name[..2].copy_from_slice(b"\x01*");
    name[2..2 + encloser.len()].copy_from_slice(encloser);
    let node = zone
        .node(&name[..2 + encloser.len()])
        .filter(|node| node.has_entry() && !node.is_denied());
    node.map_or(Found::Missing(denied), Found::Node)
}

#[cfg(test)]
pub(crate) mod tests;
