//! Resources of a pod as a whole, which its containers share.

use std::collections::BTreeMap;

use flotilla_machinery::quantity::Quantity;
use serde_json::Value;

use super::Scope;
use crate::strategy::{
    field::Field,
    fill::{at, list},
    resources::{self, quantity},
};

pub(super) fn check(scope: &Scope<'_>, spec: &Field<'_, '_>) {
    let whole = spec.at("resources");
    if !whole.is_set() {
        return;
    }
    if spec.at("os.name").text() == "windows" {
        whole.forbidden("may not be set for a windows pod");
        return;
    }
    let claims = whole.at("claims");
    if claims.is_set() {
        claims.forbidden("claims may not be set for Resources at pod-level");
    }
    resources::pod(&whole, &scope.claims);
    let requests = whole.at("requests");
    for (name, sum) in total(spec.value, "requests") {
        let of_pod = requests.key(name);
        if let Some(amount) = quantity(of_pod.value).filter(|amount| sum > *amount) {
            let detail =
                format!("must be greater than or equal to aggregate container requests of {sum}");
            of_pod.invalid_as(amount.to_string(), detail);
        }
    }
    let limits = whole.at("limits");
    for (name, sum) in total(spec.value, "limits") {
        let of_pod = limits.key(name);
        if let Some(amount) = quantity(of_pod.value)
            && name.starts_with("hugepages-")
            && sum > amount
        {
            let detail =
                format!("must be greater than or equal to aggregate container limits of {sum}");
            of_pod.invalid_as(amount.to_string(), detail);
        }
    }
    let containers = whole.at("containers");
    for (index, container) in list(spec.value, "containers").iter().enumerate() {
        let own = at(container, "resources.limits").as_object();
        for (name, limit) in own.into_iter().flatten() {
            if let (Some(limit), Some(of_pod)) = (quantity(limit), quantity(limits.key(name).value))
                && limit > of_pod
            {
                let detail = format!("must be less than or equal to pod limits of {of_pod}");
                let place = containers.item(index);
                place
                    .key(name)
                    .at("limits")
                    .invalid_as(limit.to_string(), detail);
            }
        }
    }
}

type Amounts<'v> = BTreeMap<&'v str, Quantity>;

/// What all containers take together at the most demanding moment.
fn total<'v>(spec: &'v Value, kind: &str) -> Amounts<'v> {
    let own = |container: &'v Value| -> Amounts<'v> {
        let amounts = at(container, "resources")
            .get(kind)
            .and_then(Value::as_object);
        let amounts = amounts.into_iter().flatten();
        amounts
            .filter_map(|(name, amount)| Some((name.as_str(), quantity(amount)?)))
            .collect()
    };
    let add = |sum: &mut Amounts<'v>, more: &Amounts<'v>| {
        for (name, amount) in more {
            let sum = sum
                .entry(name)
                .or_insert_with(|| Quantity::new(0, amount.format()));
            *sum = sum.add(amount);
        }
    };
    let mut running = Amounts::new();
    for container in list(spec, "containers") {
        add(&mut running, &own(container));
    }
    // Sidecars run on, other init containers run beside the sidecars started before them.
    let (mut sidecars, mut starting) = (Amounts::new(), Amounts::new());
    for container in list(spec, "initContainers") {
        let amounts = own(container);
        let mut now = sidecars.clone();
        add(&mut now, &amounts);
        if container["restartPolicy"] == "Always" {
            add(&mut running, &amounts);
            add(&mut sidecars, &amounts);
        }
        for (name, amount) in now {
            let most = starting.entry(name).or_insert_with(|| amount.clone());
            if *most < amount {
                *most = amount;
            }
        }
    }
    for (name, amount) in starting {
        let most = running.entry(name).or_insert_with(|| amount.clone());
        if *most < amount {
            *most = amount;
        }
    }
    running
}
