//! What every controller needs around its decisions: a work queue with client-go's semantics and
//! tasks that end with their owner.
//!
//! A controller here is three things: watches that put keys into a [`Queue`], a reconcile function
//! that reads a world, calls a pure decision and writes what differs, and [`run`], which feeds the
//! one into the other with backoff. With several replicas, [`leader`] says which of them writes. Nothing in this crate knows a kind.

pub mod leader;
mod queue;
mod reconcile;
mod tasks;

pub use queue::{Backoff, Queue};
pub use reconcile::{Outcome, QueueMetrics, run};
pub use tasks::Tasks;
