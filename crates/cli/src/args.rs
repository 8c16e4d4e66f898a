//! What can be typed after `flotilla`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

/// The layer Kubernetes users assemble from a dozen projects, in one binary.
#[derive(Debug, Parser)]
#[command(
    name = "flotilla",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,

    /// How to log: a level for our own lines (error, warn, info, debug, trace), or directives such
    /// as `warn,flotilla_gslb=debug`. Default info; RUST_LOG is used when this is absent.
    #[arg(long, global = true, value_name = "FILTER")]
    pub(crate) log: Option<String>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a Kubernetes-compatible control plane, or a fleet of them, on this machine.
    Up(UpArgs),
    /// Run a part of Flotilla on a Kubernetes cluster.
    #[command(subcommand)]
    Run(RunCommand),
    /// Look into global load balancing.
    #[command(subcommand)]
    Gslb(GslbCommand),
    /// Read log lines and show the level each declares itself, whatever stream it came on.
    Logs(flotilla_logs::cli::Args),
    /// Say why an object is the way it is: what holds up its deletion, who owns its fields, what it
    /// lacks, and whether a request would be refused.
    ///
    /// Works with every cluster. Nothing is changed.
    Why(WhyArgs),
    /// Print a script that completes commands in your shell.
    #[command(
        after_help = "Example:\n  flotilla completion bash > ~/.local/share/bash-completion/completions/flotilla"
    )]
    Completion {
        /// The shell to complete for.
        shell: Shell,
    },
}

/// `flotilla up`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  flotilla up                                  one cluster, state under the user's state directory
  flotilla up --data-dir :memory:              one cluster that forgets everything
  flotilla up --fleet eu,us,za                 three clusters that fail over by DNS
  flotilla up --fleet a,b --zone apps.test.org --parent-zone test.org --poll-interval 5s")]
pub(crate) struct UpArgs {
    /// Start one independent cluster per name, with an edge DNS server and a resolver. A name is a
    /// DNS label (at most 63 of a-z, 0-9 and -) and becomes the cluster's context and geo tag.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) fleet: Vec<String>,

    /// Where state lives, one folder per cluster; `:memory:` keeps nothing. Default:
    /// $XDG_STATE_HOME/flotilla or ~/.local/state/flotilla.
    #[arg(long, value_name = "DIR", env = "FLOTILLA_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,

    /// Where the kubeconfig is written. Default: `kubeconfig` in the data directory.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Address the API servers listen on.
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub(crate) bind: Ipv4Addr,

    /// Port of the API server; the clusters of a fleet take this one and those that follow. 0 lets
    /// the system choose.
    #[arg(long, default_value_t = 6443)]
    pub(crate) port: u16,

    /// Port of every DNS server.
    #[arg(long, default_value_t = 1053)]
    pub(crate) dns_port: u16,

    /// Address of the fleet's resolver, or of the DNS server when there is one cluster.
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub(crate) resolver: Ipv4Addr,

    /// Loopback network of the fleet, a /16: the edge DNS server takes its x.y.0.1, cluster N takes
    /// x.y.N.1 for DNS and gives LoadBalancer addresses from x.y.N.0/24.
    #[arg(long, value_name = "CIDR", default_value = "127.1.0.0/16")]
    pub(crate) network: ipnet::Ipv4Net,

    /// Range of the cluster addresses of Services, or two for dual-stack clusters, the primary one
    /// first: 10.96.0.0/16,fd00:10:96::/112. As kube-apiserver's --service-cluster-ip-range; a range
    /// that is stored already stays.
    #[arg(
        long,
        value_name = "CIDR,…",
        value_delimiter = ',',
        default_value = "10.96.0.0/16"
    )]
    pub(crate) service_cidr: Vec<ipnet::IpNet>,

    /// Zone that delegates to the clusters.
    #[arg(long, value_name = "ZONE", default_value = "example.com")]
    pub(crate) parent_zone: String,

    /// Zone that the clusters balance; below the parent zone.
    #[arg(long, value_name = "ZONE", default_value = "cloud.example.com")]
    pub(crate) zone: String,

    /// Sign the answers of the balanced zone (DNSSEC), each cluster with a key of its own that is kept
    /// in its folder.
    #[arg(long)]
    pub(crate) dnssec: bool,

    /// How often a cluster asks the others who is healthy, as a number and a unit (5s, 1m); 0s asks
    /// never. Like k8gb's RECONCILE_REQUEUE_SECONDS, whose default of 30s is kept.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub(crate) poll_interval: std::time::Duration,

    /// Address for Prometheus metrics, such as 127.0.0.1:9090; port 0 lets the system choose. Off
    /// when absent.
    #[arg(long, value_name = "IP:PORT")]
    pub(crate) metrics_address: Option<SocketAddr>,

    /// OTLP collector for traces, such as http://localhost:4318. Off when absent.
    #[arg(long, value_name = "URL", env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    pub(crate) otlp_endpoint: Option<String>,

    #[command(flatten)]
    pub(crate) copy: CopyArgs,

    /// File with static tokens, one `token,user,uid,"group,group"` per line, as kube-apiserver's
    /// --token-auth-file.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_auth_file: Option<PathBuf>,
}

