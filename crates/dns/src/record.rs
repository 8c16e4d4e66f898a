//! Resource records as values: types, codes and record data.
//!
//! This is the vocabulary between the zone model, the replies a client reads and the records a resolver caches. Data is held as
//! meaning, not as bytes; [`Data::encode`] gives the uncompressed RDATA and [`Data::decode`] reads it out of a message, following
//! compression pointers where the type allows them.

pub mod binding;

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::message::{self, Cursor};
use crate::name::Name;

/// A record type by number (RFC 1035 §3.2.2 and the IANA registry).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Type(pub u16);

macro_rules! types {
    ($($constant:ident = $number:literal $text:literal $source:literal;)*) => {
        impl Type {
            $(#[doc = concat!("`", $text, "`, ", $source, ".")]
            pub const $constant: Type = Type($number);)*

            fn mnemonic(self) -> Option<&'static str> {
                match self.0 { $($number => Some($text),)* _ => None }
            }

            fn by_mnemonic(text: &str) -> Option<Type> {
                $(if text.eq_ignore_ascii_case($text) { return Some(Type::$constant); })*
                None
            }
        }
    };
}

types! {
    A = 1 "A" "RFC 1035";
    NS = 2 "NS" "RFC 1035";
    CNAME = 5 "CNAME" "RFC 1035";
    SOA = 6 "SOA" "RFC 1035";
    PTR = 12 "PTR" "RFC 1035";
    HINFO = 13 "HINFO" "RFC 1035, minimal answers to ANY by RFC 8482";
    MX = 15 "MX" "RFC 1035";
    TXT = 16 "TXT" "RFC 1035";
    AAAA = 28 "AAAA" "RFC 3596";
    SRV = 33 "SRV" "RFC 2782";
    OPT = 41 "OPT" "RFC 6891";
    DS = 43 "DS" "RFC 4034";
    RRSIG = 46 "RRSIG" "RFC 4034";
    NSEC = 47 "NSEC" "RFC 4034";
    DNSKEY = 48 "DNSKEY" "RFC 4034";
    CDS = 59 "CDS" "RFC 7344";
    CDNSKEY = 60 "CDNSKEY" "RFC 7344";
    SVCB = 64 "SVCB" "RFC 9460";
    HTTPS = 65 "HTTPS" "RFC 9460";
    TSIG = 250 "TSIG" "RFC 8945";
    IXFR = 251 "IXFR" "RFC 1995";
    AXFR = 252 "AXFR" "RFC 5936";
    ANY = 255 "ANY" "RFC 1035 §3.2.3";
}

impl Type {
    /// Whether this asks for a whole zone.
    pub fn is_transfer(self) -> bool {
        self == Type::AXFR || self == Type::IXFR
    }

    /// Whether the number asks a question about records instead of naming a kind of record: 128 to 255 (RFC 6895 §3.1) and OPT.
    pub fn is_meta(self) -> bool {
        (128..=255).contains(&self.0) || self == Type::OPT
    }
}

impl fmt::Display for Type {
    /// The mnemonic, or `TYPE<number>` (RFC 3597 §5).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.mnemonic() {
            Some(text) => f.pad(text),
            None => f.pad(&format!("TYPE{}", self.0)),
        }
    }
}

impl FromStr for Type {
    type Err = Error;

    fn from_str(text: &str) -> Result<Type, Error> {
        let number = || {
            text.get(4..)
                .filter(|_| text[..4].eq_ignore_ascii_case("TYPE"))?
                .parse()
                .ok()
        };
        Type::by_mnemonic(text)
            .or_else(|| number().map(Type))
            .ok_or_else(|| Error::UnknownType {
                text: text.to_owned(),
            })
    }
}

/// A response code, extended by EDNS to twelve bits (RFC 6895 §2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rcode(pub u16);

impl Rcode {
    /// No error condition; together with an empty answer it means that the name has no such records.
    pub const NOERROR: Rcode = Rcode(0);
    /// The server could not read the query.
    pub const FORMERR: Rcode = Rcode(1);
    /// The server failed.
    pub const SERVFAIL: Rcode = Rcode(2);
    /// The name does not exist, nor does anything below it (RFC 8020).
    pub const NXDOMAIN: Rcode = Rcode(3);
    /// The server does not do this kind of query.
    pub const NOTIMP: Rcode = Rcode(4);
    /// The server does not answer this question for this client.
    pub const REFUSED: Rcode = Rcode(5);
    /// The server is not authoritative, or the transaction key is wrong (RFC 8945 §5.2).
    pub const NOTAUTH: Rcode = Rcode(9);
    /// The EDNS version is not supported (RFC 6891 §6.1.3).
    pub const BADVERS: Rcode = Rcode(16);
    /// The DNS cookie is missing or wrong (RFC 7873 §8).
    pub const BADCOOKIE: Rcode = Rcode(23);
}

