"""What the dashboard shows, from what callers get down to what it stands on."""

from __future__ import annotations

from memsift_ops.monitoring.panels import Line, Panel, Row
from memsift_ops.monitoring.queries import highest, mean, per_second, quantile, ratio, selected, total
from memsift_schemas.metrics import catalogue as c
from memsift_schemas.metrics.metric import Metric


def _quantiles(metric: Metric) -> list[Line]:
    return [Line(quantile(share, metric), f"p{share * 100:g}") for share in (0.5, 0.95, 0.99)]


# Calls that a model could have answered.
_ASKED = per_second(c.CALLS, source='!="none"', cause='!="no_candidates"')

ANSWERS = Row(
    "Answers",
    (
        Panel(
            "Answered by the model",
            [Line(ratio(per_second(c.CALLS, source='="model"'), _ASKED))],
            "The share of calls that a model answered. The rest had the prefilter's ranking.",
            unit="percentunit",
            kind="stat",
            width=4,
            highest=1,
        ),
        Panel(
            "Calls",
            [Line(per_second(c.CALLS, ("source",)), "{{source}}")],
            "Calls a second by who answered; `none` are callers that went away, or asked what cannot be.",
            unit="reqps",
            width=10,
            stacked=True,
        ),
        Panel(
            "Fallbacks",
            [Line(per_second(c.FALLBACKS, ("cause",)), "{{cause}}")],
            "Why the prefilter had to answer; docs/operating.md says what each cause wants.",
            unit="reqps",
            width=10,
            stacked=True,
        ),
        Panel("Time of a call", _quantiles(c.CALL_TIME), "From the call to its ranking.", unit="s"),
        Panel(
            "Prefilter",
            _quantiles(c.PREFILTER_TIME),
            "In the frontend's process, before a job is sent.",
            unit="s",
        ),
        Panel(
            "Calls in flight",
            [Line(total(c.CALLS_IN_FLIGHT), "calls")],
            "Calls that wait for their ranking.",
        ),
        Panel(
            "HTTP gateway",
            [Line(per_second(c.REQUESTS, ("status",)), "{{status}}")],
            "HTTP calls a second by status; 499 are clients that went away.",
            unit="reqps",
            width=24,
            stacked=True,
        ),
    ),
)

QUEUE = Row(
    "Queue",
    (
        Panel(
            "Jobs that wait",
            [Line(highest(c.QUEUE_JOBS, ("queue", "list")), "{{queue}} {{list}}")],
            "In the queue, and in the own list of each runtime.",
        ),
        Panel(
            "Age of the oldest job",
            [Line(highest(c.QUEUE_OLDEST, ("queue", "list")), "{{queue}} {{list}}")],
            "Above a call's deadline nothing that waits can be answered in time.",
            unit="s",
        ),
        Panel("Time in queue", _quantiles(c.QUEUE_TIME), "From sent to popped.", unit="s"),
        Panel(
            "Time to reply", _quantiles(c.REPLY_TIME), "From sent to replied, of what was ranked.", unit="s"
        ),
        Panel(
            "Deadline slack",
            [
                Line(quantile(0.01, c.SLACK), "p1"),
                Line(quantile(0.05, c.SLACK), "p5"),
                Line(quantile(0.5, c.SLACK), "p50"),
            ],
            "What was left until the deadline when a ranking was replied; p1 near 0 is the edge.",
            unit="s",
        ),
        Panel(
            "Jobs by outcome",
            [Line(per_second(c.JOBS, ("outcome", "cause")), "{{outcome}} {{cause}}")],
            "What became of jobs that workers popped.",
            unit="reqps",
            stacked=True,
        ),
    ),
)