/// `flotilla run …`.
#[derive(Debug, Subcommand)]
pub(crate) enum RunCommand {
    /// Balance load between clusters by DNS: the controller and the DNS server of k8gb in one
    /// process.
    ///
    /// Settings are k8gb's environment variables (CLUSTER_GEO_TAG, DNS_ZONES, …); `flotilla gslb
    /// import-values` makes them from the values of its chart.
    #[command(after_help = "\
Examples:
  flotilla run gslb                                     in a pod, with its service account
  flotilla run gslb --data-dir /var/lib/flotilla        answers at once after a restart, API server or not
  CLUSTER_GEO_TAG=eu EDGE_DNS_SERVERS=192.0.2.53 flotilla run gslb --kubeconfig eu.yaml")]
    Gslb(RunGslbArgs),
}

/// Who may keep a copy of the DNS zones.
#[derive(Debug, Args)]
pub(crate) struct CopyArgs {
    /// File with TSIG keys as `tsig-keygen` prints them. Whoever holds one may fetch the DNS zones (AXFR, IXFR).
    #[arg(long, value_name = "FILE", env = "FLOTILLA_TRANSFER_KEY_FILE")]
    pub(crate) transfer_key_file: Option<PathBuf>,

    /// Name servers that keep a copy of the DNS zones, such as BIND, as address:port. They are told
    /// about changes (NOTIFY), signed with the first key of --transfer-key-file.
    #[arg(long, value_name = "IP:PORT,…", value_delimiter = ',')]
    pub(crate) secondary: Vec<SocketAddr>,
}

/// `flotilla run gslb`.
#[derive(Debug, Args)]
pub(crate) struct RunGslbArgs {
    #[command(flatten)]
    pub(crate) copy: CopyArgs,

    /// File with the TSIG key that the whole fleet shares, as `tsig-keygen` prints it, such as a mounted
    /// Secret: clusters that have it push their changes to each other. Instead of FLOTILLA_PUSH_KEY_NAME
    /// and FLOTILLA_PUSH_KEY_SECRET.
    #[arg(long, value_name = "FILE", env = "FLOTILLA_PUSH_KEY_FILE")]
    pub(crate) push_key_file: Option<PathBuf>,

    /// Kubeconfig of the cluster. Default: KUBECONFIG, ~/.kube/config, then the pod's service
    /// account.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Context of the kubeconfig. Default: the current one.
    #[arg(long)]
    pub(crate) context: Option<String>,

    /// Where the DNS server listens, for UDP and TCP.
    #[arg(
        long,
        value_name = "IP:PORT,…",
        value_delimiter = ',',
        default_value = "0.0.0.0:5353",
        env = "FLOTILLA_DNS_LISTEN"
    )]
    pub(crate) dns_listen: Vec<SocketAddr>,

    /// Folder that keeps what is answered across restarts. Without it a restart answers nothing
    /// until the API server has been read.
    #[arg(long, value_name = "DIR", env = "FLOTILLA_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,

    /// Sign answers (DNSSEC) with the key of this cluster.
    #[arg(long, env = "FLOTILLA_DNSSEC")]
    pub(crate) dnssec: bool,

    /// The key for --dnssec, PKCS #8 in PEM, such as a mounted Secret; made when there is none.
    /// Default: dnssec.pem in the data folder.
    #[arg(long, value_name = "FILE", env = "FLOTILLA_DNSSEC_KEY")]
    pub(crate) dnssec_key: Option<PathBuf>,

    /// Where to listen for DNS over TLS, such as 0.0.0.0:853.
    #[arg(long, value_name = "IP:PORT", requires = "tls_cert")]
    pub(crate) dns_tls_listen: Option<SocketAddr>,

    /// Where to listen for DNS over HTTPS (path /dns-query), such as 0.0.0.0:443.
    #[arg(long, value_name = "IP:PORT", requires = "tls_cert")]
    pub(crate) dns_https_listen: Option<SocketAddr>,

    /// Certificate chain for DNS over TLS and HTTPS, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// Its private key, in PEM.
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_key: Option<PathBuf>,
}

