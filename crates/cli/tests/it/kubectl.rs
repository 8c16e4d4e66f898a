//! Every everyday command of kubectl, on a built-in kind and on a custom resource.

use std::io::Read;
use std::process::Stdio;
use std::time::Duration;

use flotilla_testkit::tools::{Kubectl, capture, kubectl as kubectl_alone};
use flotilla_testkit::{Flotilla, wait_until};

use crate::binary;

const CONFIG: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: tea, labels: {app: kettle}}
data: {blend: assam, cups: \"2\"}
";

const CRD: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kettles.kitchen.example.com}
spec:
  group: kitchen.example.com
  scope: Namespaced
  names: {plural: kettles, singular: kettle, kind: Kettle, shortNames: [kt], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns:
    - {name: Litres, type: integer, jsonPath: .spec.litres}
    - {name: State, type: string, jsonPath: .status.state}
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
    schema:
      openAPIV3Schema:
        type: object
        description: A vessel that boils water.
        properties:
          spec:
            type: object
            required: [litres]
            properties:
              litres: {type: integer, minimum: 1, maximum: 20, description: How much it holds.}
              replicas: {type: integer, default: 1}
              colour: {type: string, enum: [red, steel], default: steel}
              spouts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string}, bore: {type: integer}}
            x-kubernetes-validations:
            - {rule: "!has(self.spouts) || self.spouts.size() <= self.litres", message: more spouts than litres}
          status:
            type: object
            properties: {state: {type: string}, replicas: {type: integer}}
"#;

const KETTLE: &str = "\
apiVersion: kitchen.example.com/v1
kind: Kettle
metadata: {name: big}
spec: {litres: 3, spouts: [{name: front, bore: 2}]}
";

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  replicas: 1
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: web, image: 'web:1', ports: [{containerPort: 80}]}]}
";

fn cluster() -> (Flotilla, Kubectl) {
    let flotilla = Flotilla::up(binary(), &["--data-dir", ":memory:"]);
    let kubectl = Kubectl::new(&flotilla);
    (flotilla, kubectl)
}

fn with_kettles() -> (Flotilla, Kubectl) {
    let (flotilla, kubectl) = cluster();
    kubectl
        .with_input("apply -f -", CRD)
        .shows("kettles.kitchen.example.com created");
    kubectl
        .run("wait --for=condition=Established crd/kettles.kitchen.example.com --timeout=10s")
        .shows("condition met");
    (flotilla, kubectl)
}

#[test]
#[ignore = "needs kubectl"]
fn objects_are_created_read_changed_and_deleted() {
    let (_flotilla, kubectl) = cluster();
    kubectl
        .with_input("create -f -", CONFIG)
        .shows("configmap/tea created");
    let again = kubectl.with_input("create -f -", CONFIG);
    assert!(
        again.err().contains("configmaps \"tea\" already exists"),
        "{again:?}"
    );
    kubectl
        .run("get configmap tea")
        .shows("NAME")
        .shows("DATA")
        .shows("tea");
    kubectl
        .run("get cm tea -o jsonpath={.data.blend}")
        .shows("assam");
    kubectl
        .run("get cm -l app=kettle -o name")
        .shows("configmap/tea");
    let none = kubectl.run("get cm -l app=pot -o name");
    assert_eq!(none.out(), "");
    kubectl
        .run("label cm tea size=big")
        .shows("configmap/tea labeled");
    kubectl
        .run("get cm tea --show-labels")
        .shows("app=kettle,size=big");
    kubectl
        .run("annotate cm tea note=hot")
        .shows("configmap/tea annotated");
    kubectl.run("describe cm tea").shows("blend").shows("assam");
    kubectl
        .run("delete cm tea --wait")
        .shows("configmap \"tea\" deleted");
    let gone = kubectl.run("get cm tea");
    let expected = "Error from server (NotFound): configmaps \"tea\" not found\n";
    assert_eq!(gone.err(), expected);
    kubectl
        .run("create namespace pantry")
        .shows("namespace/pantry created");
    kubectl
        .run("create configmap jam --from-literal=kind=plum -n pantry")
        .shows("created");
    kubectl
        .run("delete namespace pantry --wait --timeout=30s")
        .shows("deleted");
    assert!(
        kubectl
            .run("get cm jam -n pantry")
            .err()
            .contains("not found")
    );
}

