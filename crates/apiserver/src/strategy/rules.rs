//! Rules of a kind as a row of functions, for kinds that need no state of their own.

use flotilla_machinery::{
    builtin::ResourceRow,
    schema::TypeId,
    status::{FieldError, Status},
};
use serde_json::Value;

use super::fill::schema_defaults;
use crate::registry::{Context, Propagation, SelectableField, Strategy, generic, value_at};

/// Collects mistakes.
pub(super) type Errors = Vec<FieldError>;

/// What is wrong with a name; see [`Strategy::check_name`].
pub(super) type CheckName = fn(&str, bool) -> Vec<String>;

/// See [`Rules::admit`].
pub(super) type Admit = fn(&Context<'_>, &mut Value) -> Result<(), Status>;

/// Turns an object into another version of itself.
pub(super) type Rewrite = fn(&mut Value);

/// The rules of a kind. Build it with struct update from [`Rules::of`].
pub(super) struct Rules {
    /// The object's type, for defaults that the schema declares.
    pub(super) root: Option<TypeId>,
    /// Defaults beyond those of the schema.
    pub(super) defaults: fn(&mut Value),
    /// Runs after the generic preparation of a new object.
    pub(super) on_create: fn(&mut Value),
    /// Runs after the generic preparation of a change, new before old.
    pub(super) on_update: fn(&mut Value, &Value),
    /// Whether a change that the kind's generation would not count counts, new before old.
    pub(super) also_counts: fn(&Value, &Value) -> bool,
    /// Adds to a new object what depends on others, or refuses it.
    pub(super) admit: Admit,
    /// Mistakes in an object, new or changed.
    pub(super) check: fn(&Value, &mut Errors),
    /// Mistakes in a new object, besides those of `check`, which come first.
    pub(super) check_new: fn(&Value, &mut Errors),
    /// Mistakes in a change, new before old; after those of `check`.
    pub(super) check_change: fn(&Value, &Value, &mut Errors),
    /// Mistakes in a status, new before old.
    pub(super) check_status: fn(&Value, &Value, &mut Errors),
    /// Remarks that do not stop a write of an object.
    pub(super) warnings: fn(&Value) -> Vec<String>,
    /// Names.
    pub(super) name: CheckName,
    /// Whether an object without a name is called by a fresh UUID.
    pub(super) names_itself: bool,
    /// Fields for selectors.
    pub(super) fields: Vec<SelectableField>,
    /// See [`Strategy::hidden_annotation`].
    pub(super) hidden_annotation: Option<&'static str>,
    /// Propagation without a wish.
    pub(super) propagation: Propagation,
    /// Whether DELETE answers with the object.
    pub(super) returns_deleted: bool,
    /// Whether PUT may create.
    pub(super) creates_on_update: bool,
    /// Whether PUT may leave the version out.
    pub(super) unconditional: bool,
    /// Whether finalizers must be qualified.
    pub(super) qualifies_finalizers: bool,
    /// Rewrites stored objects, and objects to be stored.
    pub(super) conversion: Option<(Rewrite, Rewrite)>,
}

/// Kinds whose DELETE answers with the object. Source: Kubernetes v1.35, `pkg/registry`, `ReturnDeletedObject`.
const RETURNS_DELETED: &[&str] = &[
    "serviceaccounts",
    "podtemplates",
    "resourcequotas",
    "persistentvolumes",
    "persistentvolumeclaims",
    "storageclasses",
    "csidrivers",
    "csinodes",
    "volumeattachments",
    "volumeattributesclasses",
    "deviceclasses",
    "resourceclaims",
    "resourceclaimtemplates",
    "resourceslices",
];

/// Kinds whose PUT makes what does not exist. Source: Kubernetes v1.35, `pkg/registry`, `AllowCreateOnUpdate`.
const CREATED_BY_PUT: &[&str] = &[
    "endpoints",
    "events",
    "limitranges",
    "leases",
    "roles",
    "rolebindings",
    "clusterroles",
    "clusterrolebindings",
    "runtimeclasses",
];

/// Kinds whose PUT must say which version it replaces. Source: Kubernetes v1.35, `pkg/registry`, `AllowUnconditionalUpdate`.
const CONDITIONAL: &[&str] = &[
    "poddisruptionbudgets",
    "leases",
    "csidrivers",
    "csinodes",
    "csistoragecapacities",
    "volumeattachments",
    "runtimeclasses",
    "validatingwebhookconfigurations",
    "mutatingwebhookconfigurations",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
];

impl Rules {
    /// Rules without any special one.
    pub(super) fn of(row: &ResourceRow) -> Self {
        Self {
            root: flotilla_machinery::builtin::schema().find(row.type_name),
            defaults: |_| {},
            on_create: |_| {},
            on_update: |_, _| {},
            also_counts: |_, _| false,
            admit: |_, _| Ok(()),
            check: |_, _| {},
            check_new: |_, _| {},
            check_change: |_, _, _| {},
            check_status: |_, _, _| {},
            warnings: |_| Vec::new(),
            name: generic::check_subdomain,
            names_itself: false,
            fields: Vec::new(),
            hidden_annotation: None,
            propagation: Propagation::Background,
            returns_deleted: RETURNS_DELETED.contains(&row.plural),
            creates_on_update: CREATED_BY_PUT.contains(&row.plural),
            unconditional: !CONDITIONAL.contains(&row.plural),
            qualifies_finalizers: row.group != "admissionregistration.k8s.io",
            conversion: None,
        }
    }

    /// With these fields for selectors.
    pub(super) fn with_fields(mut self, labels: &[&str]) -> Self {
        self.fields = labels
            .iter()
            .map(|label| SelectableField::new(label))
            .collect();
        self
    }
}

impl Strategy for Rules {
    fn fill_defaults(&self, object: &mut Value) {
        if let Some(root) = self.root {
            schema_defaults(object, root);
        }
        (self.defaults)(object);
    }

    fn prepare_create(&self, cx: &Context<'_>, object: &mut Value) {
        generic::prepare_create(cx, object);
        (self.on_create)(object);
    }

    fn prepare_update(&self, cx: &Context<'_>, new: &mut Value, old: &Value) {
        if cx.subresource.is_empty() {
            (self.on_update)(new, old);
        }
        generic::prepare_update(cx, new, old);
        if cx.subresource.is_empty() && (self.also_counts)(new, old) {
            generic::count_generation(new, old);
        }
    }

    fn allocate(
        &self,
        cx: &Context<'_>,
        object: &mut Value,
        old: Option<&Value>,
    ) -> Result<(), Status> {
        if old.is_some() {
            Ok(())
        } else {
            (self.admit)(cx, object)
        }
    }

    fn validate_create(&self, _: &Context<'_>, object: &Value) -> Errors {
        let mut errors = Errors::new();
        (self.check)(object, &mut errors);
        (self.check_new)(object, &mut errors);
        errors
    }

    fn validate_update(&self, cx: &Context<'_>, new: &Value, old: &Value) -> Errors {
        let mut errors = Errors::new();
        match cx.subresource {
            "" => {
                (self.check)(new, &mut errors);
                (self.check_change)(new, old, &mut errors);
            }
            "status" => (self.check_status)(new, old, &mut errors),
            _ => {}
        }
        errors
    }

    fn warnings(&self, cx: &Context<'_>, object: &Value, _: Option<&Value>) -> Vec<String> {
        if cx.subresource.is_empty() {
            (self.warnings)(object)
        } else {
            Vec::new()
        }
    }

    fn names_itself(&self) -> bool {
        self.names_itself
    }

    fn check_name(&self, name: &str, prefix: bool) -> Vec<String> {
        (self.name)(name, prefix)
    }

    fn qualifies_finalizers(&self) -> bool {
        self.qualifies_finalizers
    }

    fn selectable_fields(&self) -> &[SelectableField] {
        &self.fields
    }

    fn hidden_annotation(&self) -> Option<&'static str> {
        self.hidden_annotation
    }

    fn default_propagation(&self) -> Propagation {
        self.propagation
    }

    fn returns_deleted(&self) -> bool {
        self.returns_deleted
    }

    fn allows_unconditional_update(&self) -> bool {
        self.unconditional
    }

    fn allows_create_on_update(&self) -> bool {
        self.creates_on_update
    }

    fn read_stored(&self, object: &mut Value) {
        if let Some((read, _)) = self.conversion {
            read(object);
        }
    }

    fn write_stored(&self, object: &mut Value) {
        if let Some((_, write)) = self.conversion {
            write(object);
        }
    }
}

/// `path` must be the same in both.
pub(super) fn immutable(new: &Value, old: &Value, path: &str, errors: &mut Errors) {
    let value = value_at(new, path).unwrap_or(&Value::Null);
    if value != value_at(old, path).unwrap_or(&Value::Null) {
        errors.push(FieldError::invalid(
            path,
            value.clone(),
            "field is immutable",
        ));
    }
}

/// A number at `path` must not be negative.
pub(super) fn not_negative(object: &Value, path: &str, errors: &mut Errors) {
    if let Some(number) = value_at(object, path).and_then(Value::as_i64)
        && number < 0
    {
        let detail = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(path, number, detail));
    }
}

/// Text at `path` must be one of `supported`; empty text is required instead.
pub(super) fn one_of(value: &Value, path: &str, supported: &[&str], errors: &mut Errors) {
    match value.as_str().unwrap_or_default() {
        "" => errors.push(FieldError::required(path, "")),
        text if supported.contains(&text) => {}
        text => errors.push(FieldError::not_supported(path, text, supported)),
    }
}
