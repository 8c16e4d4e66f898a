//! The embedded Kubernetes-compatible API server.
//!
//! It serves what kube-apiserver v1.35 serves, from one process and one file, so that `kubectl` and
//! every controller work with nothing installed. Objects stay untyped: a table row for each
//! resource and a few dozen hooks take the place of a handler for each kind.
//!
//! In the order of a request:
//! - [`serve`] accepts connections, [`service`] is the server as one `tower` service, for the network
//!   and for clients in this process; [`server`] starts and stops it all;
//! - [`request`], [`params`], [`negotiate`], [`decode`] read what a client wants, purely;
//! - [`access`] and [`auth`] know who asks and what they may;
//! - [`registry`] says which resources there are, [`strategy`] and [`crd`] by which rules;
//! - `handlers` do what each verb does, with [`meta`], [`deletion`], [`page`] for the rules that all
//!   kinds share;
//! - [`store`] keeps objects and their history;
//! - [`discovery`], [`openapi`], [`table`] describe and show.
//!
//! Nothing here knows pods run or controllers reconcile: those are clients.

pub mod access;
mod address_objects;
pub mod auth;
pub mod body;
mod bootstrap;
mod call;
mod components;
mod compress;
mod convert;
pub mod crd;
pub mod decode;
pub mod deletion;
pub mod discovery;
pub mod endpoints;
pub mod engine;
mod errand;
mod filter;
mod flow;
pub mod fuzz;
mod guard;
mod handlers;
mod impersonate;
pub mod kubeconfig;
mod managed;
pub mod meta;
pub mod metrics;
pub mod negotiate;
pub mod openapi;
pub mod page;
pub mod params;
mod paths;
pub mod pki;
pub mod registry;
mod render;
pub mod request;
pub mod serve;
pub mod server;
pub mod service;
pub mod store;
pub mod strategy;
pub mod table;
mod versions;
pub mod webhook;
mod websocket;
mod write;

pub use self::server::{ApiServer, Config, Error, Handle};
