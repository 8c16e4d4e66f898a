//! Names and amounts of resources: in containers, quotas and limits.
//!
//! Source: Kubernetes v1.35, `pkg/apis/core/validation` (validateResourceRequirements) and
//! `pkg/apis/core/helper/helpers.go`.

use std::collections::BTreeSet;

use flotilla_machinery::{names, quantity::Quantity};
use serde_json::Value;

use super::field::Field;

/// Names without a domain that mean something anywhere.
const STANDARD: [&str; 20] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "requests.storage",
    "services.nodeports",
    "services.loadbalancers",
];

/// Names that are counted in whole numbers.
const WHOLE: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// An amount, as text or as a number.
pub(super) fn quantity(value: &Value) -> Option<Quantity> {
    match value {
        Value::String(text) => Quantity::parse(text).ok(),
        Value::Number(number) => Quantity::parse(&number.to_string()).ok(),
        _ => None,
    }
}

fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

fn is_huge_page_of_quota(name: &str) -> bool {
    is_huge_page(name) || name.starts_with("requests.hugepages-")
}

/// Whether a name is in Kubernetes' own domain, or in none.
pub(super) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether a name is one of a device plugin or the like.
pub(super) fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && names::qualified_name(&format!("requests.{name}")).is_empty()
}

/// A name that means something somewhere. Answers whether it is fine.
pub(super) fn name(place: &Field<'_, '_>, name: &str) -> bool {
    let complaints = names::qualified_name(name);
    let is_fine = complaints.is_empty();
    for complaint in complaints {
        place.invalid_as(name, complaint);
    }
    if is_fine && !name.contains('/') && !STANDARD.contains(&name) && !is_huge_page_of_quota(name) {
        place.invalid_as(name, "must be a standard resource type or fully qualified");
        return false;
    }
    is_fine
}

/// Whether a quota knows a name of its own.
pub(super) fn is_of_quota(name: &str) -> bool {
    name != "storage" && STANDARD.contains(&name) || is_huge_page_of_quota(name)
}

/// A name that a quota can count.
pub(super) fn quota_name(place: &Field<'_, '_>, name: &str) {
    self::name(place, name);
    if !name.contains('/') && !is_of_quota(name) {
        place.invalid_as(name, "must be a standard resource for quota");
    }
}

/// A name that a container can ask for.
pub(super) fn container_name(place: &Field<'_, '_>, name: &str) {
    self::name(place, name);
    if !name.contains('/') {
        if !matches!(name, "cpu" | "memory" | "ephemeral-storage") && !is_huge_page(name) {
            place.invalid_as(name, "must be a standard resource for containers");
        }
    } else if !is_native(name) && !is_extended(name) {
        place.invalid_as(name, "doesn't follow extended resource name standard");
    }
}

/// A name that a pod as a whole can ask for.
fn pod_name(place: &Field<'_, '_>, name: &str) {
    if self::name(place, name) && !matches!(name, "cpu" | "memory") && !is_huge_page(name) {
        place.not_supported_as(name, &["cpu", "hugepages-", "memory"]);
    }
}

/// An amount of a resource: not negative, and whole where only whole ones make sense.
pub(super) fn amount(place: &Field<'_, '_>, name: &str, amount: &Quantity) {
    if amount.signum() < 0 {
        place.invalid_as(amount.to_string(), "must be greater than or equal to 0");
    }
    let is_whole = WHOLE.contains(&name) || is_extended(name);
    if is_whole && amount.milli_value() % 1000 != 0 {
        place.invalid_as(amount.to_string(), "must be an integer");
    }
}

/// A rule for the name of a resource at a place.
type NameRule = fn(&Field<'_, '_>, &str);

/// What a container asks for and may have; `claims` are the names of the pod's resource claims.
pub(super) fn requirements(place: &Field<'_, '_>, claims: &BTreeSet<&str>) {
    check(place, container_name);
    check_claims(&place.at("claims"), claims);
}

/// The same for a pod as a whole.
pub(super) fn pod(place: &Field<'_, '_>, claims: &BTreeSet<&str>) {
    check(place, pod_name);
    check_claims(&place.at("claims"), claims);
}

/// Amounts that are added to those of containers; upstream looks at them as limits.
pub(super) fn overhead(place: &Field<'_, '_>) {
    let limits = place.with("limits", place.value);
    let kinds = each(&limits, container_name);
    huge_pages_alone(place, kinds);
}

