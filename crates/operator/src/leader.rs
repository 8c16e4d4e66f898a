//! Which of several replicas writes: a Lease, with client-go's timing and semantics.
//!
//! Every replica looks at the Lease. One that finds it free, or not renewed for as long as it was taken for, takes it;
//! the API server's version check lets only one win. Time is counted on the own clock from when a change of the Lease
//! was *seen*, so clocks that disagree elect nobody twice. A leader that cannot renew in time stops leading before
//! anybody else may start. [`Election`] decides; [`run`] asks and writes.

mod election;

use std::time::Duration;

use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff::Timestamp,
};
use kube::{
    Api, Client,
    api::{ObjectMeta, PostParams},
};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::reconcile::chain;

pub use self::election::{Election, Held, Step};

/// Name in managed fields.
const FIELD_MANAGER: &str = "flotilla-leader-election";

/// How to elect.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Namespace of the Lease.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Who we are; differs between replicas.
    pub identity: String,
    /// How long a leader that is gone keeps others out, in whole seconds. client-go: 15 s.
    pub lease: Duration,
    /// How long a leader that cannot renew goes on; shorter than `lease`. client-go: 10 s.
    pub deadline: Duration,
    /// How often the Lease is looked at. client-go: 2 s.
    pub retry: Duration,
}

impl Settings {
    /// client-go's timing.
    pub fn new(namespace: &str, name: &str, identity: &str) -> Settings {
        Settings {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            identity: identity.to_owned(),
            lease: Duration::from_secs(15),
            deadline: Duration::from_secs(10),
            retry: Duration::from_secs(2),
        }
    }
}

/// Takes part in the election until `stop` is cancelled, then gives the Lease up if it is ours. `leading` says at any
/// time whether we lead.
pub async fn run(
    client: Client,
    settings: Settings,
    leading: watch::Sender<bool>,
    stop: CancellationToken,
) {
    let api: Api<Lease> = Api::namespaced(client, &settings.namespace);
    let mut election = Election::new(settings.clone());
    let mut told = None;
    loop {
        // The look itself may hang; a leader must not go on meanwhile.
        let patience = settings.deadline.min(settings.lease);
        let look = tokio::time::timeout(patience, step(&api, &settings, &mut election));
        let outcome = tokio::select! {
            outcome = look => outcome,
            () = stop.cancelled() => break,
        };
        let failure = match outcome {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(chain(&error)),
            Err(_) => Some("the API server does not answer".to_owned()),
        };
        // Without the Lease nothing is written, which must not happen in silence; every look fails alike, so it is told once.
        if let Some(error) = failure.as_ref().filter(|_| failure != told) {
            let Settings {
                namespace, name, ..
            } = &settings;
            tracing::warn!(%namespace, lease = %name, %error, "The lease could not be kept; nothing is written without it");
        }
        told = failure;
        tell(&leading, election.leads(Instant::now()), &settings);
        let wait = election.wait(Instant::now());
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = stop.cancelled() => break,
        }
        tell(&leading, election.leads(Instant::now()), &settings);
    }
    let led = election.leads(Instant::now());
    leading.send_replace(false);
    if led {
        // Others need not wait for the lease to end; if this fails they do.
        let _ = tokio::time::timeout(settings.retry, release(&api, &settings)).await;
    }
}

fn tell(leading: &watch::Sender<bool>, now: bool, settings: &Settings) {
    let changed = leading.send_if_modified(|before| std::mem::replace(before, now) != now);
    if changed && now {
        tracing::info!(lease = %settings.name, identity = %settings.identity, "Leading");
    } else if changed {
        tracing::warn!(lease = %settings.name, identity = %settings.identity, "Not leading any more");
    }
}

/// Looks at the Lease, and takes or renews it if that is the next step.
async fn step(
    api: &Api<Lease>,
    settings: &Settings,
    election: &mut Election,
) -> Result<(), kube::Error> {
    let begin = Instant::now();
    let found = api.get_opt(&settings.name).await?;
    let step = election.look(found.as_ref().map(held).as_ref(), begin);
    if step == Step::Wait {
        return Ok(());
    }
    let lease = wanted(settings, found, step);
    let params = PostParams {
        field_manager: Some(FIELD_MANAGER.into()),
        ..PostParams::default()
    };
    let written = match lease.metadata.resource_version {
        None => api.create(&params, &lease).await,
        Some(_) => api.replace(&settings.name, &params, &lease).await,
    };
    match written {
        Ok(lease) => election.took(&held(&lease), begin),
        // Somebody else was faster; the next look shows who.
        Err(kube::Error::Api(status)) if status.code == 409 => election.lost(),
        Err(error) => return Err(error),
    }
    Ok(())
}

/// The Lease as it is to be.
fn wanted(settings: &Settings, found: Option<Lease>, step: Step) -> Lease {
    let now = MicroTime(wall_clock());
    let mut lease = found.unwrap_or_else(|| Lease {
        metadata: ObjectMeta {
            name: Some(settings.name.clone()),
            namespace: Some(settings.namespace.clone()),
            ..ObjectMeta::default()
        },
        spec: None,
    });
    let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
    if step == Step::Take {
        let before = spec.holder_identity.replace(settings.identity.clone());
        let transitions = spec.lease_transitions.unwrap_or_default();
        // The first holder is no transition.
        spec.lease_transitions = Some(transitions + i32::from(before.is_some()));
        spec.acquire_time = Some(now.clone());
    }
    let seconds = settings.lease.as_secs().max(1);
    spec.lease_duration_seconds = Some(i32::try_from(seconds).unwrap_or(i32::MAX));
    spec.renew_time = Some(now);
    lease
}

async fn release(api: &Api<Lease>, settings: &Settings) -> Result<(), kube::Error> {
    let Some(mut lease) = api.get_opt(&settings.name).await? else {
        return Ok(());
    };
    if held(&lease).holder != settings.identity {
        return Ok(());
    }
    if let Some(spec) = &mut lease.spec {
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(1);
    }
    api.replace(&settings.name, &PostParams::default(), &lease)
        .await?;
    Ok(())
}

fn held(lease: &Lease) -> Held {
    let spec = lease.spec.clone().unwrap_or_default();
    let seconds = spec.lease_duration_seconds.unwrap_or_default();
    Held {
        holder: spec.holder_identity.unwrap_or_default(),
        renewed: spec
            .renew_time
            .map(|time| time.0.to_string())
            .unwrap_or_default(),
        lease: Duration::from_secs(u64::try_from(seconds).unwrap_or_default()),
    }
}

fn wall_clock() -> Timestamp {
    #[expect(
        clippy::disallowed_methods,
        reason = "the Lease says by the wall clock when it was renewed; nothing is decided by it"
    )]
    Timestamp::now()
}
