//! What each verb does, over one [`Call`](crate::call::Call).

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod eviction;
pub(crate) mod modify;
pub(crate) mod patch;
pub(crate) mod read;
pub(crate) mod review;
pub(crate) mod subresource;
pub(crate) mod watch;
