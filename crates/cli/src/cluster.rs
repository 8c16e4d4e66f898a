//! One cluster of the process: its API server and what works on it.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use flotilla_apiserver::{ApiServer, Config, Handle, kubeconfig};

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
        let api = ApiServer::start(config).await;
        let api = api.with_context(|| format!("cannot start cluster {:?}", plan.name))?;
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
