//! Which address families a service has: what it asks for, what the cluster offers, and what a
//! change of policy adds or takes away.
//!
//! Source: Kubernetes v1.35, `pkg/registry/core/service/storage/alloc.go` (initIPFamilyFields),
//! `pkg/apis/core/validation` (ValidateServiceClusterIPsRelatedFields).

use std::net::IpAddr;

use flotilla_machinery::status::FieldError;
use serde_json::{Value, json};

use super::fill::{is_unset, list, text};

const POLICY: &str = "spec.ipFamilyPolicy";

/// Name of the family of an address.
pub(super) fn of(address: IpAddr) -> &'static str {
    match address {
        IpAddr::V4(_) => "IPv4",
        IpAddr::V6(_) => "IPv6",
    }
}

/// Sets policy and families of a service that is not ExternalName. `offered` are the families of the
/// cluster, the primary one first.
///
/// # Errors
/// In upstream's words, when the service asks for what there is not, or contradicts itself.
pub(super) fn settle(
    spec: &mut Value,
    old: Option<&Value>,
    offered: &[&str],
) -> Result<(), FieldError> {
    let primary = offered.first().copied().unwrap_or("IPv4");
    if text(spec, "clusterIP") == "None" && !has_selector(spec) {
        settle_foreign(spec, primary);
        return Ok(());
    }
    if let Some(old) = old {
        drop_second(spec, old);
    }
    infer(spec)?;
    let families: Vec<String> = list(spec, "ipFamilies")
        .iter()
        .filter_map(|f| f.as_str().map(str::to_owned))
        .collect();
    check_policy(spec, &families, offered)?;
    for (at, family) in families.iter().enumerate() {
        if !offered.contains(&family.as_str()) {
            let detail = "not configured on this cluster";
            let path = format!("spec.ipFamilies[{at}]");
            return Err(FieldError::invalid(path, family.as_str(), detail));
        }
    }
    if text(spec, "ipFamilyPolicy").is_empty() {
        spec["ipFamilyPolicy"] = "SingleStack".into();
    }
    let mut wanted = match families.is_empty() {
        true => vec![primary.to_owned()],
        false => families,
    };
    if text(spec, "ipFamilyPolicy") != "SingleStack" {
        let others = offered.iter().filter(|f| **f != wanted[0]);
        let others: Vec<String> = others.map(|f| (*f).to_owned()).collect();
        wanted.truncate(1);
        wanted.extend(others);
    }
    spec["ipFamilies"] = json!(wanted);
    Ok(())
}

/// Services without selector and address are not ours to fill, so both families are allowed.
fn settle_foreign(spec: &mut Value, primary: &str) {
    if text(spec, "ipFamilyPolicy").is_empty() {
        spec["ipFamilyPolicy"] = "RequireDualStack".into();
    }
    let mut families = list(spec, "ipFamilies").to_vec();
    if families.is_empty() {
        families.push(primary.into());
    }
    if text(spec, "ipFamilyPolicy") != "SingleStack" && families.len() == 1 {
        families.push(
            if families[0] == "IPv4" {
                "IPv6"
            } else {
                "IPv4"
            }
            .into(),
        );
    }
    spec["ipFamilies"] = families.into();
}

fn has_selector(spec: &Value) -> bool {
    let selector = spec["selector"].as_object();
    selector.is_some_and(|selector| !selector.is_empty())
}

/// A service that goes to a single family and says nothing else loses its second one.
fn drop_second(spec: &mut Value, old: &Value) {
    if text(spec, "ipFamilyPolicy") != "SingleStack" || text(old, "ipFamilyPolicy") == "SingleStack"
    {
        return;
    }
    for member in ["clusterIPs", "ipFamilies"] {
        if spec[member] == old[member]
            && let Some(values) = spec[member].as_array_mut()
        {
            values.truncate(1);
        }
    }
}

/// Families of addresses that the user chose.
fn infer(spec: &mut Value) -> Result<(), FieldError> {
    let chosen = list(spec, "clusterIPs").iter();
    let chosen: Vec<Option<&'static str>> = chosen
        .map(|ip| ip.as_str()?.parse::<IpAddr>().ok().map(of))
        .collect();
    let mut families = list(spec, "ipFamilies").to_vec();
    for (at, family) in chosen.iter().enumerate() {
        let Some(family) = family else { continue };
        match families.get(at).and_then(Value::as_str) {
            None if families.len() == at => families.push((*family).into()),
            Some(asked) if asked != *family => {
                let detail =
                    format!("expected an {asked} value as indicated by `ipFamilies[{at}]`");
                let path = format!("spec.clusterIPs[{at}]");
                return Err(FieldError::invalid(
                    path,
                    spec["clusterIPs"].clone(),
                    detail,
                ));
            }
            _ => {}
        }
    }
    if !families.is_empty() {
        spec["ipFamilies"] = families.into();
    }
    Ok(())
}

fn check_policy(spec: &Value, families: &[String], offered: &[&str]) -> Result<(), FieldError> {
    let policy = text(spec, "ipFamilyPolicy");
    let several = |what: &str| {
        format!("must be RequireDualStack or PreferDualStack when multiple '{what}' are specified")
    };
    let many = match () {
        () if list(spec, "clusterIPs").len() > 1 => Some("clusterIPs"),
        () if families.len() > 1 => Some("ipFamilies"),
        () => None,
    };
    match (policy, many) {
        ("RequireDualStack", _) if offered.len() < 2 => {
            let detail = "this cluster is not configured for dual-stack services";
            Err(FieldError::invalid(POLICY, policy, detail))
        }
        ("", Some(what)) if is_unset(spec.get("ipFamilyPolicy")) => {
            Err(FieldError::required(POLICY, several(what)))
        }
        ("SingleStack", Some(what)) => Err(FieldError::invalid(POLICY, policy, several(what))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
