//! What `flotilla up` will start, and where everything listens. Pure.
//!
//! The plan is complete before anything is bound or written, so a mistake in the arguments changes
//! nothing and all mistakes are reported at once.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ipnet::{IpNet, Ipv4Net};

use crate::args::UpArgs;

/// Name of the cluster, context and geo tag when there is no fleet.
const ONLY: &str = "flotilla";

/// Most clusters of a fleet: each takes one /24 of the fleet's /16, and the first is the edge's.
const MOST_CLUSTERS: usize = 64;

/// Everything `flotilla up` is going to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// In the order they were named.
    pub(crate) clusters: Vec<ClusterPlan>,
    /// The parent zone's server and the resolver; none for a single cluster.
    pub(crate) edge: Option<EdgePlan>,
    pub(crate) zone: String,
    pub(crate) parent_zone: String,
    /// Whether answers of the balanced zone are signed.
    pub(crate) dnssec: bool,
    /// How often a cluster asks the others; zero is never.
    pub(crate) poll_interval: Duration,
    pub(crate) kubeconfig: PathBuf,
    /// Whether the kubeconfig is of no use after the process has ended.
    pub(crate) kubeconfig_is_temporary: bool,
}

/// One cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClusterPlan {
    /// Context, geo tag and folder.
    pub(crate) name: String,
    /// Where its API server listens.
    pub(crate) api: SocketAddr,
    /// Where its DNS server listens.
    pub(crate) dns: SocketAddr,
    /// Addresses for Services of type LoadBalancer and Ingresses.
    pub(crate) pool: Ipv4Net,
    /// Cluster addresses of Services; of one family or of both.
    pub(crate) service_cidrs: Vec<IpNet>,
    /// State; none keeps it in memory.
    pub(crate) data_dir: Option<PathBuf>,
}

/// The fleet's surroundings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EdgePlan {
    /// Authoritative for the parent zone.
    pub(crate) server: SocketAddr,
    /// Walks the delegation for clients.
    pub(crate) resolver: SocketAddr,
}

/// What the plan needs to know of the world.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surroundings {
    /// `XDG_STATE_HOME`.
    pub(crate) state_home: Option<PathBuf>,
    /// `HOME`.
    pub(crate) home: Option<PathBuf>,
}

/// A mistake in the arguments: which one, what is wrong, what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mistake(pub(crate) String);

/// Decides what to start.
///
/// # Errors
/// Every mistake in the arguments.
pub(crate) fn plan(args: &UpArgs, around: &Surroundings) -> Result<Plan, Vec<Mistake>> {
    let mut mistakes = Vec::new();
    check_fleet(&args.fleet, &mut mistakes);
    let parent_zone = check_zone("--parent-zone", &args.parent_zone, &mut mistakes);
    let zone = check_zone("--zone", &args.zone, &mut mistakes);
    if !zone.ends_with(&format!(".{parent_zone}")) {
        mistakes.push(Mistake(format!(
            "--zone {zone} is not below --parent-zone {parent_zone}; choose a zone such as cloud.{parent_zone}"
        )));
    }
    if args.network.prefix_len() != 16 || !args.network.network().is_loopback() {
        mistakes.push(Mistake(format!(
            "--network {} must be a /16 inside 127.0.0.0/8, such as 127.1.0.0/16",
            args.network
        )));
    }
    let ports = u16::try_from(args.fleet.len().max(1) - 1).unwrap_or(u16::MAX);
    check_service_cidrs(&args.service_cidr, &mut mistakes);
    if args.port != 0 && args.port.checked_add(ports).is_none() {
        mistakes.push(Mistake(format!(
            "--port {} leaves no room for {} API servers; the highest port is 65535",
            args.port,
            args.fleet.len()
        )));
    }
    let base = data_dir(args.data_dir.as_deref(), around);
    if base.is_err() {
        mistakes.push(Mistake(
            "neither XDG_STATE_HOME nor HOME is set; say where state lives with --data-dir DIR or \
             --data-dir :memory:"
                .into(),
        ));
    }
    match base {
        Ok(base) if mistakes.is_empty() => Ok(lay_out(args, around, base, zone, parent_zone)),
        _ => Err(mistakes),
    }
}

