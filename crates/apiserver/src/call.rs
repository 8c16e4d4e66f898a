//! One API request on its way through a handler: everything known about it, in one place.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use flotilla_machinery::{
    group::{GroupKind, GroupResource},
    status::Status,
};
use http::HeaderMap;
use jiff::Timestamp;

use crate::{
    access::Identity,
    convert,
    engine::Engine,
    negotiate::{self, Accepted, Media},
    registry::{Context, Registry, Resource},
    request::RequestInfo,
    store::{ObjectKey, State},
};

/// A request for an API object or collection.
pub(crate) struct Call {
    pub(crate) engine: Arc<Engine>,
    pub(crate) info: RequestInfo,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) user: Identity,
    /// The state the request began with. Writes that are tried again take a newer one.
    pub(crate) state: Arc<State>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) resource: Arc<Resource>,
    pub(crate) accepted: Accepted,
    pub(crate) pretty: bool,
    pub(crate) now: Timestamp,
    pub(crate) body: Bytes,
    /// What webhooks have answered for it.
    pub(crate) conversions: convert::Memo,
    warnings: Mutex<Vec<String>>,
}

/// What the service knows before it makes a [`Call`].
pub(crate) struct Parts {
    pub(crate) info: RequestInfo,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) user: Identity,
    pub(crate) body: Bytes,
}

impl Call {
    /// Looks the resource up and settles the representation.
    ///
    /// # Errors
    /// 404 for unknown resources, 406 for representations nobody makes.
    pub(crate) fn new(engine: Arc<Engine>, parts: Parts) -> Result<Self, Status> {
        let state = engine.store.state();
        let registry = engine.registry(&state);
        let info = parts.info;
        let found = registry.get(&info.group, &info.version, &info.resource);
        let resource = found.ok_or_else(Status::unknown_resource)?.clone();
        if !info.subresource.is_empty() && resource.subresource(&info.subresource).is_none() {
            return Err(match resource.custom {
                Some(_) => {
                    let resource = GroupResource::new(&*resource.group, &*resource.plural);
                    Status::not_found(&resource, &info.name)
                }
                None => Status::unknown_resource(),
            });
        }
        let accepted = negotiate::accept(header(&parts.headers, "accept"))?;
        let agent = header(&parts.headers, "user-agent").unwrap_or("");
        Ok(Self {
            pretty: negotiate::pretty(&parts.query, agent),
            now: engine.now(),
            engine,
            info,
            query: parts.query,
            headers: parts.headers,
            user: parts.user,
            state,
            registry,
            resource,
            accepted,
            body: parts.body,
            conversions: convert::Memo::default(),
            warnings: Mutex::default(),
        })
    }

    /// A request header as text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// Syntax of the request body.
    ///
    /// # Errors
    /// 415 for types nobody decodes.
    pub(crate) fn media(&self) -> Result<Media, Status> {
        negotiate::content_type(self.header("content-type"))
    }

    /// Adds a `Warning` header to the response; repeated texts count once.
    pub(crate) fn warn(&self, text: impl Into<String>) {
        let text = text.into();
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if !warnings.contains(&text) {
            warnings.push(text);
        }
    }

    /// The warnings so far, taken.
    pub(crate) fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What hooks of the kind may know, in `state`.
    pub(crate) fn context<'a>(&'a self, state: &'a State, dry_run: bool) -> Context<'a> {
        Context {
            resource: &self.resource,
            subresource: &self.info.subresource,
            now: self.now,
            entropy: self.engine.entropy(),
            dry_run,
            user: &self.user,
            state,
        }
    }

    /// Where the named object lives in its collection.
    pub(crate) fn key(&self) -> ObjectKey {
        self.key_of(&self.info.name)
    }

    /// Where an object of this name in the request's namespace lives.
    pub(crate) fn key_of(&self, name: &str) -> ObjectKey {
        let namespace = if self.resource.namespaced {
            self.info.namespace.as_str()
        } else {
            ""
        };
        ObjectKey::new(namespace, name)
    }

    /// The namespace a list is about; `None` for all and for cluster-scoped resources.
    pub(crate) fn list_namespace(&self) -> Option<&str> {
        let namespaced = self.resource.namespaced && !self.info.namespace.is_empty();
        namespaced.then_some(self.info.namespace.as_str())
    }

    /// The resource as messages name it.
    pub(crate) fn group_resource(&self) -> GroupResource {
        GroupResource::new(&*self.resource.group, &*self.resource.plural)
    }

    /// The kind as messages name it: in the group it is stored in, which is the core group for all events.
    pub(crate) fn group_kind(&self) -> GroupKind {
        GroupKind::new(&*self.resource.storage.group, &*self.resource.kind)
    }

    /// The named object does not exist.
    pub(crate) fn not_found(&self) -> Status {
        Status::not_found(&self.group_resource(), &self.info.name)
    }

    /// Whom changed fields belong to: `fieldManager`, or the first word of the user agent.
    pub(crate) fn manager(&self, asked: &str) -> String {
        if !asked.is_empty() {
            return asked.to_owned();
        }
        let agent = self.header("user-agent").unwrap_or("");
        let first = agent.split('/').next().unwrap_or("");
        let cut = (0..=first.len().min(MANAGER_BYTES_MAX))
            .rev()
            .find(|at| first.is_char_boundary(*at));
        let first = &first[..cut.unwrap_or(0)];
        if first.is_empty() {
            "unknown".to_owned()
        } else {
            first.to_owned()
        }
    }
}

const MANAGER_BYTES_MAX: usize = 128;

/// A header as text; `None` when absent or not text.
pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
