//! Domain names in wire form.
//!
//! A [`Name`] is a sequence of labels, each preceded by its length and closed by the zero-length root label, exactly as it
//! travels in a message. Names compare without regard to ASCII case (RFC 4343), so a `Name` is always lower-case; the spelling a
//! client used is echoed from its own question bytes (RFC 1035 §7.3 and the "0x20" draft) and never stored.
//!
//! Limits (RFC 1035 §2.3.4): a label has 1 to 63 octets, a name at most 255 octets on the wire including the root label.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Longest name on the wire, in octets, the root label included (RFC 1035 §2.3.4).
pub const NAME_OCTETS_MAX: usize = 255;
/// Longest label, in octets (RFC 1035 §2.3.4).
pub const LABEL_OCTETS_MAX: usize = 63;

/// Picks names by their wire form in lower case, be it whole or the part in front of a zone's apex.
pub type Pick = fn(&[u8]) -> bool;

/// Why a text or a byte string is not a domain name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Two dots in a row, or a leading dot.
    #[error("name {text:?} has an empty label")]
    EmptyLabel {
        /// The text as given.
        text: String,
    },
    /// A label of more than [`LABEL_OCTETS_MAX`] octets.
    #[error("label of {octets} octets; the limit is {LABEL_OCTETS_MAX}")]
    LabelTooLong {
        /// Its length in octets.
        octets: usize,
    },
    /// A name of more than [`NAME_OCTETS_MAX`] octets.
    #[error("name of {octets} octets on the wire; the limit is {NAME_OCTETS_MAX}")]
    NameTooLong {
        /// Its length in octets.
        octets: usize,
    },
    /// A backslash followed neither by three digits up to 255 nor by a single character.
    #[error("name {text:?} has a broken escape")]
    BadEscape {
        /// The text as given.
        text: String,
    },
    /// The bytes end inside a label, or carry a compression pointer, or have bytes after the root label.
    #[error("not one complete, uncompressed name in wire form")]
    BadWire,
}

/// A lower-case domain name in wire form; cheap to clone.
///
/// Ordering is the canonical one of RFC 4034 §6.1 (by label from the right), so sorted lists read parent before child.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Name(Arc<[u8]>);

impl Name {
    /// The root name, `.`.
    pub fn root() -> Name {
        Name(Arc::from([0u8]))
    }

    /// Reads presentation form: `www.example.com`, with or without the closing dot; `""` and `"."` are the root.
    ///
    /// Escapes `\.` and `\DDD` are understood (RFC 1035 §5.1). Any octet may appear in a label: underscores and asterisks are
    /// data here, host-name rules belong to whoever owns the name.
    ///
    /// # Errors
    /// When a label is empty or too long, the name too long, or an escape broken.
    pub fn parse(text: &str) -> Result<Name, Error> {
        if text.is_empty() || text == "." {
            return Ok(Name::root());
        }
        let mut wire = Vec::with_capacity(text.len() + 2);
        let mut label = Vec::new();
        let mut bytes = text.bytes();
        let mut closed = false;
        while let Some(byte) = bytes.next() {
            closed = byte == b'.';
            match byte {
                b'.' => push_label(&mut wire, &mut label, text)?,
                b'\\' => label.push(unescape(&mut bytes, text)?),
                other => label.push(other.to_ascii_lowercase()),
            }
        }
        if !closed {
            push_label(&mut wire, &mut label, text)?;
        }
        wire.push(0);
        check_length(wire.len())?;
        Ok(Name(wire.into()))
    }

    /// Takes a complete uncompressed name in wire form; letters are lowered.
    ///
    /// # Errors
    /// When the bytes are not exactly one name within the limits.
    pub fn from_wire(wire: &[u8]) -> Result<Name, Error> {
        check_length(wire.len())?;
        if wire_len(wire) != Some(wire.len()) {
            return Err(Error::BadWire);
        }
        // Length octets are below 64, so lowering the whole string only touches letters.
        Ok(Name(wire.to_ascii_lowercase().into()))
    }

    /// The wire form, root label included.
    pub fn wire(&self) -> &[u8] {
        &self.0
    }

    /// Whether this is the root name.
    pub fn is_root(&self) -> bool {
        self.0.len() == 1
    }

    /// The labels from left to right, without the root label.
    pub fn labels(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        let mut labels = Vec::new();
        let mut rest = self.wire();
        while rest[0] != 0 {
            let (label, tail) = rest[1..].split_at(usize::from(rest[0]));
            labels.push(label);
            rest = tail;
        }
        labels.into_iter()
    }

    /// Number of labels, the root label not counted.
    pub fn n_labels(&self) -> usize {
        count_labels(self.wire())
    }

    /// The name without its first label; `None` for the root.
    pub fn parent(&self) -> Option<Name> {
        let first = usize::from(self.0[0]);
        (first != 0).then(|| Name(self.0[first + 1..].into()))
    }

