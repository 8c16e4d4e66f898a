//! Which resources the server serves now, for the controllers that deal with all of them.

use std::{sync::Arc, time::Duration};

use kube::{
    Client,
    core::{DynamicResourceScope, Resource},
    discovery::{ApiResource, Discovery, Scope, verbs},
};
use tokio::sync::{Notify, watch};

/// How long a new kind may stay unnoticed when no definition was seen to change.
const REFRESH: Duration = Duration::from_secs(30);

/// Definitions often change in bursts; they are waited for.
const SETTLE: Duration = Duration::from_millis(250);

/// One resource in its preferred version.
#[derive(Clone, Debug)]
pub(super) struct Served {
    pub(super) api: ApiResource,
    pub(super) namespaced: bool,
    verbs: Vec<String>,
}

/// The resources that the server serves, kept fresh.
#[derive(Clone)]
pub(super) struct Resources {
    client: Client,
    known: watch::Sender<Arc<Vec<Served>>>,
    changed: Arc<Notify>,
}

impl Served {
    pub(super) fn allows(&self, verb: &str) -> bool {
        self.verbs.iter().any(|known| known == verb)
    }

    /// Whether garbage collection and namespaces deal with it: it can be listed, watched and deleted. Events come and go by
    /// themselves.
    pub(super) fn is_collected(&self) -> bool {
        let needed = [verbs::LIST, verbs::WATCH, verbs::DELETE];
        needed.iter().all(|verb| self.allows(verb)) && self.api.kind != "Event"
    }
}

impl Resources {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            known: watch::Sender::new(Arc::default()),
            changed: Arc::default(),
        }
    }

    /// Asks the server again and again. The first answer comes at once.
    pub(super) async fn follow(self) {
        loop {
            match discover(self.client.clone()).await {
                Ok(found) => {
                    self.known.send_if_modified(|known| {
                        let changed = names(known) != names(&found);
                        if changed {
                            *known = Arc::new(found);
                        }
                        changed
                    });
                }
                Err(error) => tracing::debug!(%error, "Resources could not be listed"),
            }
            let known = !self.known.borrow().is_empty();
            let pause = if known { REFRESH } else { SETTLE };
            if tokio::time::timeout(pause, self.changed.notified())
                .await
                .is_ok()
            {
                tokio::time::sleep(SETTLE).await;
            }
        }
    }

    /// Says that a definition changed.
    pub(super) fn refresh(&self) {
        self.changed.notify_one();
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<Arc<Vec<Served>>> {
        self.known.subscribe()
    }

    pub(super) fn now(&self) -> Arc<Vec<Served>> {
        self.known.borrow().clone()
    }

    /// What serves a kind, in whichever version.
    pub(super) fn of_kind(&self, api_version: &str, kind: &str) -> Option<Served> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let known = self.now();
        known
            .iter()
            .find(|served| served.api.group == group && served.api.kind == kind)
            .cloned()
    }

    /// Everything, asked for now.
    ///
    /// # Errors
    /// When the server does not answer completely.
    pub(super) async fn fresh(&self) -> kube::Result<Vec<Served>> {
        discover(self.client.clone()).await
    }
}

fn names(known: &[Served]) -> Vec<(&str, &str)> {
    known
        .iter()
        .map(|served| (served.api.api_version.as_str(), served.api.plural.as_str()))
        .collect()
}

async fn discover(client: Client) -> kube::Result<Vec<Served>> {
    let discovery = Discovery::new(client).run().await?;
    let resources = discovery
        .groups()
        .flat_map(|group| group.recommended_resources());
    let resources = resources.map(|(api, capabilities)| Served {
        namespaced: capabilities.scope == Scope::Namespaced,
        verbs: capabilities.operations,
        api,
    });
    let mut resources: Vec<_> = resources.collect();
    resources.sort_by(|a, b| (&a.api.group, &a.api.plural).cmp(&(&b.api.group, &b.api.plural)));
    Ok(resources)
}

/// An interface to all objects of a resource, or to those of one namespace.
pub(super) fn api<K>(client: &Client, served: &Served, namespace: &str) -> kube::Api<K>
where
    K: Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>,
{
    if served.namespaced && !namespace.is_empty() {
        kube::Api::namespaced_with(client.clone(), namespace, &served.api)
    } else {
        kube::Api::all_with(client.clone(), &served.api)
    }
}