/// `flotilla gslb …`.
#[derive(Debug, Subcommand)]
pub(crate) enum GslbCommand {
    /// Say which addresses a host answers with, and why.
    #[command(after_help = "\
Examples:
  flotilla gslb explain podinfo.cloud.example.com
  flotilla gslb explain podinfo.cloud.example.com --context us -o json")]
    Explain(ExplainArgs),
    /// Say what every cluster would answer if some were down or did not hear each other.
    ///
    /// Starts from the state of now; nothing is changed.
    #[command(after_help = "\
Examples:
  flotilla gslb what-if podinfo.cloud.example.com --down eu
  flotilla gslb what-if podinfo.cloud.example.com --partition eu,us -o json
  flotilla gslb what-if podinfo.cloud.example.com --down za --partition eu,us --partition eu,za")]
    WhatIf(WhatIfArgs),
    /// Take a cluster out of the answers of the whole fleet, for maintenance.
    ///
    /// Sets the annotation flotilla.dev/drain on the Gslb of the host, so all hosts of that Gslb are
    /// drained. Clients leave as the TTL of their answers passes.
    #[command(after_help = "\
Examples:
  flotilla gslb drain podinfo.cloud.example.com --context eu
  flotilla gslb drain podinfo.cloud.example.com --context eu --over 10m
  flotilla gslb drain podinfo.cloud.example.com --context eu --undo")]
    Drain(DrainArgs),
    /// Turn the values of k8gb's Helm chart into our settings, and name what is ignored.
    ///
    /// The text is a file of environment variables, as `kubectl create configmap --from-env-file`
    /// takes it; what has no meaning here follows as comments.
    #[command(after_help = "\
Examples:
  flotilla gslb import-values values.yaml > flotilla.env
  helm get values k8gb -n k8gb -o yaml | flotilla gslb import-values -
  flotilla gslb import-values values.yaml -o json")]
    ImportValues(ImportValuesArgs),
    /// Print admission policies that check the annotations of Gslbs when they are written.
    #[command(after_help = "Example:\n  flotilla gslb policies | kubectl apply -f -")]
    Policies,
    /// Print what `flotilla run gslb` needs on a cluster: definitions, rights, Deployment and Service.
    ///
    /// The rights are those it uses and no others. Settings come from a ConfigMap, as the first lines
    /// say.
    #[command(after_help = "\
Example:
  flotilla gslb manifests --image registry.example.com/flotilla:1.0 | kubectl apply --server-side -f -")]
    Manifests(ManifestsArgs),
}

/// Which cluster to ask.
#[derive(Debug, Args)]
pub(crate) struct ClusterArgs {
    /// Kubeconfig to use. Default: KUBECONFIG, the one of `flotilla up`, then ~/.kube/config.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context to ask. Default: the current one.
    #[arg(long)]
    pub(crate) context: Option<String>,
}

/// `flotilla gslb explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The host, such as podinfo.cloud.example.com.
    pub(crate) host: String,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Ports on which the DNS servers of the zone may listen, in the order they are tried.
    #[arg(
        long,
        value_name = "PORT,…",
        value_delimiter = ',',
        default_value = "1053,53"
    )]
    pub(crate) dns_port: Vec<u16>,
    /// How to print.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

/// `flotilla gslb what-if`.
#[derive(Debug, Args)]
pub(crate) struct WhatIfArgs {
    #[command(flatten)]
    pub(crate) explain: ExplainArgs,
    /// Clusters in which the host is not healthy.
    #[arg(long, value_name = "TAG,…", value_delimiter = ',')]
    pub(crate) down: Vec<String>,
    /// Two clusters that do not hear each other; may be given several times.
    #[arg(long, value_name = "TAG,TAG", value_parser = pair)]
    pub(crate) partition: Vec<(String, String)>,
}

