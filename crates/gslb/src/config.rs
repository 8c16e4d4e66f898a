//! Settings of the GSLB, from environment variables with k8gb's names and defaults.
//!
//! [`Config::parse`] reads a handed-in source and reports *every* mistake at once with a hint. Where k8gb silently
//! drops or replaces a value, that still happens, but it is said: see [`Parsed::warnings`].
//!
//! Settings whose names begin with `FLOTILLA_` are ours. `FLOTILLA_UPDATE_SERVER`, `FLOTILLA_UPDATE_KEY_NAME` and `FLOTILLA_UPDATE_KEY_SECRET` make each
//! cluster add its own NS record and glue to the parent zone by RFC 2136, so that clusters share a zone without an
//! owner; `FLOTILLA_PUSH_KEY_NAME` and `FLOTILLA_PUSH_KEY_SECRET`, the same in all clusters, let changes be pushed.
//!
//! Source: k8gb v0.21 `controllers/resolver/config.go`; research §2.6.

mod read;

use std::{
    collections::BTreeSet,
    fmt,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use flotilla_dns::{
    name::Name,
    tsig::{Algorithm, Key, key_file::base64},
};

use crate::{
    kinds::Kind,
    names,
    options::{self, Defaults},
    providers::credentials,
};
use read::Reader;

/// Least octets of the key the fleet shares: whoever guesses it can read our zones.
const PUSH_SECRET_OCTETS_MIN: usize = 16;

/// A zone named in `DNS_ZONES`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneSetting {
    /// The zone that delegates.
    pub parent: String,
    /// The balanced zone.
    pub zone: String,
    /// Negative TTL in seconds.
    pub neg_ttl_seconds: u32,
}

/// A DNS server that knows the parent zone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EdgeServer {
    /// Address or host name.
    pub host: String,
    /// Port; 53 unless said otherwise.
    pub port: u16,
}

/// Who puts the delegation into the parent zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Nobody; the delegation is made by hand.
    None,
    /// external-dns, through a DNSEndpoint.
    ExternalDns,
    /// Infoblox over WAPI.
    Infoblox(Infoblox),
    /// Amazon Route 53.
    Route53(Route53),
}

/// Where the places of addresses stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeoDatabase {
    /// `FLOTILLA_GEO_DATABASE`: a MaxMind database, read again when it changes.
    pub path: PathBuf,
    /// `FLOTILLA_GEO_FIELDS`, `datacenter`: fields compared, best first, separated by blanks or commas.
    pub fields: Vec<String>,
}

/// How to reach Route 53.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route53 {
    /// `AWS_ENDPOINT_URL_ROUTE_53`, `https://route53.amazonaws.com`.
    pub endpoint: String,
    /// `AWS_ENDPOINT_URL_STS`, that of `AWS_REGION`.
    pub sts_endpoint: String,
    /// `FLOTILLA_ROUTE53_HOSTED_ZONE_ID`; looked up by the parent zone's name when absent.
    pub hosted_zone_id: Option<String>,
    /// Where keys come from.
    pub credentials: credentials::Source,
}

/// How to reach an Infoblox grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Infoblox {
    /// `INFOBLOX_GRID_HOST`.
    pub grid_host: String,
    /// `INFOBLOX_WAPI_PORT`, 443.
    pub port: u16,
    /// `INFOBLOX_WAPI_USERNAME`.
    pub username: String,
    /// `INFOBLOX_WAPI_PASSWORD`.
    pub password: String,
    /// `INFOBLOX_WAPI_VERSION`, `v2`.
    pub version: String,
    /// `INFOBLOX_HTTP_REQUEST_TIMEOUT`, 20 s.
    pub request_timeout: Duration,
    /// `INFOBLOX_HTTP_POOL_CONNECTIONS`, 10.
    pub n_connections: u32,
    /// `INFOBLOX_DNS_VIEW`, `default`.
    pub view: String,
    /// `FLOTILLA_INFOBLOX_CA_FILE`: certificates to trust, in PEM; the system's when absent.
    pub ca_file: Option<PathBuf>,
}

/// A server of the parent zone that takes dynamic updates, and the key for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// Where it listens.
    pub server: SocketAddr,
    /// Name of the TSIG key (HMAC-SHA256).
    pub key_name: String,
    /// The key, decoded.
    pub secret: Vec<u8>,
}

