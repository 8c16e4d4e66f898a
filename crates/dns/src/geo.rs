//! Which of a name's addresses are near a client, by a MaxMind database.
//!
//! The operator names fields of the database in order of preference, such as `datacenter` or `city.names.en`. A target is near when
//! one of them has the same text for client and target; the first field with a match decides. Without any match, or without a
//! database, all targets are given. Source: k8gb's DNS plugin, `geodatafields`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use maxminddb::{PathElement, Reader};

/// Elements a field's path may have.
const PATH_ELEMENTS_MAX: usize = 8;
/// Fields compared per query.
const FIELDS_MAX: usize = 8;
/// EDNS option code of client subnets (RFC 7871 §6).
pub(crate) const SUBNET_OPTION: u16 = 8;

/// Why a database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The bytes are no MaxMind database.
    #[error("not a readable MaxMind database")]
    Database(#[from] maxminddb::MaxMindDbError),
    /// No field, too many, or one with an empty or too long path.
    #[error(
        "field {field:?}: need 1 to {FIELDS_MAX} fields of 1 to {PATH_ELEMENTS_MAX} names joined by dots"
    )]
    Field {
        /// The field as given; empty when there is none.
        field: String,
    },
}

/// A database and the fields that count.
#[derive(Debug)]
pub struct Geo {
    reader: Reader<Vec<u8>>,
    fields: Vec<Vec<String>>,
}

/// The database in use, replaced while serving. Cheap to clone; the clones share it.
#[derive(Debug, Clone, Default)]
pub struct CurrentGeo(Arc<ArcSwapOption<Geo>>);

impl CurrentGeo {
    /// Uses another database from the next query on; `None` stops comparing places.
    pub fn set(&self, geo: Option<Geo>) {
        self.0.store(geo.map(Arc::new));
    }

    pub(crate) fn load(&self) -> arc_swap::Guard<Option<Arc<Geo>>> {
        self.0.load()
    }
}

impl Geo {
    /// Reads a database (the content of an `.mmdb` file). Fields are paths joined by dots, in order of preference.
    ///
    /// # Errors
    /// When the database or a field cannot be used.
    pub fn new(database: Vec<u8>, fields: &[&str]) -> Result<Geo, Error> {
        let split = |field: &&str| field.split('.').map(str::to_owned).collect::<Vec<_>>();
        let fits = |path: &[String]| {
            path.len() <= PATH_ELEMENTS_MAX && path.iter().all(|element| !element.is_empty())
        };
        if fields.is_empty() || fields.len() > FIELDS_MAX {
            return Err(Error::Field {
                field: fields.join(" "),
            });
        }
        if let Some(field) = fields.iter().find(|field| !fits(&split(field))) {
            return Err(Error::Field {
                field: (*field).to_owned(),
            });
        }
        Ok(Geo {
            reader: Reader::from_source(database)?,
            fields: fields.iter().map(split).collect(),
        })
    }

    /// Writes the positions of the targets near `client` to the front of `near` and returns their number: 0 when none is near.
    pub(crate) fn nearest(
        &self,
        client: IpAddr,
        targets: impl Iterator<Item = IpAddr> + Clone,
        near: &mut [u16],
    ) -> usize {
        for field in &self.fields {
            let Some(here) = self.place(client, field) else {
                continue;
            };
            let mut n_near = 0;
            for (position, target) in targets.clone().enumerate().take(near.len()) {
                if self.place(target, field) == Some(here) {
                    near[n_near] = position as u16;
                    n_near += 1;
                }
            }
            if n_near > 0 {
                return n_near;
            }
        }
        0
    }

    /// Length of the network around `client` for which the database says the same, so how far an answer may be shared.
    pub(crate) fn scope(&self, client: IpAddr) -> u8 {
        let network = self.reader.lookup(client).and_then(|found| found.network());
        network.map_or(0, |network| network.prefix())
    }

    fn place(&self, address: IpAddr, field: &[String]) -> Option<&str> {
        let mut path = [const { PathElement::Index(0) }; PATH_ELEMENTS_MAX];
        for (element, name) in path.iter_mut().zip(field) {
            *element = PathElement::Key(name);
        }
        let found = self.reader.lookup(address).ok()?;
        found.decode_path(&path[..field.len()]).ok().flatten()
    }
}

/// The network a resolver asks for (RFC 7871 §6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Subnet {
    /// Its address, host bits zero.
    pub(crate) address: IpAddr,
    /// Its length in bits; 0 asks not to be told apart.
    pub(crate) source: u8,
}

/// A subnet option that breaks RFC 7871 §6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MalformedSubnet;

impl Subnet {
    /// Reads the option's value; `None` for an address family that is not ours.
    pub(crate) fn parse(value: &[u8]) -> Result<Option<Subnet>, MalformedSubnet> {
        let [family_high, family_low, source, scope, octets @ ..] = value else {
            return Err(MalformedSubnet);
        };
        let mut address = [0; 16];
        let family = u16::from_be_bytes([*family_high, *family_low]);
        let bits_max = match family {
            1 => 32,
            2 => 128,
            _ => return Ok(None),
        };
        let n_octets = usize::from(source.div_ceil(8));
        if *source > bits_max || *scope != 0 || octets.len() != n_octets {
            return Err(MalformedSubnet);
        }
        address[..n_octets].copy_from_slice(octets);
        let bits = u128::from_be_bytes(address);
        if bits.checked_shl(u32::from(*source)).unwrap_or(0) != 0 {
            return Err(MalformedSubnet);
        }
        let address = match family {
            1 => IpAddr::V4(Ipv4Addr::from((bits >> 96) as u32)),
            _ => IpAddr::V6(Ipv6Addr::from(bits)),
        };
        Ok(Some(Subnet {
            address,
            source: *source,
        }))
    }
}

#[cfg(test)]
pub(crate) mod tests;
