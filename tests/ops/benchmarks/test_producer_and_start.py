"""`memsift bench producer` and `memsift bench start`."""

import asyncio
import json
import time

import pytest

from memsift_ops.producer_bench import _timed
from memsift_ops.start_bench import importing, installing


@pytest.mark.stack
def test_a_frontends_calls_are_measured(run, tmp_path):
    out = tmp_path / "producer.json"
    code, printed, _ = run("bench", "producer", "--calls", "32", "--rounds", "1", "--out", out, "--json")
    assert code == 0
    for name in ("known", "new"):
        (one,) = json.loads(printed)[name]
        assert one["call_us"] > one["prefilter_us"] > 0
        assert one["longest_ms"] > 0
        assert one["fallbacks"] == 0
    assert run("bench", "report", out, "--docs", tmp_path)[0] == 0
    assert "| new |" in (tmp_path / "benchmarks.md").read_text()


async def test_who_keeps_the_event_loop_is_seen():
    async def keep(seconds):
        ends = time.thread_time() + seconds
        while time.thread_time() < ends:
            pass

    with _timed() as spent:
        await asyncio.create_task(keep(0.02))
    assert spent.longest_s >= 0.02
    with _timed() as spent:
        await asyncio.sleep(0.03)  # nobody is kept from anything
    assert spent.longest_s < 0.02


def test_an_import_is_timed_in_a_new_interpreter():
    told = importing.once()
    assert told["ms"] > 0
    assert told["cpu_ms"] > 0


@pytest.mark.install
@pytest.mark.timeout(300)
def test_the_base_install_is_weighed_and_imported():
    with installing.base() as base:
        assert 5 < base.download_mb < base.installed_mb
        assert importing.once(str(base.python))["ms"] > 0


@pytest.mark.engine
def test_the_first_answer_is_awaited(run, tmp_path):
    out = tmp_path / "start.json"
    code, printed, _ = run("bench", "start", "--rounds", "1", "--no-install", "--out", out, "--json")
    assert code == 0
    told = json.loads(printed)
    assert told["first_answer_s"][0] > 0.5
    assert told["install"] is None
    assert run("bench", "report", out, "--docs", tmp_path)[0] == 0
    assert "first answer" in (tmp_path / "benchmarks.md").read_text()
