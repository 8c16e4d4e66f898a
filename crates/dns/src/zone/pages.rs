//! A persistent hash map from relative names to nodes.
//!
//! Extendible hashing: a directory of 2ᵈ entries, indexed by the top bits of a name's hash, points to immutable pages. A page is
//! one allocation that holds its nodes back to back behind an open-addressing table, so a look-up touches the directory, one
//! table slot and the node, and a change copies one page of a few kilobytes. A page that grows past [`NODES_PER_PAGE`] splits
//! and the directory doubles when it must. Old snapshots keep their pages alive as long as someone reads them.
//!
//! The map also keeps the tree of names: every node counts its children, and a node without an entry exists exactly as long as it
//! has some.
//! A node that only says why its name does not exist is no child to anyone.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use super::history::Staged;
use super::node::{self, NodeRef};
use super::{Entry, EntryError};

/// Nodes after which a page splits: an average page then has about 90 nodes and 10 kilobytes.
const NODES_PER_PAGE: usize = 128;
/// Deepest directory: 2²⁴ pages hold a billion names.
const DEPTH_MAX: u32 = 24;
/// Nodes start at multiples of this within a page, so that 24 bits of a slot address 128 MiB.
const ALIGN: usize = 8;
/// Largest node. Keeps a message below 65,535 octets, signature included, and a page within what a slot can address.
const NODE_OCTETS_MAX: usize = 60_000;

/// The map. Cloning copies one pointer.
#[derive(Debug, Clone)]
pub(super) struct Pages {
    depth: u8,
    directory: Arc<[Page]>,
    n_nodes: usize,
}

#[derive(Debug, Clone)]
struct Page {
    /// Bits of hash all nodes of the page share.
    depth: u8,
    /// Binary logarithm of the number of slots.
    slots_log2: u8,
    /// The table, four octets per slot: 8 bits of hash above 24 bits of place, all zero when free. Then the nodes.
    bytes: Arc<[u8]>,
}

impl Default for Pages {
    fn default() -> Pages {
        let page = Page::build(0, &[]);
        Pages {
            depth: 0,
            directory: Arc::from([page]),
            n_nodes: 0,
        }
    }
}

impl Pages {
    /// The node at a lower-case relative name.
    pub(super) fn lookup(&self, name: &[u8]) -> Option<NodeRef<'_>> {
        let hash = hash(name);
        self.directory[directory_index(hash, self.depth)].lookup(hash, name)
    }

    pub(super) fn n_nodes(&self) -> usize {
        self.n_nodes
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = NodeRef<'_>> {
        self.pages().flat_map(Page::nodes)
    }

    /// The nodes of the page at a place in the directory, and the place of the next page; `None` past the end.
    pub(super) fn page(&self, at: usize) -> Option<(impl Iterator<Item = NodeRef<'_>>, usize)> {
        let page = self.directory.get(at)?;
        Some((page.nodes(), at + (1 << (self.depth - page.depth))))
    }

    /// Octets of directory and pages.
    pub(super) fn memory_octets(&self) -> usize {
        let pages = self
            .pages()
            .map(|page| page.bytes.len() + 16)
            .sum::<usize>();
        pages + self.directory.len() * size_of::<Page>()
    }

    /// Every page once: a page of depth d fills 2^(depth−d) directory entries.
    fn pages(&self) -> impl Iterator<Item = &Page> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let page = self.directory.get(at)?;
            at += 1 << (self.depth - page.depth);
            Some(page)
        })
    }
}

