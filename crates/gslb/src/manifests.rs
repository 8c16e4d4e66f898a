//! What `flotilla run gslb` needs on a cluster that is there already: its rights, its Deployment and the Service in front of
//! its DNS server.
//!
//! The rights are exactly those it uses; a test watches it at work and compares.

/// The objects as YAML documents, for `namespace` and with the container image `image`.
pub fn manifests(namespace: &str, image: &str) -> String {
    include_str!("manifests.yaml")
        .replace("{{namespace}}", namespace)
        .replace("{{image}}", image)
}
