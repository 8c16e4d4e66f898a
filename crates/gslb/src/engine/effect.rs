//! What the engine wants done outside.

use std::{collections::BTreeMap, fmt, net::IpAddr, sync::Arc};

use flotilla_dns::catalog;
use serde_json::Value;

use crate::{
    decide::{Asking, Decision},
    key::Key,
    kinds::Kind,
    world::GslbId,
};

/// An object to write, and which part of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// A DNSEndpoint.
    Endpoint(Key),
    /// An Ingress.
    Ingress(Key),
    /// A Gslb made from an Ingress.
    Gslb(Key),
    /// The status of a Gslb.
    GslbStatus {
        /// Whether it belongs to the legacy group.
        legacy: bool,
        /// Its key.
        key: Key,
    },
    /// A ZoneDelegation made from the settings.
    Zone(String),
    /// The status of a ZoneDelegation.
    ZoneStatus(String),
    /// Our finalizer on a ZoneDelegation.
    ZoneFinalizer(String),
    /// Label and finalizer of a legacy Gslb that moves.
    Legacy(Key),
    /// The owners of an Ingress.
    IngressOwners(Key),
    /// The owners of a DNSEndpoint.
    EndpointOwners(Key),
}

/// What to do with a [`Target`].
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Create the object, or make spec, labels, annotations and owners what this says.
    Apply(Value),
    /// The object is there and has labels, annotations and owners as this says: make its spec what this says, and touch nothing else.
    Respec(Value),
    /// Create the object; one that is there stays as it is.
    Create(Value),
    /// Delete the object; it is fine if it is gone.
    Delete,
    /// Make the status this.
    Status(Value),
    /// Put our finalizer on the object or take it off.
    Finalizer(bool),
    /// Label a legacy Gslb as migrated.
    Mark,
    /// Take an owner off the object.
    Detach {
        /// The owner's UID.
        uid: String,
        /// The reference of its successor, which becomes the controller if the object is left without one.
        to: Option<Value>,
    },
}

/// How much an event matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Importance {
    /// Something is wrong.
    Warning,
    /// Something happened.
    Normal,
}

impl Importance {
    /// The type of the event.
    pub fn as_str(self) -> &'static str {
        match self {
            Importance::Warning => "Warning",
            Importance::Normal => "Normal",
        }
    }
}

/// Something to do outside.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Change what our DNS server answers.
    Publish(Vec<catalog::Change>),
    /// Write to the API server; a later write to the same target replaces this one.
    Write(Target, Action),
    /// Record an event on an object.
    Say {
        /// The object, as an ObjectReference.
        regarding: Value,
        /// How much it matters.
        importance: Importance,
        /// Who says it.
        reporter: &'static str,
        /// Reason word.
        reason: &'static str,
        /// A sentence.
        message: String,
    },
    /// Ask the peers of the zone about this host from now on.
    Watch {
        /// The host.
        host: String,
        /// Its zone.
        zone: String,
    },
    /// Stop asking about this host.
    Unwatch {
        /// The host.
        host: String,
    },
    /// Ask the peers of the zone whom they see of this host, this eagerly; [`Asking::No`] stops it.
    AskSights {
        /// The host.
        host: String,
        /// Its zone.
        zone: String,
        /// How soon.
        asking: Asking,
    },
    /// These are the peers of a zone from now on, with all their addresses.
    Peers {
        /// The zone.
        zone: String,
        /// Addresses by tag.
        peers: BTreeMap<String, Vec<IpAddr>>,
    },
    /// Look this name up at the edge servers from now on.
    Resolve {
        /// The name.
        name: String,
        /// Whether it is a name server of a zone, which rarely changes, or a host name that stands for addresses.
        name_server: bool,
    },
    /// Stop looking this name up.
    Forget {
        /// The name.
        name: String,
    },
    /// Put our name server and glue into the parent zone, by dynamic update or over its API, or take them out.
    Update {
        /// The balanced zone.
        zone: String,
        /// The zone that delegates it.
        parent: String,
        /// Name of our name server.
        own_name: String,
        /// Our DNS addresses; empty takes everything of ours out.
        addresses: Vec<IpAddr>,
    },
    /// A Gslb was decided, or is gone.
    Decided {
        /// The Gslb.
        id: GslbId,
        /// The decision; none when it is gone.
        decision: Option<Arc<Decision>>,
    },
}

impl Target {
    /// Kind and key of the object.
    pub fn object(&self) -> (Kind, Key) {
        match self {
            Target::Endpoint(key) | Target::EndpointOwners(key) => (Kind::DnsEndpoint, key.clone()),
            Target::Ingress(key) | Target::IngressOwners(key) => (Kind::Ingress, key.clone()),
            Target::Gslb(key) => (Kind::Gslb, key.clone()),
            Target::Legacy(key) | Target::GslbStatus { legacy: true, key } => {
                (Kind::LegacyGslb, key.clone())
            }
            Target::GslbStatus { legacy: false, key } => (Kind::Gslb, key.clone()),
            Target::Zone(name) | Target::ZoneStatus(name) | Target::ZoneFinalizer(name) => {
                (Kind::ZoneDelegation, Key::new("", name))
            }
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, key) = self.object();
        let part = match self {
            Target::GslbStatus { .. } | Target::ZoneStatus(_) => " status",
            Target::ZoneFinalizer(_) => " finalizer",
            Target::Legacy(_) => " migration",
            Target::IngressOwners(_) | Target::EndpointOwners(_) => " owners",
            _ => "",
        };
        write!(f, "{} {key}{part}", kind.home().kind)
    }
}
