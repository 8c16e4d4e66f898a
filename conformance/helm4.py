"""Helm 4 (its Go SDK as a library): install, upgrade, rollback, uninstall. Needs: helm-python-sdk, kubernetes."""
import pathlib, tempfile, time, uuid

import helm_python as helm
import kubernetes

from report import Report

r = Report("helm-python-sdk (Helm " + helm.helm_sdk_version() + ")", helm.helm_c_version())
kubernetes.config.load_kube_config()
core, ext = kubernetes.client.CoreV1Api(), kubernetes.client.ApiextensionsV1Api()
ns = f"helm-{uuid.uuid4().hex[:8]}"
group = f"{ns}.example.com"
chart = pathlib.Path(tempfile.mkdtemp()) / "shop"
FILES = {
    "Chart.yaml": "apiVersion: v2\nname: shop\nversion: 0.1.0\nappVersion: '1'\n",
    "values.yaml": "colour: blue\nreplicas: 1\n",
    "crds/carts.yaml": f"""
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: carts.{group}}}
spec:
  group: {group}
  scope: Namespaced
  names: {{plural: carts, singular: cart, kind: Cart}}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {{openAPIV3Schema: {{type: object, properties: {{spec: {{type: object, properties: {{size: {{type: integer}}}}}}}}}}}}
""",
    "templates/all.yaml": f"""
apiVersion: v1
kind: ConfigMap
metadata: {{name: "{{{{ .Release.Name }}}}", namespace: "{{{{ .Release.Namespace }}}}"}}
data: {{colour: "{{{{ .Values.colour }}}}", kube: "{{{{ .Capabilities.KubeVersion.Version }}}}"}}
---
apiVersion: v1
kind: Service
metadata: {{name: "{{{{ .Release.Name }}}}"}}
spec: {{ports: [{{port: 80, protocol: TCP, name: a}}, {{port: 80, protocol: UDP, name: b}}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: "{{{{ .Release.Name }}}}"}}
spec:
  replicas: {{{{ .Values.replicas }}}}
  selector: {{matchLabels: {{a: b}}}}
  template: {{metadata: {{labels: {{a: b}}}}, spec: {{containers: [{{name: c, image: i}}]}}}}
---
apiVersion: {group}/v1
kind: Cart
metadata: {{name: "{{{{ .Release.Name }}}}"}}
spec: {{size: 1}}
{{{{- if eq .Values.colour "green" }}}}
---
apiVersion: v1
kind: Secret
metadata: {{name: extra}}
stringData: {{a: b}}
{{{{- end }}}}
""",
}
for name, text in FILES.items():
    (chart / name).parent.mkdir(parents=True, exist_ok=True)
    (chart / name).write_text(text)


def colour():
    return core.read_namespaced_config_map("demo", ns).data["colour"]


with helm.Config(namespace=ns) as cfg:
    with r.step("reachable"):
        cfg.check_reachable()
    with r.step("install"):
        assert cfg.install(str(chart), "demo", create_namespace=True)["status"] == "deployed"
        assert colour() == "blue"
    with r.step("dry run on the server"):
        cfg.upgrade(str(chart), "demo", {"colour": "green"}, dry_run="server")
        assert colour() == "blue"
    with r.step("upgrade"):
        cfg.upgrade(str(chart), "demo", {"colour": "green", "replicas": 2})
        assert colour() == "green"
        core.read_namespaced_secret("extra", ns)
    with r.step("upgrade without a change"):
        before = core.read_namespaced_config_map("demo", ns).metadata.resource_version
        cfg.upgrade(str(chart), "demo", {"colour": "green", "replicas": 2})
        assert core.read_namespaced_config_map("demo", ns).metadata.resource_version == before
    with r.step("rollback"):
        cfg.rollback("demo", version=1)
        assert colour() == "blue"
        try:
            core.read_namespaced_secret("extra", ns)
            raise AssertionError("the secret is still there")
        except kubernetes.client.ApiException as e:
            assert e.status == 404
    with r.step("history and list"):
        assert len(cfg.history("demo")) == 4
        assert [x["name"] for x in cfg.list()] == ["demo"]
    with r.step("install again is refused"):
        try:
            cfg.install(str(chart), "demo")
            raise AssertionError("installed twice")
        except helm.HelmError:
            pass
    with r.step("uninstall"):
        cfg.uninstall("demo")
        time.sleep(0.5)
        assert not [s for s in core.list_namespaced_service(ns).items if s.metadata.name == "demo"]
with r.step("clean up"):
    ext.delete_custom_resource_definition(f"carts.{group}")
    core.delete_namespace(ns)
r.finish()
