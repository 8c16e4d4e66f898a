"""What crds.py runs: where each bundle keeps its definitions and examples, and what its rules must refuse.

A refused case is (object, words of the refusal) or, for a rule about changes, (object, words, merge patch).
"""
import dataclasses


@dataclasses.dataclass
class Bundle:
    """One repository's definitions. Patterns are relative to its checkout; `skip` gives the reason for an example left out."""

    name: str
    folder: str
    crds: list
    examples: list = dataclasses.field(default_factory=list)
    skip: dict = dataclasses.field(default_factory=dict)
    invalid: list = dataclasses.field(default_factory=list)
    refused: list = dataclasses.field(default_factory=list)


def made(api, kind, spec, name="refused"):
    return f"apiVersion: {api}\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {spec}\n"


GATEWAY, KUEUE, AGENTS = "gateway.networking.k8s.io/v1", "kueue.x-k8s.io/v1beta2", "agents.x-k8s.io/v1beta1"


def route(rule):
    return made(GATEWAY, "HTTPRoute", f"{{parentRefs: [{{name: g}}], rules: [{rule}]}}")


GATEWAY_REFUSED = [
    (route("{matches: [{path: {type: PathPrefix, value: a}}]}"), "value must be an absolute path and start with '/'"),
    (route("{matches: [{path: {type: PathPrefix, value: //a}}]}"), "must not contain '//'"),
    (route("{filters: [{type: RequestRedirect}]}"), "filter.requestRedirect must be specified for RequestRedirect filter.type"),
    (route("{backendRefs: [{name: s}]}"), "Must have port for Service reference"),
    (route("{timeouts: {request: 1s, backendRequest: 2s}}"), "backendRequest timeout cannot be longer than request timeout"),
    (
        made(GATEWAY, "Gateway", "{gatewayClassName: c, listeners: [{name: a, port: 80, protocol: HTTP}, {name: a, port: 81, protocol: HTTP}]}"),
        "Listener name must be unique within the Gateway",
    ),
    (
        made(GATEWAY, "Gateway", "{gatewayClassName: c, listeners: [{name: a, port: 80, protocol: TCP, hostname: a.example}]}"),
        "hostname must not be specified for protocols ['TCP', 'UDP']",
    ),
    (
        made(GATEWAY, "GatewayClass", "{controllerName: example.com/a}"),
        "field is immutable",
        '{"spec": {"controllerName": "example.com/b"}}',
    ),
]

COVERED = "{coveredResources: [cpu], flavors: [{name: f, resources: [%s]}]}"
CPU = "{name: cpu, nominalQuota: 1%s}"
KUEUE_REFUSED = [
    (
        made(KUEUE, "ClusterQueue", "{resourceGroups: [%s]}" % (COVERED % (CPU % ", borrowingLimit: 1"))),
        "borrowingLimit must be nil when cohort is empty",
    ),
    (
        made(KUEUE, "ClusterQueue", "{resourceGroups: [{coveredResources: [cpu, memory], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 1}]}]}]}"),
        "flavors must have the same number of resources as the coveredResources",
    ),
    (
        made(KUEUE, "ClusterQueue", "{preemption: {reclaimWithinCohort: Never, borrowWithinCohort: {policy: LowerPriority}}}"),
        "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never",
    ),
    (made(KUEUE, "ClusterQueue", "{queueingStrategy: Fastest}"), 'Unsupported value: "Fastest": supported values: "StrictFIFO", "BestEffortFIFO"'),
    (made(KUEUE, "LocalQueue", "{clusterQueue: a}"), "field is immutable", '{"spec": {"clusterQueue": "b"}}'),
    (made(KUEUE, "Topology", "{levels: [{nodeLabel: a}, {nodeLabel: a}]}"), "must be unique"),
    (
        made(KUEUE, "Topology", "{levels: [{nodeLabel: kubernetes.io/hostname}, {nodeLabel: a}]}"),
        "the kubernetes.io/hostname label can only be used at the lowest level of topology",
    ),
    (
        made(KUEUE, "Topology", "{levels: [{nodeLabel: a}]}"),
        "levels are mutable only when kubernetes.io/hostname is the lowest level both before and after the change",
        '{"spec": {"levels": [{"nodeLabel": "b"}]}}',
    ),
    (made(KUEUE, "ResourceFlavor", "{topologyName: t}"), "at least one nodeLabel is required when topology is set"),
    (made(KUEUE, "ResourceFlavor", "{nodeTaints: [{key: a, effect: Never}]}"), "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'"),
    (made(KUEUE, "ResourceFlavor", "{tolerations: [{operator: Equal}]}"), "operator must be Exists when 'key' is empty"),
    (
        made(KUEUE, "ResourceFlavor", "{tolerations: [{key: a, operator: Exists, tolerationSeconds: 1, effect: NoSchedule}]}"),
        "effect must be 'NoExecute' when 'tolerationSeconds' is set",
    ),
    (
        made(KUEUE, "ResourceFlavor", "{topologyName: t, nodeLabels: {a: b}}"),
        "topologyName is immutable when topologyName is set",
        '{"spec": {"topologyName": "u"}}',
    ),
    (made(KUEUE, "AdmissionCheck", "{controllerName: a}"), "field is immutable", '{"spec": {"controllerName": "b"}}'),
    (made(KUEUE, "MultiKueueConfig", "{clusters: [a, a]}"), "must be unique"),
    (made(KUEUE, "MultiKueueCluster", "{clusterSource: {}}"), "exactly one of the fields in [kubeConfig clusterProfileRef] must be set"),
    (
        made(KUEUE, "Workload", "{podSets: [{name: main, count: 1, minCount: 2, template: {spec: {containers: [{name: c, image: i}]}}}]}"),
        "minCount should be positive and less or equal to count",
    ),
    (
        made(KUEUE, "Workload", "{priorityClassRef: {group: kueue.x-k8s.io, kind: PriorityClass, name: a}, priority: 1, podSets: [{name: main, count: 1, template: {spec: {containers: [{name: c, image: i}]}}}]}"),
        "only the WorkloadPriorityClass kind is allowed for the kueue.x-k8s.io group",
    ),
]

