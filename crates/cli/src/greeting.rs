//! What `flotilla up` says once it is up: where the kubeconfig is and what to type next. Pure.

use std::fmt::Write;
use std::net::SocketAddr;
use std::time::Duration;

use crate::plan::Plan;

/// The greeting; `apis` are the addresses the API servers got, in the plan's order.
pub(crate) fn greeting(plan: &Plan, apis: &[SocketAddr], took: Duration) -> String {
    let mut text = String::new();
    let n = plan.clusters.len();
    let clusters = if n == 1 {
        "1 cluster".to_owned()
    } else {
        format!("{n} clusters")
    };
    line(
        &mut text,
        format_args!(
            "Flotilla is up: {clusters}, ready in {} ms",
            took.as_millis()
        ),
    );
    line(&mut text, format_args!(""));
    line(
        &mut text,
        format_args!("  kubeconfig  {}", plan.kubeconfig.display()),
    );
    for (cluster, api) in plan.clusters.iter().zip(apis) {
        line(
            &mut text,
            format_args!(
                "  {:<10}  API https://{api}   DNS {}   addresses {}",
                cluster.name, cluster.dns, cluster.pool
            ),
        );
    }
    if let Some(edge) = &plan.edge {
        line(
            &mut text,
            format_args!(
                "  {:<10}  DNS {}   zone {}",
                "edge", edge.server, plan.parent_zone
            ),
        );
        line(
            &mut text,
            format_args!("  {:<10}  DNS {}", "resolver", edge.resolver),
        );
    }
    line(&mut text, format_args!("\nTry next:"));
    for command in commands(plan) {
        line(&mut text, format_args!("  {command}"));
    }
    line(&mut text, format_args!("\nCtrl-C stops it."));
    text
}

/// The three commands worth typing.
fn commands(plan: &Plan) -> [String; 3] {
    let export = format!(
        "export KUBECONFIG={}",
        quoted(&plan.kubeconfig.to_string_lossy())
    );
    let Some(edge) = &plan.edge else {
        return [
            export,
            "kubectl get namespaces".to_owned(),
            "kubectl create configmap hello --from-literal=who=world".to_owned(),
        ];
    };
    let names: Vec<&str> = plan
        .clusters
        .iter()
        .map(|cluster| cluster.name.as_str())
        .collect();
    [
        export,
        format!(
            "for c in {}; do kubectl --context $c apply -f examples/gslb/podinfo.yaml; done",
            names.join(" ")
        ),
        format!(
            "dig @{} -p {} +short podinfo.{}",
            edge.resolver.ip(),
            edge.resolver.port(),
            plan.zone
        ),
    ]
}

/// The word as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+~:".contains(c);
    if word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn paths_survive_a_shell() {
        let cases = [
            ("/a/b.c", "/a/b.c"),
            ("/my dir", "'/my dir'"),
            ("it's", r"'it'\''s'"),
        ];
        for (word, expected) in cases {
            assert_eq!(quoted(word), expected);
        }
    }
}
