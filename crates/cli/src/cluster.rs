//! One cluster of the process: its API server and what works on it.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use flotilla_apiserver::{ApiServer, Config, Error, Handle, kubeconfig};

use crate::plan::ClusterPlan;

/// A running cluster.
pub(crate) struct Cluster {
    name: String,
    api: Handle,
    address: SocketAddr,
}

impl Cluster {
    /// Starts the API server of a cluster; when this returns it is ready.
    pub(crate) async fn start(plan: &ClusterPlan) -> Result<Self> {
        let config = Config {
            data_dir: plan.data_dir.clone(),
            listen: Some(plan.api),
            ..Config::default()
        };
        let api = ApiServer::start(config)
            .await
            .map_err(|error| explain(plan, error))?;
        let address = api.address().context("the API server listens")?;
        Ok(Self {
            name: plan.name.clone(),
            api,
            address,
        })
    }

    /// Where the API server listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The cluster's part of the kubeconfig.
    pub(crate) fn context(&self) -> Option<kubeconfig::Context> {
        self.api.kubeconfig(&self.name)
    }

    /// Stops everything that works on the cluster, then the API server.
    pub(crate) async fn stop(self) {
        self.api.stop().await;
    }
}

/// The error with the cluster it concerns and the flag that is the way out.
fn explain(plan: &ClusterPlan, error: Error) -> anyhow::Error {
    let name = &plan.name;
    let text = match (&error, &plan.data_dir) {
        (Error::Serve(_), _) => {
            format!("cannot start cluster {name:?}; --port chooses another port")
        }
        (Error::Store(_) | Error::Pki(_), Some(folder)) => format!(
            "cannot keep cluster {name:?} in {}; --data-dir chooses another folder",
            folder.display()
        ),
        _ => format!("cannot start cluster {name:?}"),
    };
    anyhow::Error::new(error).context(text)
}
