//! Objects as JSON, read and written as they are. kube's own type for objects of any kind buffers what it flattens, which costs several times
//! what parsing does.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Client, Resource,
    api::{DeleteParams, GetParams, PostParams},
    core::{ApiResource, DynamicResourceScope, Request},
};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{key::Key, kinds::Kind};

/// Name in managed fields.
const FIELD_MANAGER: &str = "flotilla-gslb";

/// An object of any kind, of which only what a watch needs is understood.
#[derive(Clone, Debug)]
pub(super) struct Object {
    /// Names, version and UID; nothing else.
    pub(super) metadata: ObjectMeta,
    /// The whole object.
    pub(super) json: Value,
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object, D::Error> {
        let json = Value::deserialize(deserializer)?;
        let text = |field: &str| json["metadata"][field].as_str().map(str::to_owned);
        let metadata = ObjectMeta {
            name: text("name"),
            namespace: text("namespace"),
            resource_version: text("resourceVersion"),
            uid: text("uid"),
            // Marks the end of an initial list that is streamed.
            annotations: Deserialize::deserialize(&json["metadata"]["annotations"])
                .unwrap_or_default(),
            ..ObjectMeta::default()
        };
        Ok(Object { metadata, json })
    }
}

impl Resource for Object {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn api_version(resource: &ApiResource) -> Cow<'_, str> {
        resource.api_version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// A part of an object that is written by itself.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Spec,
    Status,
}

/// One step of a JSON patch (RFC 6902).
#[derive(Serialize)]
struct Step<'a> {
    op: &'static str,
    path: &'static str,
    value: &'a Value,
}

/// One object on the API server.
pub(super) struct Place<'a> {
    client: &'a Client,
    requests: Request,
    name: &'a str,
    post: PostParams,
}

impl<'a> Place<'a> {
    pub(super) fn new(client: &'a Client, kind: Kind, key: &'a Key) -> Place<'a> {
        let home = kind.home();
        let gvk = kube::core::GroupVersionKind::gvk(home.group, home.versions[0], home.kind);
        let resource = ApiResource::from_gvk_with_plural(&gvk, home.plural);
        let namespace = Some(key.namespace.as_str()).filter(|namespace| !namespace.is_empty());
        Place {
            client,
            requests: Request::new(Object::url_path(&resource, namespace)),
            name: &key.name,
            post: PostParams {
                field_manager: Some(FIELD_MANAGER.into()),
                ..PostParams::default()
            },
        }
    }

    /// The object, if it is there.
    pub(super) async fn get(&self) -> Result<Option<Value>, kube::Error> {
        let request = self.requests.get(self.name, &GetParams::default());
        let request = request.map_err(kube::Error::BuildRequest)?;
        match self.client.request(request).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            other => other.map(Some),
        }
    }

    pub(super) async fn create(&self, object: &Value) -> Result<(), kube::Error> {
        let request = self.requests.create(&self.post, octets(object)?);
        self.send(request).await
    }

    pub(super) async fn replace(&self, object: &Value) -> Result<(), kube::Error> {
        let request = self
            .requests
            .replace(self.name, &self.post, octets(object)?);
        self.send(request).await
    }

    /// Makes a part of the object this, whatever the rest is; it is fine if the object is gone.
    pub(super) async fn set(&self, part: Part, value: &Value) -> Result<(), kube::Error> {
        let (path, sub) = match part {
            Part::Spec => ("/spec", ""),
            Part::Status => ("/status", "/status"),
        };
        // `add` also replaces what is there (RFC 6902 §4.1).
        let patch = [Step {
            op: "add",
            path,
            value,
        }];
        let patch = serde_json::to_vec(&patch).map_err(kube::Error::SerdeError)?;
        let (base, name) = (&self.requests.url_path, self.name);
        let request =
            http::Request::patch(format!("{base}/{name}{sub}?fieldManager={FIELD_MANAGER}"))
                .header("content-type", "application/json-patch+json")
                .body(patch)
                .map_err(kube::core::request::Error::BuildRequest);
        match self.send(request).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            other => other,
        }
    }

    /// Deletes the object; it is fine if it is gone.
    pub(super) async fn delete(&self) -> Result<(), kube::Error> {
        let request = self.requests.delete(self.name, &DeleteParams::default());
        match self.send(request).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            other => other,
        }
    }

    /// Sends a request whose reply says nothing that its watch will not say.
    async fn send(
        &self,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<(), kube::Error> {
        let request = request.map_err(kube::Error::BuildRequest)?;
        self.client.request_text(request).await.map(drop)
    }
}

fn octets(object: &Value) -> Result<Vec<u8>, kube::Error> {
    serde_json::to_vec(object).map_err(kube::Error::SerdeError)
}
