#!/bin/sh
# sglang-router 0.3.2 before several SGLang servers:  router.sh http://gpu1:30000 http://gpu2:30000
# Only where frontends cannot choose: without a router they know sessions, and a worker for each server is enough
# (docs/operating.md, "Several runtimes"). Workers take its URL as MEMSIFT_SGLANG_URL.
set -eu
[ $# -gt 0 ] || { echo "usage: $0 http://SERVER:30000 ..." >&2; exit 2; }

set -- --worker-urls "$@"
# Where memsift looks for one SGLang; loopback, unless ROUTER_HOST says otherwise.
set -- "$@" --host "${ROUTER_HOST:-127.0.0.1}" --port "${ROUTER_PORT:-30000}"
# A prompt goes to the server that has seen the longest beginning of it.
set -- "$@" --policy cache_aware
# Half of a prompt seen is enough: a session's deck is most of its prompt, while the instructions, which all prompts
# share, are less than a tenth of it.
set -- "$@" --cache-threshold 0.5
# A favourite may have 16 requests more than the idlest, and half as many again, before others get its sessions: with
# more, calls wait for a warm cache longer than a cold one would take.
set -- "$@" --balance-abs-threshold 16 --balance-rel-threshold 1.5
# memsift has deadlines and a fallback of its own: a request that is sent again comes too late and loads a second card.
set -- "$@" --disable-retries
# A server that fails twice in four seconds gets nothing until it answers again; the default finds out after minutes.
set -- "$@" --health-check-interval-secs 2 --health-check-timeout-secs 2 --health-failure-threshold 2
# Not past MEMSIFT_RANK_TIMEOUT_MS, after which nobody waits.
set -- "$@" --request-timeout-secs 60
# No longer than a worker waits for its batches (MEMSIFT_SHUTDOWN_GRACE_S).
set -- "$@" --shutdown-grace-period-secs 30
# Its metrics; its default is every address.
set -- "$@" --prometheus-host "${ROUTER_HOST:-127.0.0.1}" --prometheus-port "${ROUTER_METRICS_PORT:-29000}"

exec python3 -m sglang_router.launch_router "$@"
