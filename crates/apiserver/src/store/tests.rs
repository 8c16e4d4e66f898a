//! Behaviour of the store.
