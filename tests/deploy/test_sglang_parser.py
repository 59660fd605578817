"""The presets pass the real parsers of SGLang 0.5.23 and its router, and a wrong flag does not."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.deploy.paths import OPS, PRESETS
from tests.sglang_cpu.environment import HERE, ensure_environment
from tests.sglang_cpu.fixtures import ENABLED

pytestmark = [
    pytest.mark.sglang,
    pytest.mark.skipif(os.environ.get(ENABLED) != "1", reason="make test-sglang installs SGLang"),
]

ROUTER = OPS / "sglang" / "router.sh"


def parse(*arguments):
    environment = ensure_environment()
    command = [environment.python, HERE / "parse_flags.py", *arguments]
    ended = subprocess.run(
        command,
        env=environment.variables(),
        cwd=OPS / "sglang",
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
        check=True,
    )
    return json.loads(ended.stdout.splitlines()[-1])


FAULTS = {
    "a word that is no flag": {"schedule-polcy": "lpm"},
    "the beginning of a flag": {"schedule-pol": "lpm"},
    "none of the choices": {"schedule-policy": "lmp"},
    "another engine's value": {"kv-cache-dtype": "fp8"},
    "no number": {"max-running-requests": "many"},
    "a switch with a value": {"enable-metrics": "yes please"},
}


@pytest.fixture(scope="module")
def parsed(tmp_path_factory):
    """All presets and one of them with each fault, in one process: the imports take longest."""
    folder = tmp_path_factory.mktemp("presets")
    for name, fault in FAULTS.items():
        preset = yaml.safe_load(PRESETS[0].read_text()) | fault
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(preset))
    read = parse("server", *PRESETS, *sorted(folder.iterdir()))
    return {Path(path).stem: values for path, values in read.items()}


@pytest.mark.parametrize("path", PRESETS, ids=lambda path: path.stem)
def test_the_server_reads_a_preset_as_it_is_written(parsed, path):
    written = yaml.safe_load(path.read_text())
    del written["model-path"]
    assert parsed[path.stem] == written


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_flag_is_refused(parsed, fault):
    assert "refused" in parsed[fault]


def flags_of_the_router(tmp_path, *urls):
    """What the script would start the router with."""
    recorder = tmp_path / "python3"
    recorder.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    recorder.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    ended = subprocess.run(
        [ROUTER, *urls], env=environment, capture_output=True, text=True, timeout=10, check=True
    )
    module, *flags = ended.stdout.split()[1:]
    assert module == "sglang_router.launch_router"
    return flags


def test_the_router_reads_its_flags(tmp_path):
    flags = flags_of_the_router(tmp_path, "http://a:30000", "http://b:30000")
    parsed = parse("router", *flags)
    assert parsed["worker_urls"] == ["http://a:30000", "http://b:30000"]
    assert (parsed["policy"], parsed["disable_retries"], parsed["host"]) == ("cache_aware", True, "127.0.0.1")
    assert "refused" in parse("router", *flags, "--no-such-flag")


def test_the_router_wants_servers():
    ended = subprocess.run([ROUTER], capture_output=True, text=True, timeout=10, check=False)
    assert ended.returncode == 2
    assert "usage" in ended.stderr


def test_the_rerankers_template_is_known_to_the_server_and_makes_the_prompt():
    read = parse("rerank", "qwen3-reranker.jinja", "Where is the key?", "Under the pot.")
    assert read["recognised"]
    system, user, answer = read["prompt"].split("<|im_start|>")[1:]
    assert system.startswith("system\nJudge whether the Document meets the requirements")
    assert "\n<Query>: Where is the key?\n<Document>: Under the pot.<|im_end|>\n" in user
    assert answer == "assistant\n<think>\n\n</think>\n\n"