/// The key that the clusters of a fleet share, with which they push changes to each other.
#[derive(Clone, PartialEq, Eq)]
pub struct PushKey {
    /// Name of the TSIG key (HMAC-SHA256).
    pub name: String,
    /// The key, decoded.
    pub secret: Vec<u8>,
}

impl fmt::Debug for PushKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PushKey")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl PushKey {
    /// The key as the DNS server takes it; none when its name is no DNS name, which [`Config::parse`] refuses.
    pub fn key(&self) -> Option<Key> {
        let name = Name::parse(&self.name).ok()?;
        Some(Key::new(name, Algorithm::HmacSha256, &self.secret))
    }
}

/// Kind of the Service in front of the DNS server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceType {
    /// Not reachable from outside by itself; an Ingress labelled `k8gb.io/ip-source=true` has the addresses.
    ClusterIp,
    /// Its status has the addresses.
    LoadBalancer,
    /// As ClusterIP.
    NodePort,
    /// As ClusterIP.
    ExternalName,
}

/// Everything the GSLB can be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `CLUSTER_GEO_TAG`: our tag. Required.
    pub geo_tag: String,
    /// `EXT_GSLB_CLUSTERS_GEO_TAGS`: the tags of the other clusters, without ours.
    pub external_tags: Vec<String>,
    /// `DNS_ZONES`: zones to create ZoneDelegations for.
    pub zones: Vec<ZoneSetting>,
    /// `EDGE_DNS_SERVERS`, or `EDGE_DNS_SERVER` with `EDGE_DNS_SERVER_PORT`. At least one.
    pub edge_servers: Vec<EdgeServer>,
    /// `RECONCILE_REQUEUE_SECONDS`, 30: how often each peer is asked about each host. Zero means never.
    pub poll_interval: Duration,
    /// `ZONE_DELEGATION_RECONCILE_REQUEUE_SECONDS`, 300: how often the servers of a zone are looked up.
    pub zone_interval: Duration,
    /// `NS_RECORD_TTL`, 30 s, at least 1.
    pub ns_ttl_seconds: u32,
    /// `POD_NAMESPACE`, `k8gb`: where delegation DNSEndpoints are written.
    pub namespace: String,
    /// `COREDNS_SERVICE_TYPE`, ClusterIP.
    pub service_type: ServiceType,
    /// `CLUSTER_EXPOSED_IPS`: addresses that replace what objects say.
    pub cluster_exposed_ips: Vec<IpAddr>,
    /// `EXTDNS_ENABLED`, `INFOBLOX_GRID_HOST` or `FLOTILLA_ROUTE53`.
    pub provider: Provider,
    /// `METRICS_ADDRESS`, `0.0.0.0:8080`.
    pub metrics_address: String,
    /// `TRACING_ENABLED`, off.
    pub tracing: bool,
    /// `TRACING_SAMPLING_RATIO`, 1.0.
    pub sampling_ratio: String,
    /// `OTEL_EXPORTER_OTLP_ENDPOINT`, `localhost:4318`.
    pub otlp_endpoint: String,
    /// `GLUEA_PREFIX`, `gslb-ns-`; may be empty.
    pub prefix: String,
    /// `LOG_LEVEL`, info.
    pub log_level: String,
    /// `LOG_FORMAT`, simple: `simple` or `json`.
    pub log_format: String,
    /// `NO_COLOR`, off.
    pub no_color: bool,
    /// `FLOTILLA_UPDATE_*`: where to add our own NS record and glue by RFC 2136; none.
    pub update: Option<Update>,
    /// `FLOTILLA_FAILOVER_WITNESS`, `FLOTILLA_FAILBACK_HOLD_SECONDS`, `FLOTILLA_DRAIN_SECONDS`: what applies to Gslbs whose
    /// annotations say nothing.
    pub defaults: Defaults,
    /// `FLOTILLA_PUSH_KEY_*`: the key shared by the fleet, with which changes are pushed; none leaves polling.
    pub push_key: Option<PushKey>,
    /// `FLOTILLA_GEO_DATABASE` and `FLOTILLA_GEO_FIELDS`: the database for geoip; without one everybody gets every address.
    pub geo: Option<GeoDatabase>,
    /// `FLOTILLA_LEADER_ELECTION`, on: whether replicas elect the one that writes, with the Lease `flotilla-gslb` in
    /// `POD_NAMESPACE`.
    pub leader_election: bool,
    /// `FLOTILLA_SERVE_ONLY`, off: answer with the DNSEndpoints that another operator, such as k8gb's, writes for its Gslbs;
    /// decide nothing and write nothing.
    pub serve_only: bool,
    /// Our DNS addresses when the process knows them itself, as with `flotilla up`; no environment variable.
    pub own_dns: Vec<IpAddr>,
}

