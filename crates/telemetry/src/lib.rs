//! Structured logs, metrics and traces for the whole process.
//!
//! [`logging`] decides where log lines go and how they look, [`metrics`] serves a
//! prometheus-client registry over HTTP, [`tracing_export`] sends spans to an OTLP collector when
//! one is configured.

pub mod logging;
pub mod metrics;
pub mod tracing_export;
