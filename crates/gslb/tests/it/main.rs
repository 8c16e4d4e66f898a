//! The GSLB on real API servers and DNS servers, all in this process and linked by loopback DNS only.

mod explain;
mod fleet;
mod manifests;
