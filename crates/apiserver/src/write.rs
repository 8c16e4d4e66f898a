//! What every write has in common: the fixed order of hooks, the draft for the store, and the
//! translation of commit errors.

use flotilla_machinery::{
    builtin::Lists,
    group::GroupKind,
    names,
    status::{FieldError, Status},
};
use serde_json::Value;

use crate::{
    call::Call,
    convert, deletion, guard, managed, meta,
    registry::{Context, Conversion, Resource, value_at},
    store::{CommitError, Draft, DraftError, Object, ObjectKey, State, TypeOrder},
    versions,
};

/// Readies a decoded object for creation: stamps, defaults, allocation, ownership, validation.
///
/// # Errors
/// 422 for invalid objects, whatever allocation refuses.
pub(crate) fn prepare_create(
    call: &Call,
    cx: &Context<'_>,
    object: &mut Value,
    owner: Owner<'_>,
) -> Result<(), Status> {
    let strategy = &cx.resource.strategy;
    if let Some(warning) = meta::dedupe_owners(object) {
        call.warn(warning);
    }
    meta::stamp_new(object, &uuid::Uuid::new_v4().to_string(), cx.now);
    // Whoever writes owns what it wrote and its defaults, not what the kind's rules make of it.
    strategy.fill_defaults(object);
    emit_as_given(cx, object);
    if let Owner::Update(manager) = owner {
        managed::track(call, cx, object, None, manager);
    }
    strategy.prepare_create(cx, object);
    guard::check(call, object, None)?;
    strategy.allocate(cx, object, None)?;
    let mut errors = meta::validate(object, strategy.as_ref());
    errors.extend(strategy.validate_create(cx, object));
    refuse(call, object, errors)?;
    for text in strategy.warnings(cx, object, None) {
        call.warn(text);
    }
    cx.resource.emit(object, Lists::Stored);
    Ok(())
}

/// Readies a changed object for its update.
///
/// # Errors
/// 409 when the client's resourceVersion or uid is not the live one, 422 for invalid objects.
pub(crate) fn prepare_update(
    call: &Call,
    cx: &Context<'_>,
    new: &mut Value,
    old: &Value,
    owner: Owner<'_>,
) -> Result<(), Status> {
    let strategy = &cx.resource.strategy;
    check_version(call, new, old)?;
    if let Some(warning) = meta::dedupe_owners(new) {
        call.warn(warning);
    }
    meta::restore_server_owned(new, old);
    strategy.fill_defaults(new);
    emit_as_given(cx, new);
    if let Owner::Update(manager) = owner {
        managed::track(call, cx, new, Some(old), manager);
    }
    strategy.prepare_update(cx, new, old);
    guard::check(call, new, Some(old))?;
    strategy.allocate(cx, new, Some(old))?;
    let mut errors = meta::validate(new, strategy.as_ref());
    errors.extend(meta::validate_change(new, old));
    errors.extend(strategy.validate_update(cx, new, old));
    refuse(call, new, errors)?;
    for text in strategy.warnings(cx, new, Some(old)) {
        call.warn(text);
    }
    cx.resource.emit(new, Lists::Stored);
    Ok(())
}

/// The form in which Go sees a decoded object. An empty list of managed fields stays, because it asks for a reset.
fn emit_as_given(cx: &Context<'_>, object: &mut Value) {
    let asked = meta::fields_mut(object).remove("managedFields");
    cx.resource.emit(object, Lists::AsGiven);
    if let Some(asked) = asked {
        meta::fields_mut(object).insert("managedFields".to_owned(), asked);
    }
}

/// Who owns what an update changes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Owner<'a> {
    /// This manager, with operation Update.
    Update(&'a str),
    /// Apply has written it down already.
    Settled,
}

