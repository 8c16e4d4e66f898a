//! How the delegation gets into a parent zone that only an API can change: pure parts.
//!
//! A cluster keeps one name server and its addresses in the parent zone, and touches nothing else. With dynamic updates
//! that is additive by nature ([`crate::delegate`]). Over an API the set of name servers is read, changed and written
//! whole, so each provider says here how two clusters that do this at once do not undo each other:
//!
//! | provider | what keeps clusters apart |
//! |---|---|
//! | [`route53`] | the change names the old set exactly; it is refused when the set has changed since it was read |
//! | [`infoblox`] | the object is read again after it was written, and mended when a name server is missing |

pub mod credentials;
pub mod infoblox;
pub mod route53;
pub mod sigv4;
