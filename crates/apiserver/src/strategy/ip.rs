//! Addresses and networks in fields.
//!
//! Most fields are older than strict rules for them and take octets with leading zeros too.
//!
//! Source: Kubernetes v1.35, apimachinery `util/validation/ip.go`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::field::Field;

const NO_ADDRESS: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const NO_NETWORK: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/// An address with or without leading zeros in its octets; mapped IPv4 counts as IPv4.
pub(super) fn sloppy(text: &str) -> Option<IpAddr> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(address.to_canonical());
    }
    let mut octets = [0; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let part = parts.next()?;
        if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let digits = part.trim_start_matches('0');
        *octet = if digits.is_empty() {
            0
        } else {
            digits.parse().ok()?
        };
    }
    parts
        .next()
        .is_none()
        .then(|| Ipv4Addr::from(octets).into())
}

/// A network: an address and how many of its bits count.
pub(super) fn sloppy_network(text: &str) -> Option<(IpAddr, u8)> {
    let (address, bits) = text.split_once('/')?;
    let (address, bits) = (sloppy(address)?, bits.parse::<u8>().ok()?);
    (bits <= if address.is_ipv4() { 32 } else { 128 }).then_some((address, bits))
}

/// Text must be an address; an old field.
pub(super) fn check_sloppy(field: &Field<'_, '_>) -> Option<IpAddr> {
    let address = sloppy(field.text());
    if address.is_none() {
        field.invalid_text(NO_ADDRESS);
    }
    address
}

/// Text must be a network; an old field.
pub(super) fn check_sloppy_network(field: &Field<'_, '_>) -> Option<(IpAddr, u8)> {
    let network = sloppy_network(field.text());
    if network.is_none() {
        field.invalid_text(NO_NETWORK);
    }
    network
}

/// Text must be an address in the one form that prints back as itself.
pub(super) fn check_strict(field: &Field<'_, '_>) -> Option<IpAddr> {
    let address = check_sloppy(field)?;
    match field.text().parse::<IpAddr>() {
        Err(_) => field.invalid_text("must not have leading 0s"),
        Ok(IpAddr::V6(six)) if six.to_ipv4_mapped().is_some() => {
            field.invalid_text("must not be an IPv4-mapped IPv6 address");
        }
        Ok(exact) if exact.to_string() != field.text() => {
            field.invalid_text(format!("must be in canonical form (\"{exact}\")"));
        }
        Ok(_) => {}
    }
    Some(address)
}

/// Text must be a network in the one form that prints back as itself.
pub(super) fn check_strict_network(field: &Field<'_, '_>) -> Option<(IpAddr, u8)> {
    let (address, bits) = check_sloppy_network(field)?;
    let masked = masked(address, bits);
    let given = field.text().split('/').next().unwrap_or_default();
    match given.parse::<IpAddr>() {
        Err(_) => field.invalid_text("must not have leading 0s in IP or prefix length"),
        Ok(IpAddr::V6(six)) if six.to_ipv4_mapped().is_some() => {
            field.invalid_text("must not have an IPv4-mapped IPv6 address");
        }
        Ok(exact) if exact != masked => {
            field.invalid_text("must not have bits set beyond the prefix length");
        }
        Ok(exact) if format!("{exact}/{bits}") != field.text() => {
            field.invalid_text(format!("must be in canonical form (\"{exact}/{bits}\")"));
        }
        Ok(_) => {}
    }
    Some((address, bits))
}

/// The address with the bits behind the network's cleared.
pub(super) fn masked(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(four) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            Ipv4Addr::from(u32::from(four) & mask).into()
        }
        IpAddr::V6(six) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            Ipv6Addr::from(u128::from(six) & mask).into()
        }
    }
}

/// Whether a network lies inside another and is smaller.
pub(super) fn is_strictly_inside(inner: (IpAddr, u8), outer: (IpAddr, u8)) -> bool {
    inner.0.is_ipv4() == outer.0.is_ipv4()
        && inner.1 > outer.1
        && masked(inner.0, outer.1) == masked(outer.0, outer.1)
}

/// An address must not be unspecified, loopback, link-local or multicast of the link.
pub(super) fn check_special(field: &Field<'_, '_>, address: IpAddr) {
    let (is_link_local, is_link_multicast) = match address {
        IpAddr::V4(four) => (four.is_link_local(), four.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(six) => (
            six.is_unicast_link_local(),
            six.segments()[0] & 0xff0f == 0xff02,
        ),
    };
    let text = field.text();
    if address.is_unspecified() {
        field.invalid_text(format!("may not be unspecified ({text})"));
    }
    if address.is_loopback() {
        field.invalid_text("may not be in the loopback range (127.0.0.0/8, ::1/128)");
    }
    if is_link_local {
        field.invalid_text("may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    }
    if is_link_multicast {
        field
            .invalid_text("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
    }
}

/// A remark about an address that is fine but not written as it should be.
pub(super) fn odd_address(path: &str, text: &str) -> Option<String> {
    let address = sloppy(text)?;
    match text.parse::<IpAddr>() {
        Ok(exact) if exact != address => None,
        Ok(IpAddr::V6(six)) if six.to_string() != text => Some(format!(
            "{path}: IPv6 address {text:?} should be in RFC 5952 canonical format ({:?})",
            six.to_string()
        )),
        Ok(_) => None,
        Err(_) => Some(format!(
            "{path}: non-standard IP address {text:?} will be considered invalid in a future Kubernetes release: use {:?}",
            address.to_string()
        )),
    }
}