    /// This name with one more label in front.
    ///
    /// # Errors
    /// When the label is empty or too long, or the name becomes too long.
    pub fn child(&self, label: &str) -> Result<Name, Error> {
        let mut wire = Vec::with_capacity(self.0.len() + label.len() + 1);
        let mut bytes = label.bytes().map(|b| b.to_ascii_lowercase()).collect();
        push_label(&mut wire, &mut bytes, label)?;
        wire.extend_from_slice(self.wire());
        check_length(wire.len())?;
        Ok(Name(wire.into()))
    }

    /// Whether this name equals `ancestor` or lies below it, label by label: `app.mycloud.example.com` is not within
    /// `cloud.example.com`.
    pub fn is_within(&self, ancestor: &Name) -> bool {
        strip_suffix(self.wire(), ancestor.wire()).is_some()
    }

    /// Whether the first label is a lone asterisk (RFC 4592 §2.1.1).
    pub fn is_wildcard(&self) -> bool {
        self.0.starts_with(b"\x01*")
    }
}

// === impl Display, FromStr, Ord ===

impl fmt::Display for Name {
    /// Presentation form without the closing dot; the root prints as `.`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return f.write_str(".");
        }
        for (label_index, label) in self.labels().enumerate() {
            if label_index > 0 {
                f.write_str(".")?;
            }
            for &byte in label {
                match byte {
                    b'.' | b'\\' => write!(f, "\\{}", char::from(byte))?,
                    0x21..=0x7e => write!(f, "{}", char::from(byte))?,
                    other => write!(f, "\\{other:03}")?,
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Name({self})")
    }
}

impl FromStr for Name {
    type Err = Error;

    fn from_str(text: &str) -> Result<Name, Error> {
        Name::parse(text)
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Name) -> Ordering {
        self.labels().rev().cmp(other.labels().rev())
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Name) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

// === wire helpers for the hot path; none allocates ===

/// Length of the uncompressed name at the start of `bytes`; `None` when it is cut short, too long or compressed.
pub(crate) fn wire_len(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match *bytes.get(at)? {
            0 => break,
            octets if usize::from(octets) <= LABEL_OCTETS_MAX => at += 1 + usize::from(octets),
            _ => return None,
        }
    }
    (at < NAME_OCTETS_MAX).then_some(at + 1)
}

/// Number of labels of a well-formed name.
pub(crate) fn count_labels(wire: &[u8]) -> usize {
    let mut n_labels = 0;
    let mut at = 0;
    while at < wire.len() && wire[at] != 0 {
        at += 1 + usize::from(wire[at]);
        n_labels += 1;
    }
    n_labels
}

/// Offset of the label `n_labels` to the right; the caller knows that there are so many.
pub(crate) fn skip_labels(wire: &[u8], n_labels: usize) -> usize {
    (0..n_labels).fold(0, |at, _| at + 1 + usize::from(wire[at]))
}

/// The labels of `wire` in front of `suffix`, when `suffix` ends it on a label boundary. Both lower-case.
pub(crate) fn strip_suffix<'a>(wire: &'a [u8], suffix: &[u8]) -> Option<&'a [u8]> {
    let cut = wire.len().checked_sub(suffix.len())?;
    if &wire[cut..] != suffix {
        return None;
    }
    let mut at = 0;
    while at < cut {
        at += 1 + usize::from(wire[at]);
    }
    (at == cut).then(|| &wire[..cut])
}

// === private helpers ===

fn push_label(wire: &mut Vec<u8>, label: &mut Vec<u8>, text: &str) -> Result<(), Error> {
    match label.len() {
        0 => Err(Error::EmptyLabel {
            text: text.to_owned(),
        }),
        octets if octets > LABEL_OCTETS_MAX => Err(Error::LabelTooLong { octets }),
        octets => {
            wire.push(octets as u8);
            wire.append(label);
            Ok(())
        }
    }
}

fn check_length(octets: usize) -> Result<(), Error> {
    if octets > NAME_OCTETS_MAX {
        Err(Error::NameTooLong { octets })
    } else {
        Ok(())
    }
}

/// The octet an escape stands for, the backslash already taken.
fn unescape(bytes: &mut std::str::Bytes<'_>, text: &str) -> Result<u8, Error> {
    let bad = || Error::BadEscape {
        text: text.to_owned(),
    };
    let first = bytes.next().ok_or_else(bad)?;
    if !first.is_ascii_digit() {
        return Ok(first.to_ascii_lowercase());
    }
    let mut value = u32::from(first - b'0');
    for _ in 0..2 {
        let digit = bytes.next().filter(u8::is_ascii_digit).ok_or_else(bad)?;
        value = value * 10 + u32::from(digit - b'0');
    }
    u8::try_from(value)
        .map(|octet| octet.to_ascii_lowercase())
        .map_err(|_| bad())
}

#[cfg(test)]
mod tests;
