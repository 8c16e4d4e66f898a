//! Fitting endpoints into slices with as few writes as possible.

use std::collections::{BTreeMap, HashMap, VecDeque};

use k8s_openapi::{
    api::discovery::v1::{Endpoint, EndpointSlice},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use kube::ResourceExt;

use super::{ENDPOINTS_MAX, Family, Group, Groups, HEADLESS, MANAGED_BY, Port, SERVICE_NAME};

/// What every slice of a Service carries.
#[derive(Clone, Debug)]
pub struct Owner {
    /// Namespace of the Service.
    pub namespace: String,
    /// Name of the Service.
    pub service: String,
    /// What owns the slices.
    pub reference: OwnerReference,
    /// Labels of the owner, which slices inherit.
    pub labels: BTreeMap<String, String>,
    /// Whether the Service is headless.
    pub headless: bool,
    /// Who writes, for [`MANAGED_BY`].
    pub managed_by: &'static str,
}

/// What to write. Empty when the slices are right as they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// New slices; their names are generated.
    pub create: Vec<EndpointSlice>,
    /// Changed slices, with the version they replace.
    pub update: Vec<EndpointSlice>,
    /// Names of slices to remove.
    pub delete: Vec<String>,
}

/// Fits `groups` into slices, given the `existing` slices that `owner` wrote.
///
/// An endpoint stays in its slice. New ones go first into slices that are written anyway, then into others with room, then
/// into new ones. A slice that nothing is left for is removed.
pub fn pack(groups: &Groups, existing: &[EndpointSlice], owner: &Owner) -> Plan {
    let mut plan = Plan::default();
    let mut by_group: BTreeMap<Group, Vec<&EndpointSlice>> = BTreeMap::new();
    for slice in existing
        .iter()
        .filter(|slice| slice.metadata.deletion_timestamp.is_none())
    {
        match group_of(slice).filter(|group| groups.contains_key(group)) {
            Some(group) => by_group.entry(group).or_default().push(slice),
            None => plan.delete.push(slice.name_any()),
        }
    }
    for (group, endpoints) in groups {
        let mut slices = by_group.remove(group).unwrap_or_default();
        slices.sort_by_key(|slice| slice.name_any());
        pack_group(group, endpoints, &slices, owner, &mut plan);
    }
    plan.delete.sort();
    plan
}

/// A slice on its way: what stays in it and whether it has to be written.
struct Draft<'a> {
    slice: &'a EndpointSlice,
    endpoints: Vec<Endpoint>,
    changed: bool,
}

fn pack_group(
    group: &Group,
    endpoints: &[Endpoint],
    slices: &[&EndpointSlice],
    owner: &Owner,
    plan: &mut Plan,
) {
    let mut wanted: HashMap<_, &Endpoint> = endpoints
        .iter()
        .map(|endpoint| (identity(endpoint), endpoint))
        .collect();
    let mut drafts: Vec<_> = slices
        .iter()
        .map(|slice| keep(slice, &mut wanted, owner))
        .collect();
    let mut new: VecDeque<_> = endpoints
        .iter()
        .filter(|endpoint| wanted.contains_key(&identity(endpoint)))
        .collect();

    // Written anyway first; among the others the fullest, so that the rest may shrink away.
    drafts.sort_by_key(|draft| (!draft.changed, std::cmp::Reverse(draft.endpoints.len())));
    for draft in &mut drafts {
        // A slice beyond the limit, written by somebody else, gives up what is too much.
        if draft.endpoints.len() > ENDPOINTS_MAX {
            draft.changed = true;
            let rest = draft.endpoints.split_off(ENDPOINTS_MAX);
            let rest = rest.iter().filter_map(|moved| {
                endpoints
                    .iter()
                    .find(|all| identity(all) == identity(moved))
            });
            new.extend(rest);
        }
        while draft.endpoints.len() < ENDPOINTS_MAX {
            let Some(endpoint) = new.pop_front() else {
                break;
            };
            draft.endpoints.push(endpoint.clone());
            draft.changed = true;
        }
    }
    let mut filled = drafts.iter().any(|draft| !draft.endpoints.is_empty());
    while !new.is_empty() {
        let chunk: Vec<_> = new.drain(..new.len().min(ENDPOINTS_MAX)).cloned().collect();
        plan.create.push(build(group, chunk, owner));
        filled = true;
    }
    // Of a group without endpoints one empty slice stays.
    let mut placeholder = !filled && endpoints.is_empty();
    if placeholder && drafts.is_empty() {
        plan.create.push(build(group, Vec::new(), owner));
    }
    drafts.sort_by_key(|draft| draft.slice.name_any());
    for draft in drafts {
        if draft.endpoints.is_empty() && !std::mem::take(&mut placeholder) {
            plan.delete.push(draft.slice.name_any());
        } else if draft.changed {
            plan.update.push(rewrite(draft, group, owner));
        }
    }
}

