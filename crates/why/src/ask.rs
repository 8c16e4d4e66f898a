//! Gathers the facts from a cluster, and only those that the object needs.

use flotilla_machinery::group::split_api_version;
use futures::stream::{self, StreamExt};
use http::{Method, Request as HttpRequest, header};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use kube::Client;
use serde_json::{Value, json};

use crate::facts::{Content, Facts, Request, list, text};

/// Questions at a time.
const PARALLEL: usize = 16;
/// Objects of one answer.
const PAGE: usize = 500;
/// Answers for one resource; more than 10,000 objects are not counted further.
const PAGES_MAX: usize = 20;

/// Why nothing can be explained.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A misspelt kind, or one that the cluster does not serve.
    #[error("the cluster has no kind {0:?}; `kubectl api-resources` lists what it has")]
    NoSuchKind(String),
    /// No such object.
    #[error("there is no {kind} {name:?}{within}", within = within(.namespace))]
    NoSuchObject {
        /// Kind as it was asked for.
        kind: String,
        /// Name.
        name: String,
        /// Namespace, empty for cluster-scoped kinds.
        namespace: String,
    },
    /// The cluster did not answer, or refused.
    #[error("cannot read {0}")]
    Api(String, #[source] Box<kube::Error>),
}

fn within(namespace: &str) -> String {
    match namespace {
        "" => String::new(),
        namespace => format!(" in the namespace {namespace:?}; -n chooses another"),
    }
}

/// What to explain.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// Kind, plural, singular or short name; with `.group` when several groups have it.
    pub kind: String,
    /// Name.
    pub name: String,
    /// Namespace; of no meaning for cluster-scoped kinds.
    pub namespace: String,
    /// User whose request is to be explained; empty for none.
    pub user: String,
    /// The user's groups, beside those that every user or service account has.
    pub groups: Vec<String>,
    /// What the user would do.
    pub verb: String,
    /// Endpoint below the object, or empty.
    pub subresource: String,
}

/// A resource that the cluster serves.
#[derive(Clone, Debug)]
struct Resource {
    group: String,
    api_version: String,
    plural: String,
    kind: String,
    names: Vec<String>,
    namespaced: bool,
    listable: bool,
}

/// Asks the cluster.
///
/// # Errors
/// When the object itself cannot be read; what else cannot be read is a gap in the facts.
pub async fn facts(client: &Client, ask: &Ask, now: Timestamp) -> Result<Facts, Error> {
    let mut gaps = Vec::new();
    let resources = discover(client, &mut gaps).await?;
    let resource = resources
        .iter()
        .find(|r| r.is_called(&ask.kind))
        .ok_or_else(|| Error::NoSuchKind(ask.kind.clone()))?;
    let path = resource.path(&ask.namespace, &ask.name);
    let object = get(client, &path).await.map_err(|error| match error {
        kube::Error::Api(status) if status.code == 404 => Error::NoSuchObject {
            kind: ask.kind.clone(),
            name: ask.name.clone(),
            namespace: match resource.namespaced {
                true => ask.namespace.clone(),
                false => String::new(),
            },
        },
        error => Error::Api(path.clone(), Box::new(error)),
    })?;
    let mut facts = Facts {
        object,
        plural: resource.plural.clone(),
        group: resource.group.clone(),
        gaps,
        now,
        ..Facts::default()
    };
    let asker = Asker {
        client,
        resources: &resources,
    };
    asker.relatives(&mut facts).await;
    asker.surroundings(&mut facts).await;
    if !ask.user.is_empty() {
        let request = asker.request(ask, &mut facts).await;
        facts.request = Some(request);
    }
    Ok(facts)
}

struct Asker<'a> {
    client: &'a Client,
    resources: &'a [Resource],
}

