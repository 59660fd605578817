"""`ops/sglang/run.sh` starts a real SGLang with a preset file, as the Procfile runs it."""

import itertools
import json
import os
import signal
import subprocess
import urllib.request

import pytest
import yaml

from tests.deploy.paths import OPS
from tests.sglang_cpu.fixtures import ENABLED
from tests.sglang_cpu.server import FLAGS, HOST, free_port, prepare, wait_until_healthy

pytestmark = [
    pytest.mark.sglang,
    pytest.mark.timeout(420),
    pytest.mark.skipif(os.environ.get(ENABLED) != "1", reason="make test-sglang installs SGLang"),
]


def as_preset(flags):
    """The tests' flags for a CPU, in the form of a preset."""
    keys = [flag.removeprefix("--") for flag in flags if flag.startswith("--")]
    values = {before.removeprefix("--"): after for before, after in itertools.pairwise(flags)}
    return {key: True if values.get(key, "--").startswith("--") else values[key] for key in keys}


@pytest.fixture
def server(tmp_path):
    environment, model = prepare()
    preset = tmp_path / "cpu.yaml"
    preset.write_text(yaml.safe_dump(as_preset(FLAGS)))
    port = free_port()
    given = {
        "MEMSIFT_RUNTIME": "sglang",
        "PRESET": str(preset),
        "MODEL": str(model),
        "SGLANG_PORT": str(port),
    }
    command = environment.python.with_name("sglang")
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [OPS / "sglang" / "run.sh"],
            env=environment.variables() | given | {"SGLANG": str(command)},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_until_healthy(process, f"http://{HOST}:{port}", log)
        yield f"http://{HOST}:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)


def test_it_serves_with_the_flags_of_the_file(server):
    with urllib.request.urlopen(f"{server}/server_info", timeout=30) as answer:
        info = json.load(answer)
    assert (info["schedule_policy"], info["max_running_requests"], info["enable_metrics"]) == (
        "lpm",
        32,
        True,
    )
