"""The CRD bundles of the systems Flotilla stands in for: applied, explained, their examples accepted, their rules enforced.

usage: KUBECONFIG=… python3 crds.py FOLDER [BUNDLE…]       (KUBECTL names another kubectl)
FOLDER holds a checkout of each bundle's repository under the name in crds_cases.py; one that is missing is said and skipped.
Needs: kubectl, PyYAML.
"""
import json, os, pathlib, subprocess, sys

import yaml

from crds_cases import BUNDLES
from report import Report

KUBECTL = os.environ.get("KUBECTL", "kubectl")
# What kubectl's client-side apply can keep in its annotation (bytes); the server refuses more.
ANNOTATIONS_MAX = 262144
TOO_LONG = "metadata.annotations: Too long: may not be more than 262144 bytes"
# kubectl writes the object as JSON with these characters escaped, as Go does.
ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def kubectl(*args, stdin=None):
    done = subprocess.run([KUBECTL, *args], input=stdin, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def ok(*args, stdin=None):
    code, out, err = kubectl(*args, stdin=stdin)
    assert code == 0, err
    return out


def documents(path):
    """The objects of one file, lists flattened. Templates that are no YAML give none."""
    try:
        found = [d for d in yaml.load_all(path.read_text(), yaml.CSafeLoader) if isinstance(d, dict)]
    except yaml.YAMLError:
        return []
    return [o for d in found for o in (d["items"] if d.get("kind") == "List" else [d]) if o and "kind" in o]


def files(root, patterns):
    found = {p for pattern in patterns for p in root.glob(pattern) if p.suffix in (".yaml", ".yml")}
    # What lies in hidden folders are the fixtures of tests, not examples.
    return sorted(p for p in found if not any(part.startswith(".") for part in p.relative_to(root).parts))


def title(obj):
    meta = obj.get("metadata") or {}
    return f"{obj['kind']} {meta.get('name') or meta.get('generateName')}"


def annotation_bytes(obj):
    text = json.dumps(obj, separators=(",", ":"), ensure_ascii=False)
    for char, escape in ESCAPED.items():
        text = text.replace(char, escape)
    return len(text.encode()) + len("kubectl.kubernetes.io/last-applied-configuration")


def apply(obj):
    return kubectl("apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", "-", stdin=json.dumps(obj))


def try_create(obj):
    """A create that keeps nothing. Unlike an apply, it sends lists with a key twice to the rules."""
    return kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(obj))


def install(r, crd):
    """Client-side where it fits, then server-side twice: the second time changes nothing."""
    name = crd["metadata"]["name"]
    with r.step(f"{name} client-side"):
        code, _, err = kubectl("apply", "-f", "-", stdin=json.dumps(crd))
        if annotation_bytes(crd) > ANNOTATIONS_MAX:
            assert code != 0 and TOO_LONG in err, f"fits no annotation, yet: {err[:200]}"
        else:
            assert code == 0, err
    with r.step(f"{name} server-side"):
        code, _, err = apply(crd)
        assert code == 0, err
        version = ok("get", "crd", name, "-o", "jsonpath={.metadata.resourceVersion}")
        apply(crd)
        assert version == ok("get", "crd", name, "-o", "jsonpath={.metadata.resourceVersion}"), "the same again changed it"
    with r.step(f"{name} established"):
        ok("wait", "--for=condition=Established", "--timeout=10s", f"crd/{name}")
        ok("wait", "--for=condition=NamesAccepted", "--timeout=10s", f"crd/{name}")


def explain(r, crd):
    spec = crd["spec"]
    plural, group, kind = spec["names"]["plural"], spec["group"], spec["names"]["kind"]
    for version in (v["name"] for v in spec["versions"] if v["served"]):
        with r.step(f"explain {plural}.{group} {version}"):
            out = ok("explain", plural, f"--api-version={group}/{version}", "--recursive")
            for text in (f"KIND:       {kind}", f"VERSION:    {version}", "apiVersion\t<string>", "metadata\t<ObjectMeta>"):
                assert text in out, f"no {text!r} in {out[:300]}"
            schema = next(v for v in spec["versions"] if v["name"] == version)["schema"]["openAPIV3Schema"]
            for field in (schema.get("properties", {}).get("spec") or {}).get("properties", {}):
                assert f"\n    {field}\t<" in out, f"no field spec.{field}"


