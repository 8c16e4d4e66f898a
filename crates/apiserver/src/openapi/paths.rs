//! Paths: which operations a resource has and which parameters they take.
//!
//! Clients look here for three things: the kind behind a path (`kubectl explain`), whether PATCH takes
//! `dryRun` and `fieldValidation`, and the body's definition. Nothing else is described.

use serde_json::{Map, Value, json};

use super::Flavor;
use crate::registry::{Resource, Subresource, Verb, Verbs};

const WRITE: &[(&str, &str)] = &[
    ("dryRun", "string"),
    ("fieldManager", "string"),
    ("fieldValidation", "string"),
];
const DELETE: &[(&str, &str)] = &[
    ("dryRun", "string"),
    ("gracePeriodSeconds", "integer"),
    ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
];
const LIST: &[(&str, &str)] = &[
    ("allowWatchBookmarks", "boolean"),
    ("continue", "string"),
    ("fieldSelector", "string"),
    ("labelSelector", "string"),
    ("limit", "integer"),
    ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"),
    ("sendInitialEvents", "boolean"),
    ("timeoutSeconds", "integer"),
    ("watch", "boolean"),
];
/// Custom resources take all but the last: kubectl picks its patch type by what is listed here.
const PATCH_TYPES: [&str; 4] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

/// The definition names a resource's operations use.
pub(super) struct Bodies<'a> {
    pub(super) object: &'a str,
    pub(super) list: &'a str,
}

/// Adds every path of `row`.
pub(super) fn add(
    out: &mut Map<String, Value>,
    flavor: Flavor,
    row: &Resource,
    bodies: &Bodies<'_>,
    kind_of: &dyn Fn(&Subresource) -> Option<String>,
) {
    let root = match &*row.group {
        "" => format!("/api/{}", row.version),
        group => format!("/apis/{group}/{}", row.version),
    };
    let scope = if row.namespaced {
        "/namespaces/{namespace}"
    } else {
        ""
    };
    let collection = format!("{root}{scope}/{}", row.plural);
    let item = format!("{collection}/{{name}}");
    let kind = [&*row.group, &*row.version, &*row.kind];
    let operation = |method: &str, action: &str, query: &[(&str, &str)], body: &str| {
        Operation {
            flavor,
            row,
            kind,
            method,
            action,
            query,
            body: Some(body),
        }
        .render()
    };
    let mut entries = Map::new();
    let mut add = |verb: Verb, method: &str, value: Value| {
        if row.verbs.contains(verb) {
            entries.insert(method.to_owned(), value);
        }
    };
    add(
        Verb::List,
        "get",
        operation("get", "list", LIST, bodies.list),
    );
    add(
        Verb::Create,
        "post",
        operation("post", "post", WRITE, bodies.object),
    );
    add(
        Verb::DeleteCollection,
        "delete",
        operation("delete", "deletecollection", LIST, STATUS),
    );
    insert(out, flavor, collection, entries);
    if row.namespaced && row.verbs.contains(Verb::List) {
        let mut everywhere = Map::new();
        everywhere.insert(
            "get".to_owned(),
            operation("get", "list", LIST, bodies.list),
        );
        insert(out, flavor, format!("{root}/{}", row.plural), everywhere);
    }
    let mut entries = Map::new();
    let mut add = |verb: Verb, method: &str, value: Value| {
        if row.verbs.contains(verb) {
            entries.insert(method.to_owned(), value);
        }
    };
    let patch: Vec<_> = WRITE
        .iter()
        .copied()
        .chain([("force", "boolean")])
        .collect();
    add(
        Verb::Get,
        "get",
        operation("get", "get", &[], bodies.object),
    );
    add(
        Verb::Update,
        "put",
        operation("put", "put", WRITE, bodies.object),
    );
    add(
        Verb::Patch,
        "patch",
        operation("patch", "patch", &patch, bodies.object),
    );
    add(
        Verb::Delete,
        "delete",
        operation("delete", "delete", DELETE, STATUS),
    );
    insert(out, flavor, item.clone(), entries);
    for sub in &row.subresources {
        let body = kind_of(sub);
        insert(
            out,
            flavor,
            format!("{item}/{}", sub.name),
            subresource(flavor, row, sub, body),
        );
    }
}

const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";

