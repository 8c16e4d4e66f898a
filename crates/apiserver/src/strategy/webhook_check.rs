//! What is wrong with the configuration of admission webhooks.
//!
//! Source: Kubernetes v1.35, `pkg/apis/admissionregistration/validation/validation.go`,
//! apiserver `pkg/util/webhook/validation.go`.

use std::collections::BTreeSet;

use flotilla_machinery::names;
use serde_json::Value;

use super::{
    field::{Field, check},
    rules::Errors,
};
use crate::crd::cel::engine::check_syntax;

/// Versions of the review that the server speaks.
const VERSIONS: [&str; 2] = ["v1", "v1beta1"];
/// How a good URL looks.
const FORM: &str = "; desired format: https://host[/path]";
/// Conditions of one webhook.
const CONDITIONS_MAX: usize = 64;
/// Longest and shortest wait for an answer.
const TIMEOUT_SECONDS: std::ops::RangeInclusive<i64> = 1..=30;

/// Checks all webhooks of a configuration.
pub(super) fn configuration(object: &Value, errors: &mut Errors) {
    check(&object["webhooks"], "webhooks", errors, |webhooks| {
        let mut seen = BTreeSet::new();
        for webhook in webhooks.items() {
            self::webhook(&webhook);
            versions(&webhook.at("admissionReviewVersions"));
            let name = webhook.at("name");
            if !name.text().is_empty() && !seen.insert(name.text().to_owned()) {
                name.duplicate();
            }
        }
    });
}

fn webhook(webhook: &Field<'_, '_>) {
    full_name(&webhook.at("name"));
    for rule in webhook.at("rules").items() {
        self::rule(&rule);
    }
    webhook
        .at("failurePolicy")
        .supported_if_set(&["Fail", "Ignore"]);
    webhook
        .at("matchPolicy")
        .supported_if_set(&["Equivalent", "Exact"]);
    let effects = webhook.at("sideEffects");
    if !effects.is_set() {
        effects.required("must specify one of None, NoneOnDryRun");
    }
    effects.supported_if_set(&["None", "NoneOnDryRun"]);
    let timeout = webhook.at("timeoutSeconds");
    if timeout.is_set() && !TIMEOUT_SECONDS.contains(&timeout.count()) {
        timeout.invalid("the timeout value must be between 1 and 30 seconds");
    }
    webhook.at("namespaceSelector").selector();
    webhook.at("objectSelector").selector();
    let again = webhook.at("reinvocationPolicy");
    again.supported_if_set(&["IfNeeded", "Never"]);
    client(&webhook.at("clientConfig"));
    conditions(&webhook.at("matchConditions"));
}

/// A domain of three labels at least.
fn full_name(name: &Field<'_, '_>) {
    let complaints = names::dns1123_subdomain(name.text());
    if name.text().is_empty() {
        name.required("");
    } else if !complaints.is_empty() {
        name.invalid(complaints.join(","));
    } else if name.text().split('.').count() < 3 {
        name.invalid("should be a domain with at least three segments separated by dots");
    }
}

fn versions(versions: &Field<'_, '_>) {
    let known = VERSIONS.join(", ");
    if versions.list().is_empty() {
        versions.required(format!("must specify one of {known}"));
        return;
    }
    let mut seen = BTreeSet::new();
    for version in versions.items() {
        if seen.insert(version.text().to_owned()) {
            version.complain(names::dns1035_label(version.text()));
        } else {
            version.invalid("duplicate version");
        }
    }
    if !VERSIONS.iter().any(|version| seen.contains(*version)) {
        versions.invalid(format!("must include at least one of {known}"));
    }
}

/// `*` stands alone in these lists.
fn alone(list: &Field<'_, '_>, others: &str) {
    if list.list().len() > 1 && list.list().iter().any(|item| item == "*") {
        list.invalid(format!(
            "if '*' is present, must not specify other {others}"
        ));
    }
}

fn rule(rule: &Field<'_, '_>) {
    let operations = rule.at("operations");
    if operations.list().is_empty() {
        operations.required("");
    }
    alone(&operations, "operations");
    for operation in operations.items() {
        operation.supported(&["*", "CONNECT", "CREATE", "DELETE", "UPDATE"]);
    }
    for (key, others) in [("apiGroups", "API groups"), ("apiVersions", "API versions")] {
        let list = rule.at(key);
        if list.list().is_empty() {
            list.required("");
        }
        alone(&list, others);
        for item in list
            .items()
            .filter(|item| key == "apiVersions" && item.text().is_empty())
        {
            item.required("");
        }
    }
    resources(&rule.at("resources"));
    rule.at("scope")
        .supported_if_set(&["*", "Cluster", "Namespaced"]);
}

