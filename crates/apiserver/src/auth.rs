//! Who is asking, and may they: authentication and authorization of the API server.
//!
//! Everything that decides is a pure function of the request and of the store's [`State`](crate::store::State): [`rbac`]
//! answers from an index that follows the stored roles, [`service_account`] checks tokens against the stored accounts,
//! [`certificate`] and [`token_file`] turn what a client shows into an [`Identity`](crate::access::Identity),
//! [`impersonation`] says what a request for another identity must be allowed to do, [`review`] answers the review APIs, and
//! [`bootstrap`] knows the roles every cluster begins with. Only [`Access`] and [`Tokens`] hold the store, as the pipeline's
//! authorizer and authenticator.

pub mod bootstrap;
pub mod certificate;
pub mod impersonation;
pub mod jws;
pub mod rbac;
pub mod review;
pub mod service_account;
pub mod token_file;

mod gate;

pub use self::gate::{Access, Tokens};

#[cfg(test)]
mod tests;
