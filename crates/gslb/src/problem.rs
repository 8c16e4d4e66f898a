//! What is wrong with an object a user wrote, or with what it points to.
//!
//! A problem is not an error of ours: it becomes a condition and a Warning event on the object, and everything that
//! does not depend on the broken part goes on.

use std::fmt;

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Field path or annotation, for example `spec.strategy.primaryGeoTag`.
    pub field: String,
    /// What is wrong with it.
    pub kind: Kind,
    /// A sentence for a person, saying what to do.
    pub message: String,
}

/// Sort of a problem; becomes the reason of a condition and of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The spec says something that cannot be done; nothing is published for the object.
    InvalidSpec,
    /// The referenced object is missing or ambiguous.
    ReferenceNotFound,
    /// The referenced object cannot be understood in part or at all.
    InvalidReference,
    /// There is no address to publish.
    NoAddress,
    /// A host name that stands for addresses does not resolve.
    Unresolved,
    /// A host lies in no delegated zone.
    NoZone,
    /// Another Gslb publishes the host already.
    HostTaken,
    /// A geo tag is none of the fleet's.
    UnknownCluster,
    /// What brings clients to the host here is down although its Services are ready.
    GatewayDown,
}

impl Kind {
    /// The reason word of conditions.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::InvalidSpec => "InvalidSpec",
            Kind::ReferenceNotFound => "ReferenceNotFound",
            Kind::InvalidReference => "InvalidReference",
            Kind::NoAddress => "NoAddress",
            Kind::Unresolved => "Unresolved",
            Kind::NoZone => "NoZone",
            Kind::HostTaken => "HostTaken",
            Kind::UnknownCluster => "UnknownCluster",
            Kind::GatewayDown => "GatewayDown",
        }
    }

    /// The reason word of events, which k8gb's users already watch for.
    pub fn event_reason(self) -> &'static str {
        match self {
            Kind::NoAddress | Kind::Unresolved => "ExposedIPResolutionError",
            _ => "ReconcileError",
        }
    }
}

impl Problem {
    /// A problem with a field.
    pub fn new(kind: Kind, field: impl Into<String>, message: impl Into<String>) -> Problem {
        Problem {
            field: field.into(),
            kind,
            message: message.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}
