//! What DNSSEC adds to a reply: signatures behind each set, proof of what is not there ([`crate::dnssec`]).
//!
//! Nothing here is inlined into the path of those who want no signatures, whose stack frames stay small.

use super::{Scribe, Step};
use crate::dnssec::denial::{self, Octets};
use crate::dnssec::{KEY_TTL_SECONDS, Signable};
use crate::message::writer::{RecordParts, Section};
use crate::record::Type;
use crate::zone::{NodeRef, RECORDS_PER_SET_MAX, SetRef, Zone};

/// Most types of one name: as many sets as a node counts, and those the zone adds.
const TYPES_MAX: usize = 264;
/// The types every name of a signed zone has.
const ALWAYS: [Type; 2] = [Type::RRSIG, Type::NSEC];
/// What the apex has besides its entry.
const APEX: [Type; 5] = [Type::SOA, Type::NS, Type::DNSKEY, Type::CDS, Type::CDNSKEY];

/// An owner as it is written and as it is signed.
#[derive(Clone, Copy)]
pub(super) struct Owner<'a> {
    /// Labels in front of the pointer.
    labels: &'a [u8],
    pointer: u16,
    /// The name the pointer stands for.
    rest: &'a [u8],
}

impl<'a> Owner<'a> {
    pub(super) fn of(step: Step<'a>) -> Owner<'a> {
        Owner {
            labels: &[],
            pointer: step.pointer(0),
            rest: step.name,
        }
    }
}

impl Scribe<'_> {
    pub(super) fn wants_signatures(&self) -> bool {
        self.dnssec_ok && self.signer.is_some()
    }

    /// Signs a set that has just been given; `positions` are the records drawn, `None` all.
    #[cold]
    #[inline(never)]
    pub(super) fn sign_set(
        &mut self,
        section: Section,
        zone: &Zone,
        owner: &Owner<'_>,
        set: SetRef<'_>,
        positions: Option<&[u16]>,
    ) {
        let mut drawn = [positions.is_none(); RECORDS_PER_SET_MAX];
        for position in positions.unwrap_or_default() {
            drawn[usize::from(*position)] = true;
        }
        let mut rdata = [&[][..]; RECORDS_PER_SET_MAX];
        let mut n_records = 0;
        for (data, _) in set.rdata().zip(drawn).filter(|(_, drawn)| *drawn) {
            rdata[n_records] = data;
            n_records += 1;
        }
        let rdata = &mut rdata[..n_records];
        rdata.sort_unstable();
        self.sign(section, zone, owner, (set.rtype, set.ttl_seconds()), rdata);
    }

    #[cold]
    #[inline(never)]
    pub(super) fn sign_soa(
        &mut self,
        section: Section,
        zone: &Zone,
        owner: &Owner<'_>,
        ttl_seconds: u32,
    ) {
        let rdata = [&zone.apex_records().soa_rdata[..]];
        self.sign(section, zone, owner, (Type::SOA, ttl_seconds), &rdata);
    }

    #[cold]
    #[inline(never)]
    pub(super) fn sign_ns(&mut self, section: Section, zone: &Zone, owner: &Owner<'_>) {
        if !self.wants_signatures() {
            return;
        }
        let records = zone.apex_records();
        let rdata = records.ns_rdata.iter().map(Vec::as_slice);
        let rdata = rdata.collect::<Vec<_>>();
        self.sign(
            section,
            zone,
            owner,
            (Type::NS, records.ttl_seconds),
            &rdata,
        );
    }

    /// Puts the signature of a set whose data is `rdata`, in canonical order, if the client wants one and the set is whole.
    #[cold]
    #[inline(never)]
    pub(super) fn sign(
        &mut self,
        section: Section,
        zone: &Zone,
        owner: &Owner<'_>,
        (rtype, ttl_seconds): (Type, u32),
        rdata: &[&[u8]],
    ) {
        let Some(signer) = self.signer.filter(|_| self.dnssec_ok && !self.truncated) else {
            return;
        };
        let set = Signable {
            zone: zone.apex().wire(),
            owner: [owner.labels, owner.rest],
            rtype,
            ttl_seconds,
            rdata,
        };
        // Without random numbers there is no signature; whoever validates asks another cluster.
        let Ok(rrsig) = signer.sign(&set, self.now_seconds) else {
            return;
        };
        let fits = self.put_owned(section, owner, (Type::RRSIG, ttl_seconds), rrsig.rdata());
        self.truncated |= !fits;
    }

