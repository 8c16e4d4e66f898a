//! Authoritative DNS from compiled snapshots, a client that waits for nobody, and a small resolver.
//!
//! The crate knows zones, names and sockets; it knows nothing of Kubernetes or of who decides what a name answers with. Data flows
//! one way:
//!
//! ```text
//! a controller ──Change──► catalog (Publish) ──► zone: records as wire bytes, persistent pages ──► an atomic pointer
//!                                                                                                     │
//!                                     clients ◄── server: sockets ◄── answer: one look-up, one copy ◄─┘
//! ```
//! Read in this order: [`name`], [`record`], [`message`] are the vocabulary; [`zone`] and [`catalog`] hold what is served;
//! [`snapshot`] is its form on disk and [`keep`] writes and reads it;
//! [`answer`], [`order`] and [`geo`] decide what a query gets, [`cookie`] and [`limit`] whether it gets it, [`dnssec`]
//! how it is signed for everybody; [`tsig`] signs for one,
//! `transfer` gives zones away, [`notify`] tells that they changed, [`secondary`] follows somebody else's and [`update`] lets
//! clusters write into a parent zone; [`server`] has the sockets; [`client`] asks other servers; [`resolver`] walks
//! delegations; [`mod@bench`] and [`fuzz`] are what measurements and long runs call. Sockets, files, clocks and chance are in
//! `server`, `client`, `keep`, `dnssec::ask`, `dnssec::store`, `bench`, the sending half of `update` and the shell of `resolver`; everything else is pure.

pub mod name;

pub mod record;

pub mod message;

pub mod zone;

pub mod catalog;

pub mod snapshot;

pub mod keep;

pub mod order;

pub mod geo;

pub mod cookie;

pub mod limit;

pub mod dnssec;

pub mod answer;

pub mod tsig;

mod transfer;

pub mod notify;

pub mod secondary;

pub mod update;

pub mod server;

pub mod client;

pub mod resolver;

pub mod bench;

pub mod fuzz;
