//! What the endpoints of Services need to know of a pod, and nothing else.
//!
//! A cluster has many pods and each takes tens of kilobytes once parsed, most of it to say who set which field. A
//! candidate takes a few hundred bytes.

use std::sync::Arc;

use flotilla_machinery::texts::Texts;
use k8s_openapi::api::core::v1::{Container, Pod};
use kube::ResourceExt;

use crate::mirror::{Key, Mirrored, version_number};

/// A pod as endpoints see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Where it is.
    pub key: Key,
    /// `metadata.uid`.
    pub uid: Box<str>,
    version: Option<u64>,
    /// `metadata.labels`, sorted by key.
    labels: Box<[(Arc<str>, Arc<str>)]>,
    /// `status.podIPs`, or `status.podIP` where only that is set; its first address first.
    addresses: Box<[Box<str>]>,
    /// Named ports of its containers and sidecars, in their order.
    pub ports: Box<[NamedPort]>,
    /// `spec.nodeName`, once it is bound.
    pub node: Option<Arc<str>>,
    /// `spec.hostname` and `spec.subdomain`, if it has a name in DNS.
    pub dns_name: Option<(Box<str>, Box<str>)>,
    /// Whether it answers: its condition `Ready` is true.
    pub is_ready: bool,
    /// Whether it is being deleted.
    pub is_terminating: bool,
    /// Whether it came to its end and will never answer again.
    pub is_finished: bool,
    /// The same as Endpoints count it: a failed pod that is to be restarted has not come to its end.
    pub is_done: bool,
}

/// A port that Services may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPort {
    /// Its name.
    pub name: Box<str>,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: Box<str>,
    /// Its number.
    pub number: i32,
}

impl Candidate {
    /// What matters of `pod`, in `texts` where others have the same.
    pub fn new<'a>(pod: &'a Pod, texts: &mut Texts) -> Self {
        let spec = pod.spec.as_ref();
        let filled = |text: Option<&'a String>| {
            let text = text.map(String::as_str);
            text.filter(|text| !text.is_empty())
        };
        let hostname = filled(spec.and_then(|spec| spec.hostname.as_ref()));
        let subdomain = filled(spec.and_then(|spec| spec.subdomain.as_ref()));
        let namespace = pod.metadata.namespace.as_deref();
        let labels = pod.labels().iter();
        let phase = pod
            .status
            .as_ref()
            .and_then(|status| status.phase.as_deref());
        let is_finished = matches!(phase, Some("Succeeded" | "Failed"));
        let policy = spec.and_then(|spec| spec.restart_policy.as_deref());
        Self {
            key: Key::new(texts.share(namespace.unwrap_or_default()), pod.name_any()),
            uid: pod.uid().unwrap_or_default().into(),
            version: version_number(pod.resource_version()),
            labels: labels
                .map(|(key, value)| (texts.share(key), texts.share(value)))
                .collect(),
            addresses: addresses(pod),
            ports: ports(pod),
            node: filled(spec.and_then(|spec| spec.node_name.as_ref()))
                .map(|node| texts.share(node)),
            dns_name: hostname
                .zip(subdomain)
                .map(|(hostname, subdomain)| (hostname.into(), subdomain.into())),
            is_ready: is_ready(pod),
            is_terminating: pod.metadata.deletion_timestamp.is_some(),
            is_finished,
            is_done: match policy {
                Some("OnFailure") => phase == Some("Succeeded"),
                _ => is_finished,
            },
        }
    }

    /// Whether it can be an endpoint as it is now: it has an address and is not over.
    pub fn counts(&self) -> bool {
        !self.addresses.is_empty() && !self.is_done
    }

    /// Its labels in order of their keys.
    pub fn labels(&self) -> impl Iterator<Item = &(Arc<str>, Arc<str>)> {
        self.labels.iter()
    }

    /// The value of one label.
    pub fn label(&self, key: &str) -> Option<&str> {
        let found = self
            .labels
            .binary_search_by(|(candidate, _)| (**candidate).cmp(key));
        found.ok().map(|place| &*self.labels[place].1)
    }

    /// Its addresses, its first one first.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        self.addresses.iter().map(|address| &**address)
    }

    /// The number of the container port of this name and protocol.
    pub fn port(&self, name: &str, protocol: &str) -> Option<i32> {
        let mut ports = self.ports.iter();
        let found = ports.find(|port| *port.name == *name && *port.protocol == *protocol);
        found.map(|port| port.number)
    }
}

impl Mirrored for Candidate {
    fn key(&self) -> Key {
        self.key.clone()
    }

    fn version(&self) -> Option<u64> {
        self.version
    }
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn addresses(pod: &Pod) -> Box<[Box<str>]> {
    let status = pod.status.as_ref();
    let listed = status
        .and_then(|status| status.pod_ips.as_ref())
        .filter(|ips| !ips.is_empty());
    let only = status
        .and_then(|status| status.pod_ip.as_deref())
        .filter(|_| listed.is_none());
    let listed = listed.into_iter().flatten().map(|ip| ip.ip.as_str());
    let all = listed.chain(only).filter(|ip| !ip.is_empty());
    all.map(Box::from).collect()
}

fn ports(pod: &Pod) -> Box<[NamedPort]> {
    let Some(spec) = &pod.spec else {
        return Box::default();
    };
    // Sidecars are init containers that go on.
    let goes_on = |container: &&Container| container.restart_policy.as_deref() == Some("Always");
    let sidecars = spec.init_containers.iter().flatten().filter(goes_on);
    let ports = spec
        .containers
        .iter()
        .chain(sidecars)
        .flat_map(|container| container.ports.iter().flatten());
    let named = ports.filter_map(|port| {
        Some(NamedPort {
            name: port.name.as_deref()?.into(),
            protocol: port.protocol.as_deref().unwrap_or("TCP").into(),
            number: port.container_port,
        })
    });
    named.collect()
}
