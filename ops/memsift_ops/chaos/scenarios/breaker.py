"""The runtime dies and comes back; the breaker is judged from outside, by what callers were told."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from memsift_ops.chaos.checks import Check
from memsift_ops.chaos.record import Call
from memsift_ops.chaos.stage import Result, Stage

OPEN = "breaker_open"
FAILURES = 10
PROCESSES = 2
RATE = 25.0
WARM_S = 1.0
# How long news of a failure may take from one process to another on a busy machine; a call that starts sooner
# could not know.
NEWS_S, QUICK_NEWS_S = 0.05, 0.3
# What one process learns of another's breaker takes a round trip or a poll.
SETTLED_S = 1.0
# To the probe interval: the probe itself, and how coarse calls at 25 a second see it.
SLACK_S, QUICK_SLACK_S = 0.5, 2.0


@dataclass(frozen=True, slots=True)
class Seen:
    """A breaker as its callers saw it.

    Attributes:
        failures_before_open: calls that failed before the first that was told `breaker_open`, but those that
            were under way, or began within `NEWS_S`, when the tenth had failed; None when none was told.
        probes: calls let through while it was open.
        most_probes_at_once: over all processes.
        probe_interval_s: the longest time between two probes; None with fewer than two.
        closed_after_s: from the recovery to the first answer by the model.
    """

    failures_before_open: int | None
    probes: int
    most_probes_at_once: int
    probe_interval_s: float | None
    closed_after_s: float | None


def play(stage: Stage) -> Result:
    """A second of health, then only failures, then health again."""
    outage, after = (3.5, 2.0) if stage.quick else (40.0, 15.0)
    stage.runtime(prompt_ms=5.0, lanes=16)
    with stage.crew(PROCESSES, rates=((RATE, WARM_S + outage + after),)) as crew:
        crew.until(WARM_S)
        died = time.time()
        stage.world.tell_runtime(mode="dead")
        crew.until(WARM_S + outage)
        stage.world.tell_runtime(mode="ok")
        back = time.time()
        crew.join(after + 30)
    seen = see(list(crew.calls()), died=died, back=back, news_s=stage.limit(NEWS_S, QUICK_NEWS_S))
    limit = (seen.probe_interval_s or 0.0) + stage.limit(SLACK_S, QUICK_SLACK_S)
    probes = seen.most_probes_at_once if seen.probes else None
    checks = [
        Check("failures before the breaker opened", seen.failures_before_open, FAILURES),
        Check("probes at once over all processes", probes, 1),
        Check("seconds from recovery to the model's answers", seen.closed_after_s, limit),
    ]
    return stage.result(crew, checks, probes=seen.probes, probe_interval_s=seen.probe_interval_s)


def see(calls: Sequence[Call], *, died: float, back: float, news_s: float = NEWS_S) -> Seen:
    """Judge a breaker by the calls of an outage.

    Args:
        calls: of all processes.
        died: when every call began to fail, unix seconds.
        back: when calls could succeed again.
        news_s: how long news may take between processes.
    """
    refused = sorted(call.started for call in calls if call.cause == OPEN)
    failed = sorted((call for call in calls if _failed(call, died)), key=lambda call: call.ended)
    before: int | None = None
    settled = float("inf")
    if refused:
        tenth = failed[FAILURES - 1].ended if len(failed) >= FAILURES else float("inf")
        counted = [call for at, call in enumerate(failed) if at < FAILURES or call.started > tenth + news_s]
        before = sum(call.started < refused[0] for call in counted)
        settled = refused[0] + SETTLED_S
    probes = sorted((call.started, call.ended) for call in failed if settled < call.started < back)
    gaps = [later[0] - earlier[0] for earlier, later in pairwise(probes)]
    first = min((call.ended for call in calls if call.by_model and call.ended > back), default=None)
    return Seen(
        failures_before_open=before,
        probes=len(probes),
        most_probes_at_once=most_at_once(probes),
        probe_interval_s=max(gaps, default=None),
        closed_after_s=None if first is None else first - back,
    )


def most_at_once(spans: Sequence[tuple[float, float]]) -> int:
    """How many of these (begin, end) overlap at most."""
    moments = sorted([(begin, 1) for begin, _ in spans] + [(end, -1) for _, end in spans])
    now = most = 0
    for _, step in moments:
        now += step
        most = max(most, now)
    return most


def _failed(call: Call, died: float) -> bool:
    return call.started > died and not call.by_model and call.cause != OPEN