fn resources(resources: &Field<'_, '_>) {
    if resources.list().is_empty() {
        resources.required("");
    }
    let (mut all_of, mut of_all) = (BTreeSet::new(), BTreeSet::new());
    let (mut has_double, mut has_single, mut has_plain) = (false, false, false);
    for resource in resources.items() {
        let text = resource.text();
        if text.is_empty() {
            resource.required("");
            continue;
        }
        has_double |= text == "*/*";
        has_single |= text == "*";
        let Some((name, part)) = text.split_once('/') else {
            has_plain = text != "*";
            continue;
        };
        if all_of.contains(name) {
            resource.invalid(format!("if '{name}/*' is present, must not specify {text}"));
        }
        if of_all.contains(part) {
            resource.invalid(format!("if '*/{part}' is present, must not specify {text}"));
        }
        if part == "*" {
            all_of.insert(name.to_owned());
        }
        if name == "*" {
            of_all.insert(part.to_owned());
        }
    }
    if resources.list().len() > 1 && has_double {
        resources.invalid("if '*/*' is present, must not specify other resources");
    }
    if has_single && has_plain {
        let detail = "if '*' is present, must not specify other resources without subresources";
        resources.invalid(detail);
    }
}

fn client(client: &Field<'_, '_>) {
    let (url, service) = (client.at("url"), client.at("service"));
    if url.is_set() == service.is_set() {
        client.required("exactly one of url or service is required");
    } else if url.is_set() {
        self::url(&url);
    } else {
        self::service(&service);
    }
}

fn url(url: &Field<'_, '_>) {
    let (rest, fragment) = split(url.text(), '#');
    let (rest, query) = split(rest, '?');
    let (scheme, rest) = match rest.split_once("://") {
        Some((scheme, rest)) => (scheme, rest),
        None => ("", ""),
    };
    let authority = rest.split('/').next().unwrap_or_default();
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    if scheme != "https" {
        url.invalid_as(
            scheme,
            format!("'https' is the only allowed URL scheme{FORM}"),
        );
    }
    if host.is_empty() {
        url.invalid_as(host, format!("host must be specified{FORM}"));
    }
    if let Some(user) = user {
        url.invalid_as(user, "user information is not permitted in the URL");
    }
    if !fragment.is_empty() {
        url.invalid_as(fragment, "fragments are not permitted in the URL");
    }
    if !query.is_empty() {
        url.invalid_as(query, "query parameters are not permitted in the URL");
    }
}

fn split(text: &str, at: char) -> (&str, &str) {
    text.split_once(at).unwrap_or((text, ""))
}

fn service(service: &Field<'_, '_>) {
    // Upstream mixes the two up: each is said to be missing when the other is.
    for (missing, said) in [("namespace", "name"), ("name", "namespace")] {
        if service.at(missing).text().is_empty() {
            service.at(said).required("");
        }
    }
    let port = service.at("port");
    let complaints = names::port_number(port.count());
    if !complaints.is_empty() {
        let detail = format!("port is not valid: {}", complaints.join(", "));
        port.invalid_as(port.count(), detail);
    }
    path(&service.at("path"));
}

fn path(path: &Field<'_, '_>) {
    let text = path.text();
    match text {
        "" | "/" => return,
        "//" => {
            path.invalid("segment[0] may not be empty");
            return;
        }
        _ if !text.starts_with('/') => path.invalid("must start with a '/'"),
        _ => {}
    }
    // Upstream cuts one letter off, whatever it is.
    let mut letters = text.chars();
    letters.next();
    let rest = letters.as_str();
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    for (at, step) in rest.split('/').enumerate() {
        if step.is_empty() {
            path.invalid(format!("segment[{at}] may not be empty"));
            continue;
        }
        for complaint in names::dns1123_subdomain(step) {
            path.invalid(format!("segment[{at}]: {complaint}"));
        }
    }
}

fn conditions(conditions: &Field<'_, '_>) {
    if conditions.list().len() > CONDITIONS_MAX {
        conditions.too_many(CONDITIONS_MAX);
    }
    let mut seen = BTreeSet::new();
    for condition in conditions.items() {
        let (name, expression) = (condition.at("name"), condition.at("expression"));
        if expression.text().trim().is_empty() {
            expression.required("");
        } else if let Err(why) = check_syntax(expression.text()) {
            expression.invalid(format!("compilation failed: {why}"));
        }
        if name.text().is_empty() {
            name.required("");
            continue;
        }
        name.complain(names::qualified_name(name.text()));
        if !seen.insert(name.text().to_owned()) {
            name.duplicate();
        }
    }
}
