//! The agent as a process of its own, killed and rotated under, before sinks that misbehave.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod agent;
mod child;
mod grpc;
mod sink;
