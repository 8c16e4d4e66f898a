//! From a stored CustomResourceDefinition to rows of the registry, and the rules of its objects.
//!
//! [`rows`] reads only what routing and discovery need. Schema, shape and rules are compiled when
//! the first object of a version is touched and shared by all its versions, so a hundred installed
//! definitions of which five are used cost five.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::{Duration, Instant};

use base64::Engine as _;
use flotilla_machinery::group::GroupResource;
use flotilla_machinery::names;
use flotilla_machinery::quote;
use flotilla_machinery::schema::Schema;
use flotilla_machinery::status::{FieldError, FieldErrorKind, Status};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::cel::engine::Interrupt;
use super::cel::{self, Rules};
use super::structural::{Node, Pool, parse};
use super::webhook::Converter;
use super::{default, definition, lists, meta, prune, shape, validate};
use crate::discovery::version_priority;
use crate::registry::{
    Context, Conversion, Custom, Defaults, PrinterColumn, Resource, ScalePaths, SchemaRef,
    SelectableField, Shape, Strategy, Subresource, Verb, Verbs, generic,
};
use crate::store::{Object, ObjectKey, ResourceKey};

/// CPU time the rules of one object may take before they are cut off.
const RULES_TIME_MAX: Duration = Duration::from_secs(5);

/// Finalizers of Kubernetes itself, which have no domain.
const STANDARD_FINALIZERS: [&str; 3] = ["orphan", "foregroundDeletion", "kubernetes"];

/// One definition's schemas, compiled on first use.
pub struct Source {
    /// The definition as stored; dropped by nobody else while rows refer to it.
    object: Arc<Object>,
    compiled: OnceLock<Vec<Arc<Version>>>,
}

/// One version of a definition, compiled.
pub struct Version {
    name: Box<str>,
    /// Its schema.
    pub node: Arc<Node>,
    /// Whether metadata of embedded objects must be looked at.
    has_embedded: bool,
    rules: OnceLock<Option<Rules>>,
    shape: OnceLock<Arc<Schema>>,
}

/// The rules of custom resources of one version.
struct Objects {
    source: Arc<Source>,
    version: Box<str>,
    /// Version objects are stored in.
    storage: Box<str>,
    scale: Option<ScalePaths>,
    fields: Vec<SelectableField>,
}

/// Whether a definition's resources are served.
pub fn is_established(definition: &Value) -> bool {
    condition_is_true(definition, "Established")
}

