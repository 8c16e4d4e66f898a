"""Three charts in the style of cert-manager, kueue and prometheus-operator, in our own words: what such charts ask of a server.

GROUP stands for the group of this run's definitions and SHORT for a short name of its own, so that runs do not meet.
"""

HELPERS = """
{{- define "labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}
"""

# Definitions as a template behind a value and kept at uninstall, two webhook configurations, a Role in kube-system,
# aggregated ClusterRoles, and a check after the installation.
CERTS = {
    "Chart.yaml": "apiVersion: v2\nname: certs\nversion: 1.2.3\nappVersion: v1.2.3\nkubeVersion: '>= 1.22.0-0'\n",
    "values.yaml": "crds: {enabled: true, keep: true}\nreplicaCount: 1\nimage: example.com/certs:v1\nwebhook: {timeoutSeconds: 10}\nextraArgs: []\n",
    "values.schema.json": '{"type": "object", "properties": {"replicaCount": {"type": "integer"}}}',
    "templates/_helpers.tpl": HELPERS,
    "templates/NOTES.txt": "{{ .Chart.Name }} {{ .Chart.AppVersion }} is in {{ .Release.Namespace }}\n",
    "templates/crds.yaml": """
{{- if .Values.crds.enabled }}
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: issuers.GROUP
  {{- if .Values.crds.keep }}
  annotations: {helm.sh/resource-policy: keep}
  {{- end }}
  labels: {{- include "labels" . | nindent 4 }}
spec:
  group: 'GROUP'
  scope: Namespaced
  names: {plural: issuers, singular: issuer, kind: Issuer, listKind: IssuerList, categories: [certs]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns:
    - {name: Ready, type: string, jsonPath: '.status.conditions[?(@.type == "Ready")].status'}
    selectableFields: [{jsonPath: .spec.email}]
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            properties:
              email: {type: string}
              renewBefore: {type: string, default: 360h}
            x-kubernetes-validations:
            - {rule: "!has(self.email) || self.email.contains('@')", message: email needs an @}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
{{- end }}
""",
    "templates/rbac.yaml": """
apiVersion: v1
kind: ServiceAccount
automountServiceAccountToken: true
metadata: {name: "{{ .Release.Name }}", namespace: "{{ .Release.Namespace }}", labels: {{ include "labels" . | fromYaml | toJson }}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "{{ .Release.Namespace }}-controller"}
rules:
- {apiGroups: ['GROUP'], resources: [issuers, issuers/status], verbs: [update, patch, get, list, watch]}
- {apiGroups: [''], resources: [secrets], verbs: [get, list, watch, create, update, delete, patch]}
- {apiGroups: [''], resources: [events], verbs: [create, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: "{{ .Release.Namespace }}-view"
  labels:
    rbac.authorization.k8s.io/aggregate-to-view: "true"
    rbac.authorization.k8s.io/aggregate-to-edit: "true"
    rbac.authorization.k8s.io/aggregate-to-admin: "true"
rules:
- {apiGroups: ['GROUP'], resources: [issuers], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "{{ .Release.Namespace }}-controller"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "{{ .Release.Namespace }}-controller"}
subjects: [{kind: ServiceAccount, name: "{{ .Release.Name }}", namespace: "{{ .Release.Namespace }}"}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: "{{ .Release.Namespace }}:leaderelection", namespace: kube-system}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [certs-controller], verbs: [get, update, patch]}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: "{{ .Release.Namespace }}:leaderelection", namespace: kube-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: "{{ .Release.Namespace }}:leaderelection"}
subjects: [{kind: ServiceAccount, name: "{{ .Release.Name }}", namespace: "{{ .Release.Namespace }}"}]
""",
    "templates/deployment.yaml": """
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}", labels: {{ include "labels" . | fromYaml | toJson }}}
spec:
  replicas: {{ .Values.replicaCount }}
  selector: {matchLabels: {app.kubernetes.io/instance: "{{ .Release.Name }}"}}
  template:
    metadata:
      labels: {app.kubernetes.io/instance: "{{ .Release.Name }}"}
      annotations: {prometheus.io/scrape: "true", prometheus.io/port: "9402"}
    spec:
      serviceAccountName: "{{ .Release.Name }}"
      securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: controller
        image: {{ .Values.image }}
        args: {{- concat (list "--v=2" "--leader-election-namespace=kube-system") .Values.extraArgs | toYaml | nindent 8 }}
        ports: [{containerPort: 9402, name: metrics, protocol: TCP}, {containerPort: 9403, name: healthz, protocol: TCP}]
        env: [{name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}]
        livenessProbe: {httpGet: {port: healthz, path: /livez, scheme: HTTP}, initialDelaySeconds: 10, failureThreshold: 8}
        securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
        resources: {requests: {cpu: 10m, memory: 32Mi}}
---
apiVersion: v1
kind: Service
metadata: {name: "{{ .Release.Name }}-webhook"}
spec: {type: ClusterIP, ports: [{name: https, port: 443, protocol: TCP, targetPort: https}], selector: {app: webhook}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: "{{ .Release.Name }}"}
spec: {minAvailable: 1, selector: {matchLabels: {app.kubernetes.io/instance: "{{ .Release.Name }}"}}}
""",
    "templates/webhooks.yaml": """
{{- range list "Mutating" "Validating" }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: {{ . }}WebhookConfiguration
metadata:
  name: "{{ $.Release.Namespace }}-webhook"
  annotations: {example.com/inject-ca-from-secret: "{{ $.Release.Namespace }}/webhook-ca"}
webhooks:
- name: webhook.GROUP
  namespaceSelector: {matchExpressions: [{key: example.com/disable-validation, operator: NotIn, values: ["true"]}]}
  objectSelector: {matchLabels: {never: there}}
  rules: [{apiGroups: ['GROUP'], apiVersions: [v1], operations: [CREATE, UPDATE], resources: ['*/*']}]
  admissionReviewVersions: [v1]
  matchPolicy: Equivalent
  timeoutSeconds: {{ $.Values.webhook.timeoutSeconds }}
  failurePolicy: Fail
  sideEffects: None
  clientConfig: {service: {name: "{{ $.Release.Name }}-webhook", namespace: "{{ $.Release.Namespace }}", path: /call}}
{{- end }}
""",
    "templates/startupcheck.yaml": """
apiVersion: v1
kind: ServiceAccount
metadata:
  name: startupcheck
  annotations: {helm.sh/hook: post-install, helm.sh/hook-weight: "-5", helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded"}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: startupcheck
  annotations: {helm.sh/hook: post-install, helm.sh/hook-weight: "1", helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded"}
spec:
  backoffLimit: 4
  template: {spec: {restartPolicy: OnFailure, serviceAccountName: startupcheck, containers: [{name: check, image: i, args: [check, api, --wait=1m]}]}}
""",
}

