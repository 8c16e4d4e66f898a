"""k8gb itself beside ours: fail-over between a cluster of each, and with either half of each (operator, DNS server) swapped for the other's.

usage: python3 k8gb.py FLOTILLA SERVE K8GB COREDNS CRDS
FLOTILLA is our binary, SERVE our API server alone (`cargo build -p flotilla-apiserver --example serve`), K8GB k8gb's operator (`go build .` in its
checkout), COREDNS its DNS server (`go build ./cmd/...` in coredns-crd-plugin), CRDS the folder chart/k8gb/crd. Nothing of a cluster is left out but
external-dns: a thread here serves in the parent zone what both clusters ask it to. Needs kubectl and dig.
"""
import contextlib, json, os, pathlib, socket, struct, subprocess, sys, tempfile, threading, time

from report import Report

FLOTILLA, SERVE, K8GB, COREDNS, CRDS = sys.argv[1:6]
ZONE, PARENT, PORT = "cloud.example.com", "example.com", 1053
EDGE, TAGS = "127.61.0.1", ("eu", "us")
DNS = {"eu": "127.61.1.1", "us": "127.61.2.1"}
APP = {"eu": ["10.61.1.1", "10.61.1.2"], "us": ["10.61.2.1", "10.61.2.2"]}
API_PORT = {"eu": 16443, "us": 16444}
# How long until everybody agrees: a poll, the operator's loop over zones, and time on a busy machine.
LIMIT = 60
GSLBS = {
    "eu-first": {"type": "failover", "primaryGeoTag": "eu"},
    "us-first": {"type": "failover", "primaryGeoTag": "us"},
    "both": {"type": "roundRobin"},
    "weighted": {"type": "roundRobin", "weight": {"eu": 3, "us": 1}},
}
# Who is healthy, and whose addresses each host then has.
STATES = [
    ("eu us", {"eu-first": "eu", "us-first": "us", "both": "eu us", "weighted": "eu us"}),
    ("us", {host: "us" for host in GSLBS}),
    ("eu us", {"eu-first": "eu", "us-first": "us", "both": "eu us", "weighted": "eu us"}),
    ("eu", {host: "eu" for host in GSLBS}),
    ("", {host: "" for host in GSLBS}),
    ("eu us", {"eu-first": "eu", "us-first": "us", "both": "eu us", "weighted": "eu us"}),
]
# (operator, DNS server) of eu and of us.
HOUSES = [
    (("k8gb", "k8gb"), ("ours", "ours")),
    (("ours", "ours"), ("k8gb", "k8gb")),
    (("ours", "k8gb"), ("k8gb", "ours")),
    (("k8gb", "ours"), ("ours", "k8gb")),
]
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="k8gb-"))


def kubectl(tag, *args, stdin=None):
    command = ["kubectl", f"--kubeconfig={FOLDER / tag / 'kubeconfig'}", *args]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def apply(tag, *objects):
    kubectl(tag, "apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))


def until(what, expected, look, seconds=LIMIT):
    """Waits until `look` gives what is expected; says what it gave last when it does not."""
    end = time.time() + seconds
    while True:
        seen = look()
        if seen == expected:
            return
        assert time.time() < end, f"{what}: wanted {expected}, got {seen}"
        time.sleep(0.3)


def dig(server, name, rtype="A"):
    command = ["dig", f"@{server}", "-p", str(PORT), "+short", "+time=1", "+tries=1", name, rtype]
    out = subprocess.run(command, capture_output=True, text=True, timeout=30).stdout
    return sorted(line for line in out.split("\n") if line and not line.startswith(";"))


class Parent(threading.Thread):
    """The parent zone, with what the clusters' delegation DNSEndpoints say, as external-dns would write it there."""

    def __init__(self):
        super().__init__(daemon=True)
        self.records, self.tags, self.delegations = {}, [], {}
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((EDGE, PORT))

    def read(self):
        records = {}
        for tag in self.tags:
            found = json.loads(kubectl(tag, "get", "dnsendpoints", "-A", "-l", "k8gb.io/dnstype=extdns", "-o", "json"))
            for endpoint in (endpoint for item in found["items"] for endpoint in item["spec"].get("endpoints", [])):
                key = endpoint["dnsName"], endpoint["recordType"]
                records.setdefault(key, set()).update(endpoint["targets"])
                if key == (ZONE, "NS"):
                    self.delegations[tag] = sorted(endpoint["targets"])
        self.records = records

    def name_servers(self, tag):
        """Whom a cluster wants the zone delegated to."""
        return self.delegations.get(tag)

    def run(self):
        threading.Thread(target=self.follow, daemon=True).start()
        while True:
            query, client = self.socket.recvfrom(2048)
            self.socket.sendto(self.answer(query), client)

    def follow(self):
        while True:
            with contextlib.suppress(AssertionError, subprocess.SubprocessError):
                self.read()
            time.sleep(0.5)

    def answer(self, query):
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode().lower())
            at += 1 + query[at]
        question, rtype = query[12:at + 5], struct.unpack(">H", query[at + 1:at + 3])[0]
        addresses = sorted(self.records.get((".".join(labels), "A"), ())) if rtype == 1 else []
        header = query[:2] + struct.pack(">HHHHH", 0x8400 if addresses else 0x8403, 1, len(addresses), 0, 0)
        answer = b"".join(struct.pack(">HHHIH", 0xc00c, 1, 1, 1, 4) + socket.inet_aton(ip) for ip in addresses)
        return header + question + answer