impl Asker<'_> {
    /// Owners, and dependents when the deletion waits for them.
    async fn relatives(&self, facts: &mut Facts) {
        let namespace = text(&facts.object, "/metadata/namespace").to_owned();
        for reference in list(&facts.object.clone(), "/metadata/ownerReferences") {
            let (group, _) = split_api_version(text(reference, "/apiVersion")).unwrap_or_default();
            let kind = text(reference, "/kind");
            let found = self
                .resources
                .iter()
                .find(|r| r.group == group && r.kind == kind);
            let Some(resource) = found else {
                let gap =
                    format!("the cluster does not serve {kind} of {group:?}, an owner's kind");
                facts.gaps.push(gap);
                continue;
            };
            let path = resource.path(&namespace, text(reference, "/name"));
            match get(self.client, &path).await {
                Ok(owner) => facts.owners.push(owner),
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(error) => facts.gaps.push(format!("{path}: {error}")),
            }
        }
        let uid = text(&facts.object, "/metadata/uid").to_owned();
        if !has_finalizer(&facts.object, "foregroundDeletion") {
            return;
        }
        let owned = |object: &Value| {
            let references = list(object, "/metadata/ownerReferences");
            references.iter().any(|r| text(r, "/uid") == uid)
        };
        let contents = self.contents(&namespace, &mut facts.gaps).await;
        let objects = contents.into_iter().flat_map(|c| c.objects);
        facts.dependents = objects.filter(owned).collect();
    }

    /// What the kind of the object needs to know beside it.
    async fn surroundings(&self, facts: &mut Facts) {
        let object = facts.object.clone();
        let deleting = !text(&object, "/metadata/deletionTimestamp").is_empty();
        let name = text(&object, "/metadata/name");
        let namespace = text(&object, "/metadata/namespace");
        match (facts.group.as_str(), facts.plural.as_str()) {
            ("", "namespaces") if deleting => {
                facts.content = self.contents(name, &mut facts.gaps).await;
            }
            ("apiextensions.k8s.io", "customresourcedefinitions") if deleting => {
                let group = text(&object, "/spec/group");
                let plural = text(&object, "/spec/names/plural");
                let of = |r: &&Resource| r.group == group && r.plural == plural;
                for resource in self.resources.iter().filter(of) {
                    match self.metadata(resource, "").await {
                        Ok(content) => facts.content.push(content),
                        Err(gap) => facts.gaps.push(gap),
                    }
                }
            }
            ("", "persistentvolumeclaims") if deleting => {
                let uses = |pod: &Value| {
                    let mut volumes = list(pod, "/spec/volumes").iter();
                    volumes.any(|v| text(v, "/persistentVolumeClaim/claimName") == name)
                };
                let path = format!("/api/v1/namespaces/{namespace}/pods");
                let pods = self.items(&path, &mut facts.gaps).await;
                facts.pods = pods.into_iter().filter(uses).collect();
            }
            ("", "services") => {
                let selector = object["spec"]["selector"].as_object();
                let pairs = selector.into_iter().flatten();
                let pairs = pairs.map(|(k, v)| format!("{k}%3D{}", v.as_str().unwrap_or("")));
                let selector = pairs.collect::<Vec<_>>().join("%2C");
                if !selector.is_empty() {
                    let path =
                        format!("/api/v1/namespaces/{namespace}/pods?labelSelector={selector}");
                    facts.pods = self.items(&path, &mut facts.gaps).await;
                }
                let path = format!(
                    "/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices?\
                     labelSelector=kubernetes.io%2Fservice-name%3D{name}"
                );
                facts.slices = self.items(&path, &mut facts.gaps).await;
            }
            _ => {}
        }
    }

    /// The review of a request, and the objects that speak about it.
    async fn request(&self, ask: &Ask, facts: &mut Facts) -> Request {
        let namespace = text(&facts.object, "/metadata/namespace").to_owned();
        let mut groups = groups(&ask.user);
        groups.extend(ask.groups.iter().cloned());
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": ask.user, "groups": groups, "resourceAttributes": {
                "namespace": namespace, "verb": ask.verb, "group": facts.group,
                "resource": facts.plural, "subresource": ask.subresource, "name": ask.name}},
        });
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let review = match post(self.client, path, &review).await {
            Ok(mut review) => review["status"].take(),
            Err(error) => {
                facts.gaps.push(format!("{path}: {error}"));
                Value::Null
            }
        };
        let rbac = "/apis/rbac.authorization.k8s.io/v1";
        let gaps = &mut facts.gaps;
        let mut roles = self
            .kinds(&format!("{rbac}/clusterroles"), "ClusterRole", gaps)
            .await;
        let mut bindings = self
            .items(&format!("{rbac}/clusterrolebindings"), gaps)
            .await;
        let (mut quotas, mut limits) = (Vec::new(), Vec::new());
        if !namespace.is_empty() {
            let within = format!("{rbac}/namespaces/{namespace}");
            roles.extend(self.kinds(&format!("{within}/roles"), "Role", gaps).await);
            bindings.extend(self.items(&format!("{within}/rolebindings"), gaps).await);
            let within = format!("/api/v1/namespaces/{namespace}");
            quotas = self.items(&format!("{within}/resourcequotas"), gaps).await;
            limits = self.items(&format!("{within}/limitranges"), gaps).await;
        }
        Request {
            user: ask.user.clone(),
            groups,
            verb: ask.verb.clone(),
            subresource: ask.subresource.clone(),
            review,
            roles,
            bindings,
            quotas,
            limits,
        }
    }

    /// Everything of a namespace, or everything there is when it is empty.
    async fn contents(&self, namespace: &str, gaps: &mut Vec<String>) -> Vec<Content> {
        let wanted = |r: &&Resource| r.listable && (r.namespaced || namespace.is_empty());
        let asked = self.resources.iter().filter(wanted);
        let answers = stream::iter(asked)
            .map(|resource| self.metadata(resource, namespace))
            .buffer_unordered(PARALLEL)
            .collect::<Vec<_>>()
            .await;
        let mut contents = Vec::new();
        for answer in answers {
            match answer {
                Ok(content) => contents.push(content),
                Err(gap) => gaps.push(gap),
            }
        }
        contents.sort_by(|a: &Content, b| a.resource.cmp(&b.resource));
        contents
    }

    /// Metadata of all objects of a resource.
    async fn metadata(&self, resource: &Resource, namespace: &str) -> Result<Content, String> {
        let path = resource.path(namespace, "");
        let mut objects = pages(self.client, &path, true)
            .await
            .map_err(|error| format!("{path}: {error}"))?;
        for object in &mut objects {
            object["kind"] = resource.kind.clone().into();
        }
        let dot = if resource.group.is_empty() { "" } else { "." };
        Ok(Content {
            resource: format!("{}{dot}{}", resource.plural, resource.group),
            objects,
        })
    }

    async fn items(&self, path: &str, gaps: &mut Vec<String>) -> Vec<Value> {
        match pages(self.client, path, false).await {
            Ok(items) => items,
            Err(error) => {
                gaps.push(format!("{path}: {error}"));
                Vec::new()
            }
        }
    }

    /// As [`Self::items`], with the kind that items of a list do not have.
    async fn kinds(&self, path: &str, kind: &str, gaps: &mut Vec<String>) -> Vec<Value> {
        let mut items = self.items(path, gaps).await;
        for item in &mut items {
            item["kind"] = kind.into();
        }
        items
    }
}

