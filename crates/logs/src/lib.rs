//! True log levels for pipes, files and node log directories.
//!
//! `flotilla-loglevel` says what one line declares; this crate brings it the lines and takes the records away.
//!
//! - [`stream`]: bytes of one input in, records out: container wrappers taken off, fragments and multi-line records joined.
//! - [`entry`]: one record, and its message, fields and moment.
//! - [`filter`]: `--level` and `--where`.
//! - [`output`]: JSON, logfmt, pretty, raw, template.
//! - [`stats`]: counts per level, format and source, and the lines whose stream would have been misread.
//! - [`input`]: files, packed files, following across rotation.
//! - [`formats`]: what was detected in a file, with examples.
//! - [`export`]: the same rules as configuration for other tools.
//! - [`agent`]: tails a node's pod logs and ships them.
//! - [`mod@bench`]: how fast all of it is.
//! - [`cli`]: the arguments of `flotilla logs` and what they start.
//!
//! Following pods through the API server will be one more producer of bytes for [`stream::Stream`]; nothing else here
//! knows where bytes come from.

pub mod agent;
pub mod bench;
pub mod cli;
pub mod entry;
pub mod export;
pub mod filter;
pub mod formats;
pub mod input;
mod json;
pub mod output;
pub mod stats;
pub mod stream;