# A definition with two versions and a conversion webhook, a secret made once and looked up after that, aggregation rules,
# priority levels, an APIService that nobody answers for, and objects of the definition made by a hook.
QUEUES = {
    "Chart.yaml": "apiVersion: v2\nname: queues\nversion: 0.1.0\nappVersion: v0.1.0\n",
    "values.yaml": "quota: 9\nvisibility: true\nleaderElect: true\nbroken: false\n",
    "templates/_helpers.tpl": HELPERS,
    "crds/flavors.yaml": """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: flavors.GROUP}
spec:
  group: 'GROUP'
  scope: Cluster
  names: {plural: flavors, singular: flavor, kind: Flavor, shortNames: [SHORT]}
  versions:
  - name: v1beta1
    served: true
    storage: false
    deprecated: true
    schema: &schema
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              quota: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
              levels: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}, size: {type: integer, default: 1}}}}
              kind: {type: string}
            x-kubernetes-validations:
            - {rule: "!has(oldSelf.kind) || self.kind == oldSelf.kind", message: kind is immutable}
  - {name: v1beta2, served: true, storage: true, schema: *schema}
""",
    "templates/secret.yaml": """
{{- $old := lookup "v1" "Secret" .Release.Namespace "webhook-cert" }}
apiVersion: v1
kind: Secret
metadata: {name: webhook-cert}
type: Opaque
data:
  key: {{ if $old }}{{ index $old.data "key" }}{{ else }}{{ randAlphaNum 24 | b64enc }}{{ end }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: manager-config}
data:
  quota: {{ .Values.quota | quote }}
  flavors: {{ (lookup "GROUP/v1beta2" "Flavor" "" "").items | default list | len | quote }}
  kube: {{ .Capabilities.KubeVersion.Version | quote }}
  batch: {{ .Capabilities.APIVersions.Has "batch/v1/CronJob" | quote }}
  config.yaml: |
    apiVersion: config.GROUP/v1
    leaderElection: {leaderElect: {{ .Values.leaderElect }}}
    integrations: {frameworks: [batch/job, pod]}
""",
    "templates/rbac.yaml": """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "{{ .Release.Namespace }}-batch-admin"}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {"GROUP/batch-admin": "true"}}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "{{ .Release.Namespace }}-flavor-editor", labels: {"GROUP/batch-admin": "true"}}
rules: [{apiGroups: ['GROUP'], resources: [flavors], verbs: ['*']}]
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: "{{ .Release.Namespace }}-visibility"}
spec:
  type: Limited
  limited: {nominalConcurrencyShares: 10, limitResponse: {type: Queue, queuing: {queues: 64, handSize: 4, queueLengthLimit: 50}}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: "{{ .Release.Namespace }}-visibility"}
spec:
  distinguisherMethod: {type: ByUser}
  matchingPrecedence: 9000
  priorityLevelConfiguration: {name: "{{ .Release.Namespace }}-visibility"}
  rules:
  - resourceRules: [{apiGroups: ['visibility.GROUP'], clusterScope: true, namespaces: ['*'], resources: ['*'], verbs: ['*']}]
    subjects: [{group: {name: 'system:unauthenticated'}, kind: Group}, {group: {name: 'system:authenticated'}, kind: Group}]
---
{{- if .Values.visibility }}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: visibility}
spec: {podSelector: {matchLabels: {app: queues}}, policyTypes: [Ingress], ingress: [{ports: [{port: 8082, protocol: TCP}]}]}
{{- end }}
{{- if .Values.broken }}
---
apiVersion: v1
kind: Service
metadata: {name: broken}
spec: {ports: [{port: 99999}]}
{{- end }}
""",
    "templates/flavor.yaml": """
apiVersion: 'GROUP/v1beta2'
kind: Flavor
metadata: {name: "{{ .Release.Namespace }}", labels: {{ include "labels" . | fromYaml | toJson }}}
spec: {quota: "{{ .Values.quota }}Gi", kind: a, levels: [{name: rack}, {name: host, size: 4}]}
---
apiVersion: 'GROUP/v1beta2'
kind: Flavor
metadata: {name: "{{ .Release.Namespace }}-default", annotations: {helm.sh/hook: "post-install,post-upgrade", helm.sh/hook-delete-policy: before-hook-creation}}
spec: {quota: 1}
""",
}

