"""client-go's dynamic client (as a library): objects, patches, apply, watch, lists. Needs: kubernetes_lite."""
import os, threading, uuid
from importlib.metadata import version

from kubernetes_lite.client import DynamicClient

from report import Report

r = Report("kubernetes_lite (client-go)", version("kubernetes_lite"))
c = DynamicClient(open(os.environ["KUBECONFIG"], "rb").read())
ns = f"clientgo-{uuid.uuid4().hex[:8]}"
maps = c.resource("v1", "ConfigMap")
spaces = c.resource("v1", "Namespace")


def config_map(name, data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": ns, "labels": {"x": "y"}}, "data": data}


with r.step("namespace"):
    spaces.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ns}})
with r.step("create, get, update"):
    maps.create(config_map("a", {"k": "v"}), namespace=ns)
    cm = maps.get("a", namespace=ns)
    cm["data"]["k"] = "w"
    assert maps.update(cm, namespace=ns)["data"]["k"] == "w"
with r.step("conflict"):
    try:
        maps.update(cm, namespace=ns)
        raise AssertionError("no conflict")
    except Exception as e:
        assert "the object has been modified" in str(e), e
for kind, body in [("application/merge-patch+json", {"data": {"m": "1"}}), ("application/strategic-merge-patch+json", {"data": {"s": "1"}})]:
    with r.step(f"patch {kind}"):
        maps.patch("a", kind, body, namespace=ns)
with r.step("apply"):
    maps.apply(config_map("b", {"k": "v"}), name="b", namespace=ns, field_manager="conformance", force=True)
with r.step("list, selectors, chunks"):
    assert len(maps.list(namespace=ns, label_selector="x=y")["items"]) == 2
    assert len(maps.list(namespace=ns, field_selector="metadata.name=a")["items"]) == 1
    page = maps.list(namespace=ns, limit=1)
    assert page["metadata"]["continue"]
    assert maps.list(namespace=ns, limit=1, continue_req=page["metadata"]["continue"])["items"]
with r.step("watch"):
    watch = maps.watch(namespace=ns, resource_version=maps.list(namespace=ns)["metadata"]["resourceVersion"], timeout=5)
    threading.Timer(0.3, lambda: maps.patch("b", "application/merge-patch+json", {"data": {"k": "w"}}, namespace=ns)).start()
    event = next(iter(watch))
    assert "w" in str(event), event
    watch.stop()
with r.step("not found"):
    try:
        maps.get("nope", namespace=ns)
        raise AssertionError("found")
    except Exception as e:
        assert "not found" in str(e), e
with r.step("delete, delete collection"):
    maps.delete("a", namespace=ns)
    maps.delete_collection(namespace=ns, label_selector="x=y")
    assert not maps.list(namespace=ns, label_selector="x=y")["items"]
with r.step("clean up"):
    spaces.delete(ns)
r.finish()