def settings(tag):
    return {
        "PATH": os.environ["PATH"], "HOME": str(FOLDER), "KUBECONFIG": str(FOLDER / tag / "kubeconfig"),
        "CLUSTER_GEO_TAG": tag, "EXT_GSLB_CLUSTERS_GEO_TAGS": ",".join(other for other in TAGS if other != tag),
        "DNS_ZONES": f"{PARENT}:{ZONE}:5", "EDGE_DNS_SERVERS": f"{EDGE}:{PORT}", "RECONCILE_REQUEUE_SECONDS": "2",
        "ZONE_DELEGATION_RECONCILE_REQUEUE_SECONDS": "2", "NS_RECORD_TTL": "1", "POD_NAMESPACE": "k8gb",
        "COREDNS_SERVICE_TYPE": "LoadBalancer", "EXTDNS_ENABLED": "true", "METRICS_ADDRESS": f"{DNS[tag]}:8080",
    }


COREFILE = """
%s:%d {
    bind %s
    errors
    k8s_crd {
        filter k8gb.io/dnstype=local
        negttl 5
        loadbalance weight
        kubecontroller local
    }
}
"""


def commands(tag, operator, server):
    """What a cluster runs: its operator and its DNS server, which are one process when both are ours."""
    ours = [FLOTILLA, "run", "gslb", "--dns-listen"]
    aside = {"METRICS_ADDRESS": f"{DNS[tag]}:8081"}
    if server == "k8gb":
        corefile = FOLDER / tag / "Corefile"
        corefile.write_text(COREFILE % (ZONE, PORT, DNS[tag]))
        yield "dns", [COREDNS, "-conf", str(corefile)], {}
    elif operator == "k8gb":
        yield "dns", [*ours, f"{DNS[tag]}:{PORT}"], {"FLOTILLA_SERVE_ONLY": "true", **aside}
    if operator == "k8gb":
        yield "operator", [K8GB], {}
    else:
        # With k8gb's DNS server in front nobody asks ours.
        port = PORT if server == "ours" else PORT + 1
        yield "operator", [*ours, f"{DNS[tag]}:{port}"], {}


def ready(tag, is_ready):
    apply(tag, {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
                "metadata": {"name": "app", "namespace": "demo", "labels": {"kubernetes.io/service-name": "app"}},
                "ports": [{"port": 80}], "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": is_ready}}]})


def status(tag, namespace, what, addresses):
    patch = {"status": {"loadBalancer": {"ingress": [{"ip": ip} for ip in addresses]}}}
    kubectl(tag, "patch", "--subresource=status", "--type=merge", "-n", namespace, *what, "-p", json.dumps(patch))


