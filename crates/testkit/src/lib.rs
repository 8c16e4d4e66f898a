//! Runs the `flotilla` binary and other people's clients in tests.
//!
//! [`Flotilla`] is a running `flotilla up` with folders and ports of its own; [`tools`] calls
//! kubectl and dig against it. Everything here panics with a telling message, because that is what
//! a failing test should print.

mod process;
pub mod tools;
mod wait;

pub use process::{Flotilla, free_port, interrupt_process, run};
pub use wait::{eventually, wait_until};
