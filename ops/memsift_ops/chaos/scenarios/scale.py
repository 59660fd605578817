"""From one worker to four and back under load: nobody goes without an answer, and all who count agree."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from memsift_ops import services, valkey
from memsift_ops.chaos import flower
from memsift_ops.chaos.checks import Check, share
from memsift_ops.chaos.record import Call
from memsift_ops.chaos.stage import Result, Stage
from memsift_schemas.metrics import catalogue
from memsift_schemas.metrics.instruments import SHARED_DIRECTORY, library

# A worker that takes two jobs at a time, one batch after another, 100 ms each, answers 20 a second at most.
PROMPT_MS, BATCH_MAX = 100.0, 2
ONE_WORKER = BATCH_MAX / PROMPT_MS * 1e3
# What is asked while there is one, and while there are four: two thirds of what they can.
CALM, BUSY = 0.65 * ONE_WORKER, 0.65 * 4 * ONE_WORKER
# Long, so that jobs wait for a place instead of falling back, and all of them are counted at three places.
DEADLINE_MS = 20_000
LEAST_GAIN, QUICK_LEAST_GAIN = 2.3, 1.8
BY_MODEL, QUICK_BY_MODEL = 0.99, 0.7
# Of all jobs: by as much may counts differ.
AGREE = 0.001
# How long counts may take to arrive: Flower hears of a job a tenth of a second later.
SETTLE_S = 5.0
MORE = ("more1", "more2", "more3")


def play(stage: Stage) -> Result:
    """Three more workers come while calls go on, then four times the calls; then the three go again."""
    calm_s, busy_s = (15.0, 10.0) if stage.quick else (25.0, 60.0)
    world, port = stage.world, valkey.free_port()
    counted = stage.folder / "counted"
    counted.mkdir()
    queue = f"{world.queue}.scale"
    worker = {
        "MEMSIFT_QUEUE": queue,
        "MEMSIFT_BATCH_MAX": str(BATCH_MAX),
        "MEMSIFT_BATCHES_IN_FLIGHT": "1",
        "MEMSIFT_METRICS_PORT": str(valkey.free_port()),
        SHARED_DIRECTORY: str(counted),
    }
    stage.runtime(prompt_ms=PROMPT_MS, lanes=64)
    url = f"http://127.0.0.1:{port}"
    with (
        world.also("flower", services.flower_command(port), flower.OPEN_API),
        world.also("first", services.worker_command("first", "INFO"), worker),
        ExitStack() as more,
    ):
        rates = ((CALM, calm_s), (BUSY, busy_s), (CALM, calm_s))
        plan = {"queue": queue, "rates": rates, "deadline_ms": DEADLINE_MS}
        with stage.crew(
            1, **plan, others_ready=lambda: _present(world.direct_url, queue, 1) and _hears(url)
        ) as crew:
            for name in MORE:
                more.enter_context(world.also(name, services.worker_command(name, "INFO"), worker))
            grown = world.wait(lambda: _present(world.direct_url, queue, 4), calm_s)
            crew.until(calm_s + busy_s)
            more.close()
            crew.join(calm_s + DEADLINE_MS / 1e3 + 10)
        calls = list(crew.calls())
        answered = sum(call.by_model for call in calls)
        world.wait(lambda: succeeded(url) >= answered, SETTLE_S)
        shown = succeeded(url)
    ranked = counted_jobs(counted)
    began = crew.began
    return stage.result(
        crew,
        [
            Check("workers at the peak", 4.0 if grown else 1.0, 4.0, at_least=True),
            Check(
                "answered by the model, share",
                share(answered, crew.expected),
                stage.limit(BY_MODEL, QUICK_BY_MODEL),
                at_least=True,
            ),
            Check(
                "answers a second by four workers over the most that one can give",
                per_second(calls, began + calm_s, began + calm_s + busy_s) / ONE_WORKER,
                stage.limit(LEAST_GAIN, QUICK_LEAST_GAIN),
                at_least=True,
            ),
            Check("Flower's count less the callers', share", _apart(shown, answered), AGREE),
            Check("the metrics' count less the callers', share", _apart(ranked, answered), AGREE),
        ],
        answered=answered,
        flower=shown,
        metrics=ranked,
        per_second=[
            per_second(calls, began, began + calm_s),
            per_second(calls, began + calm_s, began + calm_s + busy_s),
            per_second(calls, began + calm_s + busy_s, began + 2 * calm_s + busy_s),
        ],
    )


def per_second(calls: Sequence[Call], begin: float, end: float) -> float:
    """Answers by the model a second in this time."""
    return sum(call.by_model and begin <= call.ended < end for call in calls) / (end - begin)


def counted_jobs(directory: Path) -> int:
    """Rankings that workers counted as in time, also workers that have ended.

    Args:
        directory: in which they counted together.
    """
    client = library()
    from prometheus_client.multiprocess import MultiProcessCollector  # noqa: PLC0415  # an optional extra

    registry = client.CollectorRegistry()
    MultiProcessCollector(registry, path=str(directory))  # type: ignore[no-untyped-call]
    name = catalogue.JOBS.name
    samples = (sample for metric in registry.collect() for sample in metric.samples)
    return int(sum(one.value for one in samples if one.name == name and one.labels["outcome"] == "ranked"))


def succeeded(url: str) -> int:
    """Jobs that Flower shows as succeeded."""
    return sum(
        one.get("state") == "SUCCESS" for one in _asked(f"{url}/api/tasks?limit={flower.MOST}").values()
    )


def _hears(url: str) -> bool:
    """Whether Flower hears workers' events: it knows one that is there."""
    try:
        return any(_asked(f"{url}/workers?json=1").get("data", ()))
    except OSError:
        return False


def _asked(url: str) -> dict[str, dict[str, object]]:
    with urllib.request.urlopen(url, timeout=flower.PAGE_S) as answer:
        found: dict[str, dict[str, object]] = json.loads(answer.read())
        return found


def _present(url: str, queue: str, many: int) -> bool:
    return len(services.ready_workers(url, queue)) >= many


def _apart(one: float, other: float) -> float | None:
    """By what share of the second two counts differ."""
    return abs(one - other) / other if other else None
