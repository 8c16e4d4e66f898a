//! The `flotilla` command: arguments, wiring, nothing else.

mod args;
mod plan;

fn main() {}
