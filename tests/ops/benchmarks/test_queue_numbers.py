"""From rounds to the numbers that `memsift bench queue` prints."""

import pytest

from memsift_ops.peers.peer_side.arrivals import planned
from memsift_ops.peers.summary import percentile, ratios, summarise
from tests.ops.benchmarks.made_up import load, one_round, queue_result

SHAPE = {"p50_ms", "p95_ms", "p99_ms", "late", "lost", "worker_cpu_us", "producer_cpu_us"}


def test_the_shape_is_the_promised_one():
    systems = queue_result()["systems"]
    assert set(systems) == {"memsift", "saq", "celery"}
    for system in systems.values():
        assert isinstance(system["drain_jobs_per_s"], float)
        loads = {name: one for name, one in system.items() if isinstance(one, dict)}
        assert set(loads) == {"idle", "200"}
        assert all(set(one) >= SHAPE for one in loads.values())


def test_lost_calls_took_longer_than_any_other():
    answered = [float(ms) for ms in range(1, 91)]
    assert percentile(answered, 50, calls=100) == 50.0
    assert percentile(answered, 99, calls=100) == 90.0
    assert percentile(answered, 99, calls=90) == 90.0
    assert percentile([7.0], 50, calls=1) == 7.0


def test_late_and_lost_are_summed_and_the_rest_is_the_median_over_rounds():
    rounds = [one_round() for _ in range(3)]
    rounds[1]["loads"]["200"] = load(ms=500.0, late=100, lost=2)
    found = summarise({"memsift": rounds})
    assert found["systems"]["memsift"]["200"]["late"] == 100
    assert found["systems"]["memsift"]["200"]["lost"] == 2
    assert found["systems"]["memsift"]["200"]["calls"] == 300
    assert found["systems"]["memsift"]["200"]["p50_ms"] == pytest.approx(20.5, abs=0.1)
    assert found["spread"]["memsift"]["most"]["200"]["p50_ms"] == pytest.approx(500.5, abs=0.1)


def test_ratios_are_larger_the_better_memsift_is():
    found = ratios({"memsift": [one_round()], "celery": [one_round(slow=4.0)]})["celery"]
    assert found["jobs_per_worker_core"]["median"] == 4.0
    assert found["200"]["worker_cpu_us"]["median"] == 4.0
    assert found["200"]["p99_ms"]["median"] == pytest.approx(4.0, abs=0.2)


def test_the_prefilter_is_told_apart():
    ours = one_round(prefilter_us=100.0)
    found = ratios({"memsift": [ours], "saq": [one_round(slow=2.0)]})["saq"]["200"]
    assert found["producer_cpu_us"]["median"] == pytest.approx(800 / 500)
    assert found["producer_aside_us"]["median"] == pytest.approx(800 / 400)


def test_a_worker_is_not_praised_for_what_it_did_not_do():
    ours = one_round()
    ours["loads"]["200"] = load(own=90, late=90)
    found = summarise({"memsift": [ours]})["systems"]["memsift"]
    assert found["200"]["worker_cpu_us"] == pytest.approx(10 * found["idle"]["worker_cpu_us"])


def test_peers_stand_beside_the_queue_alone_too():
    found = ratios(
        {"memsift": [one_round()], "memsift-queue": [one_round(slow=0.5)], "saq": [one_round(slow=2.0)]}
    )
    assert set(found) == {"saq", "saq (queue alone)"}
    assert found["saq"]["jobs_per_worker_core"]["median"] == 2.0
    assert found["saq (queue alone)"]["jobs_per_worker_core"]["median"] == 4.0


def test_without_memsift_there_are_no_ratios():
    assert ratios({"saq": [one_round()]}) == {}


def test_arrivals_are_the_same_for_everybody_and_as_many_as_planned():
    first = planned(200.0, 50.0, seed=3)
    assert first == planned(200.0, 50.0, seed=3)
    assert first != planned(200.0, 50.0, seed=4)
    assert first == sorted(first)
    assert 9_000 < len(first) < 11_000
    assert first[-1] < 50.0