POD = "{spec: {containers: [{name: c, image: i}]}}"
CLAIM = "{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}"
AGENTS_REFUSED = [
    (made(AGENTS, "Sandbox", "{}"), "spec.podTemplate: Required value"),
    (
        made(AGENTS, "Sandbox", f"{{podTemplate: {POD}, volumeClaimTemplates: [{CLAIM}]}}"),
        "volumeClaimTemplates is immutable",
        '{"spec": {"volumeClaimTemplates": null}}',
    ),
]

K8GB, ZONES = "k8gb.io/v1beta1", "{loadBalancedZone: %s, parentZone: example.com, dnsZoneNegTTL: 30}"
K8GB_REFUSED = [
    (made(K8GB, "ZoneDelegation", ZONES % "example.com"), "loadBalancedZone must not equal parentZone"),
    (made(K8GB, "ZoneDelegation", ZONES % "cloud.example.org"), "loadBalancedZone must be subdomain"),
    (made(K8GB, "ZoneDelegation", "{loadBalancedZone: a.b, parentZone: b}"), "spec.dnsZoneNegTTL: Required value"),
    (made(K8GB, "Gslb", "{resourceRef: {kind: Ingress, name: a, apiVersion: networking.k8s.io/v1}}"), "spec.strategy: Required value"),
]