# Large definitions in crds/, a job that makes certificates before everything, rules and dashboards in other namespaces,
# every workload kind, an ingress, an autoscaler, and a test pod.
MONITORS = {
    "Chart.yaml": "apiVersion: v2\nname: monitors\nversion: 9.0.0\ndependencies: [{name: exporter, version: 1.x.x, condition: exporter.enabled}]\n",
    "values.yaml": "retention: 10d\nexporter: {enabled: true}\ndashboards: 20\ningress: {host: mon.example.com}\n",
    "charts/exporter/Chart.yaml": "apiVersion: v2\nname: exporter\nversion: 1.4.0\n",
    "charts/exporter/templates/ds.yaml": """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: "{{ .Release.Name }}-exporter"}
spec:
  selector: {matchLabels: {app: exporter}}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 1}}
  template:
    metadata: {labels: {app: exporter}}
    spec:
      hostNetwork: true
      hostPID: true
      tolerations: [{effect: NoSchedule, operator: Exists}]
      nodeSelector: {kubernetes.io/os: linux}
      containers: [{name: e, image: e, ports: [{containerPort: 9100, hostPort: 9100, name: http}], volumeMounts: [{name: root, mountPath: /host, mountPropagation: HostToContainer, readOnly: true}]}]
      volumes: [{name: root, hostPath: {path: /}}]
""",
    "crds/rules.yaml": """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: promrules.GROUP}
spec:
  group: 'GROUP'
  scope: Namespaced
  names: {plural: promrules, singular: promrule, kind: PromRule}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            properties:
              groups:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties:
                    name: {type: string, minLength: 1}
                    interval: {type: string, pattern: '^(0|(([0-9]+)y)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?)$'}
                    rules: {type: array, items: {type: object, required: [expr], properties: {alert: {type: string}, expr: {anyOf: [{type: integer}, {type: string}], x-kubernetes-int-or-string: true}, labels: {type: object, additionalProperties: {type: string}}}}}
""",
    "templates/admission.yaml": """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: "{{ .Release.Namespace }}-admission"
  annotations: {helm.sh/hook: "pre-install,pre-upgrade,post-install,post-upgrade", helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded"}
rules: [{apiGroups: [admissionregistration.k8s.io], resources: [validatingwebhookconfigurations], verbs: [get, update]}]
---
apiVersion: batch/v1
kind: Job
metadata:
  name: admission-create
  annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded"}
spec:
  ttlSecondsAfterFinished: 60
  template: {spec: {restartPolicy: OnFailure, containers: [{name: create, image: i}]}}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: cleanup
  annotations: {helm.sh/hook: pre-delete, helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded"}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: cleanup, image: i}]}}}
""",
    "templates/rules.yaml": """
apiVersion: 'GROUP/v1'
kind: PromRule
metadata: {name: general}
spec:
  groups:
  - name: general
    interval: 30s
    rules: [{alert: Watchdog, expr: vector(1), labels: {severity: none}}, {alert: Number, expr: 1}]
---
apiVersion: v1
kind: Service
metadata: {name: "{{ .Release.Namespace }}-coredns", namespace: kube-system, labels: {jobLabel: coredns}}
spec: {clusterIP: None, ports: [{name: http-metrics, port: 9153, protocol: TCP, targetPort: 9153}], selector: {k8s-app: kube-dns}}
{{- range $i := until (int .Values.dashboards) }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "dashboard-{{ $i }}", labels: {grafana_dashboard: "1"}}
data: {"d.json": {{ printf "{\\"uid\\":\\"%d\\",\\"panels\\":[%s]}" $i (repeat 2000 "1,") | quote }}}
{{- end }}
""",
    "templates/workloads.yaml": """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: "{{ .Release.Name }}-store"}
spec:
  serviceName: store
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: store}}
  template: {metadata: {labels: {app: store}}, spec: {containers: [{name: s, image: s, args: ["--retention={{ .Values.retention }}"]}]}}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 50Gi}}}}]
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: compact}
spec: {schedule: "*/5 * * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: adapter}
spec:
  maxReplicas: 3
  scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: "{{ .Release.Name }}-store"}
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
---
apiVersion: {{ if .Capabilities.APIVersions.Has "networking.k8s.io/v1/Ingress" }}networking.k8s.io/v1{{ else }}extensions/v1beta1{{ end }}
kind: Ingress
metadata: {name: web}
spec: {rules: [{host: "{{ .Values.ingress.host }}", http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: store, port: {name: http}}}}]}}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: grafana, annotations: {helm.sh/resource-policy: keep}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}
""",
    "templates/tests/test.yaml": """
apiVersion: v1
kind: Pod
metadata: {name: "{{ .Release.Name }}-test", annotations: {helm.sh/hook: test, helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded"}}
spec: {restartPolicy: Never, containers: [{name: t, image: t}]}
""",
}