#[test]
#[ignore = "needs kubectl"]
fn apply_diff_and_every_kind_of_patch_merge_as_upstream() {
    let (_flotilla, kubectl) = cluster();
    kubectl
        .with_input("apply -f -", DEPLOYMENT)
        .shows("deployment.apps/shop created");
    kubectl
        .with_input("apply -f -", DEPLOYMENT)
        .shows("deployment.apps/shop unchanged");
    let changed = DEPLOYMENT.replace("web:1", "web:2");
    let diff = kubectl.with_input("diff -f -", &changed);
    assert!(
        diff.stdout.contains("+        image: web:2") || diff.stdout.contains("web:2"),
        "{diff:?}"
    );
    kubectl
        .with_input("apply -f -", &changed)
        .shows("deployment.apps/shop configured");
    assert_eq!(kubectl.with_input("diff -f -", &changed).out(), "");

    let strategic =
        r#"{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"s:1"}]}}}}"#;
    kubectl
        .args(&["patch", "deploy", "shop", "-p", strategic], "")
        .shows("patched");
    kubectl
        .run("get deploy shop -o jsonpath={.spec.template.spec.containers[*].image}")
        .shows("web:2")
        .shows("s:1");
    let merge = r#"{"metadata":{"annotations":{"a":"1"}}}"#;
    kubectl
        .args(
            &["patch", "deploy", "shop", "--type=merge", "-p", merge],
            "",
        )
        .shows("patched");
    let json = r#"[{"op":"replace","path":"/spec/replicas","value":3}]"#;
    kubectl
        .args(&["patch", "deploy", "shop", "--type=json", "-p", json], "")
        .shows("patched");
    kubectl
        .run("get deploy shop -o jsonpath={.spec.replicas}")
        .shows("3");
    kubectl
        .run("scale deploy shop --replicas=5")
        .shows("deployment.apps/shop scaled");
    kubectl
        .run("get deploy shop -o jsonpath={.spec.replicas}/{.metadata.generation}")
        .shows("5/");

    let theirs = DEPLOYMENT.replace("replicas: 1", "replicas: 2");
    let conflict = kubectl.with_input("apply --server-side --field-manager=other -f -", &theirs);
    assert!(conflict.err().contains("conflict"), "{conflict:?}");
    kubectl
        .with_input(
            "apply --server-side --force-conflicts --field-manager=other -f -",
            &theirs,
        )
        .shows("serverside-applied");
    kubectl
        .run("get deploy shop --show-managed-fields -o jsonpath={.metadata.managedFields[*].manager}")
        .shows("other");

    let mut edit = kubectl.command();
    edit.args(["edit", "deploy", "shop"])
        .env("KUBE_EDITOR", "sed -i s/web:1/web:9/");
    capture(edit, "").shows("deployment.apps/shop edited");
    kubectl
        .run("get deploy shop -o jsonpath={.spec.template.spec.containers[*].image}")
        .shows("web:9");
}

#[test]
#[ignore = "needs kubectl"]
fn custom_resources_behave_like_built_in_ones() {
    let (_flotilla, kubectl) = with_kettles();
    kubectl
        .with_input("apply -f -", KETTLE)
        .shows("kettle.kitchen.example.com/big created");
    kubectl.run("get kettles").shows("LITRES").shows("STATE");
    kubectl
        .run("get kt big -o jsonpath={.spec.colour}")
        .shows("steel");
    kubectl
        .run("get all")
        .shows("kettle.kitchen.example.com/big");
    kubectl
        .run("describe kettle big")
        .shows("Litres:")
        .shows("3");
    kubectl
        .run("explain kettle.spec.litres")
        .shows("How much it holds.")
        .shows("integer");
    kubectl
        .run("explain deployment.spec.replicas")
        .shows("integer");
    kubectl
        .run("api-resources --api-group=kitchen.example.com")
        .shows("kettles")
        .shows("kt");
    kubectl.run("scale kettle big --replicas=4").shows("scaled");
    kubectl
        .run("get kt big -o jsonpath={.spec.replicas}")
        .shows("4");
    let merge = r#"{"status":{"state":"boiling"}}"#;
    let patch = [
        "patch",
        "kettle",
        "big",
        "--type=merge",
        "--subresource=status",
        "-p",
        merge,
    ];
    kubectl.args(&patch, "").shows("patched");
    kubectl
        .run("wait --for=jsonpath={.status.state}=boiling kettle/big --timeout=10s")
        .shows("met");
    kubectl
        .with_input("apply --server-side --field-manager=cook -f -", KETTLE)
        .shows("serverside-applied");
    let mut edit = kubectl.command();
    edit.args(["edit", "kettle", "big"])
        .env("KUBE_EDITOR", "sed -i s/steel/red/");
    capture(edit, "").shows("edited");
    kubectl.run("label kettle big hot=yes").shows("labeled");
    kubectl
        .run("annotate kettle big hot=yes")
        .shows("annotated");
    let diff = kubectl.with_input("diff -f -", &KETTLE.replace("litres: 3", "litres: 4"));
    assert!(diff.stdout.contains("+  litres: 4"), "{diff:?}");
    let json = r#"[{"op":"replace","path":"/spec/litres","value":5}]"#;
    kubectl
        .args(&["patch", "kettle", "big", "--type=json", "-p", json], "")
        .shows("patched");

    let wrong = kubectl.with_input("apply -f -", &KETTLE.replace("litres: 3", "litres: 30"));
    assert!(wrong.err().contains("spec.litres"), "{wrong:?}");
    assert!(
        wrong.stderr.contains("should be less than or equal to 20"),
        "{wrong:?}"
    );
    let cel = kubectl.with_input("apply -f -", &KETTLE.replace("litres: 3", "litres: 0"));
    assert!(cel.err().contains("spec.litres"), "{cel:?}");
    let spouts = KETTLE
        .replace("litres: 3", "litres: 1")
        .replace("name: big", "name: tiny");
    let spouts = spouts.replace("bore: 2}", "bore: 2}, {name: back}");
    let refused = kubectl.with_input("create -f -", &spouts);
    assert!(
        refused.err().contains("more spouts than litres"),
        "{refused:?}"
    );
    kubectl.run("delete kettle big --wait").shows("deleted");
    kubectl
        .run("delete crd kettles.kitchen.example.com --wait --timeout=20s")
        .shows("deleted");
    // kubectl remembers resource types for some minutes; either way there are none.
    let gone = kubectl.run("get kettles");
    let texts = [
        "doesn't have a resource type",
        "could not find the requested resource",
    ];
    assert!(
        texts.iter().any(|text| gone.err().contains(text)),
        "{gone:?}"
    );
}

