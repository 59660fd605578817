"""Overload, memory, model time: what they measure moves when what they watch does."""

import asyncio
import json

from memsift_ops.chaos import report
from memsift_ops.chaos.checks import always, tally
from memsift_ops.chaos.lanes import Lanes, Spent
from memsift_ops.chaos.memory import growth
from memsift_ops.chaos.scenarios.overload import model_share, normal_after
from memsift_ops.chaos.scenarios.soak import allowed
from memsift_ops.chaos.stage import Result, spent_between
from tests.ops.chaos.made_up import call, fallback


def test_the_models_share_counts_what_ended_in_the_storm():
    storm = [call(at, ended=10 + at / 100) for at in range(100)]
    assert model_share(storm, 10, 11, capacity=100) == 1
    assert model_share(storm[:50], 10, 11, capacity=100) == 0.5
    assert model_share([fallback(at, ended=10.5) for at in range(100)], 10, 11, capacity=100) == 0
    assert model_share(storm, 20, 21, capacity=100) == 0


def test_normal_begins_after_the_last_call_that_fell_back():
    calls = [fallback(0, started=9.0), fallback(1, started=11.5), call(2, started=13.0)]
    assert normal_after(calls, 10.0) == 1.5
    assert normal_after(calls[2:], 10.0) == 0


def test_memory_that_fills_a_cache_and_stays_is_flat():
    found = growth([50.0] * 5 + [100.0] * 25)
    assert found.mib == 0
    assert found.mib <= allowed(found, quick=False)


def test_memory_that_keeps_growing_is_not():
    found = growth([100.0 + at for at in range(50)])
    assert found.mib == 20
    assert found.mib > allowed(found, quick=False)


def test_too_few_samples_say_nothing():
    assert growth([1.0, 2.0]) is None


def test_all_time_of_a_prompt_that_ends_after_its_deadline_is_in_vain():
    spent = Spent()
    spent.count(10.0, 11.0, deadline=12.0)
    spent.count(10.0, 11.0, deadline=10.5)
    spent.count(10.0, 11.0, deadline=9.0)
    spent.count(10.0, 11.0, deadline=None)
    assert (spent.prompts, spent.busy_s, spent.dead_s, spent.late_start_s) == (4, 4.0, 2.0, 1.0)


async def test_lanes_bound_what_is_served_at_once():
    now, most = [], 0

    def clock():
        return 0.0

    class Watched(Lanes):
        async def _one(self, deadline, spent):
            nonlocal most
            async with self._free:
                now.append(1)
                most = max(most, len(now))
                await asyncio.sleep(0.001)
                now.pop()

    assert await Watched(3, 1.0, clock).serve({str(at): None for at in range(10)}, Spent())
    assert most == 3


async def test_an_aborted_prompt_counts_the_time_that_it_had():
    times = iter((10.0, 10.4))
    lanes, spent = Lanes(1, 60_000.0, lambda: next(times)), Spent()
    serving = asyncio.ensure_future(lanes.serve({"r_0": 10.2}, spent))
    await asyncio.sleep(0.01)
    lanes.abort("r_0")
    assert await serving is False
    assert abs(spent.dead_s - 0.4) < 1e-9


def test_model_time_is_summed_over_the_scenario_alone(tmp_path):
    path = tmp_path / "runtime.spent"
    line = {"prompts": 1, "busy_s": 1.0, "dead_s": 0.5, "late_start_s": 0.25}
    path.write_text("".join(json.dumps({"at": at, **line}) + "\n" for at in (1.0, 2.0, 9.0)) + '{"at": 2.')
    assert spent_between(path, 0.5, 3.0) == Spent(2, 2.0, 1.0, 0.5)


def test_the_report_has_its_keys_and_names_what_broke():
    good = tally([call(0), fallback(1)], 2)
    bad = tally([call(0, ranked=("another-1.0",))], 3)
    results = [
        Result("kill", good, always(good), Spent(4, 2.0, 0.0, 0.0)),
        Result("soak", bad, always(bad), Spent(4, 2.0, 1.0, 0.0)),
    ]
    numbers = report.as_json(results, {"worker0.log": 2}, seed=3, quick=True)
    assert {key: numbers[key] for key in list(numbers)[:8]} == {
        "calls": 5,
        "unanswered": 2,
        "invalid": 1,
        "foreign_replies": 1,
        "leaks": 2,
        "p999_over_deadline_ms": -300.0,
        "dead_model_time_share": 0.25,
        "fallbacks": {"deadline": 1},
    }
    assert [line.split(":")[0] for line in numbers["broken"]] == ["soak", "soak", "soak", "all"]
