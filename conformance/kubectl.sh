#!/usr/bin/env bash
# Runs the kubectl commands that need no node, one line of result each.
# usage: KUBECONFIG=… conformance/kubectl.sh PATH-OF-KUBECTL
set -u
k=$1
ns=conf-$(date +%s)-$RANDOM
dir=$(mktemp -d)
trap '"$k" delete namespace "$ns" --wait=false >/dev/null 2>&1; rm -rf "$dir"' EXIT
passed=0 failed=0

# t NAME COMMAND… — passes when the command succeeds.
t() {
  local name=$1; shift
  if timeout 30 "$@" >"$dir/out" 2>&1; then passed=$((passed + 1)); else
    failed=$((failed + 1)); echo "FAIL $name: $(tail -n 3 "$dir/out" | tr '\n' ' ' | cut -c1-300)"
  fi
}
# has NAME TEXT COMMAND… — passes when the command succeeds and prints TEXT.
has() {
  local name=$1 text=$2; shift 2
  if timeout 30 "$@" >"$dir/out" 2>&1 && grep -qF -- "$text" "$dir/out"; then passed=$((passed + 1)); else
    failed=$((failed + 1)); echo "FAIL $name: wanted '$text', got: $(tail -n 3 "$dir/out" | tr '\n' ' ' | cut -c1-300)"
  fi
}
# fails NAME TEXT COMMAND… — passes when the command fails and prints TEXT.
fails() {
  local name=$1 text=$2; shift 2
  if ! timeout 30 "$@" >"$dir/out" 2>&1 && grep -qF -- "$text" "$dir/out"; then passed=$((passed + 1)); else
    failed=$((failed + 1)); echo "FAIL $name: wanted '$text', got: $(tail -n 3 "$dir/out" | tr '\n' ' ' | cut -c1-300)"
  fi
}

cat >"$dir/web.yaml" <<'YAML'
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx, ports: [{containerPort: 80}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, labels: {app: web}}
spec: {selector: {app: web}, ports: [{port: 80}]}
YAML
sed 's/replicas: 1/replicas: 2/' "$dir/web.yaml" >"$dir/web2.yaml"
cat >"$dir/crd.yaml" <<YAML
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.$ns.example.com}
spec:
  group: $ns.example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget, shortNames: [gdt]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            description: What the gadget should be.
            properties: {size: {type: integer, minimum: 0, description: How large it is.}}
          status: {type: object, properties: {size: {type: integer}}}
YAML
cat >"$dir/gadget.yaml" <<YAML
apiVersion: $ns.example.com/v1
kind: Gadget
metadata: {name: one}
spec: {size: 3}
YAML
sed 's/size: 3/size: -1/' "$dir/gadget.yaml" >"$dir/bad.yaml"
cat >"$dir/edit.sh" <<'SH'
#!/bin/sh
sed -i 's/colour: blue/colour: green/' "$1"
SH
chmod +x "$dir/edit.sh"
n=("$k" -n "$ns")