/// Whether a condition of a definition is `True`.
pub fn condition_is_true(definition: &Value, ty: &str) -> bool {
    definition["status"]["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|c| c["type"] == ty && c["status"] == "True")
}

/// The rows of a stored definition: one for each served version; none before it is established.
///
/// `before` are the rows of the same definition before it changed.
pub fn rows(object: &Arc<Object>, before: &[Arc<Resource>]) -> Vec<Arc<Resource>> {
    let Ok(definition) = serde_json::from_slice::<Value>(&object.body) else {
        return Vec::new();
    };
    if !is_established(&definition) {
        return Vec::new();
    }
    let source = Arc::new(Source {
        object: Arc::clone(object),
        compiled: OnceLock::new(),
    });
    let versions = definition["spec"]["versions"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let storage = versions
        .iter()
        .find(|v| v["storage"] == true)
        .map_or("", |v| text(v, "name"));
    let same_schema = |version: &Value| {
        let of = |name: &str| {
            versions
                .iter()
                .find(|v| v["name"] == name)
                .map(|v| &v["schema"]["openAPIV3Schema"])
        };
        of(text(version, "name")) == of(storage)
    };
    let webhook = Converter::of(&definition, object.rev).map(Arc::new);
    let served = versions.iter().filter(|v| v["served"] == true);
    served
        .map(|version| {
            let conversion = match text(version, "name") {
                name if name == storage => Conversion::None,
                _ if webhook.is_some() => Conversion::Webhook,
                _ if same_schema(version) => Conversion::Rename,
                _ => Conversion::Rewrite,
            };
            let mut row = row(&definition, version, storage, conversion, &source);
            row.webhook.clone_from(&webhook);
            row.defaults = defaults(version, object.rev, before);
            Arc::new(row)
        })
        .collect()
}

fn row(
    definition: &Value,
    version: &Value,
    storage: &str,
    conversion: Conversion,
    source: &Arc<Source>,
) -> Resource {
    let spec = &definition["spec"];
    let names = &definition["status"]["acceptedNames"];
    let (group, name) = (text(spec, "group"), text(version, "name"));
    let scale = scale_paths(version);
    let objects = Objects {
        source: Arc::clone(source),
        version: name.into(),
        storage: storage.into(),
        scale: scale.clone(),
        fields: selectable_fields(version),
    };
    let schema_source = Arc::clone(source);
    let schema_version: Box<str> = name.into();
    Resource {
        group: group.into(),
        version: name.into(),
        plural: text(names, "plural").into(),
        singular: text(names, "singular").into(),
        kind: text(names, "kind").into(),
        list_kind: text(names, "listKind").into(),
        short_names: texts(names, "shortNames"),
        categories: texts(names, "categories"),
        namespaced: spec["scope"] == "Namespaced",
        verbs: Verbs::ALL,
        subresources: subresources(group, name, text(names, "kind"), version),
        shape: Shape {
            schema: SchemaRef::Lazy(Arc::new(LazyLock::new(Box::new(move || {
                schema_source.shape(&schema_version)
            })))),
            root: shape::ROOT,
        },
        storage: ResourceKey::new(group, text(names, "plural")),
        storage_api_version: format!("{group}/{storage}").into(),
        conversion,
        storage_version_hash: version_hash(group, storage, text(names, "kind")),
        tracks_generation: true,
        has_status: version["subresources"]["status"].is_object(),
        strategy: Arc::new(objects),
        deprecation: deprecation(spec, version),
        custom: Some(Custom {
            scale,
            columns: columns(version),
        }),
        defaults: None,
        webhook: None,
    }
}

/// What reading must know of the defaults of a version. When only other things have changed, objects
/// have had them since as long as before.
fn defaults(version: &Value, rev: u64, before: &[Arc<Resource>]) -> Option<Defaults> {
    let schema = &version["schema"]["openAPIV3Schema"];
    if !has_default(schema) {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    schema.to_string().hash(&mut hasher);
    let digest = hasher.finish();
    let row = before.iter().find(|r| *r.version == *text(version, "name"));
    let known = row.and_then(|r| r.defaults).filter(|d| d.digest == digest);
    Some(known.unwrap_or(Defaults {
        since_rev: rev,
        digest,
    }))
}

fn has_default(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            members.contains_key("default") || members.values().any(has_default)
        }
        Value::Array(items) => items.iter().any(has_default),
        _ => false,
    }
}

fn subresources(group: &str, version: &str, kind: &str, spec: &Value) -> Vec<Subresource> {
    let verbs = Verbs::of(&[Verb::Get, Verb::Patch, Verb::Update]);
    let mut out = Vec::new();
    if spec["subresources"]["scale"].is_object() {
        out.push(Subresource {
            name: "scale".into(),
            group: "autoscaling".into(),
            version: "v1".into(),
            kind: "Scale".into(),
            verbs,
        });
    }
    if spec["subresources"]["status"].is_object() {
        out.push(Subresource {
            name: "status".into(),
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
            verbs,
        });
    }
    out
}

/// What discovery calls the storage version: the first bytes of a digest of its name.
fn version_hash(group: &str, version: &str, kind: &str) -> Box<str> {
    let digest = Sha256::digest(format!("{group}/{version}/{kind}"));
    base64::engine::general_purpose::STANDARD
        .encode(&digest[..8])
        .into()
}

fn scale_paths(version: &Value) -> Option<ScalePaths> {
    let scale = version["subresources"]["scale"].as_object()?;
    let path = |name: &str| {
        scale
            .get(name)
            .and_then(Value::as_str)
            .filter(|p| !p.is_empty())
    };
    Some(ScalePaths {
        spec_replicas: path("specReplicasPath")?.into(),
        status_replicas: path("statusReplicasPath")?.into(),
        label_selector: path("labelSelectorPath").map(Into::into),
    })
}

fn columns(version: &Value) -> Vec<PrinterColumn> {
    let list = version["additionalPrinterColumns"]
        .as_array()
        .into_iter()
        .flatten();
    list.map(|column| PrinterColumn {
        name: text(column, "name").into(),
        ty: text(column, "type").into(),
        format: text(column, "format").into(),
        description: text(column, "description").into(),
        priority: column["priority"]
            .as_i64()
            .and_then(|p| i32::try_from(p).ok())
            .unwrap_or(0),
        json_path: text(column, "jsonPath").into(),
    })
    .collect()
}

fn selectable_fields(version: &Value) -> Vec<SelectableField> {
    let list = version["selectableFields"].as_array().into_iter().flatten();
    list.map(|field| SelectableField::new(text(field, "jsonPath").trim_start_matches('.')))
        .collect()
}

fn deprecation(spec: &Value, version: &Value) -> Option<Box<str>> {
    if version["deprecated"] != true {
        return None;
    }
    if let Some(warning) = version["deprecationWarning"].as_str() {
        return Some(warning.into());
    }
    let (group, kind) = (text(spec, "group"), text(&spec["names"], "kind"));
    let name = text(version, "name");
    let better = spec["versions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|other| other["served"] == true && other["deprecated"] != true)
        .map(|other| text(other, "name"))
        .filter(|other| version_priority(other) > version_priority(name))
        .max_by_key(|other| version_priority(other));
    let instead = match better {
        Some(other) => format!("; use {group}/{other} {kind}"),
        None => String::new(),
    };
    Some(format!("{group}/{name} {kind} is deprecated{instead}").into())
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or("")
}

fn texts(value: &Value, name: &str) -> Vec<Box<str>> {
    let list = value[name].as_array().into_iter().flatten();
    list.filter_map(Value::as_str).map(Into::into).collect()
}

// === impl Source ===

impl Source {
    fn version(&self, name: &str) -> Option<&Arc<Version>> {
        let compiled = self.compiled.get_or_init(|| {
            let definition: Value = serde_json::from_slice(&self.object.body).unwrap_or_default();
            let mut pool = Pool::new();
            let versions = definition["spec"]["versions"]
                .as_array()
                .into_iter()
                .flatten();
            versions
                .map(|version| {
                    let schema = &version["schema"]["openAPIV3Schema"];
                    let node = parse(schema, &mut pool).unwrap_or_default();
                    Arc::new(Version {
                        name: text(version, "name").into(),
                        has_embedded: node.has_embedded(),
                        node,
                        rules: OnceLock::new(),
                        shape: OnceLock::new(),
                    })
                })
                .collect()
        });
        compiled.iter().find(|v| v.name.as_ref() == name)
    }

    fn shape(&self, name: &str) -> Arc<Schema> {
        match self.version(name) {
            Some(version) => Arc::clone(
                version
                    .shape
                    .get_or_init(|| Arc::new(shape::of(&version.node))),
            ),
            None => Arc::default(),
        }
    }
}

// === impl Version ===

impl Version {
    /// Mistakes in the types and metadata of embedded objects.
    fn check_embedded(&self, object: &Value) -> Vec<FieldError> {
        if !self.has_embedded {
            return Vec::new();
        }
        match meta::coerce(&mut object.clone(), &self.node, false) {
            Err(malformed) => vec![malformed],
            Ok(()) => meta::check(object, &self.node, false),
        }
    }

    fn rules(&self) -> Option<&Rules> {
        self.rules.get_or_init(|| cel::compile(&self.node)).as_ref()
    }
}

// === impl Objects ===

impl Objects {
    fn schema(&self) -> Option<&Arc<Version>> {
        self.source.version(&self.version)
    }

    fn settle(&self, object: &mut Value, version: &str) {
        let Some(version) = self.source.version(version) else {
            return;
        };
        prune::prune_object(object, &version.node);
        default::drop_nulls(object, &version.node);
        default::apply(object, &version.node);
    }

    fn check_rules(
        &self,
        version: &Version,
        new: &Value,
        old: Option<&Value>,
        errors: &mut Vec<FieldError>,
    ) {
        let Some(rules) = version.rules() else { return };
        let blocks = |e: &FieldError| {
            use FieldErrorKind::{NotSupported, Required, TooLong, TooMany, TypeInvalid};
            matches!(
                e.kind,
                NotSupported | Required | TooLong | TooMany | TypeInvalid
            )
        };
        // A missing name is among the mistakes, though it is looked for elsewhere.
        let is_unnamed = crate::meta::text(new, "name").is_empty();
        if is_unnamed || errors.iter().any(blocks) {
            let why = "some validation rules were not checked because the object was invalid; \
                       correct the existing errors to complete validation";
            errors.push(FieldError::invalid("", Value::Null, why));
            return;
        }
        errors.extend(rules.check(new, old, Some(&deadline())).0);
    }
}

impl Strategy for Objects {
    fn fill_defaults(&self, object: &mut Value) {
        let Some(version) = self.schema() else { return };
        default::drop_nulls(object, &version.node);
        default::apply(object, &version.node);
    }

    fn prepare_update(&self, cx: &Context<'_>, new: &mut Value, old: &Value) {
        generic::prepare_update(cx, new, old);
        // Without a status endpoint, status is desired state like any other field.
        let before = old["metadata"]["generation"].as_i64().unwrap_or(0);
        let unchanged = new["metadata"]["generation"].as_i64().unwrap_or(0) == before;
        if !cx.resource.has_status && unchanged && new.get("status") != old.get("status") {
            new["metadata"]["generation"] = json!(before + 1);
        }
    }

    fn allocate(&self, cx: &Context<'_>, _: &mut Value, old: Option<&Value>) -> Result<(), Status> {
        let resource = cx.resource;
        let definition = ObjectKey::new("", &resource.qualified());
        let definition = cx.state.get(&definition::key(), &definition);
        if old.is_none() && definition.is_some_and(|d| d.meta.deleting) {
            let resource = GroupResource::new(&*resource.group, &*resource.plural);
            let mut status = Status::method_not_allowed(&resource, "create");
            status.message =
                "create not allowed while custom resource definition is terminating".to_owned();
            return Err(status);
        }
        Ok(())
    }

    fn validate_create(&self, _: &Context<'_>, object: &Value) -> Vec<FieldError> {
        let Some(version) = self.schema() else {
            return Vec::new();
        };
        let mut errors = validate::create(object, &version.node, "");
        errors.extend(self.scale.iter().flat_map(|s| check_scale(object, s)));
        errors.extend(version.check_embedded(object));
        errors.extend(lists::check(object, &version.node));
        self.check_rules(version, object, None, &mut errors);
        errors
    }

    fn validate_update(&self, cx: &Context<'_>, new: &Value, old: &Value) -> Vec<FieldError> {
        let Some(version) = self.schema() else {
            return Vec::new();
        };
        let node = &version.node;
        let mut errors = match (cx.subresource, node.property("status")) {
            ("status", None) => Vec::new(),
            ("status", Some(schema)) => match new.get("status") {
                Some(status) => validate::update(status, old.get("status"), schema, "status"),
                None => Vec::new(),
            },
            _ => validate::update(new, Some(old), node, ""),
        };
        errors.extend(self.scale.iter().flat_map(|s| check_scale(new, s)));
        if cx.subresource != "status" {
            errors.extend(version.check_embedded(new));
        }
        let repeated = lists::check(new, node);
        if !repeated.is_empty() && lists::check(old, node).is_empty() {
            errors.extend(repeated);
        }
        self.check_rules(version, new, Some(old), &mut errors);
        errors
    }

    fn warnings(&self, cx: &Context<'_>, object: &Value, old: Option<&Value>) -> Vec<String> {
        if cx.subresource == "status" {
            return Vec::new();
        }
        let before = old.map(crate::meta::finalizers).unwrap_or_default();
        let mut added = crate::meta::finalizers(object);
        added.retain(|f| !before.contains(f));
        added.into_iter().flat_map(finalizer_warnings).collect()
    }

    fn selectable_fields(&self) -> &[SelectableField] {
        &self.fields
    }

    fn allows_unconditional_update(&self) -> bool {
        false
    }

    fn read_stored(&self, object: &mut Value) {
        self.settle(object, &self.version);
    }

    fn write_stored(&self, object: &mut Value) {
        self.settle(object, &self.storage);
    }
}

fn finalizer_warnings(name: &str) -> Vec<String> {
    let quoted = super::quoted(name);
    let path = "metadata.finalizers";
    let mut out: Vec<String> = names::qualified_name(name)
        .iter()
        .map(|m| format!("{path}: {quoted}: {m}"))
        .collect();
    if !name.contains('/') && !STANDARD_FINALIZERS.contains(&name) {
        let with_path = if name.contains('.') {
            " including a path (/)"
        } else {
            ""
        };
        out.push(format!(
            "{path}: {quoted}: prefer a domain-qualified finalizer name{with_path} to avoid \
             accidental conflicts with other finalizer writers"
        ));
    }
    out
}

/// What is wrong with the values behind the scale endpoint.
fn check_scale(object: &Value, scale: &ScalePaths) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let wrong = |path: &str, value: &Value, wanted: &str| {
        let (shown, found) = (quote::plain(value), quote::go_type(value));
        format!("{path} accessor error: {shown} is of the type {found}, expected {wanted}")
    };
    for path in [&scale.spec_replicas, &scale.status_replicas] {
        let value = match accessed(object, path) {
            Ok(Some(value)) => value,
            Ok(None) => continue,
            Err((place, value)) => {
                let why = wrong(&place, value, "map[string]interface{}");
                errors.push(FieldError::invalid(path.to_string(), 0, why));
                continue;
            }
        };
        let why = match value.as_i64() {
            None => wrong(path, value, "int64"),
            Some(n) if n < 0 => "should be a non-negative integer".to_owned(),
            Some(n) if n > i64::from(i32::MAX) => {
                format!("should be less than or equal to {}", i32::MAX)
            }
            Some(_) => continue,
        };
        let shown = value.as_i64().unwrap_or(0);
        errors.push(FieldError::invalid(path.to_string(), shown, why));
    }
    let Some(path) = &scale.label_selector else {
        return errors;
    };
    let why = match accessed(object, path) {
        Ok(value) => value
            .filter(|value| !value.is_string())
            .map(|value| wrong(path, value, "string")),
        Err((place, value)) => Some(wrong(&place, value, "map[string]interface{}")),
    };
    errors.extend(why.map(|why| FieldError::invalid(path.to_string(), "", why)));
    errors
}

/// The value at a path of names such as `.spec.replicas`; an error tells the first place whose surroundings are no object, and them.
fn accessed<'v>(object: &'v Value, path: &str) -> Result<Option<&'v Value>, (String, &'v Value)> {
    let mut at = object;
    let mut place = String::new();
    for name in path.split('.').filter(|name| !name.is_empty()) {
        place = format!("{place}.{name}");
        let Some(members) = at.as_object() else {
            return Err((place, at));
        };
        match members.get(name) {
            Some(value) => at = value,
            None => return Ok(None),
        }
    }
    Ok(Some(at))
}

#[expect(
    clippy::disallowed_methods,
    reason = "rules are cut off by the wall clock"
)]
fn deadline() -> Interrupt {
    let start = Instant::now();
    Arc::new(move || start.elapsed() > RULES_TIME_MAX)
}
