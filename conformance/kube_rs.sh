#!/usr/bin/env bash
# kube-rs' own cluster tests: those its crates mark ignored because they need a cluster, from the published crates.
# usage: KUBECONFIG=… conformance/kube_rs.sh [VERSION [FOLDER]]      (FOLDER keeps the sources and the build; default: a temporary one)
# Needs cargo, crates.io and the headers of OpenSSL 3.
set -eu
version=${1:-5.0.0}
work=${2:-$(mktemp -d)}

# Substrings of tests that cannot pass where no node runs containers.
skipped=(
  pod_can_exec_and_write_to_stdin # attaches to a running container; the same through the kubelet's debug endpoints
  can_get_pod_logs_and_evict      # reads the log of a running container
  pod_can_await_conditions        # waits until the pod is running
)

# The crates as published, in a workspace where each uses the others' sources.
mkdir -p "$work/fetch/src" "$work/kube-rs"
: >"$work/fetch/src/lib.rs"
printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\nkube = { version = "=%s", features = ["derive", "runtime", "ws"] }\n[workspace]\n' \
  "$version" >"$work/fetch/Cargo.toml"
(cd "$work/fetch" && cargo fetch --quiet)
cd "$work/kube-rs"
printf '[workspace]\nresolver = "2"\nmembers = ["kube*"]\n[profile.dev]\ndebug = 0\n[patch.crates-io]\n' >Cargo.toml
for crate in kube kube-core kube-derive kube-client kube-runtime; do
  printf '%s = { path = "%s" }\n' "$crate" "$crate" >>Cargo.toml
  [ -d "$crate" ] || cp -r "$(ls -d "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"$crate-$version")" "$crate"
done
# Publishing drops what the crates' tests need of each other.
for crate in kube-client kube-runtime; do
  grep -q '^\[dev-dependencies.kube\]' "$crate/Cargo.toml" ||
    printf '\n[dev-dependencies.kube]\npath = "../kube"\nfeatures = ["derive", "client", "runtime", "ws"]\n' >>"$crate/Cargo.toml"
done

# One at a time, as several count all nodes or all pods.
flags=(--ignored --test-threads=1)
for name in "${skipped[@]}"; do flags+=(--skip "$name"); done
exec cargo test --quiet --lib --workspace --all-features --no-fail-fast -- "${flags[@]}"