/// A setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The variable.
    pub name: &'static str,
    /// What is wrong and what would be right.
    pub hint: String,
}

/// What reading the settings gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// The settings.
    pub config: Config,
    /// Values that were ignored or replaced, as k8gb does without a word.
    pub warnings: Vec<Mistake>,
}

impl Config {
    /// Reads the settings from `source`, which gives the value of a variable.
    ///
    /// # Errors
    /// Every mistake found.
    pub fn parse(source: &dyn Fn(&str) -> Option<String>) -> Result<Parsed, Vec<Mistake>> {
        let mut r = Reader::new(source);
        let geo_tag = r.required("CLUSTER_GEO_TAG");
        r.check(
            "CLUSTER_GEO_TAG",
            is_tag(&geo_tag) || geo_tag.is_empty(),
            || format!("{geo_tag:?} is no geo tag; use letters, digits and '-'"),
        );
        let external = r.list("EXT_GSLB_CLUSTERS_GEO_TAGS");
        unique(&mut r, "EXT_GSLB_CLUSTERS_GEO_TAGS", &external);
        for tag in &external {
            r.check("EXT_GSLB_CLUSTERS_GEO_TAGS", is_tag(tag), || {
                format!("{tag:?} is no geo tag; use letters, digits and '-'")
            });
        }
        let exposed_texts = r.list("CLUSTER_EXPOSED_IPS");
        unique(&mut r, "CLUSTER_EXPOSED_IPS", &exposed_texts);
        let config = Config {
            external_tags: external.into_iter().filter(|tag| *tag != geo_tag).collect(),
            geo_tag,
            zones: zones(&mut r),
            edge_servers: edge_servers(&mut r),
            poll_interval: Duration::from_secs(r.number("RECONCILE_REQUEUE_SECONDS", 30, 0)),
            zone_interval: Duration::from_secs(r.number(
                "ZONE_DELEGATION_RECONCILE_REQUEUE_SECONDS",
                300,
                0,
            )),
            ns_ttl_seconds: u32::try_from(r.number("NS_RECORD_TTL", 30, 1)).unwrap_or(u32::MAX),
            namespace: r.text("POD_NAMESPACE", "k8gb"),
            service_type: service_type(&mut r),
            cluster_exposed_ips: addresses(&mut r, &exposed_texts),
            provider: provider(&mut r),
            metrics_address: metrics_address(&mut r),
            tracing: r.switch("TRACING_ENABLED"),
            sampling_ratio: sampling_ratio(&mut r),
            otlp_endpoint: r.text("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318"),
            prefix: prefix(&mut r),
            log_level: r.one_of(
                "LOG_LEVEL",
                "info",
                &["debug", "info", "warn", "error", "trace"],
            ),
            log_format: r.one_of("LOG_FORMAT", "simple", &["simple", "json"]),
            no_color: r.switch("NO_COLOR"),
            update: update(&mut r),
            defaults: defaults(&mut r),
            push_key: push_key(&mut r),
            geo: geo(&mut r),
            leader_election: r.one_of("FLOTILLA_LEADER_ELECTION", "true", &["true", "false"])
                == "true",
            serve_only: r.switch("FLOTILLA_SERVE_ONLY"),
            own_dns: Vec::new(),
        };
        r.number("ZONE_DELEGATION_RECOVERY_SECONDS", 3600, 0);
        r.finish(config)
    }

    /// The kinds of objects that matter: all, or what says which zones there are, what is answered in them and where we are reached.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = Kind> {
        let serving = [
            Kind::ZoneDelegation,
            Kind::DnsEndpoint,
            Kind::Service,
            Kind::Ingress,
        ];
        let serve_only = self.serve_only;
        let matters = move |kind: &Kind| !serve_only || serving.contains(kind);
        Kind::ALL.into_iter().filter(matters)
    }

    /// Whether we keep our own part of the delegation in the parent zone ourselves.
    pub fn keeps_delegation(&self) -> bool {
        self.update.is_some()
            || matches!(self.provider, Provider::Infoblox(_) | Provider::Route53(_))
    }

    /// Ports on which a peer's DNS server may listen, in the order they are tried.
    ///
    /// The port of the first edge server, then the other edge ports that are not 53, then 53 unless an edge server
    /// uses it already. Source: research §3.5.
    pub fn peer_ports(&self) -> Vec<u16> {
        let mut ports: Vec<u16> = self
            .edge_servers
            .first()
            .map(|s| s.port)
            .into_iter()
            .collect();
        let others = self
            .edge_servers
            .iter()
            .map(|server| server.port)
            .filter(|port| *port != 53);
        for port in others.chain([53]) {
            if !ports.contains(&port) {
                ports.push(port);
            }
        }
        ports
    }
}

