"""kr8s: objects, patches, scale, watch, wait, a CRD class. Needs: kr8s."""
import asyncio, os, uuid

import kr8s
from kr8s.asyncio.objects import ConfigMap, Deployment, Namespace, Pod, Service, new_class

from report import Report

r = Report("kr8s", kr8s.__version__)


async def main():
    api = await kr8s.asyncio.api(kubeconfig=os.environ["KUBECONFIG"])
    ns = f"kr8s-{uuid.uuid4().hex[:8]}"

    async with r.astep("version"):
        assert (await api.version())["gitVersion"].startswith("v1.")
    async with r.astep("api_resources"):
        assert any(x["kind"] == "Pod" for x in [y async for y in aiter_(api.api_resources())])
    async with r.astep("whoami"):
        assert await api.whoami()
    async with r.astep("namespace"):
        n = await Namespace({"metadata": {"name": ns}}, api=api)
        await n.create()
    async with r.astep("configmap create, get, exists"):
        cm = await ConfigMap({"metadata": {"name": "a", "namespace": ns, "labels": {"x": "y"}}, "data": {"k": "v"}}, api=api)
        await cm.create()
        assert await cm.exists()
        assert (await ConfigMap.get("a", namespace=ns, api=api)).data.k == "v"
    async with r.astep("patch, label, annotate"):
        await cm.patch({"data": {"k": "w"}})
        await cm.label({"z": "1"})
        await cm.annotate({"n": "1"})
        await cm.patch([{"op": "replace", "path": "/data/k", "value": "j"}], type="json")
        assert cm.data.k == "j"
    async with r.astep("list by label and field"):
        assert len([c async for c in api.get("configmaps", namespace=ns, label_selector={"x": "y"})]) == 1
        assert len([c async for c in api.get("configmaps", namespace=ns, field_selector={"metadata.name": "a"})]) == 1
    async with r.astep("watch"):
        seen = []
        async def look():
            async for kind, obj in api.watch("configmaps", namespace=ns):
                seen.append((kind, obj.name))
                if kind == "DELETED":
                    return
        task = asyncio.create_task(look())
        await asyncio.sleep(0.5)
        await cm.delete()
        await asyncio.wait_for(task, 10)
        assert seen[-1] == ("DELETED", "a"), seen
    async with r.astep("deployment scale"):
        d = await Deployment({"metadata": {"name": "d", "namespace": ns}, "spec": {
            "replicas": 0, "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}, api=api)
        await d.create()
        await d.patch({"spec": {"replicas": 1}})
        await d.refresh()
        assert d.replicas == 1
    async with r.astep("wait for deletion"):
        p = await Pod({"metadata": {"name": "p", "namespace": ns}, "spec": {"containers": [{"name": "c", "image": "i"}]}}, api=api)
        await p.create()
        await p.delete()
        await asyncio.wait_for(p.wait("delete"), 10)
    async with r.astep("service"):
        s = await Service({"metadata": {"name": "s", "namespace": ns}, "spec": {"ports": [{"port": 80}]}}, api=api)
        await s.create()
        assert s.spec.clusterIP
    async with r.astep("not found"):
        try:
            await ConfigMap.get("nope", namespace=ns, api=api, timeout=0)
            raise AssertionError("found")
        except kr8s.NotFoundError:
            pass
    async with r.astep("delete namespace"):
        await n.delete()
        await asyncio.wait_for(n.wait("delete"), 20)


async def aiter_(thing):
    for x in await thing if asyncio.iscoroutine(thing) else thing:
        yield x


asyncio.run(main())
r.finish()
