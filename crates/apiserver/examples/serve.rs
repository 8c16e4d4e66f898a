//! Runs the API server alone: `serve [data-dir [port]]`. Writes `kubeconfig` beside the data.

use std::{net::SocketAddr, path::PathBuf};

use flotilla_apiserver::{ApiServer, Config, kubeconfig};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let data_dir = PathBuf::from(args.next().unwrap_or_else(|| "./flotilla-data".to_owned()));
    let port = args.next().map_or(Ok(6443), |p| p.parse())?;
    let config = Config {
        data_dir: Some(data_dir.clone()),
        listen: Some(SocketAddr::from(([127, 0, 0, 1], port))),
        ..Config::default()
    };
    let server = ApiServer::start(config).await?;
    if let Some(context) = server.kubeconfig("flotilla") {
        kubeconfig::write(&data_dir.join("kubeconfig"), &[context])?;
    }
    tokio::signal::ctrl_c().await?;
    server.stop().await;
    Ok(())
}
