//! Pods: what STATUS, READY and RESTARTS say about a dozen fields.

use jiff::Timestamp;
use serde_json::Value;

use super::format::{View, at, list, or_none, text as text_at};
use super::{AGE, NAME, Printer, text, wide};

pub(super) const PRINTERS: &[Printer] = &[Printer {
    group: "",
    kind: "Pod",
    columns: &[
        NAME,
        text("Ready"),
        text("Status"),
        text("Restarts"),
        AGE,
        wide("IP"),
        wide("Node"),
        wide("Nominated Node"),
        wide("Readiness Gates"),
    ],
    cells: pod,
}];

fn pod(view: &View<'_>) -> Vec<Value> {
    let containers = Containers::of(view);
    let ip = match view.list("status.podIPs").first() {
        Some(first) => text_at(first, "ip"),
        None => view.text("status.podIP"),
    };
    vec![
        view.name(),
        format!("{}/{}", containers.n_ready, containers.n_total).into(),
        containers.status.into(),
        containers.restarts.to_text(view.now).into(),
        view.age(),
        or_none(ip.to_owned()).into(),
        view.text_or("spec.nodeName", "<none>").into(),
        view.text_or("status.nominatedNodeName", "<none>").into(),
        readiness_gates(view).into(),
    ]
}

/// What all containers together say.
struct Containers<'a> {
    status: String,
    n_ready: usize,
    n_total: usize,
    restarts: Restarts,
    view: &'a View<'a>,
}

/// How often containers restarted, and when last.
#[derive(Clone, Copy, Default)]
struct Restarts {
    count: i64,
    last: Option<Timestamp>,
}

impl<'a> Containers<'a> {
    fn of(view: &'a View<'a>) -> Self {
        let sidecars = view
            .list("spec.initContainers")
            .iter()
            .filter(|c| is_sidecar(c))
            .count();
        let mut all = Self {
            status: phase(view),
            n_ready: 0,
            n_total: view.list("spec.containers").len() + sidecars,
            restarts: Restarts::default(),
            view,
        };
        let mut of_sidecars = Restarts::default();
        let is_initializing = all.walk_init_containers(&mut of_sidecars);
        if !is_initializing || view.has_condition("Initialized") {
            all.restarts = of_sidecars;
            all.walk_containers();
        }
        let phase = view.text("status.phase");
        if view.is_deleting() && view.text("status.reason") == "NodeLost" {
            all.status = "Unknown".to_owned();
        } else if view.is_deleting() && phase != "Succeeded" && phase != "Failed" {
            all.status = "Terminating".to_owned();
        }
        all
    }

    /// Whether an init container is still in the way.
    fn walk_init_containers(&mut self, of_sidecars: &mut Restarts) -> bool {
        let specs = self.view.list("spec.initContainers");
        for (index, status) in self
            .view
            .list("status.initContainerStatuses")
            .iter()
            .enumerate()
        {
            let is_sidecar = specs
                .iter()
                .any(|spec| spec["name"] == status["name"] && is_sidecar(spec));
            self.restarts.add(status);
            if is_sidecar {
                of_sidecars.add(status);
            }
            let terminated = at(status, "state.terminated");
            let waiting = text_at(status, "state.waiting.reason");
            if terminated.is_object() && at(terminated, "exitCode").as_i64().unwrap_or(0) == 0 {
                continue;
            }
            if is_sidecar && status["started"] == true {
                self.n_ready += usize::from(status["ready"] == true);
                continue;
            }
            self.status = if terminated.is_object() {
                format!("Init:{}", end_of(terminated))
            } else if !waiting.is_empty() && waiting != "PodInitializing" {
                format!("Init:{waiting}")
            } else {
                format!("Init:{index}/{}", specs.len())
            };
            return true;
        }
        false
    }

    fn walk_containers(&mut self) {
        let mut has_running = false;
        for status in self.view.list("status.containerStatuses").iter().rev() {
            self.restarts.add(status);
            let terminated = at(status, "state.terminated");
            let waiting = text_at(status, "state.waiting.reason");
            if !waiting.is_empty() {
                waiting.clone_into(&mut self.status);
            } else if terminated.is_object()
                && (self.status.is_empty() || !text_at(terminated, "reason").is_empty())
            {
                self.status = end_of(terminated);
            } else if status["ready"] == true && at(status, "state.running").is_object() {
                has_running = true;
                self.n_ready += 1;
            }
        }
        if self.status == "Completed" && has_running {
            let is_ready = self.view.has_condition("Ready");
            self.status = if is_ready { "Running" } else { "NotReady" }.to_owned();
        }
    }
}

impl Restarts {
    fn add(&mut self, status: &Value) {
        self.count += status["restartCount"].as_i64().unwrap_or_default();
        let finished = text_at(status, "lastState.terminated.finishedAt")
            .parse()
            .ok();
        self.last = self.last.max(finished);
    }

    fn to_text(self, now: Timestamp) -> String {
        match self.last {
            Some(last) if self.count != 0 => {
                let ago = super::human_duration(now.duration_since(last));
                format!("{} ({ago} ago)", self.count)
            }
            _ => self.count.to_string(),
        }
    }
}

fn phase(view: &View<'_>) -> String {
    let is_gated = view.list("status.conditions").iter().any(|condition| {
        condition["type"] == "PodScheduled" && condition["reason"] == "SchedulingGated"
    });
    if is_gated {
        return "SchedulingGated".to_owned();
    }
    match view.text("status.reason") {
        "" => view.text("status.phase").to_owned(),
        reason => reason.to_owned(),
    }
}

/// How a container ended: its reason, else the signal or exit code.
fn end_of(terminated: &Value) -> String {
    let number = |key: &str| terminated[key].as_i64().unwrap_or_default();
    match (text_at(terminated, "reason"), number("signal")) {
        ("", 0) => format!("ExitCode:{}", number("exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn is_sidecar(container: &Value) -> bool {
    container["restartPolicy"] == "Always"
}

fn readiness_gates(view: &View<'_>) -> String {
    let gates = list(view.object, "spec.readinessGates");
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let passed = gates
        .iter()
        .filter(|gate| view.has_condition(text_at(gate, "conditionType")));
    format!("{}/{}", passed.count(), gates.len())
}