/// Letters of any script, digits and dashes, as k8gb accepts.
fn is_tag(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '-')
}

fn unique(r: &mut Reader<'_>, name: &'static str, items: &[String]) {
    let mut seen = BTreeSet::new();
    for item in items {
        r.check(name, seen.insert(item), || {
            format!("{item:?} stands there twice")
        });
    }
}

fn addresses(r: &mut Reader<'_>, texts: &[String]) -> Vec<IpAddr> {
    let mut addresses = Vec::new();
    for text in texts {
        match text.parse() {
            Ok(ip) => addresses.push(ip),
            Err(_) => r.mistake("CLUSTER_EXPOSED_IPS", format!("{text:?} is no IP address")),
        }
    }
    addresses
}

/// `parent:zone:negTTL;…`, exactly three parts each.
fn zones(r: &mut Reader<'_>) -> Vec<ZoneSetting> {
    const NAME: &str = "DNS_ZONES";
    let text = r.text(NAME, "");
    let mut zones: Vec<ZoneSetting> = Vec::new();
    for entry in text
        .split(';')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
    {
        let parts: Vec<&str> = entry.split(':').map(str::trim).collect();
        let [parent, zone, ttl] = parts[..] else {
            r.mistake(NAME, format!("{entry:?} is not parent:zone:negativeTTL"));
            continue;
        };
        match zone_setting(parent, zone, ttl) {
            Ok(setting) if zones.iter().any(|known| known.zone == setting.zone) => {
                r.mistake(NAME, format!("zone {} stands there twice", setting.zone));
            }
            Ok(setting) => zones.push(setting),
            Err(hint) => r.mistake(NAME, format!("{entry:?}: {hint}")),
        }
    }
    zones
}

fn zone_setting(parent: &str, zone: &str, ttl: &str) -> Result<ZoneSetting, String> {
    let parent = names::canonical(parent).map_err(|e| e.to_string())?;
    let zone = names::canonical(zone).map_err(|e| e.to_string())?;
    let below = zone
        .strip_suffix(parent.as_str())
        .is_some_and(|own| own.len() > 1 && own.ends_with('.'));
    if !below {
        return Err(format!("{zone} is not below {parent}"));
    }
    match ttl.parse() {
        Ok(neg_ttl_seconds) => Ok(ZoneSetting {
            parent,
            zone,
            neg_ttl_seconds,
        }),
        Err(_) => Err(format!("{ttl:?} is no TTL in seconds")),
    }
}

fn edge_servers(r: &mut Reader<'_>) -> Vec<EdgeServer> {
    const NAME: &str = "EDGE_DNS_SERVERS";
    let texts = r.list(NAME);
    unique(r, NAME, &texts);
    let mut servers = Vec::new();
    for text in texts {
        match edge_server(&text) {
            Ok((server, None)) => servers.push(server),
            Ok((server, Some(hint))) => {
                r.warn(NAME, hint);
                servers.push(server);
            }
            Err(hint) => r.warn(NAME, hint),
        }
    }
    let old = r.text("EDGE_DNS_SERVER", "");
    let port = r.number("EDGE_DNS_SERVER_PORT", 53, 1);
    if servers.is_empty() && !old.is_empty() {
        let port = u16::try_from(port).unwrap_or(53);
        servers.push(EdgeServer { host: old, port });
    }
    r.check(NAME, !servers.is_empty(), || {
        "name at least one DNS server of the parent zone, as address or address:port".into()
    });
    servers
}

/// One entry, with a hint when part of it is replaced.
fn edge_server(text: &str) -> Result<(EdgeServer, Option<String>), String> {
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Ok((
            EdgeServer {
                host: ip.to_string(),
                port: 53,
            },
            None,
        ));
    }
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok((
            EdgeServer {
                host: address.ip().to_string(),
                port: address.port(),
            },
            None,
        ));
    }
    let (host, port) = match text.split(':').collect::<Vec<_>>()[..] {
        [host] => (host, None),
        [host, port] => (host, Some(port)),
        _ => return Err(format!("{text:?} has too many colons and is ignored")),
    };
    let host = names::canonical(host).map_err(|error| format!("{error}; it is ignored"))?;
    match port.map(str::parse) {
        None => Ok((EdgeServer { host, port: 53 }, None)),
        Some(Ok(port)) => Ok((EdgeServer { host, port }, None)),
        Some(Err(_)) => {
            let hint = format!("{text:?} has no numeric port; 53 is used");
            Ok((EdgeServer { host, port: 53 }, Some(hint)))
        }
    }
}

