// @kubernetes/client-node: objects, patch types, watch, informer, generic objects. Needs from npm: @kubernetes/client-node.
// Run it from the folder that holds node_modules.
import assert from "node:assert";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(pathToFileURL(process.cwd() + "/"));
const k8s = await import(pathToFileURL(require.resolve("@kubernetes/client-node")));
const version = require("@kubernetes/client-node/package.json").version;

let passed = 0, failed = 0;
async function step(name, f) {
  try { await f(); passed++; } catch (e) { failed++; console.log(`FAIL ${name}: ${String(e.message ?? e).slice(0, 400)}`); }
}
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
async function until(what) {
  for (let i = 0; i < 100; i++) { if (await what()) return; await sleep(100); }
  assert.fail("did not happen");
}

const kc = new k8s.KubeConfig();
kc.loadFromDefault();
const core = kc.makeApiClient(k8s.CoreV1Api);
const objects = k8s.KubernetesObjectApi.makeApiClient(kc);
const namespace = `node-${Date.now().toString(36)}`;

await step("version", async () => assert.match((await kc.makeApiClient(k8s.VersionApi).getCode()).gitVersion, /^v1\./));
await step("namespace", () => core.createNamespace({ body: { metadata: { name: namespace } } }));
await step("create, read, replace", async () => {
  await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: "a" }, data: { k: "v" } } });
  const cm = await core.readNamespacedConfigMap({ namespace, name: "a" });
  assert(cm.metadata.creationTimestamp instanceof Date);
  cm.data.k = "w";
  assert.equal((await core.replaceNamespacedConfigMap({ namespace, name: "a", body: cm })).data.k, "w");
});
for (const [kind, body] of [
  ["StrategicMergePatch", { data: { s: "1" } }],
  ["MergePatch", { data: { m: "1" } }],
  ["JsonPatch", [{ op: "add", path: "/data/j", value: "1" }]],
  ["ServerSideApply", { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { p: "1" } }],
]) {
  await step(`patch ${kind}`, () =>
    core.patchNamespacedConfigMap({ namespace, name: "a", body, fieldManager: "conformance", force: kind === "ServerSideApply" ? true : undefined },
      k8s.setHeaderOptions("Content-Type", k8s.PatchStrategy[kind])));
}
await step("watch", async () => {
  const seen = [];
  const watch = new k8s.Watch(kc);
  const controller = await watch.watch(`/api/v1/namespaces/${namespace}/configmaps`, { allowWatchBookmarks: true }, (type, o) => seen.push(`${type} ${o.metadata.name}`), () => {});
  await until(() => seen.includes("ADDED a"));
  await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: "b" } } });
  await until(() => seen.includes("ADDED b"));
  controller.abort();
});
await step("informer", async () => {
  const seen = [];
  const informer = k8s.makeInformer(kc, `/api/v1/namespaces/${namespace}/configmaps`, () => core.listNamespacedConfigMap({ namespace }));
  for (const verb of ["add", "update", "delete"]) informer.on(verb, (o) => seen.push(`${verb} ${o.metadata.name}`));
  informer.on("error", (e) => seen.push(`error ${e}`));
  await informer.start();
  await until(() => seen.includes("add b"));
  await core.patchNamespacedConfigMap({ namespace, name: "b", body: { data: { k: "v" } } }, k8s.setHeaderOptions("Content-Type", k8s.PatchStrategy.MergePatch));
  await until(() => seen.includes("update b"));
  await core.deleteNamespacedConfigMap({ namespace, name: "b" });
  await until(() => seen.includes("delete b"));
  assert(!seen.some((s) => s.startsWith("error")), seen.join());
  await informer.stop();
});
await step("generic objects", async () => {
  const spec = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "g", namespace } };
  await objects.create(spec);
  await objects.patch({ ...spec, data: { k: "v" } }, undefined, undefined, "conformance", true, k8s.PatchStrategy.ServerSideApply);
  assert.equal((await objects.read(spec)).data.k, "v");
  assert((await objects.list("v1", "ConfigMap", namespace)).items.length >= 2);
  await objects.delete(spec);
});
await step("not found", async () => {
  await assert.rejects(core.readNamespacedConfigMap({ namespace, name: "nope" }), (e) => e.code === 404);
});
await step("delete collection and namespace", async () => {
  await core.deleteCollectionNamespacedConfigMap({ namespace });
  await core.deleteNamespace({ name: namespace });
});
console.log(`@kubernetes/client-node ${version}: ${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
