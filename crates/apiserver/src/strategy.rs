//! The rules of built-in kinds: one small file for each family of kinds that has any.
//!
//! Most kinds are a row of functions (`Rules`): defaults, checks of an object, checks of a change,
//! and a few flags. Namespaces, pods and services have rules of their own shape.

mod addresses;
mod admin;
mod autoscaler_check;
mod certificates;
mod claims;
mod classes;
mod config;
mod convert;
mod cron;
mod csi_check;
mod endpoint_check;
mod families;
mod field;
mod fill;
pub(crate) mod golang;
mod ingress_check;
mod ip;
mod job_check;
mod job_status;
mod limits;
mod namespace;
mod network;
mod nodes;
mod pod_change;
mod pod_check;
mod pod_spec;
mod pods;
mod quota_check;
mod ranges;
mod resources;
mod rules;
mod service_check;
mod services;
mod signers;
mod storage;
mod webhook_check;
mod workload_check;
mod workloads;

use std::sync::Arc;

use flotilla_machinery::builtin::ResourceRow;

use self::{
    certificates::Requests, namespace::Namespaces, pods::Pods, rules::Rules, services::Services,
};
use crate::crd::definition::Definitions;
use crate::registry::Strategy;

pub use self::addresses::DEFAULT_CIDR;

/// The rules of a built-in resource; only the schema's defaults when the kind has none of its own.
pub fn of(row: &ResourceRow) -> Arc<dyn Strategy> {
    match (row.group, row.plural) {
        ("apiextensions.k8s.io", "customresourcedefinitions") => return Arc::new(Definitions),
        ("", "namespaces") => return Arc::new(Namespaces::default()),
        ("", "pods") => return Arc::new(Pods::default()),
        ("", "services") => return Arc::new(Services::default()),
        ("certificates.k8s.io", "certificatesigningrequests") => {
            return Arc::new(Requests::of(row));
        }
        _ => {}
    }
    let families = [
        workloads::of,
        config::of,
        network::of,
        storage::of,
        admin::of,
    ];
    let rules = families.iter().find_map(|family| family(row));
    Arc::new(rules.unwrap_or_else(|| Rules::of(row)))
}

#[cfg(test)]
mod tests;