impl fmt::Display for Rcode {
    /// The mnemonic `dig` prints, or `RCODE<number>`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match *self {
            Rcode::NOERROR => "NOERROR",
            Rcode::FORMERR => "FORMERR",
            Rcode::SERVFAIL => "SERVFAIL",
            Rcode::NXDOMAIN => "NXDOMAIN",
            Rcode::NOTIMP => "NOTIMP",
            Rcode::REFUSED => "REFUSED",
            Rcode::NOTAUTH => "NOTAUTH",
            Rcode::BADVERS => "BADVERS",
            Rcode::BADCOOKIE => "BADCOOKIE",
            Rcode(other) => return f.pad(&format!("RCODE{other}")),
        };
        f.pad(text)
    }
}

/// The start of authority of a zone (RFC 1035 §3.3.13, RFC 2308 §4).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Soa {
    /// Primary name server.
    pub mname: Name,
    /// Mailbox of the person in charge, first label is the local part.
    pub rname: Name,
    /// Version of the zone, compared by RFC 1982.
    pub serial: u32,
    /// Seconds between a secondary's checks.
    pub refresh_seconds: u32,
    /// Seconds between a secondary's attempts after a failed check.
    pub retry_seconds: u32,
    /// Seconds after which a secondary stops answering without contact.
    pub expire_seconds: u32,
    /// Seconds a negative answer may be cached (RFC 2308 §4).
    pub minimum_seconds: u32,
}

/// The data of one resource record.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Data {
    /// An IPv4 address.
    A(Ipv4Addr),
    /// An IPv6 address.
    Aaaa(Ipv6Addr),
    /// A name server of a zone.
    Ns(Name),
    /// The canonical name of an alias.
    Cname(Name),
    /// The name an address belongs to.
    Ptr(Name),
    /// A mail exchange.
    Mx {
        /// Lower is preferred.
        preference: u16,
        /// Host that takes the mail.
        exchange: Name,
    },
    /// Character strings of at most 255 octets each, at least one.
    Txt(Vec<Vec<u8>>),
    /// Location of a service.
    Srv {
        /// Lower is tried first.
        priority: u16,
        /// Share among equal priorities.
        weight: u16,
        /// Port of the service.
        port: u16,
        /// Host of the service.
        target: Name,
    },
    /// Service binding, generic ([`Type::SVCB`]).
    Svcb(Binding),
    /// Service binding for HTTP origins ([`Type::HTTPS`]).
    Https(Binding),
    /// Start of authority.
    Soa(Soa),
    /// A type this engine does not interpret, as opaque octets (RFC 3597).
    Other {
        /// Its number.
        rtype: Type,
        /// RDATA without compression, at most 65,535 octets.
        rdata: Vec<u8>,
    },
}

/// Parameters of a SVCB or HTTPS record (RFC 9460 §2).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Binding {
    /// 0 is alias mode, anything else service mode with lower preferred.
    pub priority: u16,
    /// Where the service is; the root means the owner itself in service mode.
    pub target: Name,
    /// Keys in strictly increasing order with their wire values.
    pub params: Vec<(u16, Vec<u8>)>,
}

/// A record with its owner, as found in a reply. The class is always IN.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Record {
    /// Owner name.
    pub name: Name,
    /// Seconds it may be cached, at most 2³¹−1 (RFC 2181 §8).
    pub ttl_seconds: u32,
    /// What it says.
    pub data: Data,
}

/// Why record data cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A text that names no record type.
    #[error("unknown record type {text:?}")]
    UnknownType {
        /// The text as given.
        text: String,
    },
    /// RDATA that does not fit its type.
    #[error("broken {rtype} record data")]
    Broken {
        /// Type of the record.
        rtype: Type,
    },
    /// The data is beyond what a record can hold.
    #[error("{rtype} data of {octets} octets; the limit is {octets_max}")]
    TooLong {
        /// Type of the record.
        rtype: Type,
        /// Length found, in octets.
        octets: usize,
        /// Limit, in octets.
        octets_max: usize,
    },
    /// Service parameters out of order or doubled.
    #[error("service parameter {key} does not follow {previous} in increasing order")]
    ParamOrder {
        /// The parameter that came too late.
        key: u16,
        /// The one before it.
        previous: u16,
    },
}

