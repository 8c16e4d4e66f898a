//! The zones as a file: what a restart answers with until a controller has spoken.
//!
//! ```text
//! file    = magic | version u16 | payload_octets u64 | SHA-256 of the payload | payload
//! payload = n_zones u32 | zone…
//! zone    = good_at u64 | settings | n_names u32 | name…
//! name    = owner | n_sets u8 | set… | has_why u8 | [code u16 | octets u8 | text]
//! set     = type u16 | ttl u32 | order u8 | [take u16 | n_groups u8 | (weight u32 | n_records u16)…] | n_records u16
//!           | (octets u16 | rdata)…
//! ```
//! Numbers are big-endian, names and record data as on the wire. A file is taken whole or not at all: the checksum finds damage, the
//! magic foreign files, and every count is checked against the octets that are there. `good_at` is the Unix time in seconds at which
//! a zone was current; a zone that was itself remembered keeps its own, so a row of restarts without a controller does not make old
//! answers young.

use std::net::IpAddr;
use std::num::NonZeroU16;

use ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};

use crate::catalog::Catalog;
use crate::message::{self, Cursor};
use crate::name::Name;
use crate::record::{self, Data, Soa, Type};
use crate::zone::{self, Entry, Group, NameServer, Order, RecordSet, Settings, Why, Zone};

/// How a file of ours begins.
const MAGIC: &[u8] = b"flotilla dns zones\n";
/// Layout of the payload. A file of another version is not read.
const VERSION: u16 = 1;
/// Largest file read or written: some ten million hosts.
pub const OCTETS_MAX: usize = 1 << 30;

/// Why a file gives no zones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It does not begin as ours do.
    #[error("not a snapshot of DNS zones")]
    Foreign,
    /// Written by another version of this program.
    #[error("layout {version} is not known; this version reads {VERSION}")]
    Version {
        /// The layout it says.
        version: u16,
    },
    /// Cut short, or changed after it was written.
    #[error("damaged: length or checksum differ from what was written")]
    Damaged,
    /// The checksum is right and the content is not.
    #[error("malformed content")]
    Malformed,
    /// Beyond [`OCTETS_MAX`].
    #[error("{octets} octets; the limit is {OCTETS_MAX}")]
    TooLarge {
        /// Its size in octets.
        octets: usize,
    },
}

impl From<message::Error> for Error {
    fn from(_: message::Error) -> Error {
        Error::Malformed
    }
}

impl From<record::Error> for Error {
    fn from(_: record::Error) -> Error {
        Error::Malformed
    }
}

impl From<zone::Error> for Error {
    fn from(_: zone::Error) -> Error {
        Error::Malformed
    }
}

/// The file for these zones. `unix_seconds` is now.
///
/// # Errors
/// [`Error::TooLarge`].
pub fn encode(catalog: &Catalog, unix_seconds: u64) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    let zones = catalog.zones();
    out.extend((zones.len() as u32).to_be_bytes());
    for zone in zones {
        encode_zone(zone, unix_seconds, &mut out)?;
        if out.len() > OCTETS_MAX {
            return Err(Error::TooLarge { octets: out.len() });
        }
    }
    Ok(seal(&out))
}

/// A whole file around a payload.
pub(crate) fn seal(payload: &[u8]) -> Vec<u8> {
    let octets = (payload.len() as u64).to_be_bytes();
    let sum = digest(&SHA256, payload);
    [
        MAGIC,
        &VERSION.to_be_bytes(),
        &octets,
        sum.as_ref(),
        payload,
    ]
    .concat()
}

