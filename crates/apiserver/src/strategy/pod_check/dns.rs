//! How names are resolved inside a pod, and what the pod is called.

use flotilla_machinery::names;

use crate::strategy::{field::Field, ip};

/// Limits of the resolver in C libraries.
const SERVERS_MAX: usize = 3;
const SEARCHES_MAX: usize = 32;
const SEARCH_BYTES_MAX: usize = 2048;
/// Longest name of a host.
const HOSTNAME_BYTES_MAX: usize = 64;

pub(super) fn check_config(spec: &Field<'_, '_>) {
    let config = spec.at("dnsConfig");
    let servers = config.at("nameservers");
    if spec.at("dnsPolicy").text() == "None" {
        if !config.is_set() {
            config.required("must provide `dnsConfig` when `dnsPolicy` is None");
            return;
        }
        if servers.list().is_empty() {
            servers.required("must provide at least one DNS nameserver when `dnsPolicy` is None");
            return;
        }
    }
    if servers.list().len() > SERVERS_MAX {
        servers.invalid(format!("must not have more than {SERVERS_MAX} nameservers"));
    }
    for server in servers.items() {
        ip::check_sloppy(&server);
    }
    let searches = config.at("searches");
    if searches.list().len() > SEARCHES_MAX {
        searches.invalid(format!(
            "must not have more than {SEARCHES_MAX} search paths"
        ));
    }
    let bytes: usize = searches
        .list()
        .iter()
        .map(|s| s.as_str().map_or(0, str::len) + 1)
        .sum();
    if bytes > SEARCH_BYTES_MAX + 1 {
        let detail = format!(
            "must not have more than {SEARCH_BYTES_MAX} characters (including spaces) in the search list"
        );
        searches.invalid(detail);
    }
    for search in searches.items().filter(|search| search.text() != ".") {
        let name = search.text();
        let name = name.strip_suffix('.').unwrap_or(name);
        for complaint in names::dns1123_subdomain_with_underscore(name) {
            search.invalid_as(name, complaint);
        }
    }
    for option in config.at("options").items() {
        if option.at("name").text().is_empty() {
            option.required("must not be empty");
        }
    }
}

/// The name that a pod sees as its host's.
pub(super) fn hostname_override(spec: &Field<'_, '_>) {
    let name = spec.at("hostnameOverride");
    if !name.is_set() {
        return;
    }
    if spec.at("setHostnameAsFQDN").is_true() {
        name.forbidden("may not be specified when setHostnameAsFQDN is true");
    }
    if spec.at("hostNetwork").is_true() {
        name.forbidden("may not be specified when hostNetwork is true");
    }
    if name.text().len() > HOSTNAME_BYTES_MAX {
        name.too_long(HOSTNAME_BYTES_MAX);
    }
    name.complain(names::dns1123_subdomain(name.text()));
}
