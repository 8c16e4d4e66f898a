"""Helm 3 or 4: the life of three charts (helm_charts.py), with everything its commands ask of a server.

usage: KUBECONFIG=… python3 helm.py HELM        (HELM is a helm binary; KUBECTL names another kubectl)
Nothing runs pods here: a thread finishes hook jobs and test pods by writing their status, as a node's kubelet would.
"""
import json, os, pathlib, subprocess, sys, tempfile, threading, time, uuid

from helm_charts import CERTS, MONITORS, QUEUES
from report import Report

HELM, KUBECTL = sys.argv[1], os.environ.get("KUBECTL", "kubectl")
VERSION = subprocess.run([HELM, "version", "--template", "{{.Version}}"], capture_output=True, text=True).stdout
FOUR = VERSION.startswith("v4")
ID = uuid.uuid4().hex[:6]
NS, GROUP = f"helm-{ID}", f"h{ID}.example.com"
FOLDER = pathlib.Path(tempfile.mkdtemp())


def run(*args, stdin=None):
    done = subprocess.run(args, input=stdin, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def helm(*args, **more):
    code, out, err = run(HELM, *args, "-n", NS, **more)
    assert code == 0, err or out
    return out


def helm_refused(text, *args):
    code, out, err = run(HELM, *args, "-n", NS)
    assert code != 0, "succeeded"
    assert text in err, f"wanted {text!r}, got {err}"


def kubectl(*args, stdin=None):
    code, out, err = run(KUBECTL, *args, stdin=stdin)
    assert code == 0, err
    return out


def get(kind, name, ns=NS):
    return json.loads(kubectl("get", kind, name, "-n", ns, "-o", "json"))


def gone(kind, name, ns=NS):
    for _ in range(50):
        if run(KUBECTL, "get", kind, name, "-n", ns)[0]:
            return
        time.sleep(0.1)
    raise AssertionError(f"{kind} {name} is still there")


def chart(name, files):
    for path, text in files.items():
        (FOLDER / name / path).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / name / path).write_text(text.replace("GROUP", GROUP).replace("SHORT", f"s{ID}"))
    return str(FOLDER / name)


def revisions(name):
    return [(r["revision"], r["status"]) for r in json.loads(helm("history", name, "-o", "json"))]


def versions(*kinds):
    """resourceVersion of every object of these kinds in the namespace."""
    items = json.loads(kubectl("get", ",".join(kinds), "-n", NS, "-o", "json"))["items"]
    return {(i["kind"], i["metadata"]["name"]): i["metadata"]["resourceVersion"] for i in items}


