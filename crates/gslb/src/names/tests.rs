use super::{
    DEFAULT_PREFIX, canonical, delegation_object, local_targets, name_server, tag_of, zone_object,
};

/// Source: k8gb v0.21 docs and `controllers/geotags` tests, re-expressed.
#[test]
fn name_servers_are_named_as_k8gb_names_them_and_read_back() {
    let table = [
        (
            DEFAULT_PREFIX,
            "eu",
            "cloud.example.com",
            "example.com",
            "gslb-ns-eu-cloud.example.com",
        ),
        (
            DEFAULT_PREFIX,
            "eu",
            "a.b.example.com",
            "example.com",
            "gslb-ns-eu-a-b.example.com",
        ),
        (
            DEFAULT_PREFIX,
            "us-east-1",
            "cloud.example.com",
            "example.com",
            "gslb-ns-us-east-1-cloud.example.com",
        ),
        (
            DEFAULT_PREFIX,
            "eu",
            "my-zone.example.com",
            "example.com",
            "gslb-ns-eu-my-zone.example.com",
        ),
        (
            "dns-",
            "za",
            "cloud.example.com",
            "example.com",
            "dns-za-cloud.example.com",
        ),
        (
            "",
            "za",
            "cloud.example.com",
            "example.com",
            "za-cloud.example.com",
        ),
    ];
    for (prefix, tag, zone, parent, expected) in table {
        assert_eq!(name_server(prefix, tag, zone, parent).unwrap(), expected);
        assert_eq!(
            tag_of(expected, prefix, zone, parent),
            Some(tag),
            "{expected}"
        );
        assert_eq!(
            tag_of(&format!("{expected}."), prefix, zone, parent),
            Some(tag)
        );
    }
}

#[test]
fn names_of_another_zone_or_prefix_carry_no_tag() {
    let tag = |name, prefix| tag_of(name, prefix, "cloud.example.com", "example.com");
    assert_eq!(
        tag("gslb-ns-eu-cloud.example.com", "dns-"),
        Some("eu"),
        "the fleet changes its prefix"
    );
    assert_eq!(tag("gslb-ns-eu-other.example.com", DEFAULT_PREFIX), None);
    assert_eq!(tag("gslb-ns-eu-cloud.example.org", DEFAULT_PREFIX), None);
    assert_eq!(tag("ns1.example.com", DEFAULT_PREFIX), None);
    assert_eq!(tag("foreign-cloud.example.com", DEFAULT_PREFIX), None);
    assert_eq!(tag("gslb-ns--cloud.example.com", DEFAULT_PREFIX), None);
}

/// k8gb#2366: the prefix makes a label of 51 characters too long.
#[test]
fn k8gb_2366_long_first_labels_use_the_form_with_a_dot() {
    let host = |n: usize| format!("{}.cloud.example.com", "a".repeat(n));
    let fits = local_targets(&host(50));
    assert_eq!(
        fits.published().unwrap(),
        format!("localtargets-{}", host(50))
    );
    assert_eq!(fits.asked().count(), 2);
    let long = local_targets(&host(51));
    assert_eq!(long.dashed, None);
    assert_eq!(
        long.published().unwrap(),
        format!("localtargets.{}", host(51))
    );
    assert_eq!(long.asked().count(), 1);
}

#[test]
fn hosts_are_compared_without_case_and_final_dot() {
    assert_eq!(
        canonical("ApP.ClOuD.example.com.").unwrap(),
        "app.cloud.example.com"
    );
    for bad in [
        "",
        "a..b",
        "*.cloud.example.com",
        "a b.example.com",
        &"a.".repeat(128),
        &"a".repeat(64),
    ] {
        assert!(canonical(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn objects_carry_the_zone_with_dashes() {
    assert_eq!(zone_object("cloud.example.com"), "cloud-example-com");
    assert_eq!(
        delegation_object("cloud.example.com"),
        "k8gb-ns-extdns-cloud-example-com"
    );
}

#[test]
fn a_name_server_that_does_not_fit_a_label_is_refused() {
    let error = name_server(
        DEFAULT_PREFIX,
        &"t".repeat(50),
        "cloud.example.com",
        "example.com",
    );
    assert!(error.unwrap_err().to_string().contains("1 to 63"));
}
