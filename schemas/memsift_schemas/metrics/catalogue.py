"""Every metric of memsift, once: code, docs/metrics.md, dashboard and alerts are made of these.

To add one, write it here and put it into its section; then `make docs`. A test holds the rules for names and
that no metric is in no section or in two.
"""

from __future__ import annotations

from memsift_schemas.metrics.metric import Metric, counter, gauge, histogram

# Seconds of a step of 300 to 500 ms: fine where it is decided, coarse around it.
ANSWER_S = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.75, 1.0, 2.5, 5.0,
)  # fmt: skip
SLACK_S = (0.0, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 1.0, 2.5, 5.0)
PREFILTER_S = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1)
ROUND_TRIP_S = (0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0)
# A batch of one in 16, then halves.
FILL = (0.0625, 0.125, 0.25, 0.5, 0.75, 1.0)

# What both sides see of what they share.

QUEUE_JOBS = gauge(
    "memsift_queue_jobs",
    "Jobs that wait. `list` is `queue`, or the name of the runtime whose own list it is.",
    "queue",
    "list",
    together="livemostrecent",
)
QUEUE_OLDEST = gauge(
    "memsift_queue_oldest_seconds",
    "How long the oldest waiting job has waited; 0 where none does.",
    "queue",
    "list",
    together="livemostrecent",
)
WORKERS = gauge(
    "memsift_workers", "Workers of the queue that are present.", "queue", together="livemostrecent"
)
BREAKER_OPEN = gauge(
    "memsift_breaker_open",
    "1 while calls fall back at once: the breaker that all frontends share is open, or, in a frontend, Redis "
    "is away.",
    "queue",
    together="livemostrecent",
)
REDIS_UP = gauge(
    "memsift_redis_up",
    "1 while Redis answers this process. At 0 what it shows of the queue is old.",
    together="livemostrecent",
)
REDIS_ROUND_TRIP = histogram(
    "memsift_redis_round_trip_seconds",
    "One look at Redis: once a second by a worker, ten times by a frontend that has calls.",
    buckets=ROUND_TRIP_S,
)
SHARED = (QUEUE_JOBS, QUEUE_OLDEST, WORKERS, BREAKER_OPEN, REDIS_UP, REDIS_ROUND_TRIP)

# A worker.

WORKER_INFO = gauge(
    "memsift_worker_info",
    "1, with what the worker is: release, ranker, strategy, its prompts' version, runtime, model.",
    "version",
    "ranker",
    "strategy",
    "prompt",
    "runtime",
    "model",
)
JOBS = counter(
    "memsift_worker_jobs_total",
    "Jobs by what became of them. `outcome`: `ranked`; `late`, ranked too late for anybody; `revoked`, out "
    "of time or called back; `failed`. `cause` as in a result, `none` where it was ranked.",
    "ranker",
    "outcome",
    "cause",
)
POISON = counter("memsift_worker_poison_items_total", "List items that were no jobs and were dropped.", "why")
WARM_UPS = counter("memsift_worker_warm_ups_total", "Warm-ups by what became of them.", "outcome")
REPLIES_LOST = counter(
    "memsift_worker_lost_replies_total", "Replies that Redis did not take; their callers fell back."
)
BATCH_FILL = histogram(
    "memsift_worker_batch_fill_ratio", "Items of a micro-batch over MEMSIFT_BATCH_MAX.", buckets=FILL
)
QUEUE_TIME = histogram(
    "memsift_worker_queue_seconds", "From when a job was sent to when it was popped.", buckets=ANSWER_S
)
RANK_TIME = histogram(
    "memsift_worker_rank_seconds", "One batch in its ranker, runtime included.", "ranker", buckets=ANSWER_S
)
REPLY_TIME = histogram(
    "memsift_worker_reply_seconds",
    "From when a job was sent to when its ranking had been replied; rankings that somebody waited for.",
    buckets=ANSWER_S,
)
SLACK = histogram(
    "memsift_worker_slack_seconds",
    "What was left until the deadline when a ranking was replied; 0 for one that was late.",
    buckets=SLACK_S,
)
PROMPT_TOKENS = counter(
    "memsift_worker_prompt_tokens_total",
    "Tokens of prompts. `deck` says why no more of them was cached: `no_deck`, a session's `first_turn`, "
    "`deck_changed`, `other_runtime`, `evicted`, or `hit`.",
    "ranker",
    "deck",
)
CACHED_TOKENS = counter(
    "memsift_worker_cached_tokens_total",
    "How many of them came from the prefix cache.",
    "ranker",
    "deck",
)
OUTPUT_TOKENS = counter("memsift_worker_output_tokens_total", "Tokens that were generated.", "ranker")
MODEL_TIME = counter(
    "memsift_worker_model_seconds_total",
    "Batches' time in rankers, each batch's shared out among its jobs. `fate`: `answered`; `dead`, nobody "
    "waited any more when the answer was there; `failed`.",
    "fate",
)
IN_RUNTIME = gauge("memsift_worker_in_flight_jobs", "Jobs that are being ranked now.", together="livesum")
LIMIT = gauge(
    "memsift_worker_limit_jobs",
    "Jobs that this worker may have under way; on one SGLang all its workers together have no more.",
    together="livesum",
)
FIT = gauge("memsift_worker_fit", "1 while its ranker answers; at 0 sessions are sent to other runtimes.")
CLOCK_SKEW = gauge(
    "memsift_worker_clock_skew_seconds",
    "How far this machine's clock is ahead of the Redis server's.",
    together="livemostrecent",
)
REDIS_MEMORY = gauge(
    "memsift_redis_memory_used_bytes", "What the Redis server has in memory.", together="livemostrecent"
)
REDIS_MEMORY_LIMIT = gauge(
    "memsift_redis_memory_limit_bytes",
    "Its `maxmemory`; where none is set, all memory of its machine.",
    together="livemostrecent",
)
WORKER = (
    WORKER_INFO, JOBS, POISON, WARM_UPS, REPLIES_LOST, BATCH_FILL, QUEUE_TIME, RANK_TIME, REPLY_TIME, SLACK,
    PROMPT_TOKENS, CACHED_TOKENS, OUTPUT_TOKENS, MODEL_TIME, IN_RUNTIME, LIMIT, FIT, CLOCK_SKEW, REDIS_MEMORY,
    REDIS_MEMORY_LIMIT,
)  # fmt: skip

