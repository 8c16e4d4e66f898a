//! The request pipeline's authorizer and authenticator over the store.

use std::sync::Arc;

use arc_swap::ArcSwap;
use jiff::Timestamp;

use super::{
    rbac::{Held, Index},
    service_account::{self, Issuer, Verified},
    token_file::TokenFile,
};
use crate::{
    access::{Attributes, Authenticator, Authorizer, Decision, Identity, MASTERS},
    store::Store,
};

/// Authorizes by the roles and bindings in the store, always by the newest.
///
/// Members of `system:masters` may do everything, as upstream, even while no roles exist.
pub struct Access {
    store: Store,
    index: ArcSwap<Index>,
}

/// Authenticates bearer tokens: the static file first, then service accounts.
pub struct Tokens {
    store: Store,
    file: TokenFile,
    issuer: Arc<Issuer>,
}

// === impl Access ===

impl Access {
    /// An authorizer over `store`.
    pub fn new(store: Store) -> Self {
        let index = ArcSwap::from_pointee(Index::default().follow(&store.state()));
        Self { store, index }
    }

    /// The index of the newest state. Compiles it first if a role or binding changed since the last call.
    pub fn index(&self) -> Arc<Index> {
        let state = self.store.state();
        let known = self.index.load_full();
        if known.is_current(&state) {
            return known;
        }
        // Two requests may do this at once; both results are right, and a later state wins by being asked for again.
        let index = Arc::new(known.follow(&state));
        self.index.store(index.clone());
        index
    }

    /// Everything `who` may do in `namespace`.
    pub fn held(&self, who: &Identity, namespace: &str) -> Held {
        self.index().held(who, namespace)
    }
}

impl Authorizer for Access {
    fn authorize(&self, who: &Identity, what: &Attributes) -> Decision {
        if who.is_in(MASTERS) {
            return Decision::Allow(String::new());
        }
        self.index().decide(who, what)
    }
}

// === impl Tokens ===

impl Tokens {
    /// An authenticator for the tokens of `file` and for those that `issuer` signed.
    pub fn new(store: Store, file: TokenFile, issuer: Arc<Issuer>) -> Self {
        Self {
            store,
            file,
            issuer,
        }
    }

    /// Whose token it is and for which of `audiences` (empty for this server); none if nobody knows it.
    ///
    /// # Errors
    /// Why a token that somebody knows is not good.
    pub fn verify(
        &self,
        token: &str,
        audiences: &[String],
        now: Timestamp,
    ) -> Result<Option<Verified>, String> {
        if let Some(identity) = self.file.identity(token) {
            // A static token says nothing about audiences; it is meant for this server.
            let ours = &self.issuer.audiences;
            let asked = if audiences.is_empty() {
                ours
            } else {
                audiences
            };
            let audiences: Vec<_> = ours
                .iter()
                .filter(|ours| asked.contains(ours))
                .cloned()
                .collect();
            let identity = identity.clone();
            return Ok((!audiences.is_empty()).then_some(Verified {
                identity,
                audiences,
            }));
        }
        service_account::verify(&self.issuer, &self.store.state(), token, audiences, now)
            .map_err(|error| error.to_string())
    }
}

impl Authenticator for Tokens {
    fn token(
        &self,
        token: &str,
        audiences: &[String],
        now: Timestamp,
    ) -> Result<Option<Identity>, String> {
        let verified = self.verify(token, audiences, now)?;
        Ok(verified.map(|verified| verified.identity))
    }
}
