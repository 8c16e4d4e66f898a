"""kubernetes_asyncio: objects, watch, dynamic client, create_from_dict. Needs: kubernetes-asyncio."""
import asyncio, uuid

import kubernetes_asyncio as k
from kubernetes_asyncio import client, config, utils, watch
from kubernetes_asyncio.dynamic import DynamicClient

from report import Report

r = Report("kubernetes-asyncio", k.__version__)


async def main():
    await config.load_kube_config()
    ns = f"kasync-{uuid.uuid4().hex[:8]}"
    async with client.ApiClient() as api:
        core = client.CoreV1Api(api)
        async with r.astep("namespace"):
            await core.create_namespace({"metadata": {"name": ns}})
        async with r.astep("create, read, replace, patch"):
            await core.create_namespaced_config_map(ns, {"metadata": {"name": "a"}, "data": {"k": "v"}})
            cm = await core.read_namespaced_config_map("a", ns)
            cm.data["k"] = "w"
            await core.replace_namespaced_config_map("a", ns, cm)
            out = await core.patch_namespaced_config_map("a", ns, {"data": {"k": "x"}})
            assert out.data["k"] == "x"
        async with r.astep("watch"):
            async def later():
                await asyncio.sleep(0.5)
                await core.create_namespaced_config_map(ns, {"metadata": {"name": "b"}})
            task = asyncio.create_task(later())
            async with watch.Watch().stream(core.list_namespaced_config_map, ns, timeout_seconds=5) as stream:
                seen = []
                async for event in stream:
                    seen.append((event["type"], event["object"].metadata.name))
                    if seen[-1][1] == "b":
                        break
            await task
            assert ("ADDED", "a") in seen and ("ADDED", "b") in seen, seen
        async with r.astep("watch from an old version"):
            async with watch.Watch().stream(core.list_namespaced_config_map, ns, resource_version="1", timeout_seconds=2) as stream:
                async for event in stream:
                    break
        async with r.astep("create_from_dict"):
            await utils.create_from_dict(api, {"apiVersion": "v1", "kind": "List", "items": [
                {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": ns}, "spec": {"ports": [{"port": 80}]}}]})
            assert (await core.read_namespaced_service("s", ns)).spec.cluster_ip
        async with r.astep("dynamic"):
            dyn = await DynamicClient(api)
            cms = await dyn.resources.get(api_version="v1", kind="ConfigMap")
            await cms.create(body={"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "d"}}, namespace=ns)
            await cms.server_side_apply(body={"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "d"}, "data": {"k": "v"}},
                                        namespace=ns, name="d", field_manager="conformance")
            assert (await cms.get(name="d", namespace=ns)).data.k == "v"
            await cms.delete(name="d", namespace=ns)
        async with r.astep("errors"):
            try:
                await core.read_namespaced_config_map("nope", ns)
                raise AssertionError("found")
            except client.ApiException as e:
                assert e.status == 404
        async with r.astep("delete collection and namespace"):
            await core.delete_collection_namespaced_config_map(ns)
            await core.delete_namespace(ns)


asyncio.run(main())
r.finish()
