"""The official Python client: objects, patch types, watch, informer, dynamic client, utils. Needs: kubernetes."""
import tempfile, threading, time, uuid

import kubernetes
from kubernetes import client, config, utils, watch
from kubernetes.dynamic import DynamicClient
from kubernetes.informer import SharedInformer

from report import Report

r = Report("kubernetes", kubernetes.__version__)
config.load_kube_config()
api = client.ApiClient()
core, apps = client.CoreV1Api(api), client.AppsV1Api(api)
ns = f"python-{uuid.uuid4().hex[:8]}"

with r.step("namespace"):
    core.create_namespace({"metadata": {"name": ns}})
with r.step("create, read, replace"):
    core.create_namespaced_config_map(ns, client.V1ConfigMap(metadata=client.V1ObjectMeta(name="a"), data={"k": "v"}))
    cm = core.read_namespaced_config_map("a", ns)
    cm.data["k"] = "w"
    assert core.replace_namespaced_config_map("a", ns, cm).data["k"] == "w"
for kind, body in [
    ("application/strategic-merge-patch+json", {"data": {"s": "1"}}),
    ("application/merge-patch+json", {"data": {"m": "1"}}),
    ("application/json-patch+json", [{"op": "add", "path": "/data/j", "value": "1"}]),
    ("application/apply-patch+yaml", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"p": "1"}}),
]:
    with r.step(f"patch {kind}"):
        core.patch_namespaced_config_map("a", ns, body, field_manager="conformance", _content_type=kind)
with r.step("text of an error"):
    try:
        core.create_namespaced_config_map(ns, {"metadata": {"name": "a"}})
        raise AssertionError("created twice")
    except client.ApiException as e:
        assert e.body.startswith('{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":'), e.body
with r.step("watch"):
    threading.Timer(0.5, lambda: core.create_namespaced_config_map(ns, {"metadata": {"name": "b"}})).start()
    seen = []
    w = watch.Watch()
    for event in w.stream(core.list_namespaced_config_map, ns, timeout_seconds=5):
        seen.append((event["type"], event["object"].metadata.name))
        if seen[-1][1] == "b":
            w.stop()
    assert ("ADDED", "a") in seen and seen[-1] == ("ADDED", "b"), seen
with r.step("watch that starts too early"):
    for event in watch.Watch().stream(core.list_namespaced_config_map, ns, resource_version="1", timeout_seconds=1):
        pass
with r.step("informer"):
    seen = []
    informer = SharedInformer(list_func=core.list_namespaced_config_map, namespace=ns)
    for kind in ("ADDED", "MODIFIED", "DELETED"):
        informer.add_event_handler(kind, lambda obj, kind=kind: seen.append((kind, obj.metadata.name)))
    informer.start()
    time.sleep(1)
    core.patch_namespaced_config_map("b", ns, {"data": {"k": "v"}})
    core.delete_namespaced_config_map("b", ns)
    time.sleep(1)
    informer.stop()
    for wanted in [("ADDED", "a"), ("MODIFIED", "b"), ("DELETED", "b")]:
        assert wanted in seen, (wanted, seen)
with r.step("dynamic client"):
    dyn = DynamicClient(api)
    maps = dyn.resources.get(api_version="v1", kind="ConfigMap")
    maps.create(body={"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "d"}}, namespace=ns)
    maps.server_side_apply(body={"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "d"}, "data": {"k": "v"}},
                           namespace=ns, name="d", field_manager="conformance")
    assert maps.get(name="d", namespace=ns).data.k == "v"
    assert [e["object"].metadata.name for e in maps.watch(namespace=ns, name="d", timeout=1)] == ["d"]
    maps.delete(name="d", namespace=ns)
    assert dyn.resources.get(kind="Deployment").status and dyn.version["kubernetes"]["major"] == "1"
with r.step("create_from_yaml and create_from_dict"):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write("apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 80}]}\n---\n"
                "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: x}}\n")
        f.flush()
        utils.create_from_yaml(api, f.name, namespace=ns)
    assert core.read_namespaced_service("s", ns).spec.cluster_ip
    utils.create_from_dict(api, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {
        "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}, namespace=ns)
with r.step("scale and status"):
    assert apps.patch_namespaced_deployment_scale("d", ns, {"spec": {"replicas": 3}}).spec.replicas == 3
    assert apps.read_namespaced_deployment_status("d", ns).spec.replicas == 3
with r.step("pages"):
    page = core.list_namespaced_secret(ns, limit=1)
    assert page.metadata.resource_version
with r.step("delete collection and namespace"):
    core.delete_collection_namespaced_config_map(ns)
    apps.delete_namespaced_deployment("d", ns, propagation_policy="Foreground")
    core.delete_namespace(ns)
r.finish()