WORKERS = Row(
    "Workers and runtime",
    (
        Panel(
            "Workers",
            [Line(highest(c.WORKERS, ("queue",)), "{{queue}}")],
            "Workers that are present.",
            kind="stat",
            width=4,
        ),
        Panel(
            "Who they are",
            [Line(selected(c.WORKER_INFO))],
            "Release, ranker, strategy, prompts, runtime and model of each.",
            kind="table",
            width=12,
        ),
        Panel(
            "Fit",
            [Line(selected(c.FIT), "{{instance}}")],
            "0 while a worker's ranker does not answer.",
            width=8,
            highest=1,
        ),
        Panel(
            "In flight and limit",
            [
                Line(selected(c.IN_RUNTIME), "{{instance}}"),
                Line(selected(c.LIMIT), "limit of {{instance}}"),
            ],
            "Jobs that are being ranked, and how many may be.",
        ),
        Panel(
            "Time of a batch",
            [
                Line(quantile(share, c.RANK_TIME, ("ranker",)), f"{{{{ranker}}}} p{share * 100:g}")
                for share in (0.5, 0.99)
            ],
            "One batch in its ranker, runtime included.",
            unit="s",
        ),
        Panel(
            "Batch fill",
            [Line(mean(c.BATCH_FILL), "mean")],
            "Items of a batch over MEMSIFT_BATCH_MAX. Full batches all the time: more workers are needed.",
            unit="percentunit",
            highest=1,
        ),
        Panel(
            "Model time by fate",
            [Line(per_second(c.MODEL_TIME, ("fate",)), "{{fate}}")],
            "Seconds of batches a second. `dead` was spent on jobs that nobody waited for any more.",
            unit="s",
            stacked=True,
        ),
        Panel(
            "Dropped and lost",
            [
                Line(per_second(c.POISON, ("why",)), "no job: {{why}}"),
                Line(per_second(c.REPLIES_LOST), "replies that Redis did not take"),
            ],
            "Nothing, when all is well.",
            unit="reqps",
        ),
        Panel(
            "Warm-ups",
            [Line(per_second(c.WARM_UPS, ("outcome",)), "{{outcome}}")],
            "Conversations whose memories were read before their first question.",
            unit="reqps",
        ),
    ),
)

CACHE = Row(
    "Prefix cache",
    (
        Panel(
            "Cached share of prompts",
            [Line(ratio(per_second(c.CACHED_TOKENS), per_second(c.PROMPT_TOKENS)), "cached")],
            "Of all prompt tokens; what is not cached is computed, which is what a question costs.",
            unit="percentunit",
            highest=1,
        ),
        Panel(
            "Prompt tokens",
            [
                Line(per_second(c.PROMPT_TOKENS), "all"),
                Line(per_second(c.CACHED_TOKENS), "cached"),
                Line(per_second(c.OUTPUT_TOKENS), "generated"),
            ],
            "Tokens a second.",
        ),
        Panel(
            "Prompt tokens by why they were not cached",
            [Line(per_second(c.PROMPT_TOKENS, ("deck",)), "{{deck}}")],
            "`evicted` growing: the cache is too small; `other_runtime`: sessions move. See docs/decks.md.",
            stacked=True,
        ),
    ),
)

REDIS = Row(
    "Redis",
    (
        Panel(
            "Memory",
            [
                Line(highest(c.REDIS_MEMORY), "used"),
                Line(highest(c.REDIS_MEMORY_LIMIT), "limit"),
            ],
            "At its limit Redis refuses jobs, and every call falls back.",
            unit="bytes",
        ),
        Panel("Round trip", _quantiles(c.REDIS_ROUND_TRIP), "One look of a worker or frontend.", unit="s"),
        Panel(
            "Redis answers",
            [Line(selected(c.REDIS_UP), "{{instance}}")],
            "0 while it does not answer that process.",
            highest=1,
        ),
        Panel(
            "Clock skew",
            [Line(selected(c.CLOCK_SKEW), "{{instance}}")],
            "How far each worker machine's clock is ahead of Redis's.",
            unit="s",
            width=24,
        ),
    ),
)

BREAKER = Row(
    "Breaker",
    (
        Panel(
            "Open",
            [Line(highest(c.BREAKER_OPEN, ("queue",)), "{{queue}}")],
            "1 while every call falls back at once.",
            width=12,
            highest=1,
        ),
        Panel(
            "Openings",
            [Line(per_second(c.BREAKER_FLIPS, ("reason",)), "{{reason}}")],
            "How often it was opened, a second, and why.",
            unit="reqps",
            width=12,
        ),
    ),
)

# By who answered. What counts are calls whose feedback names a memory that was right.
_WHO = ("ranker", "prompt")
_RATED, _ANY, _ALL = (
    per_second(c.FEEDBACK, _WHO, hit=hits) for hits in ('!="unused"', '=~"all|some"', '="all"')
)

FEEDBACK = Row(
    "Memory hit rate",
    (
        Panel(
            "A right memory was in the prompt",
            [Line(f"{_ANY} / {_RATED}", "{{ranker}} {{prompt}}")],
            "Share of the answers whose feedback names a right memory. `memsift hits` has it with intervals.",
            unit="percentunit",
            highest=1,
        ),
        Panel(
            "All right memories were in the prompt",
            [Line(f"{_ALL} / {_RATED}", "{{ranker}} {{prompt}}")],
            "Likewise.",
            unit="percentunit",
            highest=1,
        ),
        Panel(
            "Feedback",
            [Line(per_second(c.FEEDBACK, ("hit",)), "{{hit}}")],
            "Calls with feedback a second; `unused` are answers that used no memory, and count in no rate.",
            unit="reqps",
            stacked=True,
        ),
    ),
)

ROWS = (ANSWERS, FEEDBACK, QUEUE, WORKERS, CACHE, REDIS, BREAKER)
