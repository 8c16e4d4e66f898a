//! Conversations with kube-apiserver, recorded once and compared with ours ever after.
//!
//! `oracle/corpus/` holds stories: requests written by hand or spelled out from tables ([`corpus`]). [`replay()`] sends them to a server,
//! [`mask`] takes away what no two servers can agree on (identities, times, addresses picked at random), and what is left goes
//! into `oracle/recorded/`, one line for an answer. [`mod@compare`] then says, for the same stories sent to our server, which answers
//! are equal and where the others part.
//!
//! The recorder is `flotilla-oracle record` and needs a running kube-apiserver, which `oracle/` (a small Go module outside this
//! build) starts. Comparing needs neither Go nor a network.

pub mod compare;
pub mod corpus;
pub mod known;
pub mod mask;
pub mod recording;
pub mod replay;

pub use compare::{Difference, compare};
pub use corpus::{Request, Story};
pub use known::Known;
pub use recording::{Report, Unequal, recorded, report};
pub use replay::{Answer, replay};
