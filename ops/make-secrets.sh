#!/bin/sh
# Makes every password that compose, systemd and Kubernetes need, once:  ops/make-secrets.sh [FOLDER] [REDIS_HOST:PORT]
# Writes into FOLDER (default ./secrets), which its owner alone can enter:
#   redis-acl.conf   the three users of ops/redis-acl.conf with passwords of their own
#   producer.env, worker.env, operator.env   MEMSIFT_REDIS_URL of each, for frontends, workers, and Flower and people
#   flower.env, flower.htpasswd   Flower's password, for itself and for the proxy before it; flower.txt tells it you
#   grafana.env      Grafana's
#   gateway.toml     API keys of the gateway, with a first one, which gateway.txt tells you; more of them by
#                    memsift gateway key NAME >> FOLDER/gateway.toml
set -eu
umask 077
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-secrets}
redis=${2:-redis:6379}

if [ -e "$folder" ]; then
    echo "$folder is there already; name another folder, or remove it and restart everything that uses it" >&2
    exit 1
fi
command -v openssl >/dev/null || { echo "openssl is missing: apt-get install openssl" >&2; exit 1; }
mkdir -p "$folder"

digest() {
    openssl dgst -sha256 -r | cut -d' ' -f1
}

cp "$here/redis-acl.conf" "$folder/redis-acl.conf"
for who in producer worker operator; do
    password=$(openssl rand -hex 32)
    sed -i "s/>CHANGE-ME-$who /#$(printf %s "$password" | digest) /" "$folder/redis-acl.conf"
    echo "MEMSIFT_REDIS_URL=redis://memsift-$who:$password@$redis/0" >"$folder/$who.env"
done

flower=$(openssl rand -hex 16)
echo "FLOWER_BASIC_AUTH=operator:$flower" >"$folder/flower.env"
echo "operator:$(openssl passwd -apr1 "$flower")" >"$folder/flower.htpasswd"
echo "user operator, password $flower" >"$folder/flower.txt"
printf 'GF_SECURITY_ADMIN_USER=operator\nGF_SECURITY_ADMIN_PASSWORD=%s\n' "$(openssl rand -hex 16)" \
    >"$folder/grafana.env"
key=msk_$(openssl rand -hex 32)
echo "$key" >"$folder/gateway.txt"
printf '[[keys]]\nname = "first"\nsha256 = "%s"\n' "$(printf %s "$key" | digest)" >"$folder/gateway.toml"
# These hold digests of random passwords, which open nothing, and are mounted into containers whose user is another.
chmod 0644 "$folder/redis-acl.conf" "$folder/flower.htpasswd" "$folder/gateway.toml"
echo "made $folder; flower.txt and gateway.txt in it hold Flower's password and the gateway's first key"