# A frontend.

PRODUCER_INFO = gauge("memsift_producer_info", "1, with the release.", "version")
CALLS = counter(
    "memsift_producer_calls_total",
    "Calls. `source`: `model`, `prefilter`, or `none` where nobody was answered. `cause`: why no model "
    "answered; `none` where one did.",
    "source",
    "cause",
)
FALLBACKS = counter(
    "memsift_producer_fallbacks_total",
    "Calls that the prefilter answered in the model's place; not those without any memories.",
    "cause",
)
CALL_TIME = histogram(
    "memsift_producer_call_seconds", "From the call to its ranking.", "source", buckets=ANSWER_S
)
PREFILTER_TIME = histogram(
    "memsift_producer_prefilter_seconds",
    "All that happens before a job is sent: checks, prefilter, its message.",
    buckets=PREFILTER_S,
)
CALLS_IN_FLIGHT = gauge(
    "memsift_producer_in_flight_calls", "Calls that wait for their ranking now.", together="livesum"
)
BREAKER_FLIPS = counter(
    "memsift_producer_breaker_opened_total",
    "How often this process opened the breaker. `reason`: `failures` or `slow`; `redis` where it lost Redis.",
    "reason",
)
FEEDBACK = counter(
    "memsift_producer_feedback_total",
    "Calls with feedback, by who answered them. `hit`: `all` of the right memories were in the prompt, "
    "`some`, `none`; `unused`, the answer used no memory.",
    "ranker",
    "prompt",
    "hit",
)
PRODUCER = (
    PRODUCER_INFO, CALLS, FALLBACKS, CALL_TIME, PREFILTER_TIME, CALLS_IN_FLIGHT, BREAKER_FLIPS, FEEDBACK,
)  # fmt: skip

# The HTTP gateway, which is a frontend besides.

REQUESTS = counter(
    "memsift_gateway_requests_total",
    "HTTP calls by dialect and status; 499 is a client that went away.",
    "dialect",
    "status",
)
GATEWAY = (REQUESTS,)

SECTIONS: tuple[tuple[str, tuple[Metric, ...]], ...] = (
    ("Queue, breaker and Redis, as workers and frontends see them", SHARED),
    ("Worker", WORKER),
    ("Frontend", PRODUCER),
    ("HTTP gateway", GATEWAY),
)
ALL: tuple[Metric, ...] = tuple(metric for _, section in SECTIONS for metric in section)
