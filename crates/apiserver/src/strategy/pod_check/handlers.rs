//! Probes and lifecycle hooks.

use flotilla_machinery::names;

use super::Scope;
use crate::strategy::{field::Field, fill::text};

/// Probes and hooks of a container that may have all of them.
pub(super) fn all(scope: &Scope<'_>, container: &Field<'_, '_>) {
    let grace = scope.spec["terminationGracePeriodSeconds"].as_i64();
    let lifecycle = container.at("lifecycle");
    for hook in ["postStart", "preStop"] {
        if lifecycle.at(hook).is_set() {
            handler(
                &lifecycle.at(hook),
                &["exec", "httpGet", "tcpSocket", "sleep"],
                grace,
            );
        }
    }
    let signal = lifecycle.at("stopSignal");
    if signal.is_set() {
        stop_signal(scope, &signal);
    }
    for kind in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if container.at(kind).is_set() {
            probe(&container.at(kind), kind, grace);
        }
    }
}

fn probe(probe: &Field<'_, '_>, kind: &str, grace: Option<i64>) {
    handler(probe, &["exec", "httpGet", "tcpSocket", "grpc"], grace);
    for key in [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ] {
        probe.at(key).not_negative();
    }
    let own = probe.at("terminationGracePeriodSeconds");
    if own.number().is_some_and(|seconds| seconds <= 0) {
        own.invalid("must be greater than 0");
    }
    let successes = probe.at("successThreshold");
    if kind == "readinessProbe" {
        if own.is_set() {
            own.invalid("must not be set for readinessProbes");
        }
    } else if successes.count() != 1 {
        successes.invalid_as(successes.count(), "must be 1");
    }
}

/// Exactly one of the actions in `kinds`.
fn handler(handler: &Field<'_, '_>, kinds: &[&str], grace: Option<i64>) {
    let mut n = 0;
    for kind in kinds {
        let action = handler.at(kind);
        if !action.is_set() {
            continue;
        }
        n += 1;
        if n > 1 {
            action.forbidden("may not specify more than 1 handler type");
            continue;
        }
        match *kind {
            "exec" if action.at("command").list().is_empty() => action.at("command").required(""),
            "httpGet" => http_get(&action),
            "tcpSocket" => action.at("port").port_or_name(),
            "grpc" => action.at("port").port(),
            "sleep" => sleep(&action, grace),
            _ => {}
        }
    }
    if n == 0 {
        handler.required("must specify a handler type");
    }
}

fn http_get(action: &Field<'_, '_>) {
    action.at("path").needed();
    action.at("port").port_or_name();
    action.at("scheme").supported(&["HTTP", "HTTPS"]);
    let headers = action.at("httpHeaders");
    for header in headers.list() {
        let name = text(header, "name");
        for complaint in names::http_header_name(name) {
            headers.invalid_as(name, complaint);
        }
    }
}

fn sleep(action: &Field<'_, '_>, grace: Option<i64>) {
    let seconds = action.at("seconds").count();
    if let Some(grace) = grace
        && !(0..=grace).contains(&seconds)
    {
        let detail =
            format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
        action.invalid_as(seconds, detail);
    }
}

/// Signals of Linux besides the numbered ones.
const SIGNALS: [&str; 35] = [
    "SIGABRT",
    "SIGALRM",
    "SIGBUS",
    "SIGCHLD",
    "SIGCLD",
    "SIGCONT",
    "SIGFPE",
    "SIGHUP",
    "SIGILL",
    "SIGINT",
    "SIGIO",
    "SIGIOT",
    "SIGKILL",
    "SIGPIPE",
    "SIGPOLL",
    "SIGPROF",
    "SIGPWR",
    "SIGQUIT",
    "SIGSEGV",
    "SIGSTKFLT",
    "SIGSTOP",
    "SIGSYS",
    "SIGTERM",
    "SIGTRAP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGUSR1",
    "SIGUSR2",
    "SIGVTALRM",
    "SIGWINCH",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGRTMIN",
];

fn stop_signal(scope: &Scope<'_>, signal: &Field<'_, '_>) {
    match text(scope.spec, "os.name") {
        "" => signal.forbidden("may not be set for containers with empty `spec.os.name`"),
        "windows" => signal.supported(&["SIGKILL", "SIGTERM"]),
        "linux" => {
            let mut known: Vec<String> = SIGNALS.iter().map(|&name| name.to_owned()).collect();
            known.push("SIGRTMAX".to_owned());
            known.extend((1..=15).map(|n| format!("SIGRTMIN+{n}")));
            known.extend((1..=14).map(|n| format!("SIGRTMAX-{n}")));
            known.sort_unstable();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            signal.supported(&known);
        }
        _ => {}
    }
}
