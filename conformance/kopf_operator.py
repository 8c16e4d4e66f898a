"""kopf: an operator with finalizers, status patches, a daemon, a timer and an index. Needs: kopf, kubernetes."""
import logging, os, threading, time, uuid
from importlib.metadata import version

import asyncio
import kopf
import kubernetes

from report import Report

r = Report("kopf", version("kopf"))
kubernetes.config.load_kube_config(os.environ["KUBECONFIG"])
core, ext, custom = kubernetes.client.CoreV1Api(), kubernetes.client.ApiextensionsV1Api(), kubernetes.client.CustomObjectsApi()
ns = f"kopf-{uuid.uuid4().hex[:8]}"
group = f"{ns}.example.com"
calls = []
logging.disable(logging.INFO)

registry = kopf.OperatorRegistry()
kopf.on.login(registry=registry)(kopf.login_with_kubeconfig)


@kopf.on.startup(registry=registry)
def configure(settings, **_):
    settings.posting.level = logging.INFO


@kopf.on.create(group, "v1", "toys", registry=registry)
def create(body, spec, **_):
    calls.append("create")
    kopf.info(body, reason="Making", message="as asked")
    if spec.get("again") and calls.count("create") < 2:
        raise kopf.TemporaryError("once more", delay=0.2)
    return {"made": spec["size"]}


@kopf.on.update(group, "v1", "toys", registry=registry)
def update(diff, patch, **_):
    calls.append("update")
    patch.status["size"] = "changed"


@kopf.on.field(group, "v1", "toys", field="spec.size", registry=registry)
def field(old, new, **_):
    calls.append(f"field {old}-{new}")


@kopf.on.delete(group, "v1", "toys", registry=registry)
def delete(**_):
    calls.append("delete")


@kopf.timer(group, "v1", "toys", interval=0.5, registry=registry)
def tick(**_):
    calls.append("tick")


@kopf.daemon(group, "v1", "toys", registry=registry)
async def stay(stopped, **_):
    calls.append("daemon")
    await stopped.wait(30)
    calls.append("daemon stopped")


@kopf.on.event("v1", "configmaps", registry=registry)
def event(event, name, **_):
    calls.append(f"configmap {event['type']} {name}")


def until(what, seconds=15):
    """Waits for a condition; raises when it does not come true."""
    end = time.time() + seconds
    while not what():
        assert time.time() < end, f"did not happen; calls: {calls}"
        time.sleep(0.1)


with r.step("set up"):
    core.create_namespace({"metadata": {"name": ns}})
    ext.create_custom_resource_definition({
        "metadata": {"name": f"toys.{group}"}, "spec": {
            "group": group, "scope": "Namespaced", "names": {"plural": "toys", "kind": "Toy"},
            "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {
                "openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}}}]}})
stop, ready = threading.Event(), threading.Event()
thread = threading.Thread(target=lambda: asyncio.run(kopf.operator(
    registry=registry, namespaces=[ns], stop_flag=stop, ready_flag=ready, standalone=True)))
thread.start()
toys = (group, "v1", ns, "toys")
toy = lambda: custom.get_namespaced_custom_object(*toys, "t")
with r.step("start"):
    assert ready.wait(15)
with r.step("create, retry, status and finalizer"):
    custom.create_namespaced_custom_object(*toys, {"apiVersion": f"{group}/v1", "kind": "Toy", "metadata": {"name": "t"}, "spec": {"size": 1, "again": True}})
    until(lambda: toy().get("status", {}).get("create") == {"made": 1})
    assert toy()["metadata"]["finalizers"]
with r.step("update and field"):
    custom.patch_namespaced_custom_object(*toys, "t", {"spec": {"size": 2}})
    until(lambda: toy()["status"].get("size") == "changed")
    until(lambda: "field 1-2" in calls)
with r.step("timer and daemon"):
    until(lambda: calls.count("tick") > 1 and "daemon" in calls)
with r.step("events of another kind"):
    core.create_namespaced_config_map(ns, {"metadata": {"name": "c"}})
    until(lambda: "configmap ADDED c" in calls)
with r.step("events posted"):
    until(lambda: any(e.involved_object.name == "t" for e in core.list_namespaced_event(ns).items))
with r.step("delete"):
    custom.delete_namespaced_custom_object(*toys, "t")
    until(lambda: "delete" in calls and "daemon stopped" in calls)
    until(lambda: not custom.list_namespaced_custom_object(*toys)["items"])
with r.step("stop and clean up"):
    stop.set()
    thread.join(20)
    assert not thread.is_alive()
    ext.delete_custom_resource_definition(f"toys.{group}")
    core.delete_namespace(ns)
r.finish()
