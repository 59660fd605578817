#!/bin/sh
# The namespace, and the secrets that the manifests name, of the folder that ops/make-secrets.sh made:
#   ops/make-secrets.sh && ops/k8s/secrets.sh | kubectl apply -f -
# Prints them and changes nothing by itself. Apply it to a cluster that encrypts secrets at rest.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-secrets}
[ -f "$folder/worker.env" ] || { echo "$folder: make it with ops/make-secrets.sh" >&2; exit 1; }

secret() {
    name=$1
    shift
    echo ---
    kubectl --namespace memsift create secret generic "$name" "$@" --dry-run=client --output yaml
}

cat "$here/base/namespace.yaml"
for who in producer worker operator flower; do
    secret "memsift-$who" --from-env-file="$folder/$who.env"
done
secret memsift-gateway --from-file="$folder/gateway.toml"
secret memsift-flower-htpasswd --from-file="$folder/flower.htpasswd"
# Together, since the one includes the other.
secret memsift-redis --from-file="$here/../redis.conf" --from-file="$folder/redis-acl.conf"
