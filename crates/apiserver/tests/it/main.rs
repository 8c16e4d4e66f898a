//! The server as clients meet it: in this process and over TLS.

#![expect(clippy::unwrap_used, reason = "helpers of tests are not seen as tests")]

mod addresses;
mod bad_input;
mod connections;
mod controller;
mod conversion;
mod custom;
mod flow;
mod objects;
mod paths;
mod pods;
mod support;
mod watches;