# Discovery and documents.
has version 'Server Version' "$k" version
t cluster-info "$k" cluster-info
has api-resources deployments "$k" api-resources
has api-resources-verbs configmaps "$k" api-resources --verbs=list,watch -o wide
has api-versions apps/v1 "$k" api-versions
has explain 'KIND:' "$k" explain pods
has explain-field replicas "$k" explain deployment.spec
has explain-recursive containers "$k" explain pod --recursive
has explain-api-version 'VERSION:' "$k" explain hpa --api-version=autoscaling/v2
has raw '"gitVersion"' "$k" get --raw /version
has raw-health ok "$k" get --raw /readyz
t componentstatuses "$k" get componentstatuses
t all-kinds "$k" get all -A
# Who asks, and what may they.
case $("$k" version --client 2>/dev/null) in
*v1.27.*) ;; # asks for authentication.k8s.io/v1beta1, which v1.35 serves no longer
*) has whoami Username "$k" auth whoami ;;
esac
has can-i yes "$k" auth can-i create pods
has can-i-list Resources "$k" auth can-i --list
fails can-i-as no "$k" auth can-i create pods --as=nobody
fails forbidden 'cannot list resource "pods"' "$k" get pods --as=nobody
# Create, read, change, delete.
t create-namespace "$k" create namespace "$ns"
for i in $(seq 50); do "${n[@]}" get serviceaccount default >/dev/null 2>&1 && break; sleep 0.1; done
has create-token . "${n[@]}" create token default
t create-configmap "${n[@]}" create configmap cm --from-literal=colour=blue
fails create-again 'already exists' "${n[@]}" create configmap cm
t create-secret "${n[@]}" create secret generic s --from-literal=a=b
t create-serviceaccount "${n[@]}" create serviceaccount robot
t create-role "${n[@]}" create role r --verb=get --resource=pods
t create-rolebinding "${n[@]}" create rolebinding rb --role=r --serviceaccount="$ns:robot"
has can-i-role yes "${n[@]}" auth can-i get pods "--as=system:serviceaccount:$ns:robot"
t create-quota "${n[@]}" create quota q --hard=configmaps=100
t create-pdb "${n[@]}" create poddisruptionbudget pdb --selector=app=none --min-available=1
t create-ingress "${n[@]}" create ingress ing --rule=a.example.com/=web:80
t create-job "${n[@]}" create job j --image=busybox
t create-cronjob "${n[@]}" create cronjob cj --image=busybox --schedule='0 0 1 1 *'
t create-priorityclass "$k" create priorityclass "$ns" --value=10
t delete-priorityclass "$k" delete priorityclass "$ns"
t create-service "${n[@]}" create service clusterip svc --tcp=80:8080
t create-nodeport "${n[@]}" create service nodeport np --tcp=80:8080
t create-dry-run-client "${n[@]}" create deployment d --image=nginx --dry-run=client -o yaml
t create-dry-run-server "${n[@]}" create deployment d --image=nginx --dry-run=server -o yaml
fails dry-run-left-nothing NotFound "${n[@]}" get deployment d
has get-table DATA "${n[@]}" get configmap cm
has get-wide AGE "${n[@]}" get configmap -o wide
has get-yaml 'colour: blue' "${n[@]}" get configmap cm -o yaml
has get-jsonpath blue "${n[@]}" get configmap cm -o 'jsonpath={.data.colour}'
has get-columns cm "${n[@]}" get configmap -o 'custom-columns=N:.metadata.name'
has get-name configmap/cm "${n[@]}" get configmap -o name
has get-chunks configmap/cm "${n[@]}" get configmap --chunk-size=1 -o name
has get-field-selector configmap/cm "${n[@]}" get configmap --field-selector metadata.name=cm -o name
has get-sorted cm "${n[@]}" get configmap --sort-by=.metadata.creationTimestamp
has get-show-labels LABELS "${n[@]}" get configmap --show-labels
has get-managed-fields managedFields "${n[@]}" get configmap cm -o yaml --show-managed-fields
has get-timeout cm "${n[@]}" get configmap cm --request-timeout=5s
fails get-unknown "the server doesn't have a resource type" "$k" get nosuchthings
fails get-missing 'configmaps "nope" not found' "${n[@]}" get configmap nope
timeout 3 "${n[@]}" get configmap -w >"$dir/watch" 2>&1 &
sleep 1
t label "${n[@]}" label configmap cm a=b
t label-overwrite "${n[@]}" label configmap cm a=c --overwrite
t annotate "${n[@]}" annotate configmap cm note=hello
has label-selector configmap/cm "${n[@]}" get configmap -l 'a in (c),!zzz' -o name
wait $!
has get-watch cm cat "$dir/watch"
t patch-strategic "${n[@]}" patch configmap cm -p '{"data":{"x":"1"}}'
t patch-merge "${n[@]}" patch configmap cm --type=merge -p '{"data":{"y":"2"}}'
t patch-json "${n[@]}" patch configmap cm --type=json -p '[{"op":"add","path":"/data/z","value":"3"}]'
fails patch-bad 'the server rejected our request' "${n[@]}" patch configmap cm --type=json -p '[{"op":"test","path":"/data/z","value":"9"}]'
t edit env KUBE_EDITOR="$dir/edit.sh" "${n[@]}" edit configmap cm
has edit-took green "${n[@]}" get configmap cm -o 'jsonpath={.data.colour}'
has describe green "${n[@]}" describe configmap cm
"${n[@]}" get configmap cm -o yaml >"$dir/cm.yaml"
t replace "${n[@]}" replace -f "$dir/cm.yaml"
t replace-force "${n[@]}" replace --force -f "$dir/web.yaml"
t delete-again "${n[@]}" delete -f "$dir/web.yaml"
# Apply.
t apply "${n[@]}" apply -f "$dir/web.yaml"
has apply-unchanged unchanged "${n[@]}" apply -f "$dir/web.yaml"
t diff-none "${n[@]}" diff -f "$dir/web.yaml"
fails diff 'replicas: 2' "${n[@]}" diff -f "$dir/web2.yaml"
fails diff-server-side 'replicas: 2' "${n[@]}" diff --server-side --field-manager=kubectl --force-conflicts -f "$dir/web2.yaml"
has apply-changed configured "${n[@]}" apply -f "$dir/web2.yaml"
t apply-server-side "${n[@]}" apply --server-side -f "$dir/web2.yaml"
t apply-server-side-again "${n[@]}" apply --server-side -f "$dir/web.yaml"
fails apply-conflict 'conflict' "${n[@]}" apply --server-side --field-manager=other -f "$dir/web2.yaml"
t apply-force "${n[@]}" apply --server-side --field-manager=other --force-conflicts -f "$dir/web2.yaml"
has view-last-applied replicas "${n[@]}" apply view-last-applied deployment web
t set-last-applied "${n[@]}" apply set-last-applied -f "$dir/web.yaml"
t apply-prune "${n[@]}" apply --prune -l app=web -f "$dir/web.yaml"
# Workloads, without a node that runs them.
t scale "${n[@]}" scale deployment web --replicas=3
has scale-took 3 "${n[@]}" get deployment web -o 'jsonpath={.spec.replicas}'
t autoscale "${n[@]}" autoscale deployment web --min=1 --max=3
t set-image "${n[@]}" set image deployment/web web=nginx:2
t set-env "${n[@]}" set env deployment/web A=b
t set-resources "${n[@]}" set resources deployment/web --limits=cpu=100m
t set-serviceaccount "${n[@]}" set serviceaccount deployment/web robot
t rollout-history "${n[@]}" rollout history deployment/web
t rollout-pause "${n[@]}" rollout pause deployment/web
t rollout-resume "${n[@]}" rollout resume deployment/web
t rollout-restart "${n[@]}" rollout restart deployment/web
has rollout-status 'deployment' "${n[@]}" rollout status deployment/web --watch=false
t expose "${n[@]}" expose deployment web --name=web-np --type=NodePort --port=80
has describe-service Selector "${n[@]}" describe service web
has describe-deployment StrategyType "${n[@]}" describe deployment web
t run "${n[@]}" run pod1 --image=nginx
has describe-pod Containers "${n[@]}" describe pod pod1
t wait-create "${n[@]}" wait pod/pod1 --for=jsonpath='{.metadata.name}'=pod1 --timeout=5s
fails wait-timeout 'timed out' "${n[@]}" wait pod/pod1 --for=condition=Ready --timeout=1s
t events "${n[@]}" events
t get-events "${n[@]}" get events
fails logs 'needs a node agent' "${n[@]}" logs pod1
t delete-pod "${n[@]}" delete pod pod1
t delete-now "${n[@]}" delete configmap cm --now
t delete-cascade-orphan "${n[@]}" delete deployment web --cascade=orphan
t delete-foreground "${n[@]}" delete job j --cascade=foreground
t delete-all "${n[@]}" delete configmap --all
fails top 'Metrics API not available' "${n[@]}" top pods
# Custom resources.
t crd-apply "$k" apply -f "$dir/crd.yaml"
t crd-wait "$k" wait --for=condition=Established "crd/gadgets.$ns.example.com" --timeout=10s
sleep 1
t cr-apply "${n[@]}" apply -f "$dir/gadget.yaml"
fails cr-invalid 'greater than or equal to 0' "${n[@]}" apply -f "$dir/bad.yaml"
has cr-table SIZE "${n[@]}" get gdt
has cr-explain 'How large it is' "$k" explain gadgets.spec --api-version="$ns.example.com/v1"
t cr-scale "${n[@]}" scale gadget one --replicas=5
has cr-scaled 5 "${n[@]}" get gadget one -o 'jsonpath={.spec.size}'
t cr-status "${n[@]}" patch gadget one --subresource=status --type=merge -p '{"status":{"size":5}}'
has cr-status-took 5 "${n[@]}" get gadget one --subresource=status -o 'jsonpath={.status.size}'
has cr-describe Gadget "${n[@]}" describe gadget one
t cr-delete "${n[@]}" delete gadget one
t crd-delete "$k" delete -f "$dir/crd.yaml"
# Nodes that are only objects.
printf 'apiVersion: v1\nkind: Node\nmetadata: {name: %s}\n' "$ns" >"$dir/node.yaml"
t node-create "$k" create -f "$dir/node.yaml"
has node-get "$ns" "$k" get nodes
t taint "$k" taint node "$ns" a=b:NoSchedule
t cordon "$k" cordon "$ns"
t drain "$k" drain "$ns"
t uncordon "$k" uncordon "$ns"
has describe-node Taints "$k" describe node "$ns"
t node-delete "$k" delete node "$ns"
t namespace-delete "$k" delete namespace "$ns"

echo "$("$k" version --client 2>/dev/null | sed -n 's/^Client Version: //p'): $passed passed, $failed failed"
[ "$failed" = 0 ]
