#!/bin/sh
# The model's process, as the Procfile starts it. With MEMSIFT_RUNTIME=sglang that is an SGLang server:
#   PRESET     a file of this folder without .yaml, or the path of another; default qwen3-4b-fp8-24gb
#   MODEL      the folder with the weights; default what the preset names
#   SGLANG     the command that is SGLang; default `sglang` on PATH, of an environment of its own
#   SGLANG_HOST, SGLANG_PORT   where it listens; default 127.0.0.1:30000, which is MEMSIFT_SGLANG_URL's default too
# With any other runtime the model is inside the worker, and there is nothing to start.
set -eu
runtime=${MEMSIFT_RUNTIME:-embedded}

if [ "$runtime" != sglang ]; then
    echo "nothing to start: the runtime '$runtime' is inside the worker"
    # To stay, since honcho ends everything when one process ends.
    exec sleep infinity
fi

preset=${PRESET:-qwen3-4b-fp8-24gb}
case $preset in *.yaml) ;; *) preset=$preset.yaml ;; esac
# Where the presets are, and the chat template that some of them name.
cd "$(dirname "$0")"
[ -f "$preset" ] || { echo "no preset $preset; there are:" *gb.yaml >&2; exit 2; }
[ -z "${MODEL:-}" ] || set -- --model-path "$MODEL" "$@"
exec ${SGLANG:-sglang} serve --config "$preset" --host "${SGLANG_HOST:-127.0.0.1}" --port "${SGLANG_PORT:-30000}" "$@"
