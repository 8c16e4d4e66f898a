#!/usr/bin/env bash
# Runs the Python client's own e2e and dynamic-client tests that need no running pods.
# usage: KUBECONFIG=… conformance/python_e2e.sh CHECKOUT-OF-kubernetes-client/python
# The tests are copied beside the installed package, which they import, and removed afterwards.
set -eu
checkout=$1
package=$(python3 -c 'import kubernetes, os; print(os.path.dirname(kubernetes.__file__))')
trap 'rm -rf "$package/e2e_test" "$package"/dynamic/test_*.py' EXIT
cp -r "$checkout/kubernetes/e2e_test" "$package/"
cp "$checkout"/kubernetes/dynamic/test_*.py "$package/dynamic/"
cd "$package/.." # the tests name their YAML files relative to this
python3 -m pytest -q --timeout 12 -p no:cacheprovider kubernetes/e2e_test kubernetes/dynamic \
  -k 'not exec and not portforward and not exit_code and not job_apis and not pod_apis and not metrics_utilities'