fn subresource(
    flavor: Flavor,
    row: &Resource,
    sub: &Subresource,
    body: Option<String>,
) -> Map<String, Value> {
    let mut entries = Map::new();
    let kind = [&*sub.group, &*sub.version, &*sub.kind];
    for (verb, method) in [
        (Verb::Get, "get"),
        (Verb::Create, "post"),
        (Verb::Update, "put"),
        (Verb::Patch, "patch"),
    ] {
        if has(sub.verbs, verb) {
            let query = if verb == Verb::Get { &[][..] } else { WRITE };
            let action = if verb == Verb::Get && body.is_none() {
                "connect"
            } else {
                method
            };
            let body = body.as_deref();
            let operation = Operation {
                flavor,
                row,
                kind,
                method,
                action,
                query,
                body,
            };
            entries.insert(method.to_owned(), operation.render());
        }
    }
    entries
}

fn has(verbs: Verbs, verb: Verb) -> bool {
    verbs.contains(verb)
}

fn insert(
    out: &mut Map<String, Value>,
    flavor: Flavor,
    path: String,
    mut entries: Map<String, Value>,
) {
    if entries.is_empty() {
        return;
    }
    let in_path = ["name", "namespace"]
        .into_iter()
        .filter(|name| path.contains(&format!("{{{name}}}")));
    let parameters: Vec<Value> = in_path
        .map(|name| parameter(flavor, "path", name, "string", true))
        .collect();
    if !parameters.is_empty() {
        entries.insert("parameters".to_owned(), parameters.into());
    }
    out.insert(path, entries.into());
}

/// One method on one path.
struct Operation<'a> {
    flavor: Flavor,
    row: &'a Resource,
    kind: [&'a str; 3],
    method: &'a str,
    action: &'a str,
    query: &'a [(&'a str, &'a str)],
    body: Option<&'a str>,
}

impl Operation<'_> {
    fn patch_types(&self) -> &'static [&'static str] {
        let n_types = PATCH_TYPES.len() - usize::from(self.row.custom.is_some());
        &PATCH_TYPES[..n_types]
    }

    fn render(&self) -> Value {
        let [group, version, kind] = self.kind;
        let mut parameters: Vec<Value> = self
            .query
            .iter()
            .map(|(name, ty)| parameter(self.flavor, "query", name, ty, false))
            .collect();
        let mut out = json!({
            "tags": [self.tag()],
            "x-kubernetes-action": self.action,
            "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": kind},
        });
        let schema = self.body.map(|name| self.flavor.reference(name));
        let takes_body = matches!(self.method, "post" | "put" | "patch");
        let media = if self.method == "patch" {
            self.patch_types()
        } else {
            &["application/json"]
        };
        let sent = match self.method {
            "patch" => Some(
                self.flavor
                    .reference("io.k8s.apimachinery.pkg.apis.meta.v1.Patch"),
            ),
            _ => schema.clone(),
        };
        let mut response = json!({"description": "OK"});
        match self.flavor {
            Flavor::V3 => {
                if let (true, Some(sent)) = (takes_body, &sent) {
                    let content: Map<String, Value> = media
                        .iter()
                        .map(|media| ((*media).to_owned(), json!({"schema": sent})))
                        .collect();
                    out["requestBody"] = json!({"required": true, "content": content});
                }
                if let Some(schema) = schema {
                    response["content"] = json!({"application/json": {"schema": schema}});
                }
            }
            Flavor::V2 => {
                out["consumes"] = if self.method == "patch" {
                    json!(media)
                } else {
                    json!(["*/*"])
                };
                out["produces"] = json!(["application/json", "application/yaml"]);
                out["schemes"] = json!(["https"]);
                if let (true, Some(sent)) = (takes_body, &sent) {
                    parameters.push(
                        json!({"in": "body", "name": "body", "required": true, "schema": sent}),
                    );
                }
                if let Some(schema) = schema {
                    response["schema"] = schema;
                }
            }
        }
        if !parameters.is_empty() {
            out["parameters"] = parameters.into();
        }
        out["responses"] = json!({"200": response});
        out
    }

    /// `core_v1`, `apps_v1`, `rbacAuthorization_v1`.
    fn tag(&self) -> String {
        let group = match &*self.row.group {
            "" => "core",
            group => group.strip_suffix(".k8s.io").unwrap_or(group),
        };
        let mut parts = group.split('.');
        let mut tag = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let mut letters = part.chars();
            tag.extend(letters.next().map(|first| first.to_ascii_uppercase()));
            tag.push_str(letters.as_str());
        }
        format!("{tag}_{}", self.row.version)
    }
}

fn parameter(flavor: Flavor, place: &str, name: &str, ty: &str, required: bool) -> Value {
    let mut out = json!({"in": place, "name": name});
    match flavor {
        Flavor::V2 => out["type"] = ty.into(),
        Flavor::V3 => out["schema"] = json!({"type": ty}),
    }
    if required {
        out["required"] = true.into();
    }
    out
}