/// Gives a new object its name, generating one from `generateName`.
///
/// # Errors
/// 422 when there is neither.
pub(crate) fn name_new(call: &Call, object: &mut Value, entropy: u64) -> Result<(), Status> {
    if !meta::text(object, "name").is_empty() {
        return Ok(());
    }
    let base = meta::text(object, "generateName");
    if base.is_empty() && call.resource.strategy.names_itself() {
        let name = uuid::Uuid::new_v4().to_string();
        meta::fields_mut(object).insert("name".to_owned(), name.into());
        return Ok(());
    }
    if base.is_empty() && call.resource.custom.is_some() {
        // Their own rules complain about the name together with everything else.
        return Ok(());
    }
    if base.is_empty() {
        let why = "name or generateName is required";
        let errors = vec![FieldError::required("metadata.name", why)];
        return Err(Status::invalid(&call.group_kind(), "", errors));
    }
    let [a, b, c, d, e, ..] = entropy.to_le_bytes();
    let name = names::generate(base, [a, b, c, d, e]);
    meta::fields_mut(object).insert("name".to_owned(), name.into());
    Ok(())
}

/// Makes sure that new content may go to a namespace.
///
/// # Errors
/// 404 when there is no such namespace, 403 when it is going away.
pub(crate) fn check_namespace(call: &Call, state: &State, name: &str) -> Result<(), Status> {
    if !call.resource.namespaced {
        return Ok(());
    }
    let namespace = call.info.namespace.as_str();
    let namespaces = crate::store::ResourceKey::new("", "namespaces");
    match state.get(&namespaces, &ObjectKey::new("", namespace)) {
        None => {
            let resource = flotilla_machinery::group::GroupResource::new("", "namespaces");
            Err(Status::not_found(&resource, namespace))
        }
        Some(object) if object.meta.deleting => Err(Status::namespace_terminating(
            &call.group_resource(),
            name,
            namespace,
        )),
        Some(_) => Ok(()),
    }
}

/// The draft of an object, in the storage version and with its selectable fields.
///
/// # Errors
/// 413 when it is larger than the store takes, even without managed fields.
pub(crate) async fn draft(call: &Call, object: &Value) -> Result<Draft, Status> {
    let max = call.engine.limits.object_bytes_max;
    let mut stored = convert::to_stored(call, object).await?;
    let (order, fields) = (call.resource.type_order(), selectable(call, &stored));
    let draft = render(order, &stored, fields.clone())?;
    if draft.len() <= max {
        return Ok(draft);
    }
    meta::fields_mut(&mut stored).remove("managedFields");
    let draft = render(order, &stored, fields)?;
    if draft.len() <= max {
        return Ok(draft);
    }
    Err(Status::too_large(format!(
        "limit is {max} bytes, the object has {}",
        draft.len()
    )))
}

/// The draft of a custom resource that stays in the version it is stored in: only its metadata changed.
///
/// # Errors
/// None that a stored object could cause.
pub(crate) fn draft_as_stored(stored: &Value, live: &Object) -> Result<Draft, Status> {
    let fields = live.meta.fields.iter();
    let fields = fields.map(|(label, value)| (label.to_owned(), value.to_owned()));
    render(TypeOrder::ByName, stored, fields.collect())
}

fn render(
    order: TypeOrder,
    stored: &Value,
    fields: Vec<(String, String)>,
) -> Result<Draft, Status> {
    Draft::in_order(order, stored, fields).map_err(|e| match e {
        DraftError::TooLarge(_) => Status::too_large(e),
        DraftError::Missing(_) | DraftError::Json(_) => Status::internal(e),
    })
}

/// Values of the selectable fields under the labels of every version that shares the storage and
/// needs no webhook; the others are selected after their conversion.
fn selectable(call: &Call, stored: &Value) -> Vec<(String, String)> {
    let sharing = call
        .registry
        .rows()
        .iter()
        .filter(|r| r.storage == call.resource.storage);
    let mut out = Vec::new();
    for row in sharing {
        if row.strategy.selectable_fields().is_empty() || row.conversion == Conversion::Webhook {
            continue;
        }
        let converted = (row.conversion == Conversion::Rewrite)
            .then(|| versions::from_stored(row, stored.clone()));
        let object = converted.as_ref().unwrap_or(stored);
        out.extend(versions::selectable(row, object));
    }
    out
}

/// Whether an update would store what is stored already; times in managed fields do not count.
pub(crate) fn is_noop(new: &Value, old: &Value) -> bool {
    members(new).chain(members(old)).all(|name| match name {
        "metadata" => same_metadata(&new["metadata"], &old["metadata"]),
        name => new.get(name) == old.get(name),
    })
}

