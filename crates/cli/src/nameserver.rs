//! A cluster's DNS server and the zones it answers from.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use flotilla_dns::catalog::{Publish, Zones};
use flotilla_dns::keep::Keeper;
use flotilla_dns::server::{Config, Metrics, Server};

/// File of the zones in a data folder.
const SNAPSHOT: &str = "dns-zones";

/// A running DNS server. With a folder it answers at once what it answered before a restart.
pub(crate) struct NameServer {
    server: Server,
    publisher: Arc<dyn Publish>,
}

impl NameServer {
    /// Starts it; `folder` is where zones are kept, none keeps nothing.
    pub(crate) fn start(config: &Config, folder: Option<&Path>, metrics: &Metrics) -> Result<Self> {
        let zones = Zones::new();
        let publisher: Arc<dyn Publish> = match folder {
            Some(folder) => Arc::new(Keeper::start(snapshot(folder), Arc::clone(&zones))),
            None => Arc::clone(&zones) as _,
        };
        let server = Server::start(config, &zones, metrics)?;
        Ok(Self { server, publisher })
    }

    /// Where a controller hands in what is to be answered.
    pub(crate) fn publisher(&self) -> Arc<dyn Publish> {
        Arc::clone(&self.publisher)
    }

    /// Stops answering and writes what is outstanding, once no controller publishes any more.
    pub(crate) async fn stop(self) {
        self.server.stop().await;
        // The file is small or the process is ending: waiting here holds nobody up.
        drop(self.publisher);
    }
}

fn snapshot(folder: &Path) -> PathBuf {
    folder.join(SNAPSHOT)
}