# === What a node would do ===
def finish(kind, obj):
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    yes = lambda word: {"type": word, "status": "True", "lastTransitionTime": now}
    status = {
        "Job": {"startTime": now, "completionTime": now, "succeeded": 1, "conditions": [yes("SuccessCriteriaMet"), yes("Complete")]},
        "Pod": {"phase": "Succeeded"},
    }[kind]
    run(KUBECTL, "patch", kind.lower(), obj["metadata"]["name"], "-n", NS, "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))


def kubelet(stop):
    while not stop.wait(0.2):
        code, out, _ = run(KUBECTL, "get", "jobs,pods", "-n", NS, "-o", "json")
        for obj in json.loads(out)["items"] if code == 0 else []:
            if not (obj.get("status") or {}).get("completionTime") and (obj.get("status") or {}).get("phase") != "Succeeded":
                finish(obj["kind"], obj)


# === The charts ===
def certs(r):
    path = chart("certs", CERTS)
    with r.step("certs: lint and template"):
        assert "0 chart(s) failed" in helm("lint", path)
        assert "kind: MutatingWebhookConfiguration" in helm("template", "certs", path, "--validate")
    with r.step("certs: dry run on the server"):
        assert "certs v1.2.3 is in" in helm("install", "certs", path, "--dry-run=server", "--create-namespace")
        assert run(KUBECTL, "get", "namespace", NS)[0], "the dry run made the namespace"
    with r.step("certs: install with a hook job"):
        out = helm("install", "certs", path, "--create-namespace", "--timeout", "30s")
        assert "STATUS: deployed" in out and f"certs v1.2.3 is in {NS}" in out, out
        gone("job", "startupcheck")
        gone("serviceaccount", "startupcheck")
    with r.step("certs: webhook configurations have their defaults"):
        for kind in ("mutating", "validating"):
            hook = get(f"{kind}webhookconfiguration", f"{NS}-webhook")["webhooks"][0]
            assert hook["clientConfig"]["service"]["port"] == 443 and hook["rules"][0]["scope"] == "*", hook
    with r.step("certs: roles aggregate"):
        rules = get("clusterrole", "view")["rules"]
        for _ in range(30):
            if any(GROUP in rule["apiGroups"] for rule in rules):
                break
            time.sleep(0.1)
            rules = get("clusterrole", "view")["rules"]
        else:
            raise AssertionError("view lacks the chart's rule")
        who = f"--as=system:serviceaccount:{NS}:certs"
        assert kubectl("auth", "can-i", "update", f"issuers.{GROUP}", "--subresource=status", who).strip() == "yes"
        assert kubectl("auth", "can-i", "create", "leases", "-n", "kube-system", who).strip() == "yes"
    issuer = {"apiVersion": f"{GROUP}/v1", "kind": "Issuer", "metadata": {"name": "a", "namespace": NS}, "spec": {"email": "a@b"}}
    with r.step("certs: its own kind works"):
        kubectl("apply", "-f", "-", stdin=json.dumps(issuer))
        assert get(f"issuers.{GROUP}", "a")["spec"]["renewBefore"] == "360h"
        code, _, err = run(KUBECTL, "patch", f"issuers.{GROUP}", "a", "-n", NS, "--type=merge", "-p", '{"spec": {"email": "b"}}')
        assert code and "email needs an @" in err, err
    with r.step("certs: status, values, manifest, hooks, notes, metadata"):
        assert "STATUS: deployed" in helm("status", "certs")
        assert '"replicaCount"' in helm("get", "values", "certs", "--all", "-o", "json")
        assert "kind: PodDisruptionBudget" in helm("get", "manifest", "certs")
        assert "kind: Job" in helm("get", "hooks", "certs")
        assert "v1.2.3 is in" in helm("get", "notes", "certs")
        assert "certs" in helm("get", "metadata", "certs", "-o", "json")
    kinds = ("deployment", "service", "serviceaccount", "poddisruptionbudget")
    with r.step("certs: the same again changes nothing"):
        before = versions(*kinds)
        helm("upgrade", "certs", path, "--timeout", "30s")
        after = versions(*kinds)
        assert before == after, {k: (before[k], after.get(k)) for k in before if before[k] != after.get(k)}
    with r.step("certs: upgrade"):
        helm("upgrade", "certs", path, "--set", "replicaCount=3,webhook.timeoutSeconds=5", "--set-json", 'extraArgs=["--x"]')
        spec = get("deployment", "certs")["spec"]
        assert spec["replicas"] == 3 and "--x" in spec["template"]["spec"]["containers"][0]["args"]
        assert get("mutatingwebhookconfiguration", f"{NS}-webhook")["webhooks"][0]["timeoutSeconds"] == 5
    with r.step("certs: values against the schema are refused"):
        helm_refused("replicaCount", "upgrade", "certs", path, "--set", "replicaCount=many")
    with r.step("certs: rollback"):
        helm("rollback", "certs", "1", "--timeout", "30s")
        assert get("deployment", "certs")["spec"]["replicas"] == 1
        assert revisions("certs")[-1] == (4, "deployed"), revisions("certs")
    with r.step("certs: uninstall keeps the definition and its objects"):
        assert "kept" in helm("uninstall", "certs", "--wait", "--timeout", "30s")
        gone("deployment", "certs")
        gone("role", f"{NS}:leaderelection", "kube-system")
        get(f"issuers.{GROUP}", "a")
    with r.step("certs: install adopts the definition"):
        helm("install", "certs", path, "--timeout", "30s")
        helm("uninstall", "certs", "--timeout", "30s")
        kubectl("delete", "crd", f"issuers.{GROUP}", "--timeout=10s")


def queues(r):
    path = chart("queues", QUEUES)
    with r.step("queues: install"):
        helm("install", "queues", path, "--timeout", "30s")
        flavor = get(f"flavors.{GROUP}", NS)
        assert flavor["spec"]["quota"] == "9Gi" and flavor["spec"]["levels"][0]["size"] == 1
        assert get(f"flavors.{GROUP}", f"{NS}-default")["spec"]["quota"] == 1
    with r.step("queues: capabilities and lookups"):
        data = get("configmap", "manager-config")["data"]
        assert data["flavors"] == "0" and data["batch"] == "true" and data["kube"].startswith("v1.35"), data
        key = get("secret", "webhook-cert")["data"]["key"]
        helm("upgrade", "queues", path, "--timeout", "30s")
        assert get("secret", "webhook-cert")["data"]["key"] == key, "looked up nothing"
        assert get("configmap", "manager-config")["data"]["flavors"] == "2"
    with r.step("queues: aggregation and flow control"):
        role = get("clusterrole", f"{NS}-batch-admin")
        assert any(GROUP in rule["apiGroups"] for rule in role["rules"]), role
        assert get("flowschema", f"{NS}-visibility")["spec"]["matchingPrecedence"] == 9000
        assert get("prioritylevelconfiguration", f"{NS}-visibility")["spec"]["limited"]["lendablePercent"] == 0
    with r.step("queues: what leaves the chart leaves the cluster"):
        get("networkpolicy", "visibility")
        helm("upgrade", "queues", path, "--reuse-values", "--set", "visibility=false")
        gone("networkpolicy", "visibility")
    with r.step("queues: a failed upgrade is recorded"):
        helm_refused("99999", "upgrade", "queues", path, "--set", "broken=true,quota=7")
        assert revisions("queues")[-1][1] == "failed", revisions("queues")
    with r.step("queues: a failed upgrade rolls back when asked to"):
        helm("upgrade", "queues", path, "--set", "quota=8")
        helm_refused("99999", "upgrade", "queues", path, "--rollback-on-failure" if FOUR else "--atomic", "--set", "broken=true,quota=6", "--timeout", "30s")
        assert revisions("queues")[-1][1] == "deployed"
        assert get("configmap", "manager-config")["data"]["quota"] == "8"
    with r.step("queues: a rule about changes stops an upgrade"):
        text = (FOLDER / "queues/templates/flavor.yaml").read_text()
        (FOLDER / "queues/templates/flavor.yaml").write_text(text.replace("kind: a,", "kind: b,"))
        helm_refused("kind is immutable", "upgrade", "queues", path)
        (FOLDER / "queues/templates/flavor.yaml").write_text(text)
    more = ["--force-conflicts"] if FOUR else []
    with r.step("queues: a change by hand is put right"):
        kubectl("patch", "configmap", "manager-config", "-n", NS, "--type=merge", "-p", '{"data": {"quota": "1", "mine": "x"}}')
        helm("upgrade", "queues", path, "--set", "quota=8", *more)
        data = get("configmap", "manager-config")["data"]
        assert data["quota"] == "8" and data["mine"] == "x", data
        helm("upgrade", "queues", path, "--set", "quota=10", *more)
        assert get("configmap", "manager-config")["data"]["quota"] == "10"
    if FOUR:
        with r.step("queues: another's field is a conflict"):
            kubectl("apply", "--server-side", "--force-conflicts", "--field-manager=other", "-n", NS, "-f", "-",
                    stdin='{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "manager-config"}, "data": {"quota": "2"}}')
            helm_refused("conflict", "upgrade", "queues", path, "--set", "quota=11")
            helm("upgrade", "queues", path, "--set", "quota=11", "--force-conflicts")
    with r.step("queues: another's object is refused, then adopted"):
        policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "visibility"}, "spec": {"podSelector": {}}}
        helm("upgrade", "queues", path, "--set", "visibility=false")
        kubectl("create", "-n", NS, "-f", "-", stdin=json.dumps(policy))
        helm_refused("invalid ownership metadata", "upgrade", "queues", path, "--set", "visibility=true")
        helm("upgrade", "queues", path, "--set", "visibility=true", "--take-ownership", *more)
        assert get("networkpolicy", "visibility")["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "Helm"
    with r.step("queues: uninstall with history, then back"):
        helm("uninstall", "queues", "--keep-history", "--timeout", "30s")
        gone("configmap", "manager-config")
        assert "uninstalled" in helm("list", "--uninstalled")
        last = [number for number, status in revisions("queues") if status == "superseded"][-1]
        helm("rollback", "queues", str(last), "--timeout", "30s")
        get("configmap", "manager-config")
        helm("uninstall", "queues", "--timeout", "30s")
        kubectl("delete", "crd", f"flavors.{GROUP}", "--timeout=10s")


def monitors(r):
    path = chart("monitors", MONITORS)
    with r.step("monitors: install with a job before everything"):
        helm("install", "mon", path, "--timeout", "60s")
        gone("job", "admission-create")
        assert get(f"promrules.{GROUP}", "general")["spec"]["groups"][0]["rules"][1]["expr"] == 1
        assert len([k for k in versions("configmap") if k[1].startswith("dashboard-")]) == 20
    with r.step("monitors: list everywhere"):
        assert any(x["name"] == "mon" for x in json.loads(helm("list", "-A", "-o", "json")))
        assert len(kubectl("get", "secrets", "-n", NS, "-l", "owner=helm,name=mon", "-o", "name").split()) == 1
    with r.step("monitors: resources of a release"):
        out = helm("status", "mon", *([] if FOUR else ["--show-resources"]), "-o", "json")
        assert "StatefulSet" in out
    with r.step("monitors: test pod"):
        assert "Succeeded" in helm("test", "mon", "--timeout", "30s")
        gone("pod", "mon-test")
    with r.step("monitors: upgrade without the dependency"):
        get("daemonset", "mon-exporter")
        helm("upgrade", "mon", path, "--set", "exporter.enabled=false,retention=20d,dashboards=5", "--timeout", "60s")
        gone("daemonset", "mon-exporter")
        gone("configmap", "dashboard-19")
        assert "20d" in get("statefulset", "mon-store")["spec"]["template"]["spec"]["containers"][0]["args"][0]
    with r.step("monitors: an immutable field is refused"):
        file = FOLDER / "monitors/templates/workloads.yaml"
        text = file.read_text()
        file.write_text(text.replace("serviceName: store", "serviceName: other"))
        helm_refused("updates to statefulset spec for fields other than", "upgrade", "mon", path, "--timeout", "30s")
        file.write_text(text)
    with r.step("monitors: rollback brings the dependency back"):
        helm("rollback", "mon", "1", "--timeout", "60s")
        get("daemonset", "mon-exporter")
        get("configmap", "dashboard-19")
    with r.step("monitors: uninstall with a job before it, the claim is kept"):
        helm("uninstall", "mon", "--timeout", "60s", "--cascade", "foreground")
        gone("statefulset", "mon-store")
        get("pvc", "grafana")
        kubectl("get", "crd", f"promrules.{GROUP}")
    with r.step("monitors: releases in config maps"):
        os.environ["HELM_DRIVER"] = "configmap"
        helm("install", "mon", path, "--timeout", "60s", "--skip-crds")
        assert kubectl("get", "configmaps", "-n", NS, "-l", "owner=helm", "-o", "name").count("mon.v1") == 1
        helm("uninstall", "mon", "--timeout", "60s")
        del os.environ["HELM_DRIVER"]
    with r.step("clean up"):
        kubectl("delete", "crd", f"promrules.{GROUP}", "--timeout=10s")
        kubectl("delete", "namespace", NS, "--timeout=20s")


if __name__ == "__main__":
    report, stop = Report("Helm", VERSION), threading.Event()
    node = threading.Thread(target=kubelet, args=(stop,), daemon=True)
    node.start()
    for life in (certs, queues, monitors):
        life(report)
    stop.set()
    report.finish()
