//! Our part of a delegation, put into the parent zone by dynamic update (RFC 2136).
//!
//! Each cluster adds and removes one NS record and the addresses of its own name server, nothing else. So a fleet shares
//! its delegation without an owner, and a cluster that is gone for good can be removed by anybody.

use std::net::IpAddr;

use flotilla_dns::{
    name::{self, Name},
    record::{Data, Type},
    tsig::{Algorithm, Key},
    update::{self, Line},
};

use crate::config::Update;

/// Our records in the parent zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Records {
    /// The balanced zone.
    pub zone: String,
    /// The zone that delegates it.
    pub parent: String,
    /// Name of our name server.
    pub own_name: String,
    /// Its addresses; empty takes everything of ours out.
    pub addresses: Vec<IpAddr>,
    /// TTL of the records, in seconds.
    pub ttl_seconds: u32,
}

/// Why the parent zone was not updated.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// One of the names is none.
    #[error("a name of the delegation is malformed")]
    Name(#[from] name::Error),
    /// The server did not take it.
    #[error("the parent zone's server did not take the update")]
    Update(#[from] update::Error),
}

/// The lines of the update.
///
/// # Errors
/// When a name cannot be one.
pub fn lines(records: &Records) -> Result<Vec<Line>, Error> {
    let zone = Name::parse(&records.zone)?;
    let server = Name::parse(&records.own_name)?;
    let ns = Data::Ns(server.clone());
    if records.addresses.is_empty() {
        return Ok(vec![
            Line::Delete {
                name: zone,
                data: ns,
            },
            Line::DeleteSet {
                name: server,
                rtype: Type::ANY,
            },
        ]);
    }
    let ttl_seconds = records.ttl_seconds;
    let mut lines = vec![
        Line::DeleteSet {
            name: server.clone(),
            rtype: Type::A,
        },
        Line::DeleteSet {
            name: server.clone(),
            rtype: Type::AAAA,
        },
    ];
    lines.extend(records.addresses.iter().map(|ip| {
        let data = match *ip {
            IpAddr::V4(ip) => Data::A(ip),
            IpAddr::V6(ip) => Data::Aaaa(ip),
        };
        Line::Add {
            name: server.clone(),
            ttl_seconds,
            data,
        }
    }));
    lines.push(Line::Add {
        name: zone,
        ttl_seconds,
        data: ns,
    });
    Ok(lines)
}

/// Sends the update, from `source` if given.
///
/// # Errors
/// When a name cannot be one, or the server does not take the update.
pub async fn send(
    settings: &Update,
    source: Option<IpAddr>,
    records: Records,
) -> Result<(), Error> {
    let key_name = Name::parse(&settings.key_name)?;
    let key = Key::new(key_name, Algorithm::HmacSha256, &settings.secret);
    let parent = Name::parse(&records.parent)?;
    let now = update::unix_now();
    update::send(
        settings.server,
        source,
        &parent,
        &lines(&records)?,
        &key,
        now,
    )
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests;
