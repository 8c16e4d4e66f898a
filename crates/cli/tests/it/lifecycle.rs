//! Starting, stopping and starting again.

use flotilla_testkit::Flotilla;
use flotilla_testkit::tools::Kubectl;
use tempfile::TempDir;

use crate::binary;

#[test]
fn the_greeting_says_what_to_do_next_and_ctrl_c_stops_cleanly() {
    let flotilla = Flotilla::up(binary(), &["--data-dir", ":memory:"]);
    for word in ["kubeconfig", "kubectl", "Ctrl-C"] {
        assert!(
            flotilla.greeting.contains(word),
            "no {word} in\n{}",
            flotilla.greeting
        );
    }
    // Twice at once, as timeout(1) does it.
    flotilla.terminate();
    let status = flotilla.interrupt();
    assert!(status.success(), "{status}");
}

#[test]
#[ignore = "needs kubectl"]
fn a_restart_finds_everything_again() {
    let folder = TempDir::new().expect("folder");
    let first = Flotilla::up_in(binary(), folder.path(), &[]);
    let kubectl = Kubectl::new(&first);
    kubectl
        .run("create configmap tea --from-literal=cups=2")
        .shows("created");
    let uid = kubectl
        .run("get cm tea -o jsonpath={.metadata.uid}")
        .out()
        .to_owned();
    assert!(first.interrupt().success());

    let second = Flotilla::up_in(binary(), folder.path(), &[]);
    let kubectl = Kubectl::new(&second);
    kubectl
        .run("get cm tea -o jsonpath={.metadata.uid}")
        .shows(&uid);
    kubectl
        .run("create configmap pot --from-literal=cups=4")
        .shows("created");
    second.kill();

    let third = Flotilla::up_in(binary(), folder.path(), &[]);
    Kubectl::new(&third).run("get cm").shows("tea").shows("pot");
}