    /// The keys of all clusters, as the type asked for shows them.
    #[cold]
    #[inline(never)]
    pub(super) fn put_keys(&mut self, zone: &Zone, owner: &Owner<'_>, rtype: Type) {
        let Some(signer) = self.signer else { return };
        let keys = signer.keys(zone.apex());
        let digests = keys
            .iter()
            .map(|key| key.ds(zone.apex()))
            .collect::<Vec<_>>();
        let mut rdata = match rtype {
            Type::CDS => digests.iter().map(|digest| &digest[..]).collect::<Vec<_>>(),
            _ => keys.iter().map(|key| key.rdata()).collect(),
        };
        rdata.sort_unstable();
        for data in &rdata {
            let fits = self.put_owned(Section::Answer, owner, (rtype, KEY_TTL_SECONDS), data);
            self.truncated |= !fits;
        }
        self.sign(
            Section::Answer,
            zone,
            owner,
            (rtype, KEY_TTL_SECONDS),
            &rdata,
        );
    }

    /// The NSEC of a name that exists: its types, and that nothing is right behind it.
    #[cold]
    #[inline(never)]
    pub(super) fn put_types(
        &mut self,
        section: Section,
        zone: &Zone,
        node: NodeRef<'_>,
        owner: &Owner<'_>,
        relative: &[u8],
    ) {
        let mut rdata = denial::successor(owner.rest, zone.apex().wire());
        push_types(&mut rdata, node, relative.is_empty());
        self.put_nsec(section, zone, owner, &rdata);
    }

    /// The NSEC records around a name that does not exist and around the wildcard that would have answered for it.
    #[cold]
    #[inline(never)]
    pub(super) fn deny_name(&mut self, zone: &Zone, step: Step<'_>, relative_octets: usize) {
        if !self.wants_signatures() {
            return;
        }
        let relative = &step.name[..relative_octets];
        let mut at = 0;
        while at < relative.len() {
            let next = at + 1 + usize::from(relative[at]);
            let above = zone.node(&relative[next..]);
            if let Some(encloser) = above.filter(|node| !node.is_denied()) {
                let label = &relative[at + 1..next];
                self.put_gap(zone, encloser, step.skip(next), label);
                if label != b"*" {
                    self.put_gap(zone, encloser, step.skip(next), b"*");
                }
                return;
            }
            at = next;
        }
    }

    /// DS records of a delegation, or the proof that there are none.
    #[cold]
    #[inline(never)]
    pub(super) fn put_delegation_signer(&mut self, zone: &Zone, cut: NodeRef<'_>, step: Step<'_>) {
        if !self.wants_signatures() || self.truncated {
            return;
        }
        let owner = Owner::of(step);
        match cut.set(Type::DS) {
            Some(set) => self.put_signed(zone, Section::Authority, set, step),
            None => self.put_types(Section::Authority, zone, cut, &owner, cut.name()),
        }
    }

    fn put_gap(&mut self, zone: &Zone, encloser: NodeRef<'_>, step: Step<'_>, label: &[u8]) {
        let denial::Gap { before, after } = denial::gap(label, step.name, zone.apex().wire());
        let owner = Owner {
            labels: before.as_slice(),
            ..Owner::of(step)
        };
        let mut rdata = after;
        if owner.labels.is_empty() {
            // The encloser itself, with all it has.
            push_types(&mut rdata, encloser, encloser.name().is_empty());
        } else {
            denial::push_types(&mut rdata, ALWAYS.into_iter());
        }
        self.put_nsec(Section::Authority, zone, &owner, &rdata);
    }

    fn put_nsec(&mut self, section: Section, zone: &Zone, owner: &Owner<'_>, rdata: &Octets) {
        let (rdata, ttl_seconds) = (rdata.as_slice(), zone.apex_records().negative_ttl_seconds);
        let fits = self.put_owned(section, owner, (Type::NSEC, ttl_seconds), rdata);
        self.truncated |= !fits;
        self.sign(section, zone, owner, (Type::NSEC, ttl_seconds), &[rdata]);
    }

    fn put_owned(
        &mut self,
        section: Section,
        owner: &Owner<'_>,
        (rtype, ttl_seconds): (Type, u32),
        rdata: &[u8],
    ) -> bool {
        let mut written = Octets::new();
        written.push(owner.labels);
        written.push(&owner.pointer.to_be_bytes());
        let parts = RecordParts {
            owner: written.as_slice(),
            rtype,
            ttl_seconds,
            rdata,
        };
        self.writer.put_record(section, parts)
    }
}

/// The bitmap of what is at a node. Of a delegation that is what the parent says about it (RFC 4035 §2.3).
fn push_types(out: &mut Octets, node: NodeRef<'_>, is_apex: bool) {
    let mut types = [Type(0); TYPES_MAX];
    let mut n_types = 0;
    let mut add = |rtype: Type| {
        types[n_types] = rtype;
        n_types += 1;
    };
    ALWAYS.into_iter().for_each(&mut add);
    if is_apex {
        APEX.into_iter().for_each(&mut add);
    }
    let shown = |rtype: &Type| !node.is_cut() || [Type::NS, Type::DS].contains(rtype);
    node.sets()
        .map(|set| set.rtype)
        .filter(shown)
        .for_each(&mut add);
    let types = &mut types[..n_types];
    types.sort_unstable();
    denial::push_types(out, types.iter().copied());
}
