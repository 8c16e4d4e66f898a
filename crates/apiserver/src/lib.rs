//! The embedded Kubernetes-compatible API server

pub mod access;
pub mod auth;
pub mod body;
mod bootstrap;
mod call;
pub mod crd;
pub mod decode;
pub mod deletion;
pub mod discovery;
pub mod engine;
mod filter;
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
mod write;

pub use self::server::{ApiServer, Config, Error, Handle};