/// `flotilla gslb drain`.
#[derive(Debug, Args)]
pub(crate) struct DrainArgs {
    /// The host, such as podinfo.cloud.example.com.
    pub(crate) host: String,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Put the cluster back into the answers.
    #[arg(long)]
    pub(crate) undo: bool,
    /// Leave, or come back, in ten steps over this time (300s, 10m); 0s does it at once. Default: what
    /// the Gslb's annotation flotilla.dev/drain-seconds says.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) over: Option<std::time::Duration>,
}

/// `flotilla gslb manifests`.
#[derive(Debug, Args)]
pub(crate) struct ManifestsArgs {
    /// Container image with this program as its entry point.
    #[arg(long)]
    pub(crate) image: String,
    /// Namespace of everything that has one.
    #[arg(short, long, default_value = "k8gb")]
    pub(crate) namespace: String,
}

/// `flotilla gslb import-values`.
#[derive(Debug, Args)]
pub(crate) struct ImportValuesArgs {
    /// File with the values; `-` reads the standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// How to print.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

/// `flotilla why`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  flotilla why namespace old                        what keeps it Terminating
  flotilla why deployment shop -n web               who owns which field
  flotilla why svc shop -n web -o json              why it has no endpoints
  flotilla why pod p --as ann --verb delete         why ann may not delete it
  flotilla why crd kettles.kitchen.example.com      why it is not served")]
pub(crate) struct WhyArgs {
    /// Kind, plural, singular or short name; with `.group` when several groups have it.
    pub(crate) kind: String,
    /// Name of the object.
    pub(crate) name: String,
    /// Namespace. Default: the one of the context.
    #[arg(short, long)]
    pub(crate) namespace: Option<String>,
    /// Explain a request of this user too, such as `ann` or
    /// `system:serviceaccount:web:default`.
    #[arg(long = "as", value_name = "USER")]
    pub(crate) user: Option<String>,
    /// Further groups of that user; may be given several times.
    #[arg(long = "as-group", value_name = "GROUP", requires = "user")]
    pub(crate) groups: Vec<String>,
    /// What that user would do: get, list, watch, create, update, patch, delete.
    #[arg(long, default_value = "get", requires = "user")]
    pub(crate) verb: String,
    /// Endpoint below the object, such as status or scale.
    #[arg(long, requires = "user")]
    pub(crate) subresource: Option<String>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// How to print.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

/// Output formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For reading.
    #[value(alias = "table")]
    Text,
    /// One JSON document.
    Json,
    /// One YAML document.
    Yaml,
}

/// Reads two different geo tags.
fn pair(text: &str) -> Result<(String, String), String> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    match parts[..] {
        [a, b] if !a.is_empty() && !b.is_empty() && a != b => Ok((a.to_owned(), b.to_owned())),
        _ => Err(format!("expected two clusters such as eu,us, got {text:?}")),
    }
}

/// Reads `30s`, `500ms`, `2m`, `1h` or a plain number of seconds.
fn duration(text: &str) -> Result<std::time::Duration, String> {
    let split = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let explain = || format!("expected a number and a unit such as 500ms, 30s or 2m, got {text:?}");
    let number: u64 = number.parse().map_err(|_| explain())?;
    let milliseconds = match unit {
        "ms" => Some(number),
        "" | "s" => number.checked_mul(1000),
        "m" => number.checked_mul(60_000),
        "h" => number.checked_mul(3_600_000),
        _ => return Err(explain()),
    };
    milliseconds
        .map(std::time::Duration::from_millis)
        .ok_or_else(explain)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use std::time::Duration;

    use super::{Cli, duration, pair};

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn durations_have_units() {
        let good = [
            ("30s", 30_000),
            ("5", 5_000),
            ("500ms", 500),
            ("2m", 120_000),
            ("1h", 3_600_000),
        ];
        for (text, milliseconds) in good {
            assert_eq!(
                duration(text),
                Ok(Duration::from_millis(milliseconds)),
                "{text}"
            );
        }
        for text in ["", "s", "-1s", "5 s", "1d", "99999999999999999999s"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_partition_is_between_two_clusters() {
        assert_eq!(pair("eu, us"), Ok(("eu".into(), "us".into())));
        for text in ["", "eu", "eu,", "eu,eu", "eu,us,za"] {
            assert!(pair(text).is_err(), "{text}");
        }
    }
}