/// Groups that a user has without being told.
fn groups(user: &str) -> Vec<String> {
    let mut out = vec!["system:authenticated".to_owned()];
    if user == "system:anonymous" {
        out = vec!["system:unauthenticated".to_owned()];
    }
    let account = user.strip_prefix("system:serviceaccount:");
    if let Some((namespace, _)) = account.and_then(|rest| rest.split_once(':')) {
        out.push("system:serviceaccounts".to_owned());
        out.push(format!("system:serviceaccounts:{namespace}"));
    }
    out
}

fn has_finalizer(object: &Value, name: &str) -> bool {
    list(object, "/metadata/finalizers")
        .iter()
        .any(|f| f == name)
}

impl Resource {
    fn is_called(&self, asked: &str) -> bool {
        let asked = asked.to_lowercase();
        let (name, group) = match asked.split_once('.') {
            Some((name, group)) => (name, Some(group)),
            None => (asked.as_str(), None),
        };
        self.names.iter().any(|n| n == name) && group.is_none_or(|g| g == self.group)
    }

    /// Where objects are, or one of them.
    fn path(&self, namespace: &str, name: &str) -> String {
        let root = match self.group.as_str() {
            "" => "/api",
            _ => "/apis",
        };
        let mut path = format!("{root}/{}", self.api_version);
        if self.namespaced && !namespace.is_empty() {
            path.push_str(&format!("/namespaces/{namespace}"));
        }
        path.push_str(&format!("/{}", self.plural));
        if !name.is_empty() {
            path.push_str(&format!("/{name}"));
        }
        path
    }
}