impl Data {
    /// A TXT record of one text, cut into strings of 255 octets where it is longer.
    pub fn txt(text: &str) -> Data {
        if text.is_empty() {
            return Data::Txt(vec![Vec::new()]);
        }
        Data::Txt(text.as_bytes().chunks(255).map(<[u8]>::to_vec).collect())
    }

    /// The type of this data.
    pub fn rtype(&self) -> Type {
        match self {
            Data::A(_) => Type::A,
            Data::Aaaa(_) => Type::AAAA,
            Data::Ns(_) => Type::NS,
            Data::Cname(_) => Type::CNAME,
            Data::Ptr(_) => Type::PTR,
            Data::Mx { .. } => Type::MX,
            Data::Txt(_) => Type::TXT,
            Data::Srv { .. } => Type::SRV,
            Data::Svcb(_) => Type::SVCB,
            Data::Https(_) => Type::HTTPS,
            Data::Soa(_) => Type::SOA,
            Data::Other { rtype, .. } => *rtype,
        }
    }

    /// Appends the RDATA, names uncompressed.
    ///
    /// # Errors
    /// When a character string exceeds 255 octets, service parameters are out of order, or the whole exceeds 65,535 octets.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        let start = out.len();
        match self {
            Data::A(address) => out.extend_from_slice(&address.octets()),
            Data::Aaaa(address) => out.extend_from_slice(&address.octets()),
            Data::Ns(name) | Data::Cname(name) | Data::Ptr(name) => out.extend(name.wire()),
            Data::Mx {
                preference,
                exchange,
            } => {
                out.extend(preference.to_be_bytes());
                out.extend(exchange.wire());
            }
            Data::Txt(strings) => encode_strings(strings, out)?,
            Data::Srv {
                priority,
                weight,
                port,
                target,
            } => {
                for field in [priority, weight, port] {
                    out.extend(field.to_be_bytes());
                }
                out.extend(target.wire());
            }
            Data::Svcb(binding) | Data::Https(binding) => binding.encode(self.rtype(), out)?,
            Data::Soa(soa) => {
                out.extend(soa.mname.wire());
                out.extend(soa.rname.wire());
                for field in soa.numbers() {
                    out.extend(field.to_be_bytes());
                }
            }
            Data::Other { rdata, .. } => out.extend(rdata),
        }
        limit(self.rtype(), out.len() - start, usize::from(u16::MAX))
    }

    /// Reads RDATA of `octets` octets at the cursor, which then stands behind it.
    ///
    /// # Errors
    /// When the bytes do not fit the type; the cursor's position is then unspecified.
    pub fn decode(rtype: Type, cursor: &mut Cursor<'_>, octets: usize) -> Result<Data, Error> {
        let end = cursor.position() + octets;
        let broken = |_: message::Error| Error::Broken { rtype };
        let data = Data::decode_fields(rtype, cursor, octets).map_err(broken)?;
        if cursor.position() != end {
            return Err(Error::Broken { rtype });
        }
        Ok(data)
    }

    fn decode_fields(
        rtype: Type,
        cursor: &mut Cursor<'_>,
        octets: usize,
    ) -> Result<Data, message::Error> {
        let end = cursor.position() + octets;
        Ok(match rtype {
            Type::A => Data::A(Ipv4Addr::from(cursor.array::<4>()?)),
            Type::AAAA => Data::Aaaa(Ipv6Addr::from(cursor.array::<16>()?)),
            Type::NS => Data::Ns(cursor.name()?),
            Type::CNAME => Data::Cname(cursor.name()?),
            Type::PTR => Data::Ptr(cursor.name()?),
            Type::MX => Data::Mx {
                preference: cursor.u16()?,
                exchange: cursor.name()?,
            },
            Type::TXT => {
                let mut strings = Vec::new();
                while cursor.position() < end {
                    let octets = usize::from(cursor.u8()?);
                    strings.push(cursor.take(octets)?.to_vec());
                }
                Data::Txt(strings)
            }
            Type::SRV => Data::Srv {
                priority: cursor.u16()?,
                weight: cursor.u16()?,
                port: cursor.u16()?,
                target: cursor.name()?,
            },
            Type::SVCB => Data::Svcb(Binding::decode(cursor, end)?),
            Type::HTTPS => Data::Https(Binding::decode(cursor, end)?),
            Type::SOA => Data::Soa(Soa {
                mname: cursor.name()?,
                rname: cursor.name()?,
                serial: cursor.u32()?,
                refresh_seconds: cursor.u32()?,
                retry_seconds: cursor.u32()?,
                expire_seconds: cursor.u32()?,
                minimum_seconds: cursor.u32()?,
            }),
            _ => Data::Other {
                rtype,
                rdata: cursor.take(octets)?.to_vec(),
            },
        })
    }
}

