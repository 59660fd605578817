"""`memsift bench report`: the page in the documentation, from result files."""

import json
import xml.etree.ElementTree as ET

import pytest

from memsift_ops.benchmarks import record
from tests.ops.benchmarks.made_up import queue_result


@pytest.fixture
def written(tmp_path):
    def write(result, name="queue.json"):
        path = tmp_path / name
        path.write_text(json.dumps(result))
        return path

    return write


def test_the_page_has_every_system_its_ratio_and_its_picture(run, tmp_path, written):
    docs = tmp_path / "docs"
    code, _, _ = run("bench", "report", written(queue_result()), "--docs", docs)
    assert code == 0
    page = (docs / "benchmarks.md").read_text()
    assert "| saq | 200 | 40 / 41 / 41 |" in page
    assert "8.0x (8.0-8.0)" in page
    assert "(benchmarks/queue.svg)" in page
    drawn = ET.parse(docs / "benchmarks" / "queue.svg").getroot()
    told = " ".join(drawn.itertext())
    assert "celery: 4 jobs/s" in told
    assert all(name in told for name in ("memsift", "saq", "p99, ms"))


def test_html_is_one_file_without_anything_from_outside(run, tmp_path, written):
    page = tmp_path / "report.html"
    assert run("bench", "report", written(queue_result()), "--html", page)[0] == 0
    text = page.read_text()
    assert text.count("<svg") == 5
    assert "<script" not in text
    assert "src=" not in text


def test_a_system_that_was_not_measured_is_named(run, tmp_path, written):
    result = {**queue_result(), "failed": {"rq": "the rq worker ended (1)"}}
    run("bench", "report", written(result), "--docs", tmp_path)
    assert "rq was not measured: the rq worker ended (1)" in (tmp_path / "benchmarks.md").read_text()


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ({"x": 1}, "no key `bench`"),
        ({"bench": "chess"}, "no section"),
        ({"bench": "queue"}, "no whole result"),
    ],
)
def test_what_is_no_result_is_refused(run, tmp_path, written, result, said):
    if result == {"bench": "queue"}:
        result = {**{key: queue_result()[key] for key in ("at", "machine", "versions")}, **result}
    code, _, told = run("bench", "report", written(result), "--docs", tmp_path)
    assert code == 2
    assert said in told


def test_two_results_of_one_benchmark_are_refused(run, tmp_path, written):
    one, two = written(queue_result()), written(queue_result(), "two.json")
    code, _, said = run("bench", "report", one, two, "--docs", tmp_path)
    assert code == 2
    assert "same benchmark" in said


def test_nowhere_to_write_is_refused(run, written):
    assert run("bench", "report", written(queue_result()))[0] == 2


def test_the_overload_of_a_chaos_run_and_the_cache_are_on_the_page(run, tmp_path, written):
    checks = [
        {"promise": "in the storm, over capacity", "measured": 0.95, "at_least": 0.85, "kept": True},
        {"promise": "model time in vain", "measured": 0.002, "at_most": 0.001, "kept": False},
    ]
    overload = {
        "calls": 1000,
        "answered_by_model": 400,
        "capacity_per_s": 53.0,
        "storm_thirds": [0.94, 0.95, 0.96],
        "normal_after_s": 0.3,
        "checks": checks,
    }
    chaos = {**record.begun("overload", {}), "scenarios": {"overload": overload}}
    layout = {
        "cached_share": 0.9,
        "prefill_tokens_per_turn": 100.0,
        "p50_ms_from_turn_2": 20.0,
        "hit_at_3": 1.0,
    }
    cache = {
        **record.begun("cache", {"runtime": "embedded"}),
        "layouts": {"naive": layout, "deck": layout},
        "naive_over": {"deck": {"wall": 3.4, "least": 3.0, "most": 4.0}},
    }
    asked = ("bench", "report", written(chaos, "a.json"), written(cache, "b.json"), "--docs", tmp_path)
    assert run(*asked)[0] == 0
    page = (tmp_path / "benchmarks.md").read_text()
    assert "94.0%, 95.0%, 96.0%" in page
    assert "3.4x (3.0-4.0)" in page
    assert "| in the storm, over capacity | 0.95 | at least 0.85 |" in page
    assert "| model time in vain | 0.002 | at most 0.001: broken |" in page
    assert page.index("The prefix cache") < page.index("Overload")


@pytest.mark.stack
def test_flame_graphs_of_both_sides(run, tmp_path):
    code, _, said = run("bench", "profile", tmp_path, "--rate", "50", "--seconds", "3")
    assert code == 0, said
    assert "rerank" in (tmp_path / "producer-profile.svg").read_text()
    worker = (tmp_path / "worker-profile.svg").read_text()
    assert "BatchHandler" in worker
    assert str(tmp_path) not in worker