fn service_type(r: &mut Reader<'_>) -> ServiceType {
    let types = ["ClusterIP", "LoadBalancer", "NodePort", "ExternalName"];
    match r
        .one_of("COREDNS_SERVICE_TYPE", "ClusterIP", &types)
        .as_str()
    {
        "LoadBalancer" => ServiceType::LoadBalancer,
        "NodePort" => ServiceType::NodePort,
        "ExternalName" => ServiceType::ExternalName,
        _ => ServiceType::ClusterIp,
    }
}

fn provider(r: &mut Reader<'_>) -> Provider {
    let external_dns = r.switch("EXTDNS_ENABLED");
    let grid_host = r.text("INFOBLOX_GRID_HOST", "");
    let infoblox = Infoblox {
        port: u16::try_from(r.number("INFOBLOX_WAPI_PORT", 443, 1)).unwrap_or(443),
        username: r.text("INFOBLOX_WAPI_USERNAME", ""),
        password: r.text("INFOBLOX_WAPI_PASSWORD", ""),
        version: r.text("INFOBLOX_WAPI_VERSION", "v2"),
        request_timeout: Duration::from_secs(r.number("INFOBLOX_HTTP_REQUEST_TIMEOUT", 20, 1)),
        n_connections: u32::try_from(r.number("INFOBLOX_HTTP_POOL_CONNECTIONS", 10, 1))
            .unwrap_or(10),
        view: r.text("INFOBLOX_DNS_VIEW", "default"),
        ca_file: Some(r.text("FLOTILLA_INFOBLOX_CA_FILE", ""))
            .filter(|path| !path.is_empty())
            .map(PathBuf::from),
        grid_host,
    };
    let route53 = r.switch("FLOTILLA_ROUTE53");
    match (external_dns, !infoblox.grid_host.is_empty(), route53) {
        (true, false, false) => Provider::ExternalDns,
        (false, false, false) => Provider::None,
        (false, false, true) => self::route53(r),
        (true, true, _) | (true, _, true) => {
            let hint = "multiple providers: choose one of EXTDNS_ENABLED, INFOBLOX_GRID_HOST and FLOTILLA_ROUTE53";
            r.mistake("EXTDNS_ENABLED", hint.into());
            Provider::None
        }
        (false, true, true) => {
            let hint = "multiple providers: choose one of INFOBLOX_GRID_HOST and FLOTILLA_ROUTE53";
            r.mistake("FLOTILLA_ROUTE53", hint.into());
            Provider::None
        }
        (false, true, false) => {
            let complete = !infoblox.username.is_empty() && !infoblox.password.is_empty();
            r.check("INFOBLOX_WAPI_USERNAME", complete, || {
                "Infoblox needs INFOBLOX_WAPI_USERNAME and INFOBLOX_WAPI_PASSWORD".into()
            });
            Provider::Infoblox(infoblox)
        }
    }
}

fn route53(r: &mut Reader<'_>) -> Provider {
    let sts = match r.text("AWS_REGION", "").as_str() {
        "" => "https://sts.amazonaws.com".to_owned(),
        region => format!("https://sts.{region}.amazonaws.com"),
    };
    let credentials = match credentials::source(r.source()) {
        Ok(source) => source,
        Err(hint) => {
            r.mistake("FLOTILLA_ROUTE53", hint);
            return Provider::None;
        }
    };
    let hosted_zone_id = r.text("FLOTILLA_ROUTE53_HOSTED_ZONE_ID", "");
    let hosted_zone_id = hosted_zone_id.trim_start_matches("/hostedzone/");
    Provider::Route53(Route53 {
        endpoint: r.text("AWS_ENDPOINT_URL_ROUTE_53", "https://route53.amazonaws.com"),
        sts_endpoint: r.text("AWS_ENDPOINT_URL_STS", &sts),
        hosted_zone_id: (!hosted_zone_id.is_empty()).then(|| hosted_zone_id.to_owned()),
        credentials,
    })
}

