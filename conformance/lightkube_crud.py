"""lightkube: typed and generic resources, apply, watch, wait. Needs: lightkube."""
import threading, uuid
from importlib.metadata import version

from lightkube import ApiError, Client
from lightkube.generic_resource import create_namespaced_resource, load_in_cluster_generic_resources
from lightkube.models.apps_v1 import DeploymentSpec
from lightkube.models.autoscaling_v1 import ScaleSpec
from lightkube.models.core_v1 import Container, PodSpec, PodTemplateSpec
from lightkube.models.meta_v1 import LabelSelector, ObjectMeta
from lightkube.resources.apiextensions_v1 import CustomResourceDefinition
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Namespace
from lightkube.types import CascadeType, PatchType

from report import Report

r = Report("lightkube", version("lightkube"))
c = Client(field_manager="conformance")
ns = f"lightkube-{uuid.uuid4().hex[:8]}"
group = f"{ns}.example.com"

with r.step("namespace"):
    c.create(Namespace(metadata=ObjectMeta(name=ns)))
with r.step("create, get, replace"):
    c.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=ns), data={"k": "v"}))
    cm = c.get(ConfigMap, "a", namespace=ns)
    cm.data["k"] = "w"
    assert c.replace(cm).data["k"] == "w"
with r.step("conflict"):
    try:
        c.replace(cm)
        raise AssertionError("no conflict")
    except ApiError as e:
        assert e.status.code == 409 and e.status.reason == "Conflict", e.status
for kind, body in [
    (PatchType.MERGE, {"data": {"m": "1"}}), (PatchType.STRATEGIC, {"data": {"s": "1"}}),
    (PatchType.JSON, [{"op": "add", "path": "/data/j", "value": "1"}]),
    (PatchType.APPLY, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"p": "1"}}),
]:
    with r.step(f"patch {kind.name}"):
        c.patch(ConfigMap, "a", body, namespace=ns, patch_type=kind)
with r.step("apply"):
    c.apply(ConfigMap(apiVersion="v1", kind="ConfigMap", metadata=ObjectMeta(name="b", namespace=ns), data={"k": "v"}))
with r.step("list in chunks"):
    assert {x.metadata.name for x in c.list(ConfigMap, namespace=ns, chunk_size=1)} >= {"a", "b"}
with r.step("watch"):
    threading.Timer(0.5, lambda: c.patch(ConfigMap, "b", {"data": {"k": "w"}}, namespace=ns)).start()
    rv = c.get(ConfigMap, "b", namespace=ns).metadata.resourceVersion
    for kind, obj in c.watch(ConfigMap, namespace=ns, resource_version=rv, server_timeout=5):
        assert (kind, obj.data["k"]) == ("MODIFIED", "w")
        break
    else:
        raise AssertionError("no event")
with r.step("scale"):
    spec = DeploymentSpec(replicas=0, selector=LabelSelector(matchLabels={"a": "b"}), template=PodTemplateSpec(
        metadata=ObjectMeta(labels={"a": "b"}), spec=PodSpec(containers=[Container(name="c", image="i")])))
    c.create(Deployment(metadata=ObjectMeta(name="d", namespace=ns), spec=spec))
    s = c.replace(Deployment.Scale(metadata=ObjectMeta(name="d", namespace=ns), spec=ScaleSpec(replicas=2)), "d")
    assert s.spec.replicas == 2
with r.step("status"):
    d = c.patch(Deployment.Status, "d", {"metadata": {"annotations": {"x": "y"}}}, namespace=ns)
    assert d.metadata.name == "d"
with r.step("custom resource"):
    c.create(CustomResourceDefinition.from_dict({
        "metadata": {"name": f"things.{group}"}, "spec": {
            "group": group, "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {
                "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}))
    c.wait(CustomResourceDefinition, f"things.{group}", for_conditions=["Established"])
    Thing = create_namespaced_resource(group, "v1", "Thing", "things")
    c.create(Thing(metadata=ObjectMeta(name="t"), spec={"n": 1}), namespace=ns)
    c.patch(Thing.Status, "t", {"status": {"ok": True}}, namespace=ns, patch_type=PatchType.MERGE)
    t = c.get(Thing, "t", namespace=ns)
    assert t.status["ok"] is True and t.spec["n"] == 1
with r.step("load generic resources"):
    load_in_cluster_generic_resources(c)
with r.step("delete collection"):
    c.deletecollection(ConfigMap, namespace=ns)
    left = {x.metadata.name for x in c.list(ConfigMap, namespace=ns)}
    assert not left & {"a", "b"}, left
with r.step("clean up"):
    c.delete(Deployment, "d", namespace=ns, cascade=CascadeType.FOREGROUND)
    c.delete(CustomResourceDefinition, f"things.{group}")
    c.delete(Namespace, ns)
r.finish()
