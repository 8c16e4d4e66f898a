//! The names clusters know each other by: name servers, local targets, objects.
//!
//! Everything a fleet agrees on without talking is a naming rule, so these are bit-compatible with k8gb: a name server
//! is `gslb-ns-<tag>-<zone label>.<parent>`, and the addresses a cluster vouches for stand under
//! `localtargets-<host>`. That prefix takes 13 of the 63 octets a label may have (k8gb#2366), so a host whose first
//! label is longer than 50 is published as `localtargets.<host>` instead; peers ask for both forms.
//!
//! Source: k8gb v0.21 `controllers/geotags`, `controllers/utils`; k8gb PR #2401 for the form with a dot.

use thiserror::Error;

/// The prefix k8gb gives name servers when `GLUEA_PREFIX` says nothing.
pub const DEFAULT_PREFIX: &str = "gslb-ns-";
/// Octets one label may have (RFC 1035 §2.3.4).
pub const LABEL_OCTETS_MAX: usize = 63;
/// Characters a name without its final dot may have (RFC 1035 §2.3.4: 255 octets on the wire).
pub const NAME_CHARS_MAX: usize = 253;

/// Why a text cannot be a name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// A label is empty, too long or has a character that host names do not have.
    #[error("{name:?} has the label {label:?}; labels are 1 to 63 letters, digits, '-' or '_'")]
    Label {
        /// The whole name.
        name: String,
        /// The label at fault.
        label: String,
    },
    /// The name is too long.
    #[error("{name:?} has {n_chars} characters; a name has at most 253")]
    Length {
        /// The whole name.
        name: String,
        /// How many characters it has.
        n_chars: usize,
    },
    /// A wildcard host; the peer publishes them but no server can answer them.
    #[error("{name:?} is a wildcard; balance each host by its full name")]
    Wildcard {
        /// The whole name.
        name: String,
    },
}

/// The canonical spelling of a host or zone: lower case, no final dot.
///
/// # Errors
/// When the text cannot be a host name.
pub fn canonical(text: &str) -> Result<String, Error> {
    let name = text.trim_end_matches('.').to_ascii_lowercase();
    if name.starts_with("*.") {
        return Err(Error::Wildcard { name });
    }
    if name.len() > NAME_CHARS_MAX {
        return Err(Error::Length {
            n_chars: name.len(),
            name,
        });
    }
    let bad = name.split('.').find(|label| {
        let fits = (1..=LABEL_OCTETS_MAX).contains(&label.len());
        !fits
            || !label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    });
    match bad.map(str::to_owned) {
        Some(label) => Err(Error::Label { name, label }),
        None => Ok(name),
    }
}

/// The part of a name server's first label after the tag, and the parent: `-cloud.example.com`.
fn suffix(zone: &str, parent: &str) -> String {
    let own = zone
        .strip_suffix(parent)
        .map_or(zone, |own| own.trim_end_matches('.'));
    format!("-{}.{parent}", own.replace('.', "-"))
}

/// The names above a canonical one, nearest first, without the root.
pub fn ancestors(name: &str) -> impl Iterator<Item = &str> {
    let mut rest = name;
    std::iter::from_fn(move || {
        (_, rest) = rest.split_once('.')?;
        Some(rest).filter(|name| !name.is_empty())
    })
}

/// Name of the name server of the cluster `tag` for a balanced zone.
///
/// `("gslb-ns-", "eu", "a.b.example.com", "example.com")` gives `gslb-ns-eu-a-b.example.com`.
///
/// # Errors
/// When the result is no valid name, for instance because tag and zone together are longer than a label.
pub fn name_server(prefix: &str, tag: &str, zone: &str, parent: &str) -> Result<String, Error> {
    canonical(&format!("{prefix}{tag}{}", suffix(zone, parent)))
}

/// How the first label of every name server of the cluster `tag` begins: `gslb-ns-eu-`.
pub fn name_server_start(prefix: &str, tag: &str) -> String {
    format!("{prefix}{tag}-")
}

/// The geo tag inside a name server's name, the inverse of [`name_server`].
///
/// A fleet that is changing its prefix has both kinds of names for a while, so the default prefix is accepted too.
pub fn tag_of<'a>(name: &'a str, prefix: &str, zone: &str, parent: &str) -> Option<&'a str> {
    let name = name
        .trim_end_matches('.')
        .strip_suffix(&suffix(zone, parent))?;
    let tag = match name.strip_prefix(prefix) {
        Some(rest) if !prefix.is_empty() => rest,
        _ => name.strip_prefix(DEFAULT_PREFIX).unwrap_or(name),
    };
    (!tag.is_empty() && (prefix.is_empty() || tag.len() < name.len())).then_some(tag)
}

/// The names under which a cluster publishes the addresses it vouches for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalTargets {
    /// `localtargets-<host>`, which every k8gb knows; absent when the first label would be too long.
    pub dashed: Option<String>,
    /// `localtargets.<host>`; absent when the name would be too long.
    pub dotted: Option<String>,
}

/// The names of a host's local targets.
pub fn local_targets(host: &str) -> LocalTargets {
    LocalTargets {
        dashed: canonical(&format!("localtargets-{host}")).ok(),
        dotted: canonical(&format!("localtargets.{host}")).ok(),
    }
}

/// Whether a name, of which the wire form is given, holds a host's local targets. That is all that clusters push to each other.
pub fn is_local_targets(wire: &[u8]) -> bool {
    let label = wire
        .split_first()
        .and_then(|(octets, rest)| rest.get(..usize::from(*octets)));
    label.is_some_and(|label| label == b"localtargets" || label.starts_with(b"localtargets-"))
}

impl LocalTargets {
    /// The name that stands in the DNSEndpoint: the one every peer knows if it fits.
    pub fn published(&self) -> Option<&str> {
        self.dashed.as_deref().or(self.dotted.as_deref())
    }

    /// The names to ask a peer for, in order.
    pub fn asked(&self) -> impl Iterator<Item = &str> {
        self.dashed
            .as_deref()
            .into_iter()
            .chain(self.dotted.as_deref())
    }
}

/// Name of the ZoneDelegation generated for a zone: `cloud-example-com`.
pub fn zone_object(zone: &str) -> String {
    zone.replace('.', "-")
}

/// Name of the DNSEndpoint that asks external-dns to delegate a zone.
pub fn delegation_object(zone: &str) -> String {
    format!("k8gb-ns-extdns-{}", zone_object(zone))
}

#[cfg(test)]
mod tests;