fn metrics_address(r: &mut Reader<'_>) -> String {
    let text = r.text("METRICS_ADDRESS", "0.0.0.0:8080");
    let valid = text.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
    });
    r.check("METRICS_ADDRESS", valid, || {
        format!("{text:?} is not host:port")
    });
    text
}

fn sampling_ratio(r: &mut Reader<'_>) -> String {
    let text = r.text("TRACING_SAMPLING_RATIO", "1.0");
    let valid = text
        .parse::<f64>()
        .is_ok_and(|ratio| (0.0..=1.0).contains(&ratio));
    r.check("TRACING_SAMPLING_RATIO", valid, || {
        format!("{text:?} is not in 0.0 to 1.0")
    });
    text
}

fn prefix(r: &mut Reader<'_>) -> String {
    let text = r.text_or_empty("GLUEA_PREFIX", names::DEFAULT_PREFIX);
    let valid = text.is_empty() || names::canonical(&format!("{text}x")).is_ok();
    r.check("GLUEA_PREFIX", valid, || {
        format!("{text:?} cannot start a host name")
    });
    text
}

fn update(r: &mut Reader<'_>) -> Option<Update> {
    const NAME: &str = "FLOTILLA_UPDATE_SERVER";
    let server = r.text(NAME, "");
    let key_name = r.text("FLOTILLA_UPDATE_KEY_NAME", "");
    let secret = r.text("FLOTILLA_UPDATE_KEY_SECRET", "");
    if server.is_empty() {
        return None;
    }
    let Ok(server) = server.parse() else {
        r.mistake(NAME, format!("{server:?} is not address:port"));
        return None;
    };
    r.check("FLOTILLA_UPDATE_KEY_NAME", !key_name.is_empty(), || {
        "name the TSIG key".into()
    });
    let Some(secret) = base64(&secret).filter(|secret| !secret.is_empty()) else {
        r.mistake(
            "FLOTILLA_UPDATE_KEY_SECRET",
            "give the TSIG key in base64".into(),
        );
        return None;
    };
    Some(Update {
        server,
        key_name,
        secret,
    })
}

fn geo(r: &mut Reader<'_>) -> Option<GeoDatabase> {
    let path = r.text("FLOTILLA_GEO_DATABASE", "");
    let text = r.text("FLOTILLA_GEO_FIELDS", "datacenter");
    let fields: Vec<String> = text
        .split([' ', ','])
        .filter(|field| !field.is_empty())
        .map(str::to_owned)
        .collect();
    let valid = fields
        .iter()
        .all(|field| field.split('.').all(|part| !part.is_empty()));
    r.check("FLOTILLA_GEO_FIELDS", valid && fields.len() <= 8, || {
        format!("{text:?} is not 1 to 8 fields such as datacenter or country.iso_code")
    });
    (!path.is_empty()).then(|| GeoDatabase {
        path: path.into(),
        fields,
    })
}

fn defaults(r: &mut Reader<'_>) -> Defaults {
    let mut seconds = |name| {
        let seconds = r.number(name, 0, 0);
        r.check(name, seconds <= options::SECONDS_MAX, || {
            format!("{seconds} s are more than a week; the unit is seconds")
        });
        seconds
    };
    Defaults {
        hold_seconds: seconds("FLOTILLA_FAILBACK_HOLD_SECONDS"),
        drain_seconds: seconds("FLOTILLA_DRAIN_SECONDS"),
        witness: r.switch("FLOTILLA_FAILOVER_WITNESS"),
    }
}

fn push_key(r: &mut Reader<'_>) -> Option<PushKey> {
    const NAME: &str = "FLOTILLA_PUSH_KEY_NAME";
    const SECRET: &str = "FLOTILLA_PUSH_KEY_SECRET";
    let (name, secret) = (r.text(NAME, ""), r.text(SECRET, ""));
    if name.is_empty() && secret.is_empty() {
        return None;
    }
    let valid = !name.is_empty() && Name::parse(&name).is_ok();
    r.check(NAME, valid, || {
        format!("{name:?} cannot name a TSIG key; the whole fleet uses one name, such as fleet")
    });
    match base64(&secret).filter(|secret| secret.len() >= PUSH_SECRET_OCTETS_MIN) {
        Some(secret) => Some(PushKey { name, secret }),
        None => {
            let hint = "give at least 16 octets in base64; `openssl rand -base64 32` makes some";
            r.mistake(SECRET, hint.into());
            None
        }
    }
}

#[cfg(test)]
mod tests;
