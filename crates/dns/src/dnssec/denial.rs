//! Names just before and just after a name that does not exist, and the list of types at one that does (RFC 4470, RFC 4034 §4).
//!
//! An NSEC record says that nothing lies between its owner and the name in its data. To deny `b.zone` and all below it, the owner is a
//! name between it and whatever could come before, the data a name directly behind the last one below it. In canonical order a label
//! sorts by its octets and a name before everything below it, so
//!
//! ```text
//! before  a\255.zone          the last octet lowered and one \255 behind it: after everything at or below a.zone
//! denied  b.zone, *.b.zone …
//! after   b\000.zone          the shortest label behind b
//! ```
//! Labels are lower-case, so no octet may be lowered into the capital letters. A last octet of zero, a label of 63 octets and a name of
//! 255 need ways of their own; nobody but those who look for mistakes asks for such names.

use crate::name::{LABEL_OCTETS_MAX, NAME_OCTETS_MAX};
use crate::record::Type;

/// Octets of a bitmap's window with its two octets of header.
const WINDOW_OCTETS_MAX: usize = 34;

/// A few octets on the stack: labels, a name, or a name and a bitmap.
#[derive(Clone, Copy)]
pub(crate) struct Octets {
    octets: [u8; NAME_OCTETS_MAX + 2 * WINDOW_OCTETS_MAX],
    len: usize,
}

impl Octets {
    pub(crate) fn new() -> Octets {
        Octets {
            octets: [0; NAME_OCTETS_MAX + 2 * WINDOW_OCTETS_MAX],
            len: 0,
        }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.octets[..self.len]
    }

    pub(crate) fn push(&mut self, octets: &[u8]) {
        self.octets[self.len..self.len + octets.len()].copy_from_slice(octets);
        self.len += octets.len();
    }

    fn push_label(&mut self, label: &[u8]) {
        self.push(&[label.len() as u8]);
        self.push(label);
    }
}

/// What stands in front of an existing name, the closest encloser, in the two names around a denied one.
pub(crate) struct Gap {
    /// Labels of the NSEC's owner in front of the encloser; none when the owner is the encloser itself.
    pub(crate) before: Octets,
    /// The name in the NSEC's data, complete.
    pub(crate) after: Octets,
}

/// The gap around `label` below `encloser` (wire form), which ends in `apex`. Both lower-case.
pub(crate) fn gap(label: &[u8], encloser: &[u8], apex: &[u8]) -> Gap {
    Gap {
        before: before(label, encloser),
        after: after(label, encloser, apex),
    }
}

fn before(label: &[u8], encloser: &[u8]) -> Octets {
    let mut before = Octets::new();
    let Some((&last, start)) = label.split_last() else {
        return before;
    };
    let mut lowered = [0; LABEL_OCTETS_MAX];
    lowered[..start.len()].copy_from_slice(start);
    let mut len = start.len();
    // Without its zero octet the label is the one right before it, and an existing name perhaps: go behind all below that.
    let mut below = last == 0;
    if last > 0 {
        lowered[len] = match last - 1 {
            b'A'..=b'Z' => b'A' - 1,
            other => other,
        };
        len += 1;
        // No room for one more octet in the label: one more label does the same.
        below = len == LABEL_OCTETS_MAX;
        if !below {
            lowered[len] = 0xff;
            len += 1;
        }
    }
    if len == 0 {
        // The very first label there can be: nothing is between it and the encloser.
        return before;
    }
    // A name without room for another label has nothing below it either.
    if below && 2 + 1 + len + encloser.len() <= NAME_OCTETS_MAX {
        before.push_label(&[0xff]);
    }
    before.push_label(&lowered[..len]);
    before
}

fn after(label: &[u8], encloser: &[u8], apex: &[u8]) -> Octets {
    let mut after = Octets::new();
    let has_room =
        label.len() < LABEL_OCTETS_MAX && 2 + label.len() + encloser.len() <= NAME_OCTETS_MAX;
    let mut raised = [0; LABEL_OCTETS_MAX];
    raised[..label.len()].copy_from_slice(label);
    if has_room {
        after.push_label(&raised[..=label.len()]);
        after.push(encloser);
        return after;
    }
    // The last octet that can be raised, without those behind it.
    match label.iter().rposition(|octet| *octet < 0xff) {
        Some(at) => {
            raised[at] = match label[at] + 1 {
                b'A'..=b'Z' => b'Z' + 1,
                other => other,
            };
            after.push_label(&raised[..=at]);
            after.push(encloser);
        }
        // Nothing is behind it: the last NSEC of a zone points to the first name.
        None => after.push(apex),
    }
    after
}

/// The name directly behind `name` (wire form), for an NSEC at a name that exists.
pub(crate) fn successor(name: &[u8], apex: &[u8]) -> Octets {
    if name.len() + 2 <= NAME_OCTETS_MAX {
        let mut after = Octets::new();
        after.push_label(&[0]);
        after.push(name);
        return after;
    }
    let (label, encloser) = name[1..].split_at(usize::from(name[0]));
    after(label, encloser, apex)
}

/// Appends the bitmap of `types` (RFC 4034 §4.1.2), which are in rising order.
pub(crate) fn push_types(out: &mut Octets, types: impl Iterator<Item = Type>) {
    let mut window = [0u8; WINDOW_OCTETS_MAX];
    let mut current = None;
    let mut flush = |number: Option<u8>, window: &mut [u8; WINDOW_OCTETS_MAX]| {
        let Some(number) = number else { return };
        let n_octets = window[2..]
            .iter()
            .rposition(|o| *o > 0)
            .map_or(0, |at| at + 1);
        window[0] = number;
        window[1] = n_octets as u8;
        // A name has few types; those of a third window would not fit and are not in use.
        if out.len + 2 + n_octets <= out.octets.len() {
            out.push(&window[..2 + n_octets]);
        }
        *window = [0; WINDOW_OCTETS_MAX];
    };
    for rtype in types {
        let [number, bit] = rtype.0.to_be_bytes();
        if current != Some(number) {
            flush(current, &mut window);
            current = Some(number);
        }
        window[2 + usize::from(bit / 8)] |= 0x80 >> (bit % 8);
    }
    flush(current, &mut window);
}

#[cfg(test)]
mod tests;