/// The zones of a file, marked as remembered.
///
/// # Errors
/// When it is not a whole file of ours.
pub fn decode(file: &[u8]) -> Result<Vec<Zone>, Error> {
    let rest = file.strip_prefix(MAGIC).ok_or(Error::Foreign)?;
    let mut header = Cursor::new(rest);
    let version = header.u16().map_err(|_| Error::Damaged)?;
    if version != VERSION {
        return Err(Error::Version { version });
    }
    let octets = header.array::<8>().map_err(|_| Error::Damaged)?;
    let sum = header
        .array::<SHA256_OUTPUT_LEN>()
        .map_err(|_| Error::Damaged)?;
    let payload = &rest[header.position()..];
    let whole = payload.len() as u64 == u64::from_be_bytes(octets);
    if !whole || digest(&SHA256, payload).as_ref() != sum {
        return Err(Error::Damaged);
    }
    let mut cursor = Cursor::new(payload);
    let n_zones = cursor.u32()?;
    let zones = (0..n_zones)
        .map(|_| decode_zone(&mut cursor))
        .collect::<Result<Vec<_>, _>>()?;
    if cursor.position() == payload.len() {
        Ok(zones)
    } else {
        Err(Error::Malformed)
    }
}

fn encode_zone(zone: &Zone, unix_seconds: u64, out: &mut Vec<u8>) -> Result<(), Error> {
    let settings = zone.settings();
    let good_at = zone.remembered_from().unwrap_or(unix_seconds);
    out.extend(good_at.to_be_bytes());
    out.extend(settings.apex.wire());
    Data::Soa(settings.soa.clone()).encode(out)?;
    out.extend(settings.ttl_seconds.to_be_bytes());
    out.extend((settings.nameservers.len() as u16).to_be_bytes());
    for server in &settings.nameservers {
        out.extend(server.name.wire());
        out.extend((server.addresses.len() as u16).to_be_bytes());
        for address in &server.addresses {
            match address {
                IpAddr::V4(address) => {
                    out.push(4);
                    out.extend(address.octets());
                }
                IpAddr::V6(address) => {
                    out.push(6);
                    out.extend(address.octets());
                }
            }
        }
    }
    let count_at = out.len();
    out.extend([0; 4]);
    let mut n_names = 0u32;
    for (name, entry) in zone.entries() {
        // These come from the settings again.
        let is_server = settings.nameservers.iter().any(|s| s.name == name);
        if is_server && name != settings.apex {
            continue;
        }
        encode_entry(&name, &entry, out)?;
        n_names += 1;
    }
    out[count_at..count_at + 4].copy_from_slice(&n_names.to_be_bytes());
    Ok(())
}

fn encode_entry(name: &Name, entry: &Entry, out: &mut Vec<u8>) -> Result<(), Error> {
    out.extend(name.wire());
    out.push(entry.sets.len() as u8);
    for set in &entry.sets {
        let rtype = set.data.first().ok_or(Error::Malformed)?.rtype();
        out.extend(rtype.0.to_be_bytes());
        out.extend(set.ttl_seconds.to_be_bytes());
        match &set.order {
            Order::Fixed => out.push(0),
            Order::Shuffle => out.push(1),
            Order::Nearest => out.push(2),
            Order::Weighted { groups, take } => {
                out.push(3);
                out.extend(take.map_or(0, NonZeroU16::get).to_be_bytes());
                out.push(groups.len() as u8);
                for group in groups {
                    out.extend(group.weight.to_be_bytes());
                    out.extend(group.n_records.to_be_bytes());
                }
            }
        }
        out.extend((set.data.len() as u16).to_be_bytes());
        for data in &set.data {
            let length_at = out.len();
            out.extend([0, 0]);
            data.encode(out)?;
            let octets = (out.len() - length_at - 2) as u16;
            out[length_at..length_at + 2].copy_from_slice(&octets.to_be_bytes());
        }
    }
    out.push(u8::from(entry.why.is_some()));
    if let Some(why) = &entry.why {
        out.extend(why.code().to_be_bytes());
        out.push(why.text().len() as u8);
        out.extend(why.text().bytes());
    }
    Ok(())
}

