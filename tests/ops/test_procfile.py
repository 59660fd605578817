"""`honcho start` runs all of it: a job is answered, each face answers, and one Ctrl-C ends everything."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from memsift_ops import services, valkey
from memsift_producer import SyncReranker
from tests.ops.processes import gone, linux_only, marked, until

ROOT = Path(__file__).parents[2]
PROCFILE = ROOT / "Procfile"
NAMES = ["redis", "runtime", "worker", "flower", "gateway"]
MEMORIES = [
    {"id": "a", "text": "The key lies under the blue pot.", "created_at": None},
    {"id": "b", "text": "The cabin has no heating.", "created_at": None},
]


@pytest.fixture
def honcho(tmp_path):
    """Start a Procfile like ours on free ports; gives ports, mark and process. Ends it as Ctrl-C does."""
    ports = {"6379": valkey.free_port(), "5555": valkey.free_port()}
    gateway = valkey.free_port()
    text = re.sub("6379|5555", lambda found: str(ports[found[0]]), PROCFILE.read_text())
    procfile = tmp_path / "Procfile"
    procfile.write_text(text.replace("memsift_ops gateway", f"memsift_ops gateway --port {gateway}"))
    environment, mark = marked()
    environment |= {"MEMSIFT_RUNTIME": "scripted", "MEMSIFT_REDIS_URL": valkey.url(ports["6379"])}
    # The Procfile says `python`, which is the one of this environment once it is activated.
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    command = [sys.executable, "-m", "honcho", "start", "-f", str(procfile), "-d", str(ROOT)]
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            yield {"redis": ports["6379"], "flower": ports["5555"], "gateway": gateway, "log": log}
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)
    assert gone(mark, 30)


def test_it_names_the_parts_of_a_deployment():
    assert re.findall(r"(?m)^(\w+):", PROCFILE.read_text()) == NAMES


@pytest.mark.stack
@pytest.mark.timeout(240)
@linux_only
def test_it_starts_answers_and_ends(honcho):
    url = valkey.url(honcho["redis"])
    told = honcho["log"].read_text
    # When all are up
    assert until(lambda: services.ready_workers(url, "memsift.rerank"), 90), told()
    assert until(lambda: services.flower_answers(honcho["flower"]), 90), told()
    assert until(lambda: services.answers_http(honcho["gateway"], "/health"), 60), told()
    # Then a job is answered by the worker, through the package and through the gateway
    with SyncReranker.from_url(url) as reranker:
        assert reranker.rerank(query="Where is the key?", memories=MEMORIES, deadline=20).source == "model"
    body = json.dumps({"query": "Where is the key?", "documents": [memory["text"] for memory in MEMORIES]})
    headers = {"content-type": "application/json", "x-memsift-deadline-ms": "9000"}
    asked = urllib.request.Request(
        f"http://127.0.0.1:{honcho['gateway']}/v2/rerank", data=body.encode(), headers=headers
    )
    with urllib.request.urlopen(asked, timeout=20) as answer:
        assert answer.headers["x-memsift-source"] == "model"
    # And what there is no process for says so
    assert "nothing to start: the runtime 'scripted' is inside the worker" in told()
    assert "process terminated" not in told()


def run(**environment):
    script = ROOT / "ops" / "sglang" / "run.sh"
    kept = {name: value for name, value in os.environ.items() if name not in ("PRESET", "MODEL", "SGLANG")}
    return subprocess.run(
        [script, "--flag"],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        timeout=10,
        check=False,
    )


def test_the_runtime_is_sglang_with_a_preset():
    printed = run(MEMSIFT_RUNTIME="sglang", SGLANG="echo", MODEL="/models/one", PRESET="qwen3-4b-80gb").stdout
    flags = "--host 127.0.0.1 --port 30000 --model-path /models/one --flag"
    assert printed == f"serve --config qwen3-4b-80gb.yaml {flags}\n"


def test_a_preset_that_is_not_there_is_told():
    ended = run(MEMSIFT_RUNTIME="sglang", SGLANG="echo", PRESET="none")
    assert ended.returncode == 2
    assert "qwen3-4b-fp8-24gb.yaml" in ended.stderr