def served_kinds():
    """Every `group/version` and kind the server says it serves."""
    found = set()
    for line in ok("api-resources", "--no-headers").splitlines():
        cells = line.split()
        found.add((cells[-3], cells[-1]))
    return found


def accept(r, root, bundle):
    """Every example of a served kind is accepted as it is, file by file. Returns how many documents were left out."""
    kinds, skipped = served_kinds(), 0
    for path in files(root, bundle.examples):
        relative, created = str(path.relative_to(root)), []
        for obj in documents(path):
            meta = obj.get("metadata") or {}
            ns, name = meta.get("namespace") or "default", meta.get("name") or "$"
            if relative in bundle.skip or (obj.get("apiVersion"), obj["kind"]) not in kinds or "$" in ns + name:
                skipped += 1
                continue
            if kubectl("get", "namespace", ns)[0]:
                created.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ns}})
                ok("create", "-f", "-", stdin=json.dumps(created[-1]))
            with r.step(f"accepts {relative}: {title(obj)}"):
                code, _, err = apply(obj)
                assert code == 0, err
                created.append(obj)
        if created:
            kubectl("delete", "--ignore-not-found", "--timeout=20s", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": created}))
    return skipped


def refuse(r, root, bundle):
    """The bundle's own invalid examples, and one object for each rule of ours, with the words it is refused in."""
    for path in files(root, bundle.invalid):
        with r.step(f"refuses {path.relative_to(root)}"):
            answers = [try_create(o) for o in documents(path)]
            assert any(code != 0 and "is invalid" in err for code, _, err in answers), f"accepted: {answers}"
    for case in bundle.refused:
        before, text, after = ([*case] + [None])[:3]
        first = yaml.safe_load(before)
        with r.step(f"refuses {title(first)}: {text[:60]}"):
            if after is None:
                code, _, err = try_create(first)
            else:
                made, _, err = apply(first)
                assert made == 0, err
                kind = f"{first['kind']}.{first['apiVersion'].split('/')[1]}.{first['apiVersion'].split('/')[0]}"
                code, _, err = kubectl("patch", kind, first["metadata"]["name"], "--type=merge", "-p", after)
                kubectl("delete", "-f", "-", stdin=before)
            assert code != 0, "accepted"
            assert text in err, f"wanted {text!r}, got {err}"


def remove(r, crds, standing):
    """Only what was not there before us goes away again, with all instances."""
    names = [c["metadata"]["name"] for c in crds if c["metadata"]["name"] not in standing]
    if not names:
        return
    with r.step("removes the definitions"):
        ok("delete", "crd", "--timeout=30s", *names)
        left = set(ok("get", "crd", "-o", "name").split())
        assert not [n for n in names if f"customresourcedefinition.apiextensions.k8s.io/{n}" in left]


def run(bundle, root):
    r = Report(bundle.name, f"({bundle.folder})")
    standing = {n.split("/")[1] for n in ok("get", "crd", "-o", "name").split()}
    found = [o for p in files(root, bundle.crds) for o in documents(p)]
    crds = [o for o in found if o["kind"] == "CustomResourceDefinition"]
    with r.step("has definitions"):
        assert crds, f"none under {root}"
    for crd in crds:
        install(r, crd)
    for other in (o for o in found if o["kind"] != "CustomResourceDefinition"):
        with r.step(f"applies {title(other)}"):
            code, _, err = apply(other)
            assert code == 0, err
    for crd in crds:
        explain(r, crd)
    skipped = accept(r, root, bundle)
    refuse(r, root, bundle)
    for other in (o for o in found if o["kind"] != "CustomResourceDefinition"):
        kubectl("delete", "--ignore-not-found", "-f", "-", stdin=json.dumps(other))
    remove(r, crds, standing)
    print(f"{bundle.name}: {len(crds)} definitions, {r.passed} passed, {r.failed} failed, {skipped} documents left out", flush=True)
    return r.failed


if __name__ == "__main__":
    folder, wanted = pathlib.Path(sys.argv[1]), sys.argv[2:]
    failed = 0
    for bundle in BUNDLES:
        root = folder / bundle.folder
        if wanted and bundle.name not in wanted:
            continue
        if not root.is_dir():
            print(f"{bundle.name}: no checkout at {root}, skipped")
            continue
        failed += run(bundle, root)
    sys.exit(1 if failed else 0)