def furnish(tag):
    """Definitions, the Service of the DNS server, and an application that answers for every host."""
    for path in sorted(pathlib.Path(CRDS).glob("*.yaml")):
        if "absa" not in path.name:
            kubectl(tag, "apply", "-f", "-", stdin=path.read_text())
    for name in ("k8gb", "demo"):
        apply(tag, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    ports = {"ports": [{"port": 80}]}
    apply(tag,
          {"apiVersion": "v1", "kind": "Service", "spec": {"type": "LoadBalancer", **ports},
           "metadata": {"name": "k8gb-coredns", "namespace": "k8gb", "labels": {"app.kubernetes.io/name": "coredns"}}},
          {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "app", "namespace": "demo"}, "spec": ports})
    status(tag, "k8gb", ["service", "k8gb-coredns"], [DNS[tag]])
    ready(tag, True)
    backend = {"service": {"name": "app", "port": {"number": 80}}}
    for name, strategy in GSLBS.items():
        paths = [{"path": "/", "pathType": "Prefix", "backend": backend}]
        rules = [{"host": f"{name}.{ZONE}", "http": {"paths": paths}}]
        apply(tag, {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": name, "namespace": "demo"},
                    "spec": {"rules": rules}})
        status(tag, "demo", ["ingress", name], APP[tag])
        reference = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": name}
        until("the definition of Gslb is served", True, lambda: "gslbs" in kubectl(tag, "api-resources", "-o", "name"))
        apply(tag, {"apiVersion": "k8gb.io/v1beta1", "kind": "Gslb", "metadata": {"name": name, "namespace": "demo"},
                    "spec": {"resourceRef": reference, "strategy": {"dnsTtlSeconds": 1, **strategy}}})


@contextlib.contextmanager
def process(name, command, env):
    with open(FOLDER / f"{name}.log", "a") as log:
        child = subprocess.Popen(command, env=env, stdout=log, stderr=log, cwd=FOLDER)
    try:
        yield child
    finally:
        child.terminate()
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.kill()


def addresses(tags):
    return sorted(ip for tag in tags.split() for ip in APP[tag])


def answers():
    """What each cluster's DNS server says about each host."""
    return {tag: {host: dig(DNS[tag], f"{host}.{ZONE}") for host in GSLBS} for tag in TAGS}


def fail_over(report, parent, title):
    for number, (healthy, hosts) in enumerate(STATES):
        with report.step(f"{title}: {number} healthy: {healthy or 'nobody'}"):
            for tag in TAGS:
                ready(tag, tag in healthy.split())
            expected = {host: addresses(tags) for host, tags in hosts.items()}
            until("answers", {tag: expected for tag in TAGS}, answers)
    with report.step(f"{title}: what the objects say"):
        for tag in TAGS:
            spec = json.loads(kubectl(tag, "get", "dnsendpoint", "-n", "demo", "weighted", "-o", "json"))
            entry = next(e for e in spec["spec"]["endpoints"] if e["dnsName"] == f"weighted.{ZONE}")
            weights = {f"weight-{of}-{n}-{weight}": APP[of][n] for of, weight in (("eu", 3), ("us", 1)) for n in (0, 1)}
            assert entry["labels"] == {"strategy": "roundRobin", **weights}, entry
            assert spec["metadata"]["labels"]["k8gb.io/dnstype"] == "local", spec["metadata"]
            health = json.loads(kubectl(tag, "get", "gslb", "-n", "demo", "both", "-o", "json"))["status"]
            assert health["serviceHealth"] == {f"both.{ZONE}": "Healthy"}, health
            assert sorted(health["healthyRecords"][f"both.{ZONE}"]) == addresses("eu us"), health
            zone = json.loads(kubectl(tag, "get", "zonedelegation", "-o", "json"))["items"][0]
            servers = {server["name"]: server["address"] for server in zone["status"]["dnsServers"]}
            names = {f"gslb-ns-{of}-{ZONE}": DNS[of] for of in TAGS}
            assert servers == names, servers
            until(f"{tag} delegates", sorted(names), lambda: parent.name_servers(tag))
            until(f"{tag} gives its own address", {DNS[tag]}, lambda: parent.records.get((f"gslb-ns-{tag}-{ZONE}", "A")))


def main():
    report = Report("k8gb", "beside ours")
    parent = Parent()
    with contextlib.ExitStack() as servers:
        for tag in TAGS:
            (FOLDER / tag).mkdir()
            command = [SERVE, str(FOLDER / tag), str(API_PORT[tag])]
            servers.enter_context(process(f"{tag}-api", command, dict(os.environ)))
        for tag in TAGS:
            until(f"{tag} has an API server", True, lambda: (FOLDER / tag / "kubeconfig").exists())
            furnish(tag)
        parent.tags = TAGS
        parent.start()
        for houses in HOUSES:
            title = "; ".join(f"{tag} {operator} with DNS server {server}" for tag, (operator, server) in zip(TAGS, houses))
            with contextlib.ExitStack() as running:
                for tag, (operator, server) in zip(TAGS, houses):
                    for part, command, env in commands(tag, operator, server):
                        running.enter_context(process(f"{tag}-{part}", command, {**settings(tag), **env}))
                fail_over(report, parent, title)
    print(f"logs are in {FOLDER}")
    report.finish()


if __name__ == "__main__":
    main()
