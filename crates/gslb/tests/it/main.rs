//! The GSLB on real API servers and DNS servers, all in this process and linked by loopback DNS only.

#![expect(clippy::unwrap_used, reason = "helpers of tests are not seen as tests")]

mod chainsaw;
mod election;
mod explain;
mod fleet;
mod manifests;
mod migrate;
mod policies;
mod push;
mod rights;
mod traces;