/// What of a slice stays; found endpoints are taken out of `wanted`.
fn keep<'a>(
    slice: &'a EndpointSlice,
    wanted: &mut HashMap<(String, Option<String>), &Endpoint>,
    owner: &Owner,
) -> Draft<'a> {
    let mut changed = !labels_are_right(slice, owner);
    let mut endpoints = Vec::new();
    for endpoint in &slice.endpoints {
        let Some(wanted) = wanted.remove(&identity(endpoint)) else {
            changed = true;
            continue;
        };
        // Hints belong to whoever plans traffic.
        let wanted = Endpoint {
            hints: endpoint.hints.clone(),
            ..wanted.clone()
        };
        changed |= wanted != *endpoint;
        endpoints.push(wanted);
    }
    Draft {
        slice,
        endpoints,
        changed,
    }
}

fn identity(endpoint: &Endpoint) -> (String, Option<String>) {
    let address = endpoint.addresses.first().cloned().unwrap_or_default();
    (address, super::uid(endpoint).map(String::from))
}

/// The group of a slice; none if it is of no family that we write.
fn group_of(slice: &EndpointSlice) -> Option<Group> {
    let family = match slice.address_type.as_str() {
        "IPv4" => Family::IPv4,
        "IPv6" => Family::IPv6,
        _ => return None,
    };
    let mut ports: Vec<_> = slice.ports.iter().flatten().map(Port::from_api).collect();
    ports.sort();
    Some(Group { family, ports })
}

fn build(group: &Group, endpoints: Vec<Endpoint>, owner: &Owner) -> EndpointSlice {
    EndpointSlice {
        address_type: group.family.as_str().into(),
        endpoints,
        metadata: ObjectMeta {
            generate_name: Some(format!("{}-", owner.service)),
            namespace: Some(owner.namespace.clone()),
            labels: Some(labels(owner)),
            owner_references: Some(vec![owner.reference.clone()]),
            ..ObjectMeta::default()
        },
        ports: (!group.ports.is_empty()).then(|| group.ports.iter().map(Port::to_api).collect()),
    }
}

fn rewrite(draft: Draft<'_>, group: &Group, owner: &Owner) -> EndpointSlice {
    let built = build(group, draft.endpoints, owner);
    let mut metadata = draft.slice.metadata.clone();
    metadata.labels = built.metadata.labels;
    metadata.owner_references = built.metadata.owner_references;
    EndpointSlice { metadata, ..built }
}

fn labels(owner: &Owner) -> BTreeMap<String, String> {
    let mut labels = owner.labels.clone();
    labels.remove(HEADLESS);
    if owner.headless {
        labels.insert(HEADLESS.into(), String::new());
    }
    labels.insert(SERVICE_NAME.into(), owner.service.clone());
    labels.insert(MANAGED_BY.into(), owner.managed_by.into());
    labels
}

fn labels_are_right(slice: &EndpointSlice, owner: &Owner) -> bool {
    let owned = slice.metadata.owner_references.as_ref();
    *slice.labels() == labels(owner) && owned.is_some_and(|owned| owned.contains(&owner.reference))
}