#[test]
#[ignore = "needs kubectl"]
fn watches_and_waits_see_changes() {
    let (_flotilla, kubectl) = cluster();
    let mut watch = kubectl.command();
    watch
        .args(["get", "cm", "-w", "-o", "name"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut watch = watch.spawn().expect("kubectl");
    let mut out = watch.stdout.take().expect("stdout");
    let (tx, rx) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut chunk = [0; 1024];
        while let Ok(n) = out.read(&mut chunk)
            && n > 0
        {
            let _ = tx.send(String::from_utf8_lossy(&chunk[..n]).into_owned());
        }
    });
    let mut seen = String::new();
    kubectl.with_input("apply -f -", CONFIG).shows("created");
    wait_until(
        "the watch shows the new ConfigMap",
        Duration::from_secs(10),
        || {
            seen.extend(rx.try_iter());
            seen.contains("configmap/tea").then_some(())
        },
    );
    let _ = watch.kill();
    let _ = watch.wait();

    let mut waiting = kubectl.command();
    waiting
        .args(["wait", "--for=delete", "cm/tea", "--timeout=20s"])
        .stdout(Stdio::piped());
    let waiting = waiting.spawn().expect("kubectl");
    kubectl.run("delete cm tea").shows("deleted");
    let output = waiting.wait_with_output().expect("wait");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "needs kubectl"]
fn identity_versions_and_rights_are_told() {
    let (_flotilla, kubectl) = cluster();
    kubectl.run("version").shows("v1.35.");
    kubectl.run("auth whoami").shows("system:masters");
    kubectl.run("auth can-i create pods").shows("yes");
    kubectl
        .run("api-resources")
        .shows("deployments")
        .shows("endpointslices");
    kubectl.run("api-versions").shows("networking.k8s.io/v1");
    kubectl.run("get --raw /readyz").shows("ok");
    kubectl.run("cluster-info").shows("is running at");
    kubectl
        .run("get namespaces")
        .shows("kube-system")
        .shows("Active");
    kubectl.run("get svc kubernetes").shows("10.96.0.1");
    let anonymous = kubectl.run("--as=nobody get pods");
    assert!(
        anonymous
            .err()
            .contains("pods is forbidden: User \"nobody\" cannot list resource \"pods\""),
        "{anonymous:?}"
    );
}

#[test]
#[ignore = "needs kubectl"]
fn static_tokens_identify_their_users() {
    let folder = tempfile::TempDir::new().expect("folder");
    let file = folder.path().join("tokens.csv");
    std::fs::write(&file, "s3cret,ada,1,\"brewers,system:authenticated\"\n").expect("write");
    let path = file.to_string_lossy().into_owned();
    let arguments = ["--data-dir", ":memory:", "--token-auth-file", &path];
    let flotilla = Flotilla::up(binary(), &arguments);
    let kubectl = Kubectl::new(&flotilla);
    let server = kubectl.run("config view --minify -o jsonpath={.clusters[0].cluster.server}");
    let server = server.out().to_owned();
    let whoami = |token: &str| {
        let mut command = kubectl_alone();
        command.args([
            "--kubeconfig=/dev/null",
            "--insecure-skip-tls-verify",
            "--server",
            &server,
        ]);
        command.args(["--token", token, "auth", "whoami"]);
        capture(command, "")
    };
    whoami("s3cret").shows("ada").shows("brewers");
    let stranger = whoami("wrong");
    assert!(
        stranger.err().contains("Unauthorized") || stranger.stderr.contains("logged in"),
        "{stranger:?}"
    );
}