fn check(place: &Field<'_, '_>, rule: NameRule) {
    let (limits, requests) = (place.at("limits"), place.at("requests"));
    let of_limits = each(&limits, rule);
    let of_requests = each_request(&limits, &requests, rule);
    huge_pages_alone(place, of_limits.and(of_requests));
}

/// Which kinds of resources were seen.
#[derive(Clone, Copy, Default)]
struct Seen {
    has_compute: bool,
    has_huge_pages: bool,
}

impl Seen {
    fn of(name: &str) -> Self {
        Self {
            has_compute: matches!(name, "cpu" | "memory"),
            has_huge_pages: is_huge_page(name),
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            has_compute: self.has_compute || other.has_compute,
            has_huge_pages: self.has_huge_pages || other.has_huge_pages,
        }
    }
}

fn huge_pages_alone(place: &Field<'_, '_>, seen: Seen) {
    if seen.has_huge_pages && !seen.has_compute {
        place.forbidden("HugePages require cpu or memory");
    }
}

fn each(amounts: &Field<'_, '_>, rule: NameRule) -> Seen {
    let mut seen = Seen::default();
    for (name, place) in amounts.entries() {
        rule(&place, name);
        if let Some(quantity) = quantity(place.value) {
            amount(&place, name, &quantity);
            pages(&place, name, &quantity);
        }
        seen = seen.and(Seen::of(name));
    }
    seen
}

fn each_request(limits: &Field<'_, '_>, requests: &Field<'_, '_>, rule: NameRule) -> Seen {
    let mut seen = Seen::default();
    for (name, place) in requests.entries() {
        rule(&place, name);
        seen = seen.and(Seen::of(name));
        let Some(asked) = quantity(place.value) else {
            continue;
        };
        amount(&place, name, &asked);
        let may_exceed = is_native(name) && !is_huge_page(name);
        match quantity(limits.key(name).value) {
            Some(limit) if asked != limit && !may_exceed => {
                let detail = format!("must be equal to {name} limit of {limit}");
                requests.invalid_as(asked.to_string(), detail);
            }
            Some(limit) if asked > limit => {
                let detail = format!("must be less than or equal to {name} limit of {limit}");
                requests.invalid_as(asked.to_string(), detail);
            }
            Some(_) => {}
            None if may_exceed => {}
            None => limits.required("Limit must be set for non overcommitable resources"),
        }
        pages(&place, name, &asked);
    }
    seen
}

/// Huge pages are asked for by whole pages.
fn pages(place: &Field<'_, '_>, name: &str, amount: &Quantity) {
    let Some(size) = name.strip_prefix("hugepages-") else {
        return;
    };
    let size = Quantity::parse(size).map_or(0, |size| size.value());
    if size <= 0 || amount.value() % size != 0 {
        let detail = format!("{amount} is not positive integer multiple of {name}");
        place.invalid_as(amount.to_string(), detail);
    }
}

/// Claims of a container are among those of its pod, each once.
fn check_claims(claims: &Field<'_, '_>, of_pod: &BTreeSet<&str>) {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for claim in claims.items() {
        let (name, request) = (claim.at("name").text(), claim.at("request").text());
        if name.is_empty() {
            claim.required("");
            continue;
        }
        if seen.contains(name) {
            claim.duplicate_of(name);
        } else {
            let mut key = name.to_owned();
            if !request.is_empty() {
                claim.at("request").complain(names::dns1123_label(request));
                key = format!("{name}/{request}");
            }
            let prefix = format!("{name}/");
            if seen.contains(&key) {
                claim.duplicate_of(key.as_str());
            } else if request.is_empty() {
                for _ in seen.iter().filter(|key| key.starts_with(&prefix)) {
                    claim.duplicate_of(name);
                }
            }
            seen.insert(key);
        }
        if !of_pod.contains(name) {
            let known: Vec<&str> = of_pod.iter().copied().collect();
            let end = match known.join(", ") {
                known if known.is_empty() => " which is empty".to_owned(),
                known => format!(": {known}"),
            };
            let detail = format!("must be one of the names in pod.spec.resourceClaims{end}");
            claim.not_found_as(name, &detail);
        }
    }
}
