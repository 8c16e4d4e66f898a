//! Every kind of object the GSLB watches: where it lives and whether its definition may be absent.
//!
//! The optional kinds belong to definitions a cluster may not have, or may get later; their absence never stops
//! anything. Of several versions the first one the cluster serves is watched.

/// A kind of object that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `k8gb.io` Gslb.
    Gslb,
    /// `k8gb.absa.oss` Gslb.
    LegacyGslb,
    /// `k8gb.io` ZoneDelegation.
    ZoneDelegation,
    /// `externaldns.k8s.io` DNSEndpoint.
    DnsEndpoint,
    /// Ingress.
    Ingress,
    /// Service.
    Service,
    /// EndpointSlice.
    EndpointSlice,
    /// Gateway API Gateway.
    Gateway,
    /// Gateway API HTTPRoute.
    HttpRoute,
    /// Gateway API GRPCRoute.
    GrpcRoute,
    /// Gateway API TLSRoute.
    TlsRoute,
    /// Gateway API TCPRoute.
    TcpRoute,
    /// Gateway API UDPRoute.
    UdpRoute,
    /// Istio Gateway.
    IstioGateway,
    /// Istio VirtualService.
    VirtualService,
}

/// Where a kind lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Home {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// Versions we understand, best first.
    pub versions: &'static [&'static str],
    /// Kind as Kubernetes spells it.
    pub kind: &'static str,
    /// Plural, as in paths.
    pub plural: &'static str,
    /// Whether a cluster may lack the definition.
    pub optional: bool,
    /// Whether a Gslb may refer to it.
    pub referable: bool,
}

const fn home(
    group: &'static str,
    versions: &'static [&'static str],
    kind: &'static str,
    plural: &'static str,
) -> Home {
    Home {
        group,
        versions,
        kind,
        plural,
        optional: false,
        referable: false,
    }
}

const GATEWAY: &str = "gateway.networking.k8s.io";
const ISTIO: &str = "networking.istio.io";

impl Kind {
    /// Every kind, the ones decisions cannot do without first.
    pub const ALL: [Kind; 15] = [
        Kind::Gslb,
        Kind::ZoneDelegation,
        Kind::DnsEndpoint,
        Kind::Ingress,
        Kind::Service,
        Kind::EndpointSlice,
        Kind::LegacyGslb,
        Kind::Gateway,
        Kind::HttpRoute,
        Kind::GrpcRoute,
        Kind::TlsRoute,
        Kind::TcpRoute,
        Kind::UdpRoute,
        Kind::IstioGateway,
        Kind::VirtualService,
    ];

    /// Where the kind lives.
    ///
    /// Source: k8gb v0.21 `controllers/refresolver`; research §1 rows 9–15.
    pub const fn home(self) -> Home {
        match self {
            Kind::Gslb => home("k8gb.io", &["v1beta1"], "Gslb", "gslbs"),
            Kind::LegacyGslb => Home {
                optional: true,
                ..home("k8gb.absa.oss", &["v1beta1"], "Gslb", "gslbs")
            },
            Kind::ZoneDelegation => {
                home("k8gb.io", &["v1beta1"], "ZoneDelegation", "zonedelegations")
            }
            Kind::DnsEndpoint => home(
                "externaldns.k8s.io",
                &["v1alpha1"],
                "DNSEndpoint",
                "dnsendpoints",
            ),
            Kind::Ingress => Home {
                referable: true,
                ..home("networking.k8s.io", &["v1"], "Ingress", "ingresses")
            },
            Kind::Service => Home {
                referable: true,
                ..home("", &["v1"], "Service", "services")
            },
            Kind::EndpointSlice => home(
                "discovery.k8s.io",
                &["v1"],
                "EndpointSlice",
                "endpointslices",
            ),
            Kind::Gateway => Home {
                optional: true,
                ..home(GATEWAY, &["v1"], "Gateway", "gateways")
            },
            Kind::HttpRoute => route(&["v1"], "HTTPRoute", "httproutes"),
            Kind::GrpcRoute => route(&["v1"], "GRPCRoute", "grpcroutes"),
            Kind::TlsRoute => route(&["v1", "v1alpha3", "v1alpha2"], "TLSRoute", "tlsroutes"),
            Kind::TcpRoute => route(&["v1alpha2"], "TCPRoute", "tcproutes"),
            Kind::UdpRoute => route(&["v1alpha2"], "UDPRoute", "udproutes"),
            Kind::IstioGateway => Home {
                optional: true,
                ..home(ISTIO, &["v1", "v1beta1"], "Gateway", "gateways")
            },
            Kind::VirtualService => Home {
                optional: true,
                referable: true,
                ..home(
                    ISTIO,
                    &["v1", "v1beta1"],
                    "VirtualService",
                    "virtualservices",
                )
            },
        }
    }

    /// The kind a reference means, if a Gslb may refer to it.
    pub fn referenced(api_version: &str, kind: &str) -> Option<Kind> {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        Kind::ALL.into_iter().find(|candidate| {
            let home = candidate.home();
            home.referable
                && home.kind == kind
                && home.group == group
                && home.versions.contains(&version)
        })
    }
}

const fn route(
    versions: &'static [&'static str],
    kind: &'static str,
    plural: &'static str,
) -> Home {
    Home {
        optional: true,
        referable: true,
        ..home(GATEWAY, versions, kind, plural)
    }
}

#[cfg(test)]
mod tests;