/// Names of the members of an object; none of anything else.
fn members(value: &Value) -> impl Iterator<Item = &str> {
    value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
}

fn same_metadata(new: &Value, old: &Value) -> bool {
    members(new).chain(members(old)).all(|name| match name {
        "resourceVersion" => true,
        "managedFields" => managed::same(&new["managedFields"], &old["managedFields"]),
        name => new.get(name) == old.get(name),
    })
}

/// Whether an updated object has nothing left to wait for, so that it goes instead.
pub(crate) fn is_over(cx: &Context<'_>, new: &Value, old: &Value) -> bool {
    meta::is_deleting(old) && deletion::is_over(cx, new)
}

/// A commit error as the client reads it.
pub(crate) fn commit_error(call: &Call, name: &str, error: CommitError) -> Status {
    let resource = call.group_resource();
    match error {
        CommitError::Exists(_) => Status::already_exists(&resource, name),
        CommitError::Missing(_) => Status::not_found(&resource, name),
        CommitError::Conflict(_) => Status::modified(&resource, name),
        CommitError::TooLarge { .. } => Status::too_large(error),
        CommitError::ReadOnly(_) | CommitError::Closed => Status::unavailable(error.to_string()),
    }
}

fn check_version(call: &Call, new: &Value, old: &Value) -> Result<(), Status> {
    let name = meta::text(old, "name");
    check_uid(call, new, old)?;
    let (asked, live) = (
        meta::text(new, "resourceVersion"),
        meta::text(old, "resourceVersion"),
    );
    if asked.is_empty() && !call.resource.strategy.allows_unconditional_update() {
        let why = "must be specified for an update";
        let errors = vec![FieldError::invalid("metadata.resourceVersion", 0, why)];
        // Upstream names the resource here, where other mistakes name the kind.
        let resource = GroupKind::new(&*call.resource.group, &*call.resource.plural);
        return Err(Status::invalid(&resource, name, errors));
    }
    if !asked.is_empty() && asked != live {
        return Err(Status::modified(&call.group_resource(), name));
    }
    Ok(())
}

fn check_uid(call: &Call, new: &Value, old: &Value) -> Result<(), Status> {
    let name = meta::text(old, "name");
    let (asked, live) = (meta::text(new, "uid"), meta::text(old, "uid"));
    if asked.is_empty() || asked == live {
        return Ok(());
    }
    if call.info.verb == "patch" {
        // No precondition there, but an identity that changes; upstream looks twice, and clients see both.
        let error = FieldError::invalid("metadata.uid", asked, "field is immutable");
        let errors = vec![error.clone(), error];
        return Err(Status::invalid(&call.group_kind(), name, errors));
    }
    let key = storage_path(call.resource.as_ref(), &call.key_of(name));
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in \
         precondition: {asked}, UID in object meta: {live}"
    );
    Err(Status::conflict(&call.group_resource(), name, why))
}

/// Where kube-apiserver keeps an object in etcd, which some of its errors name. Source: Kubernetes v1.35,
/// `pkg/kubeapiserver/default_storage_factory_builder.go`.
fn storage_path(resource: &Resource, key: &ObjectKey) -> String {
    let (group, plural) = (&*resource.storage.group, &*resource.storage.plural);
    let folder = match (group, plural) {
        ("", "replicationcontrollers") => "controllers",
        ("", "endpoints") => "services/endpoints",
        ("", "services") => "services/specs",
        ("", "nodes") => "minions",
        ("networking.k8s.io", "ingresses") => "ingress",
        _ => plural,
    };
    let groups_apart = ["apiextensions.k8s.io", "apiregistration.k8s.io"];
    if resource.custom.is_some() || groups_apart.contains(&group) {
        return format!("/registry/{group}/{folder}/{key}");
    }
    format!("/registry/{folder}/{key}")
}

fn refuse(call: &Call, object: &Value, errors: Vec<FieldError>) -> Result<(), Status> {
    if errors.is_empty() {
        return Ok(());
    }
    let name = value_at(object, "metadata.name")
        .and_then(Value::as_str)
        .unwrap_or("");
    Err(Status::invalid(&call.group_kind(), name, errors))
}
