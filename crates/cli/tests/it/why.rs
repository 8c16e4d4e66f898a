//! `flotilla why` against a running cluster.

use std::time::Duration;

use flotilla_testkit::tools::Kubectl;
use flotilla_testkit::{Flotilla, eventually, run};

use crate::binary;

const HELD: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: held, namespace: old, finalizers: [example.com/cleanup]}
";

fn why(flotilla: &Flotilla, arguments: &[&str]) -> String {
    let kubeconfig = flotilla.kubeconfig();
    let mut all = vec![
        "why",
        "--kubeconfig",
        kubeconfig.to_str().expect("a plain path"),
    ];
    all.extend(arguments);
    let output = run(binary(), &all);
    let errors = String::from_utf8_lossy(&output.stderr);
    String::from_utf8_lossy(&output.stdout).into_owned() + &errors
}

#[test]
#[ignore = "needs kubectl"]
fn a_held_namespace_a_lonely_service_and_a_refusal_are_explained() {
    let flotilla = Flotilla::up(binary(), &["--data-dir", ":memory:"]);
    let kubectl = Kubectl::new(&flotilla);
    kubectl.run("create namespace old").shows("created");
    kubectl.with_input("create -f -", HELD).shows("created");
    kubectl
        .run("create service clusterip shop --tcp=80")
        .shows("created");
    kubectl
        .run("delete namespace old --wait=false")
        .shows("deleted");
    let expected = "1 configmaps: old/held; 1 held by example.com/cleanup";
    eventually(
        "the namespace says what is left",
        Duration::from_secs(20),
        &true,
        || why(&flotilla, &["ns", "old"]).contains(expected),
    );
    let held = why(&flotilla, &["cm", "held", "-n", "old"]);
    let expected = "finalizer example.com/cleanup: set by kubectl-create;";
    assert!(held.contains(expected), "{held}");
    assert!(held.contains(".metadata.finalizers"), "{held}");
    let service = why(&flotilla, &["svc", "shop", "-o", "json"]);
    assert!(service.contains("\"reason\": \"NoPods\""), "{service}");
    let refused = why(
        &flotilla,
        &["svc", "shop", "--as", "ann", "--verb", "delete"],
    );
    let expected = "User \"ann\" wants to delete resource \"services\" in API group \"\" in the \
                    namespace \"default\": refused";
    assert!(refused.contains(expected), "{refused}");
    let unknown = why(&flotilla, &["gizmo", "x"]);
    assert!(
        unknown.contains("the cluster has no kind \"gizmo\""),
        "{unknown}"
    );
    let absent = why(&flotilla, &["pod", "x"]);
    assert!(
        absent.contains("there is no pod \"x\" in the namespace"),
        "{absent}"
    );
}