impl Page {
    fn build(depth: u8, nodes: &[(u64, NodeRef<'_>)]) -> Page {
        // At most half full, so that probes stay short and always meet a free slot.
        let n_slots = (2 * nodes.len()).next_power_of_two().max(4);
        let octets = |node: NodeRef<'_>| node.bytes().len().next_multiple_of(ALIGN);
        let nodes_octets = nodes.iter().map(|(_, node)| octets(*node)).sum::<usize>();
        let mut bytes = Vec::with_capacity(4 * n_slots + nodes_octets);
        bytes.resize(4 * n_slots, 0);
        for (hash, node) in nodes {
            let mut slot = *hash as usize % n_slots;
            while read_slot(&bytes, slot) != 0 {
                slot = (slot + 1) % n_slots;
            }
            let value = u32::from(tag(*hash)) << 24 | (bytes.len() / ALIGN) as u32;
            bytes[slot * 4..slot * 4 + 4].copy_from_slice(&value.to_le_bytes());
            let end = bytes.len() + octets(*node);
            bytes.extend(node.bytes());
            bytes.resize(end, 0);
        }
        Page {
            depth,
            slots_log2: n_slots.ilog2() as u8,
            bytes: bytes.into(),
        }
    }

    fn n_slots(&self) -> usize {
        1 << self.slots_log2
    }

    fn lookup(&self, hash: u64, name: &[u8]) -> Option<NodeRef<'_>> {
        let mask = self.n_slots() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let value = read_slot(&self.bytes, slot);
            if value == 0 {
                return None;
            }
            if (value >> 24) as u8 == tag(hash) {
                let node = NodeRef::at(&self.bytes[(value & 0x00ff_ffff) as usize * ALIGN..]);
                if node.name() == name {
                    return Some(node);
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    fn nodes(&self) -> impl Iterator<Item = NodeRef<'_>> {
        let mut rest = &self.bytes[4 * self.n_slots()..];
        std::iter::from_fn(move || {
            let node = (!rest.is_empty()).then(|| NodeRef::at(rest))?;
            rest = &rest[node.bytes().len().next_multiple_of(ALIGN)..];
            Some(node)
        })
    }
}

/// Changes gathered over a map, applied page by page at the end.
#[derive(Debug)]
pub(super) struct Pending {
    base: Pages,
    /// New nodes by name; `None` where one goes away.
    changed: HashMap<Box<[u8]>, Option<Vec<u8>>, BuildHasherDefault<NameHasher>>,
    wildcards_delta: isize,
    cuts_delta: isize,
}

impl Pending {
    pub(super) fn new(base: &Pages) -> Pending {
        Pending {
            base: base.clone(),
            changed: HashMap::default(),
            wildcards_delta: 0,
            cuts_delta: 0,
        }
    }

    /// Puts an entry at a name and makes the names above it exist.
    pub(super) fn set(&mut self, name: &[u8], entry: &Entry) -> Result<(), EntryError> {
        let old = self.node(name);
        let n_children = old.map_or(0, NodeRef::n_children);
        let existed = old.is_some_and(|node| !node.is_denied());
        let bytes = node::encode(name, n_children, Some(entry))?;
        if bytes.len() > NODE_OCTETS_MAX {
            return Err(EntryError::TooLarge {
                octets: bytes.len(),
            });
        }
        let exists = !NodeRef::at(&bytes).is_denied();
        self.put(name, Some(bytes));
        if existed != exists {
            self.count_child(name, if exists { 1 } else { -1 });
        }
        Ok(())
    }

    /// Removes the entry at a name; the apex keeps an empty one.
    pub(super) fn remove(&mut self, name: &[u8]) {
        let Some(old) = self.node(name).filter(|node| node.has_entry()) else {
            return;
        };
        let n_children = old.n_children();
        let existed = !old.is_denied();
        match n_children {
            _ if name.is_empty() => self.put_empty(name, n_children, Some(&Entry::default())),
            0 => {
                self.put(name, None);
                if existed {
                    self.count_child(name, -1);
                }
            }
            _ => self.put_empty(name, n_children, None),
        }
    }

    pub(super) fn wildcards_delta(&self) -> isize {
        self.wildcards_delta
    }

    pub(super) fn cuts_delta(&self) -> isize {
        self.cuts_delta
    }

    /// Notes what the names whose records differ held before.
    pub(super) fn note_changes(&self, staged: &mut Staged) {
        let n_names = self.base.n_nodes;
        for (name, bytes) in &self.changed {
            let old = self.base.lookup(name);
            let new = bytes.as_deref().map(NodeRef::at);
            if !same_records(old, new) {
                staged.note(name, n_names, || old.map(|node| node.bytes().into()));
            }
        }
    }

    fn node(&self, name: &[u8]) -> Option<NodeRef<'_>> {
        match self.changed.get(name) {
            Some(changed) => changed.as_deref().map(NodeRef::at),
            None => self.base.lookup(name),
        }
    }

    fn put(&mut self, name: &[u8], bytes: Option<Vec<u8>>) {
        let count = |node: Option<NodeRef<'_>>| {
            node.map_or((0, 0), |node| {
                (isize::from(node.is_wildcard()), isize::from(node.is_cut()))
            })
        };
        let old = count(self.node(name));
        let new = count(bytes.as_deref().map(NodeRef::at));
        self.wildcards_delta += new.0 - old.0;
        self.cuts_delta += new.1 - old.1;
        self.changed.insert(name.into(), bytes);
    }

    fn put_empty(&mut self, name: &[u8], n_children: u32, entry: Option<&Entry>) {
        let bytes = node::encode(name, n_children, entry).expect("no records, nothing to refuse");
        self.put(name, Some(bytes));
    }

    /// Tells the name above that it has one child more or less, and so on upwards as names appear or vanish. The apex, which
    /// always exists, does not count.
    fn count_child(&mut self, name: &[u8], delta: i32) {
        let mut name = name;
        while !name.is_empty() {
            name = &name[1 + usize::from(name[0])..];
            if name.is_empty() {
                return;
            }
            match self.node(name) {
                None => self.put_empty(name, 1, None),
                Some(parent) => {
                    let has_entry = parent.has_entry();
                    let existed = !parent.is_denied();
                    let n_children = parent.n_children().saturating_add_signed(delta);
                    if n_children == 0 && !has_entry {
                        self.put(name, None);
                        continue;
                    }
                    let mut bytes = parent.bytes().to_vec();
                    let at = 5 + name.len() + 1;
                    bytes[at..at + 4].copy_from_slice(&n_children.to_le_bytes());
                    let exists = !NodeRef::at(&bytes).is_denied();
                    self.put(name, Some(bytes));
                    if existed == exists {
                        return;
                    }
                }
            }
        }
    }

    /// The map with all changes applied.
    pub(super) fn finish(self) -> Pages {
        let Pending { base, changed, .. } = self;
        if changed.is_empty() {
            return base;
        }
        let mut changes = changed
            .iter()
            .map(|(name, bytes)| Change {
                hash: hash(name),
                name,
                bytes: bytes.as_deref(),
            })
            .collect::<Vec<_>>();
        changes.sort_unstable_by_key(|change| change.hash);
        let mut pages = Vec::with_capacity(base.directory.len());
        let mut n_nodes = base.n_nodes;
        // Names made to collide must not blow up the directory: it stays below one entry per 16 names.
        let n_nodes_max = base.n_nodes + changes.len();
        let depth_max = n_nodes_max.ilog2().saturating_sub(4).min(DEPTH_MAX) as u8;
        let mut rest = changes.as_slice();
        let mut first_index = 0u64;
        for page in base.pages() {
            // Changes are sorted by hash and a page covers one range of hashes.
            let end_index = first_index + (1 << (base.depth - page.depth));
            let here =
                |change: &Change<'_>| (directory_index(change.hash, base.depth) as u64) < end_index;
            let (mine, others) = rest.split_at(rest.partition_point(here));
            rest = others;
            first_index = end_index;
            if mine.is_empty() {
                pages.push(page.clone());
                continue;
            }
            let nodes = merge(page, mine);
            n_nodes = n_nodes + nodes.len() - page.nodes().count();
            split(&nodes, page.depth, depth_max, &mut pages);
        }
        let depth = pages
            .iter()
            .map(|page| page.depth)
            .max()
            .unwrap_or(0)
            .max(base.depth);
        Pages {
            depth,
            directory: spread(&pages, depth),
            n_nodes,
        }
    }
}

/// Whether two nodes give the same records, whatever their order.
fn same_records(a: Option<NodeRef<'_>>, b: Option<NodeRef<'_>>) -> bool {
    fn records(node: Option<NodeRef<'_>>) -> Vec<&[u8]> {
        let sets = node.into_iter().flat_map(NodeRef::sets);
        let mut records = sets.flat_map(|set| set.records()).collect::<Vec<_>>();
        records.sort_unstable();
        records
    }
    match (a, b) {
        (Some(a), Some(b)) if a.bytes() == b.bytes() => true,
        _ => records(a) == records(b),
    }
}

struct Change<'a> {
    hash: u64,
    name: &'a [u8],
    bytes: Option<&'a [u8]>,
}