impl Soa {
    fn numbers(&self) -> [u32; 5] {
        [
            self.serial,
            self.refresh_seconds,
            self.retry_seconds,
            self.expire_seconds,
            self.minimum_seconds,
        ]
    }
}

impl Binding {
    fn encode(&self, rtype: Type, out: &mut Vec<u8>) -> Result<(), Error> {
        out.extend(self.priority.to_be_bytes());
        out.extend(self.target.wire());
        let mut previous = None;
        for (key, value) in &self.params {
            if let Some(previous) = previous.filter(|previous| previous >= key) {
                return Err(Error::ParamOrder {
                    key: *key,
                    previous,
                });
            }
            previous = Some(*key);
            limit(rtype, value.len(), usize::from(u16::MAX))?;
            out.extend(key.to_be_bytes());
            out.extend((value.len() as u16).to_be_bytes());
            out.extend(value);
        }
        Ok(())
    }

    fn decode(cursor: &mut Cursor<'_>, end: usize) -> Result<Binding, message::Error> {
        let priority = cursor.u16()?;
        let target = cursor.name()?;
        let mut params = Vec::new();
        while cursor.position() < end {
            let key = cursor.u16()?;
            let octets = usize::from(cursor.u16()?);
            params.push((key, cursor.take(octets)?.to_vec()));
        }
        Ok(Binding {
            priority,
            target,
            params,
        })
    }
}

impl fmt::Display for Data {
    /// Presentation form as `dig +short` prints it; types without one use RFC 3597 §5.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Data::A(address) => write!(f, "{address}"),
            Data::Aaaa(address) => write!(f, "{address}"),
            Data::Ns(name) | Data::Cname(name) | Data::Ptr(name) => write!(f, "{name}"),
            Data::Mx {
                preference,
                exchange,
            } => write!(f, "{preference} {exchange}"),
            Data::Txt(strings) => {
                for (string_index, string) in strings.iter().enumerate() {
                    let gap = if string_index == 0 { "" } else { " " };
                    write!(f, "{gap}\"{}\"", string.escape_ascii())?;
                }
                Ok(())
            }
            Data::Srv {
                priority,
                weight,
                port,
                target,
            } => {
                write!(f, "{priority} {weight} {port} {target}")
            }
            Data::Svcb(binding) | Data::Https(binding) => {
                write!(f, "{} {}", binding.priority, binding.target)?;
                for (key, value) in &binding.params {
                    write!(f, " key{key}=\"{}\"", value.escape_ascii())?;
                }
                Ok(())
            }
            Data::Soa(soa) => {
                write!(f, "{} {}", soa.mname, soa.rname)?;
                soa.numbers()
                    .iter()
                    .try_for_each(|number| write!(f, " {number}"))
            }
            Data::Other { rdata, .. } => {
                write!(f, "\\# {}", rdata.len())?;
                rdata.iter().try_for_each(|octet| write!(f, " {octet:02x}"))
            }
        }
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} {} {}",
            self.name,
            self.ttl_seconds,
            self.data.rtype(),
            self.data
        )
    }
}

fn encode_strings(strings: &[Vec<u8>], out: &mut Vec<u8>) -> Result<(), Error> {
    if strings.is_empty() {
        return Err(Error::Broken { rtype: Type::TXT });
    }
    for string in strings {
        limit(Type::TXT, string.len(), 255)?;
        out.push(string.len() as u8);
        out.extend(string);
    }
    Ok(())
}

fn limit(rtype: Type, octets: usize, octets_max: usize) -> Result<(), Error> {
    if octets > octets_max {
        return Err(Error::TooLong {
            rtype,
            octets,
            octets_max,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