fn decode_zone(cursor: &mut Cursor<'_>) -> Result<Zone, Error> {
    let good_at = u64::from_be_bytes(cursor.array()?);
    let settings = decode_settings(cursor)?;
    let n_names = cursor.u32()?;
    let mut broken = None;
    // Read as the zone takes them, so that a million names are never held twice.
    let names = (0..n_names).map_while(|_| match decode_entry(cursor) {
        Ok((name, entry)) => Some((name, Some(entry))),
        Err(error) => {
            broken = Some(error);
            None
        }
    });
    let (zone, refused) = Zone::new(settings)?.with(names);
    match (broken, refused.into_iter().next()) {
        (None, None) => Ok(zone.remembered(good_at)),
        (Some(error), _) => Err(error),
        (None, Some(error)) => Err(error.into()),
    }
}

fn decode_settings(cursor: &mut Cursor<'_>) -> Result<Settings, Error> {
    let apex = cursor.name()?;
    let soa = Soa {
        mname: cursor.name()?,
        rname: cursor.name()?,
        serial: cursor.u32()?,
        refresh_seconds: cursor.u32()?,
        retry_seconds: cursor.u32()?,
        expire_seconds: cursor.u32()?,
        minimum_seconds: cursor.u32()?,
    };
    let ttl_seconds = cursor.u32()?;
    let n_servers = cursor.u16()?;
    let mut nameservers = Vec::new();
    for _ in 0..n_servers {
        let name = cursor.name()?;
        let n_addresses = cursor.u16()?;
        let mut addresses = Vec::new();
        for _ in 0..n_addresses {
            addresses.push(match cursor.u8()? {
                4 => IpAddr::from(cursor.array::<4>()?),
                6 => IpAddr::from(cursor.array::<16>()?),
                _ => return Err(Error::Malformed),
            });
        }
        nameservers.push(NameServer { name, addresses });
    }
    Ok(Settings {
        apex,
        soa,
        ttl_seconds,
        nameservers,
    })
}

fn decode_entry(cursor: &mut Cursor<'_>) -> Result<(Name, Entry), Error> {
    let name = cursor.name()?;
    let n_sets = cursor.u8()?;
    let sets = (0..n_sets).map(|_| decode_set(cursor));
    let sets = sets.collect::<Result<_, _>>()?;
    let why = match cursor.u8()? {
        0 => None,
        _ => {
            let code = cursor.u16()?;
            let octets = usize::from(cursor.u8()?);
            let text = cursor.take(octets)?;
            let text = str::from_utf8(text).map_err(|_| Error::Malformed)?;
            Some(Why::new(code, text))
        }
    };
    Ok((name, Entry { sets, why }))
}

fn decode_set(cursor: &mut Cursor<'_>) -> Result<RecordSet, Error> {
    let rtype = Type(cursor.u16()?);
    let ttl_seconds = cursor.u32()?;
    let order = match cursor.u8()? {
        0 => Order::Fixed,
        1 => Order::Shuffle,
        2 => Order::Nearest,
        3 => {
            let take = NonZeroU16::new(cursor.u16()?);
            let n_groups = cursor.u8()?;
            let group = |cursor: &mut Cursor<'_>| -> Result<Group, Error> {
                Ok(Group {
                    weight: cursor.u32()?,
                    n_records: cursor.u16()?,
                })
            };
            let groups = (0..n_groups).map(|_| group(cursor));
            Order::Weighted {
                groups: groups.collect::<Result<_, _>>()?,
                take,
            }
        }
        _ => return Err(Error::Malformed),
    };
    let n_records = cursor.u16()?;
    let mut data = Vec::new();
    for _ in 0..n_records {
        let octets = usize::from(cursor.u16()?);
        data.push(Data::decode(rtype, cursor, octets)?);
    }
    Ok(RecordSet {
        ttl_seconds,
        data,
        order,
    })
}

#[cfg(test)]
mod tests;
