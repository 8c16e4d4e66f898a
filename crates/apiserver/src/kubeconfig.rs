//! The kubeconfig file: how `kubectl` and every other client finds and trusts the server.

use std::path::Path;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::pki::{Pair, write_private};

/// One cluster in a kubeconfig, with the user that owns it.
#[derive(Clone, Debug)]
pub struct Context {
    /// Name of cluster, context and user.
    pub name: String,
    /// `https://host:port`.
    pub server: String,
    /// CA certificate as PEM.
    pub ca: String,
    /// Client certificate and key as PEM.
    pub client: Pair,
}

/// A kubeconfig with these contexts; the first is the current one.
pub fn render(contexts: &[Context]) -> String {
    let list =
        |entry: &dyn Fn(&Context) -> Value| -> Vec<Value> { contexts.iter().map(entry).collect() };
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": contexts.first().map_or("", |c| c.name.as_str()),
        "preferences": {},
        "clusters": list(&|c| json!({"name": c.name, "cluster": {
            "server": c.server,
            "certificate-authority-data": STANDARD.encode(&c.ca),
        }})),
        "contexts": list(&|c| json!({"name": c.name, "context": {
            "cluster": c.name,
            "user": c.name,
            "namespace": "default",
        }})),
        "users": list(&|c| json!({"name": c.name, "user": {
            "client-certificate-data": STANDARD.encode(&c.client.certificate),
            "client-key-data": STANDARD.encode(&c.client.key),
        }})),
    });
    // JSON is YAML; indented so that people can read and edit it.
    serde_json::to_string_pretty(&config).unwrap_or_default() + "\n"
}

/// Writes a kubeconfig that only its owner can read, making the folder if needed.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, contexts: &[Context]) -> std::io::Result<()> {
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)?;
    }
    write_private(path, render(contexts).as_bytes())
}
