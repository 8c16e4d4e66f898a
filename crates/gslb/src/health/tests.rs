use flotilla_api::gslb::ServiceHealthPolicy::{All, Any};

use super::{
    Backend::{Missing, NotReady, Ready},
    EndpointView, Health, of_host, slice_is_ready,
};

#[test]
fn the_policy_decides_over_several_services() {
    let table = [
        (vec![], Health::NotFound, Health::NotFound),
        (vec![Missing], Health::NotFound, Health::NotFound),
        (vec![NotReady], Health::Unhealthy, Health::Unhealthy),
        (vec![Ready], Health::Healthy, Health::Healthy),
        (vec![Ready, Ready], Health::Healthy, Health::Healthy),
        (vec![Ready, NotReady], Health::Healthy, Health::Unhealthy),
        (vec![Ready, Missing], Health::Healthy, Health::NotFound),
        (vec![NotReady, Missing], Health::Unhealthy, Health::NotFound),
        (
            vec![Ready, NotReady, Missing],
            Health::Healthy,
            Health::NotFound,
        ),
    ];
    for (backends, any, all) in table {
        assert_eq!(of_host(Any, backends.clone()), any, "Any {backends:?}");
        assert_eq!(of_host(All, backends.clone()), all, "All {backends:?}");
    }
}

#[test]
fn an_endpoint_counts_with_an_address_unless_declared_unready() {
    let endpoint = |n_addresses, ready| EndpointView { n_addresses, ready };
    assert!(slice_is_ready(&[endpoint(1, None)]));
    assert!(slice_is_ready(&[
        endpoint(1, Some(false)),
        endpoint(1, Some(true))
    ]));
    assert!(!slice_is_ready(&[
        endpoint(0, Some(true)),
        endpoint(2, Some(false))
    ]));
    assert!(!slice_is_ready(&[]));
}
