"""Settings of a worker."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from memsift_schemas import redis_urls
from memsift_schemas.job import MAX_CANDIDATES, MAX_TURNS
from memsift_schemas.ranker_names import RANKERS, asks_runtime
from memsift_schemas.settings.base import Settings


class WorkerSettings(Settings):
    """What an operator may set for a worker."""

    ranker: str = Field("local", description="The ranker that answers jobs that name none; see `RANKERS`.")
    also_serve: str = Field("", description="More rankers that a job may name, comma-separated; chains too.")
    # As many as the prefilter leaves. MRR of `jev>local` with 8 and with 20, at most 150 questions of each
    # English set: locomo_obs .789, .802; locomo .572, .585; madial_en .709, .732; mbank_en .781, .781.
    cascade_keep: int = Field(
        20, ge=1, le=MAX_CANDIDATES, description="What a chain's first ranker leaves for the next."
    )
    allow_egress: bool = Field(
        False, description="Let a ranker or runtime send memories to a public address."
    )
    strategy: Literal["likelihood", "pointwise", "listwise", "scorecard"] = Field(
        "likelihood", description="How the local ranker asks the model."
    )
    runtime: Literal["embedded", "sglang", "scripted"] = Field(
        "embedded", description="Where the model runs; `scripted` has no model and serves load tests."
    )
    model: str = Field(
        "smollm2-135m", description="Embedded runtime: a pulled model's name, a GGUF or a folder."
    )
    chat_template: Literal["chatml", "qwen3-no-think", "llama3", "gemma", "plain"] = Field(
        "chatml", description="The model's chat template; all strategies but `likelihood` use it."
    )
    # Measured with the default model, see docs/results.md: in English it lifts MRR; in Chinese, which it
    # has hardly read, it may only settle what the prefilter leaves close.
    fusion_weight_en: float = Field(
        1.0,
        ge=0,
        description="`likelihood`, `listwise`, English: weight of the model beside the prefilter's 1.",
    )
    fusion_weight_zh: float = Field(
        0.2,
        ge=0,
        description="`likelihood`, `listwise`, Chinese: weight of the model beside the prefilter's 1.",
    )
    deck: bool = Field(
        True,
        description="`listwise`, `scorecard`: keep each session's memories in place from turn to turn.",
    )
    deck_memories: int = Field(200, ge=1, le=MAX_CANDIDATES, description="Most memories in a session's deck.")
    # Qwen3-4B on an RTX 4090 reads as many within 400 ms when nothing is cached any more (docs/capacity.md).
    deck_tokens: int = Field(4_096, ge=100, description="Most tokens in a session's deck.")
    # Attention of a new token to a cached one takes 8e-5 of what computing a token takes (Qwen3-4B:
    # 4 x 36 layers x 4096 / (2 x 3.6e9)); a turn has 100-250 new ones.
    deck_carry: float = Field(
        0.02,
        ge=0,
        le=1,
        description="What one unused token in a deck costs a turn, in tokens prefilled; see docs/decks.md.",
    )
    deck_ttl_s: int = Field(900, ge=1, description="How long the deck of a silent session lives.")
    sglang_url: str = Field(
        "http://127.0.0.1:30000", repr=False, description="An SGLang server or sglang-router."
    )
    sglang_api_key: str | None = Field(None, repr=False, description="Its API key, if it wants one.")
    clef_url: str = Field(
        "http://127.0.0.1:8080",
        repr=False,
        description="`clef`: a server with `/rerank`, or the endpoint's own URL; the dialect is found out.",
    )
    clef_model: str | None = Field(None, description="`clef`: the model's name, where the server wants one.")
    clef_api_key: str | None = Field(None, repr=False, description="`clef`: its API key, if it wants one.")
    # 32: what text-embeddings-inference takes by default (--max-client-batch-size).
    clef_max_documents: int = Field(
        32, ge=1, le=MAX_CANDIDATES, description="`clef`: memories per request; a job of more is split."
    )
    clef_max_chars: int = Field(
        4_000, ge=200, le=100_000, description="`clef`: characters of question and one memory together."
    )
    clef_turns: int = Field(
        0, ge=0, le=MAX_TURNS, description="`clef`: last turns put before the question, as far as half fits."
    )
    clef_concurrency: int = Field(8, ge=1, le=256, description="`clef`: requests under way at once.")
    clef_usd_per_million_tokens: float = Field(0.0, ge=0, description="`clef`: price of a paid service.")
    batch_max: int = Field(16, ge=1, le=1024, description="A micro-batch is full at this many jobs.")
    batch_wait_ms: float = Field(
        8.0,
        ge=0,
        le=1000,
        description="While a micro-batch that was not full is under way, the next begins so much after it.",
    )
    batches_in_flight: int = Field(
        4, ge=1, le=64, description="Micro-batches that may be in the runtime at once."
    )
    # In production 24 brought p99 from 800 back to 220 ms.
    runtime_concurrency: int = Field(
        24, ge=1, le=4096, description="Jobs that may be in one runtime at once, over all its workers."
    )
    adaptive_concurrency: bool = Field(
        False, description="Let that number follow the measured latency, within its bounds."
    )
    adaptive_min: int = Field(4, ge=1, le=4096, description="The least that it may fall to.")
    adaptive_max: int = Field(256, ge=1, le=4096, description="The most that it may rise to.")
    rescue: bool = Field(
        False, description="Give back the jobs of a worker that died while they still have time left."
    )
    shadow_share: float = Field(
        0.0,
        ge=0,
        le=1,
        description="Share of the answered jobs that are copied for a shadow ranker (docs/decisions.md).",
    )
    shadow_ranker: str = Field(
        "", description="Rank such copies by this ranker, while there is nothing else to do; none by default."
    )
    shadow_queue: str = Field(
        "",
        description="Take copies of this queue's jobs instead of the own one's: for a worker that is only "
        "tried out.",
    )
    reply_ttl_ms: int = Field(5_000, ge=100, description="How long an unread reply lives.")
    result_ttl_s: int = Field(60, ge=1, description="How long a Celery result lives, when one is asked for.")
    rank_timeout_ms: int = Field(60_000, ge=1, description="The longest that one micro-batch may take.")
    shutdown_grace_s: float = Field(30.0, gt=0, description="How long SIGTERM waits for batches in flight.")
    embedded_cache_mb: int = Field(1024, ge=64, description="KV cache of the embedded runtime.")
    embedded_threads: int = Field(0, ge=0, description="Threads of the embedded runtime; 0 lets it choose.")
    scripted_ms: float = Field(15.0, ge=0, description="What a batch takes in the scripted runtime.")
    nox_url: str = Field(
        "https://api.openai.com/v1", repr=False, description="`nox`: base URL of an OpenAI-compatible API."
    )
    nox_api_key: str | None = Field(None, repr=False, description="`nox`: its API key, if it wants one.")
    nox_model: str = Field("", description="`nox`: the chat model's name there; must be set.")
    nox_thinking_tokens: int = Field(
        0, ge=0, le=100_000, description="`nox`: tokens for a model that thinks before it answers."
    )
    nox_usd_per_million_in: float = Field(0.0, ge=0, description="`nox`: price of a million prompt tokens.")
    nox_usd_per_million_out: float = Field(0.0, ge=0, description="`nox`: price of a million output tokens.")
    nox_usd_per_million_cached: float | None = Field(
        None, ge=0, description="`nox`: price of a million cached prompt tokens; unset for no discount."
    )
    decision_url: str = Field(
        "http://127.0.0.1:30000",
        repr=False,
        description="`decision`: a System One server; the path is added.",
    )
    decision_api_key: str | None = Field(
        None, repr=False, description="`decision`: its API key, if it wants one."
    )
    decision_model: str = Field("jev-latest", description="`decision`: the model's name there.")
    decision_dialect: Literal["systemone", "workers-ai", "sglang"] = Field(
        "systemone", description="`decision`: /v1/systemone, the URL as it is, or SGLang's /v1/decisions."
    )
    # A self-hosted Clef reads 16,384 tokens a request, Workers AI 64 questions; hosted Jev takes 64,000
    # tokens a request and 32,000 of state.
    decision_max_questions: int = Field(64, ge=1, description="`decision`: questions in one request.")
    decision_max_tokens: int = Field(16_000, ge=100, description="`decision`: tokens in one request.")
    decision_max_state_tokens: int = Field(
        8_000, ge=50, description="`decision`: tokens of question and conversation; older turns are left out."
    )
    decision_usd_per_million_in: float = Field(
        0.0, ge=0, description="`decision`: price of a million input tokens."
    )
    decision_usd_per_million_out: float = Field(
        0.0, ge=0, description="`decision`: price of a million output tokens."
    )
    # Chosen on five sets, none of them LoCoMo; docs/rankers.md tells the rule and what the parts are worth.
    jev_weight_similarity: float = Field(
        1.0, ge=-100, le=100, description="`jev`: weight of the vector similarity."
    )
    jev_weight_words: float = Field(0.6, ge=-100, le=100, description="`jev`: weight of BM25 of other words.")
    jev_weight_names: float = Field(
        0.6, ge=-100, le=100, description="`jev`: weight of BM25 of persons and places."
    )
    jev_weight_verbs: float = Field(0.6, ge=-100, le=100, description="`jev`: weight of BM25 of verbs.")
    jev_weight_times: float = Field(0.6, ge=-100, le=100, description="`jev`: weight of BM25 of time words.")
    jev_weight_characters: float = Field(
        0.7, ge=-100, le=100, description="`jev`: weight of BM25 of single Chinese characters."
    )
    jev_weight_context: float = Field(
        0.3, ge=-100, le=100, description="`jev`: weight of BM25 of what was said before."
    )
    jev_weight_same_name: float = Field(
        0.2, ge=-100, le=100, description="`jev`: weight of the question's names."
    )
    jev_weight_other_name: float = Field(
        -0.2, ge=-100, le=100, description="`jev`: weight of another's name instead."
    )
    jev_weight_when: float = Field(
        2.0, ge=-100, le=100, description="`jev`: weight of the time that a memory names."
    )
    jev_weight_learned: float = Field(
        3.0, ge=-100, le=100, description="`jev`: weight of the day it was learned on."
    )
    jev_weight_wrong_time: float = Field(
        -2.0, ge=-100, le=100, description="`jev`: weight of naming another time."
    )
    jev_weight_tells_time: float = Field(
        0.3, ge=-100, le=100, description="`jev`: weight of a time, where one is asked for."
    )
    jev_weight_updates: float = Field(
        1.0, ge=-100, le=100, description="`jev`: weight of correcting an older memory that fits better."
    )
    jev_weight_recency: float = Field(0.04, ge=-100, le=100, description="`jev`: weight of newness.")
    jev_idf_memories: int = Field(
        512, ge=0, le=100_000, description="`jev`: memories counted per user in Redis; 0 counts none."
    )
    jev_idf_ttl_s: int = Field(604_800, ge=1, description="`jev`: how long the counts of an idle user live.")
    jev_idf_key: str | None = Field(
        None, repr=False, description="`jev`: secret that the counted words are hashed with."
    )
    broker_url: str | None = Field(
        None,
        repr=False,
        validate_default=True,
        description="Redis for Celery's own control and events, if not `MEMSIFT_REDIS_URL`; must be set "
        "where that is a Cluster.",
    )
    metrics_port: int = Field(
        0, ge=0, le=65_535, description="Port of the worker's `/metrics`; 0 counts and serves none."
    )
    run_dir: str = Field(
        "",
        description="Folder of the heartbeats that `memsift healthcheck` reads; a few bytes, best in memory "
        "(tmpfs). Unset: `memsift-<uid>` in the temporary folder.",
    )
    sentry_dsn: str | None = Field(
        None, repr=False, description="Where worker errors go; ids only, never text."
    )

    @field_validator("broker_url")
    @classmethod
    def _celery_can(cls, value: str | None, info: ValidationInfo) -> str | None:
        if redis_urls.is_cluster(value or info.data.get("redis_url", "")):
            raise ValueError(
                "Celery's control and events cannot use a Redis Cluster: name a single server or Sentinels"
            )
        if value is not None:
            redis_urls.check(value)
        return value

    @field_validator("ranker", "also_serve", "shadow_ranker")
    @classmethod
    def _known_rankers(cls, value: str) -> str:
        for name in (part.strip() for chain in value.split(",") if chain for part in chain.split(">")):
            if name not in RANKERS:
                raise ValueError(f"rankers are {', '.join(RANKERS)}, and chains of them such as a>b")
        return value

    @property
    def uses_runtime(self) -> bool:
        """Whether a ranker of this worker asks the runtime that `runtime` names."""
        return any(asks_runtime(name) for name in self.served)

    @property
    def served(self) -> list[str]:
        """Names of all rankers of this worker, the default first."""
        more = [name.strip() for name in self.also_serve.split(",") if name.strip()]
        return list(dict.fromkeys([self.ranker, *more]))