/// The nodes of a page after its changes, sorted by hash.
fn merge<'a>(page: &'a Page, changes: &[Change<'a>]) -> Vec<(u64, NodeRef<'a>)> {
    let changed = |hash: u64, name: &[u8]| {
        let start = changes.partition_point(|change| change.hash < hash);
        changes[start..]
            .iter()
            .take_while(|change| change.hash == hash)
            .any(|c| c.name == name)
    };
    let mut nodes = page
        .nodes()
        .map(|node| (hash(node.name()), node))
        .filter(|(hash, node)| !changed(*hash, node.name()))
        .collect::<Vec<_>>();
    nodes.extend(
        changes
            .iter()
            .filter_map(|c| Some((c.hash, NodeRef::at(c.bytes?)))),
    );
    nodes.sort_unstable_by_key(|(hash, _)| *hash);
    nodes
}

/// Turns sorted nodes into pages, halving the range of hashes as often as needed and allowed.
fn split(nodes: &[(u64, NodeRef<'_>)], depth: u8, depth_max: u8, out: &mut Vec<Page>) {
    if nodes.len() <= NODES_PER_PAGE || depth >= depth_max {
        out.push(Page::build(depth, nodes));
        return;
    }
    let bit = 1 << (63 - depth);
    let (low, high) = nodes.split_at(nodes.partition_point(|(hash, _)| hash & bit == 0));
    split(low, depth + 1, depth_max, out);
    split(high, depth + 1, depth_max, out);
}

/// The directory for pages in order of hash.
fn spread(pages: &[Page], depth: u8) -> Arc<[Page]> {
    let mut directory = Vec::with_capacity(1 << depth);
    for page in pages {
        directory.extend(std::iter::repeat_n(page, 1 << (depth - page.depth)).cloned());
    }
    directory.into()
}

fn directory_index(hash: u64, depth: u8) -> usize {
    // Two steps, because shifting by 64 is not defined.
    (hash >> 1 >> (63 - depth)) as usize
}

fn tag(hash: u64) -> u8 {
    (hash >> 24) as u8
}

fn read_slot(bytes: &[u8], slot: usize) -> u32 {
    let at = slot * 4;
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Hash of a name: eight octets at a time, each mixed by one wide multiplication whose halves are folded together.
///
/// The seed is fixed. Whoever may publish names can make some collide; they then share a page, which slows down changes to it and
/// nothing else.
pub(crate) fn hash(name: &[u8]) -> u64 {
    let mix = |a: u64, b: u64| {
        let wide = u128::from(a) * u128::from(b);
        (wide as u64) ^ (wide >> 64) as u64
    };
    let mut state = 0x9e37_79b9_7f4a_7c15 ^ name.len() as u64;
    let (chunks, tail) = name.as_chunks::<8>();
    for chunk in chunks {
        state = mix(state ^ u64::from_le_bytes(*chunk), 0xa076_1d64_78bd_642f);
    }
    let mut last = [0; 8];
    last[..tail.len()].copy_from_slice(tail);
    mix(state ^ u64::from_le_bytes(last), 0xe703_7ed1_a0b4_28db)
}

/// [`hash`] for the standard library's maps.
#[derive(Debug, Default)]
pub(crate) struct NameHasher(u64);

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 ^= hash(bytes);
    }

    fn write_usize(&mut self, _length: usize) {
        // The length prefix of a slice; `hash` covers it.
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests;
