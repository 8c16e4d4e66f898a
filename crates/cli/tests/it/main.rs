//! The binary as its users meet it: real processes, real kubectl, real dig.
//!
//! Tests that need a program which may be absent are ignored with the reason; `.ci/run` installs
//! the programs and runs them. `FLOTILLA_BIN` names another binary than the one just built, so
//! that the release build can be tested.

mod bad_input;
mod chainsaw;
mod chainsaw_legacy;
mod delegation;
mod durability;
mod failover;
mod kubectl;
mod lifecycle;
mod logs;
mod partition;
mod running;
mod secondary;
mod snapshot;
mod walks;
mod why;

use std::path::PathBuf;

/// The binary under test.
#[expect(
    clippy::disallowed_methods,
    reason = "which binary to test is said outside"
)]
fn binary() -> PathBuf {
    std::env::var_os("FLOTILLA_BIN")
        .map_or_else(|| env!("CARGO_BIN_EXE_flotilla").into(), Into::into)
}

/// A file of the examples folder.
fn example(name: &str) -> String {
    format!("{}/../../examples/gslb/{name}", env!("CARGO_MANIFEST_DIR"))
}
