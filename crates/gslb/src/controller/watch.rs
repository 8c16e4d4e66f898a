//! Watching one kind of objects for as long as the controller lives.
//!
//! Objects are read as JSON and handed on one by one; only the world keeps anything of them. A kind the cluster does
//! not know is reported as absent and looked for again, so definitions may come after us.

use std::time::Duration;

use futures::{StreamExt, pin_mut};
use kube::{
    Api, Client,
    core::{ApiResource, GroupVersionKind},
    runtime::watcher::{self, Event, watcher},
};
use serde_json::Value;
use tokio::sync::mpsc;

use super::object::Object;
use crate::{
    engine::Input,
    key::Key,
    kinds::{Home, Kind},
    world::Change,
};

/// How long until an absent kind is looked for again.
const ABSENT_RETRY: Duration = Duration::from_secs(3);
/// Waits after failed lists and watches: doubling from the first to the last.
const RETRY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));

/// Watches `kind` until the engine is gone.
pub(super) async fn run(client: Client, kind: Kind, inputs: mpsc::Sender<Input>) {
    let home = kind.home();
    let mut told_absent = false;
    loop {
        for version in home.versions {
            match follow(&client, kind, home, version, &inputs).await {
                End::Unknown => {}
                End::Closed => return,
            }
        }
        if !told_absent {
            tracing::debug!(kind = home.kind, group = home.group, "Kind is absent");
            told_absent = true;
        }
        if inputs
            .send(Input::Watch(kind, Change::Absent))
            .await
            .is_err()
        {
            return;
        }
        tokio::time::sleep(ABSENT_RETRY).await;
    }
}

/// Why a watch ended for good.
enum End {
    /// The cluster does not know the kind in this version.
    Unknown,
    /// The engine is gone.
    Closed,
}

async fn follow(
    client: &Client,
    kind: Kind,
    home: Home,
    version: &str,
    inputs: &mpsc::Sender<Input>,
) -> End {
    let gvk = GroupVersionKind::gvk(home.group, version, home.kind);
    let resource = ApiResource::from_gvk_with_plural(&gvk, home.plural);
    let api: Api<Object> = Api::all_with(client.clone(), &resource);
    let stream = watcher(api, watcher::Config::default());
    pin_mut!(stream);
    let mut listing = Vec::new();
    let mut wait = RETRY.0;
    while let Some(event) = stream.next().await {
        let change = match event {
            Ok(event) => {
                wait = RETRY.0;
                change(event, &mut listing)
            }
            Err(error) if is_unknown(&error) => return End::Unknown,
            Err(error) => {
                tracing::debug!(kind = home.kind, %error, "Watch failed, trying again");
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(RETRY.1);
                None
            }
        };
        if let Some(change) = change
            && inputs.send(Input::Watch(kind, change)).await.is_err()
        {
            return End::Closed;
        }
    }
    End::Closed
}

/// The change an event means; objects of a list are gathered until it is complete.
fn change(event: Event<Object>, listing: &mut Vec<Value>) -> Option<Change> {
    match event {
        Event::Apply(object) => Some(Change::Put(object.json)),
        Event::Delete(object) => {
            let metadata = object.metadata;
            Some(Change::Gone(Key::new(
                metadata.namespace.unwrap_or_default(),
                metadata.name.unwrap_or_default(),
            )))
        }
        Event::Init => {
            listing.clear();
            None
        }
        Event::InitApply(object) => {
            listing.push(object.json);
            None
        }
        Event::InitDone => Some(Change::Listed(std::mem::take(listing))),
    }
}

fn is_unknown(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status)) => status.code == 404,
        watcher::Error::WatchError(status) => status.code == 404,
        _ => false,
    }
}