fn lay_out(
    args: &UpArgs,
    around: &Surroundings,
    base: Option<PathBuf>,
    zone: String,
    parent_zone: String,
) -> Plan {
    let fleet = !args.fleet.is_empty();
    let names = if fleet {
        args.fleet.clone()
    } else {
        vec![ONLY.to_owned()]
    };
    let clusters = names.into_iter().zip(0u8..).map(|(name, index)| {
        let port = if args.port == 0 {
            0
        } else {
            args.port + u16::from(index)
        };
        let own = block(args.network, index + 1);
        let dns = if fleet { host(own, 1) } else { args.resolver };
        ClusterPlan {
            api: v4(args.bind, port),
            dns: v4(dns, args.dns_port),
            pool: own,
            service_cidrs: args.service_cidr.clone(),
            data_dir: base.as_ref().map(|base| base.join(&name)),
            name,
        }
    });
    let edge = fleet.then(|| EdgePlan {
        server: v4(host(block(args.network, 0), 1), args.dns_port),
        resolver: v4(args.resolver, args.dns_port),
    });
    Plan {
        clusters: clusters.collect(),
        edge,
        zone,
        parent_zone,
        dnssec: args.dnssec,
        poll_interval: args.poll_interval,
        kubeconfig: kubeconfig(args, around, base.as_deref()),
        kubeconfig_is_temporary: base.is_none() && args.kubeconfig.is_none(),
    }
}

/// `None` is memory.
fn data_dir(wanted: Option<&Path>, around: &Surroundings) -> Result<Option<PathBuf>, ()> {
    match wanted {
        Some(path) if path == Path::new(":memory:") => Ok(None),
        Some(path) => Ok(Some(path.to_owned())),
        None => state_dir(around).map(Some).ok_or(()),
    }
}

/// Where state lives when nobody says otherwise (XDG Base Directory Specification 0.8).
pub(crate) fn state_dir(around: &Surroundings) -> Option<PathBuf> {
    let set = |path: &Option<PathBuf>| path.clone().filter(|path| path.is_absolute());
    let base = set(&around.state_home).or_else(|| Some(set(&around.home)?.join(".local/state")))?;
    Some(base.join("flotilla"))
}

fn kubeconfig(args: &UpArgs, around: &Surroundings, base: Option<&Path>) -> PathBuf {
    if let Some(path) = &args.kubeconfig {
        return path.clone();
    }
    let folder = base.map(Path::to_owned).or_else(|| state_dir(around));
    folder.unwrap_or_default().join("kubeconfig")
}

/// As kube-apiserver: one range or one of each family, with room for a few services, and not so
/// large that addresses could not be counted.
fn check_service_cidrs(cidrs: &[IpNet], mistakes: &mut Vec<Mistake>) {
    let is_pair = cidrs.len() == 2 && cidrs[0].addr().is_ipv4() != cidrs[1].addr().is_ipv4();
    if cidrs.len() != 1 && !is_pair {
        mistakes.push(Mistake(
            "--service-cidr takes one range, or two of different families such as \
             10.96.0.0/16,fd00:10:96::/112"
                .into(),
        ));
    }
    for cidr in cidrs {
        let bits = cidr.max_prefix_len() - cidr.prefix_len();
        let bits_max = if cidr.addr().is_ipv4() { 20 } else { 64 };
        if !(3..=bits_max).contains(&bits) {
            let (least, most) = (cidr.max_prefix_len() - bits_max, cidr.max_prefix_len() - 3);
            mistakes.push(Mistake(format!(
                "--service-cidr {cidr}: the length of the prefix must be between {least} and {most}"
            )));
        }
    }
}

fn check_fleet(names: &[String], mistakes: &mut Vec<Mistake>) {
    for (index, name) in names.iter().enumerate() {
        let label = !name.is_empty()
            && name.len() <= 63
            && name
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && !name.starts_with('-')
            && !name.ends_with('-');
        if !label {
            mistakes.push(Mistake(format!(
                "--fleet: {name:?} is no cluster name; use 1 to 63 of a-z, 0-9 and - with no - at either end"
            )));
        } else if names[..index].contains(name) {
            mistakes.push(Mistake(format!(
                "--fleet names {name:?} twice; every cluster needs a name of its own"
            )));
        }
    }
    if names.len() > MOST_CLUSTERS {
        mistakes.push(Mistake(format!(
            "--fleet names {} clusters; at most {MOST_CLUSTERS} fit one process",
            names.len()
        )));
    }
}

/// The zone in lower case without its final dot.
fn check_zone(flag: &str, zone: &str, mistakes: &mut Vec<Mistake>) -> String {
    let name = zone.strip_suffix('.').unwrap_or(zone).to_ascii_lowercase();
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    if name.len() > 253 || !name.split('.').all(label) {
        mistakes.push(Mistake(format!(
            "{flag} {zone:?} is no DNS name; use labels of 1 to 63 letters, digits and -, joined by dots"
        )));
    }
    name
}

fn block(network: Ipv4Net, index: u8) -> Ipv4Net {
    let [a, b, ..] = network.network().octets();
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, index, 0), 24)
}

fn host(network: Ipv4Net, last: u8) -> Ipv4Addr {
    let [a, b, c, _] = network.network().octets();
    Ipv4Addr::new(a, b, c, last)
}

fn v4(ip: Ipv4Addr, port: u16) -> SocketAddr {
    SocketAddr::V4(SocketAddrV4::new(ip, port))
}

#[cfg(test)]
mod tests;
