//! The spec of a Gslb, validated.
//!
//! k8gb checks the strategy word, the weights and nothing else; a failover without a primary makes every cluster act
//! as a secondary. Here each mistake names its field, and a spec with mistakes publishes nothing.
//!
//! Source: k8gb v0.21 `controllers/resolver`; research §2.1.

use std::collections::BTreeMap;

use flotilla_api::gslb::{GslbSpec, ServiceHealthPolicy};
use jiff::SignedDuration;

use crate::{
    options::{self, Defaults, Options},
    problem::{Kind, Problem},
    select::Strategy,
};

/// Annotation with the clusters of a failover in order of preference.
pub const FAILOVER_ORDER: &str = "k8gb.io/failover-order";
/// TTL when the spec says zero or nothing. Source: k8gb v0.21.
pub const DEFAULT_TTL_SECONDS: u32 = 30;
/// Highest TTL (RFC 2181 §8).
const TTL_SECONDS_MAX: i64 = 0x7fff_ffff;
/// Highest weight. Source: k8gb v0.21.
const WEIGHT_MAX: i64 = 1000;

/// What a valid spec asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How the clusters share the hosts.
    pub strategy: Strategy,
    /// Relative shares by tag, 0 to 1000; empty without weights.
    pub weights: BTreeMap<String, u32>,
    /// TTL of the records, in seconds.
    pub ttl_seconds: u32,
    /// How several Services are judged.
    pub policy: ServiceHealthPolicy,
    /// How long a silent peer's last answer is believed.
    pub hold: SignedDuration,
    /// What the annotations ask for beyond k8gb.
    pub options: Options,
    /// Annotations that could not be read; their defaults apply.
    pub notes: Vec<Problem>,
}

/// Validates a spec with the annotations that extend it. `defaults` apply where an annotation says nothing.
///
/// # Errors
/// Every mistake, in the order of the fields.
pub fn rules(
    spec: &GslbSpec,
    annotations: &BTreeMap<String, String>,
    defaults: Defaults,
) -> Result<Rules, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut wrong = |field: &str, message: String| {
        problems.push(Problem::new(
            Kind::InvalidSpec,
            format!("spec.strategy.{field}"),
            message,
        ));
    };
    let strategy = &spec.strategy;
    let ttl = strategy.dns_ttl_seconds;
    if !(0..=TTL_SECONDS_MAX).contains(&ttl) {
        wrong(
            "dnsTtlSeconds",
            format!("{ttl} is not a TTL; give 0 to 2147483647 seconds"),
        );
    }
    let hold = strategy.split_brain_threshold_seconds;
    if hold < 0 {
        wrong(
            "splitBrainThresholdSeconds",
            format!("{hold} is negative; give seconds or 0"),
        );
    }
    let kind = match strategy.kind.as_str() {
        "roundRobin" => Some(Strategy::RoundRobin),
        "geoip" => Some(Strategy::GeoIp),
        "failover" => {
            let order = order(&strategy.primary_geo_tag, annotations.get(FAILOVER_ORDER));
            if order.is_empty() {
                wrong(
                    "primaryGeoTag",
                    "failover needs the geo tag of the cluster that serves first".into(),
                );
            }
            Some(Strategy::Failover { order })
        }
        other => {
            wrong(
                "type",
                format!("{other:?} is unknown; use roundRobin, failover or geoip"),
            );
            None
        }
    };
    if !strategy.weight.is_empty() && strategy.kind != "roundRobin" {
        wrong(
            "weight",
            "weights work with the type roundRobin only".into(),
        );
    }
    let mut weights = BTreeMap::new();
    for (tag, weight) in &strategy.weight {
        if tag.is_empty() || !tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            wrong(
                "weight",
                format!("{tag:?} is no geo tag; use letters, digits and '-'"),
            );
        }
        match u32::try_from(*weight) {
            Ok(small) if *weight <= WEIGHT_MAX => {
                weights.insert(tag.clone(), small);
            }
            _ => wrong(
                "weight",
                format!("the weight {weight} of {tag:?} is not in 0 to 1000"),
            ),
        }
    }
    let (options, mut notes) = options::read(annotations, defaults);
    let asked = annotations
        .get(options::WITNESS)
        .is_some_and(|v| v == "true");
    if asked && strategy.kind != "failover" {
        notes.push(Problem::new(
            Kind::InvalidSpec,
            format!("metadata.annotations[{}]", options::WITNESS),
            "witnesses are asked with the type failover only; it is ignored",
        ));
    }
    match kind {
        Some(strategy) if problems.is_empty() => Ok(Rules {
            strategy,
            weights,
            ttl_seconds: u32::try_from(ttl)
                .ok()
                .filter(|t| *t > 0)
                .unwrap_or(DEFAULT_TTL_SECONDS),
            policy: spec.service_health_policy.unwrap_or_default(),
            hold: SignedDuration::from_secs(hold),
            options,
            notes,
        }),
        _ => Err(problems),
    }
}

/// The primary first, then the rest of the annotation, each once.
fn order(primary: &str, annotation: Option<&String>) -> Vec<String> {
    let listed = annotation
        .map(String::as_str)
        .unwrap_or_default()
        .split(',')
        .map(str::trim);
    let mut order: Vec<String> = Vec::new();
    for tag in std::iter::once(primary).chain(listed) {
        if !tag.is_empty() && !order.iter().any(|known| known == tag) {
            order.push(tag.to_owned());
        }
    }
    order
}

#[cfg(test)]
mod tests;