/// All resources in the preferred version of their group, the core group first. Groups that do not
/// answer are gaps, not failures: that is often the very thing to be found out.
async fn discover(client: &Client, gaps: &mut Vec<String>) -> Result<Vec<Resource>, Error> {
    let failed = |what: &str, error| Error::Api(what.to_owned(), Box::new(error));
    let core = client.list_core_api_resources("v1").await;
    let mut out = resources(core.map_err(|e| failed("/api/v1", e))?);
    let groups = client.list_api_groups().await;
    let groups = groups.map_err(|e| failed("/apis", e))?.groups;
    let preferred = groups.into_iter().filter_map(|group| {
        let first = group.versions.first().cloned();
        Some(group.preferred_version.or(first)?.group_version)
    });
    let asked = stream::iter(preferred).map(|version| async move {
        let answer = client.list_api_group_resources(&version).await;
        answer.map_err(|error| format!("discovery of {version}: {error}"))
    });
    let answers: Vec<_> = asked.buffered(PARALLEL).collect().await;
    for answer in answers {
        match answer {
            Ok(found) => out.extend(resources(found)),
            Err(gap) => gaps.push(gap),
        }
    }
    Ok(out)
}

fn resources(found: APIResourceList) -> Vec<Resource> {
    let api_version = found.group_version;
    let (group, _) = split_api_version(&api_version).unwrap_or_default();
    let plain = found
        .resources
        .into_iter()
        .filter(|r| !r.name.contains('/'));
    plain
        .map(|r| {
            let mut names = vec![r.name.clone(), r.singular_name, r.kind.to_lowercase()];
            names.extend(r.short_names.unwrap_or_default());
            Resource {
                group: group.to_owned(),
                api_version: api_version.clone(),
                plural: r.name,
                kind: r.kind,
                names,
                namespaced: r.namespaced,
                listable: r.verbs.iter().any(|v| v == "list"),
            }
        })
        .collect()
}

async fn get(client: &Client, path: &str) -> Result<Value, kube::Error> {
    client
        .request(build(HttpRequest::get(path), Vec::new())?)
        .await
}

async fn post(client: &Client, path: &str, body: &Value) -> Result<Value, kube::Error> {
    let request = HttpRequest::builder()
        .method(Method::POST)
        .uri(path)
        .header(header::CONTENT_TYPE, "application/json");
    let body = body.to_string().into_bytes();
    client.request(build(request, body)?).await
}

fn build(
    request: http::request::Builder,
    body: Vec<u8>,
) -> Result<HttpRequest<Vec<u8>>, kube::Error> {
    request.body(body).map_err(kube::Error::HttpError)
}

/// The items of a list, page by page.
async fn pages(client: &Client, path: &str, metadata: bool) -> Result<Vec<Value>, kube::Error> {
    const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let mut items = Vec::new();
    let mut token = String::new();
    for _ in 0..PAGES_MAX {
        let separator = if path.contains('?') { '&' } else { '?' };
        let uri = format!("{path}{separator}limit={PAGE}&continue={token}");
        let accept = if metadata {
            METADATA
        } else {
            "application/json"
        };
        let request = HttpRequest::get(uri).header(header::ACCEPT, accept);
        let mut page: Value = client.request(build(request, Vec::new())?).await?;
        if let Value::Array(more) = page["items"].take() {
            items.extend(more);
        }
        token = text(&page, "/metadata/continue").to_owned();
        if token.is_empty() {
            break;
        }
    }
    Ok(items)
}