DNS_REFUSED = [
    (made("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "{endpoints: [{dnsName: a.example, recordTTL: soon}]}"), "must be of type integer"),
]

KAI_LEVELS = "{levels: [{nodeLabel: %s}, {nodeLabel: %s}]}"
KAI_REFUSED = [
    (made("kai.scheduler/v1alpha1", "Topology", KAI_LEVELS % ("a", "a")), "must be unique"),
    (made("kai.scheduler/v1alpha1", "Topology", KAI_LEVELS % ("a", "b")), "field is immutable", '{"spec": {"levels": [{"nodeLabel": "c"}]}}'),
    (
        made("kai.scheduler/v1alpha1", "Topology", KAI_LEVELS % ("kubernetes.io/hostname", "a")),
        "the kubernetes.io/hostname label can only be used at the lowest level of topology",
    ),
    (
        made("scheduling.run.ai/v2alpha2", "PodGroup", "{minMember: 1, preemptibility: sometimes}"),
        'supported values: "preemptible", "non-preemptible"',
    ),
]

POOL = "inference.networking.k8s.io/v1"
INFERENCE_REFUSED = [
    (
        made(POOL, "InferencePool", "{selector: {matchLabels: {a: b}}, targetPorts: [{number: 80}], endpointPickerRef: {name: e}}"),
        "port is required when kind is 'Service' or unspecified (defaults to 'Service')",
    ),
    (
        made(POOL, "InferencePool", "{selector: {matchLabels: {a: b}}, targetPorts: [{number: 80}, {number: 80}], endpointPickerRef: {name: e, port: {number: 1}}}"),
        "port number must be unique",
    ),
    (
        made(POOL, "InferencePool", "{selector: {matchLabels: {a: b}}, targetPorts: [{number: 70000}], endpointPickerRef: {name: e, port: {number: 1}}}"),
        "should be less than or equal to 65535",
    ),
]

VOLCANO_REFUSED = [
    (
        made("topology.volcano.sh/v1alpha1", "HyperNode", "{tier: 1, members: [{type: Node, selector: {exactMatch: {name: a}, regexMatch: {pattern: b}}}]}"),
        "Only one of ExactMatch, RegexMatch, or LabelMatch can be specified",
    ),
    (made("batch.volcano.sh/v1alpha1", "Job", "{minAvailable: a}"), 'spec.minAvailable: Invalid value: "string": spec.minAvailable in body must be of type integer'),
]

NO_PATH_TYPE = "older than networking.k8s.io/v1: its paths have no pathType"
PATCH = "a patch for kustomize, no whole object"
AGENTS_SKIP = {
    "examples/vscode-sandbox/overlays/gvisor/patch-gvisor.yaml": PATCH,
    "examples/vscode-sandbox/overlays/kata/patch-kata.yaml": PATCH,
    "examples/vscode-sandbox/overlays/kata-mshv/patch-kata.yaml": PATCH,
}

BUNDLES = [
    Bundle(
        "Gateway API, standard",
        "gateway-api",
        ["config/crd/standard/*.yaml"],
        ["examples/standard/**/*"],
        invalid=["hack/invalid-examples/standard/**/*"],
        refused=GATEWAY_REFUSED,
    ),
    Bundle(
        "Gateway API, experimental",
        "gateway-api",
        ["config/crd/experimental/*.yaml"],
        ["examples/standard/**/*", "examples/experimental/**/*"],
        invalid=["hack/invalid-examples/*/**/*"],
        refused=GATEWAY_REFUSED,
    ),
    Bundle("Kueue", "kueue", ["config/components/crd/bases/*.yaml"], ["site/static/examples/**/*"], refused=KUEUE_REFUSED),
    Bundle(
        "k8gb",
        "k8gb",
        ["chart/k8gb/crd/*.yaml"],
        ["docs/examples/**/*"],
        skip={
            "docs/examples/gcp/test-gslb-failover.yaml": NO_PATH_TYPE,
            "docs/examples/gcp/test-gslb-roundrobin.yaml": NO_PATH_TYPE,
            "docs/examples/route53/k8gb/gslb-failover.yaml": NO_PATH_TYPE,
            "docs/examples/route53/k8gb/gslb-roundrobin.yaml": NO_PATH_TYPE,
            "docs/examples/lbservice-gslb-example.yaml": "splitBrainThresholdSeconds outside spec.strategy, where no schema has it",
        },
        refused=K8GB_REFUSED,
    ),
    Bundle("agent-sandbox", "agent-sandbox", ["k8s/crds/*.yaml"], ["examples/**/*"], skip=AGENTS_SKIP, refused=AGENTS_REFUSED),
    Bundle("external-dns", "external-dns", ["config/crd/standard/*.yaml"], ["docs/sources/crd/*"], refused=DNS_REFUSED),
    Bundle(
        "Volcano",
        "volcano",
        ["config/crd/volcano/bases/*.yaml", "config/crd/jobflow/bases/*.yaml"],
        ["example/**/*"],
        skip={"example/kubecon-2019-china/task-priority/elastic-job.yaml": "priorityClass in a pod's spec, which has no such field"},
        refused=VOLCANO_REFUSED,
    ),
    Bundle("KAI scheduler", "kai", ["deployments/kai-scheduler/crds/*.yaml"], ["examples/**/*", "docs/**/*"], refused=KAI_REFUSED),
    Bundle(
        "inference extension",
        "inference-extension",
        ["config/crd/bases/*.yaml"],
        ["conformance/resources/*", "conformance/tests/*"],
        refused=INFERENCE_REFUSED,
    ),
]
