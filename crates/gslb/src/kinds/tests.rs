use super::Kind;

/// Source: research §1 rows 10–15.
#[test]
fn references_are_understood_by_group_version_and_kind() {
    let table = [
        ("networking.k8s.io/v1", "Ingress", Some(Kind::Ingress)),
        ("v1", "Service", Some(Kind::Service)),
        (
            "networking.istio.io/v1",
            "VirtualService",
            Some(Kind::VirtualService),
        ),
        (
            "networking.istio.io/v1beta1",
            "VirtualService",
            Some(Kind::VirtualService),
        ),
        (
            "gateway.networking.k8s.io/v1",
            "HTTPRoute",
            Some(Kind::HttpRoute),
        ),
        (
            "gateway.networking.k8s.io/v1",
            "GRPCRoute",
            Some(Kind::GrpcRoute),
        ),
        (
            "gateway.networking.k8s.io/v1",
            "TLSRoute",
            Some(Kind::TlsRoute),
        ),
        (
            "gateway.networking.k8s.io/v1alpha2",
            "TLSRoute",
            Some(Kind::TlsRoute),
        ),
        (
            "gateway.networking.k8s.io/v1alpha3",
            "TLSRoute",
            Some(Kind::TlsRoute),
        ),
        (
            "gateway.networking.k8s.io/v1alpha2",
            "TCPRoute",
            Some(Kind::TcpRoute),
        ),
        (
            "gateway.networking.k8s.io/v1alpha2",
            "UDPRoute",
            Some(Kind::UdpRoute),
        ),
        ("gateway.networking.k8s.io/v1", "Gateway", None),
        ("extensions/v1beta1", "Ingress", None),
        ("apps/v1", "Deployment", None),
        ("", "", None),
    ];
    for (api_version, kind, expected) in table {
        assert_eq!(
            Kind::referenced(api_version, kind),
            expected,
            "{api_version} {kind}"
        );
    }
}
