"""Settings of a frontend."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator, model_validator

from memsift_schemas.job import DEFAULT_TOP_K, MAX_CANDIDATES
from memsift_schemas.sealing import KeyRing
from memsift_schemas.settings.base import Settings

KEPT = 20
# Cheap enough to read every candidate, and better for it; docs/rankers.md has both measured.
READS_ALL = ("jev",)


class ProducerSettings(Settings):
    """What a frontend may set."""

    deadline_ms: int = Field(400, ge=1, le=60_000, description="Time for one `rerank()` call.")
    top_k: int = Field(
        DEFAULT_TOP_K, ge=1, le=MAX_CANDIDATES, description="How many memories the prompt holds."
    )
    min_relevance: float = Field(
        0.0,
        ge=0,
        le=1,
        description="Leave memories out of the prompt that are less probably relevant; needs a calibration.",
    )
    breaker_failures: int = Field(
        10,
        ge=1,
        description="The breaker opens when this many calls failed that were sent since the last answer to "
        "any frontend.",
    )
    breaker_p99_ms: int = Field(
        1_000, ge=1, description="It opens when the 99th percentile of the time to answer is over this."
    )
    breaker_window_s: int = Field(
        10, ge=1, le=3_600, description="Sliding window of that percentile; it needs 100 answers."
    )
    breaker_probe_ms: int = Field(
        1_000,
        ge=1,
        description="How long after opening, or after a probe that failed, one call is let through.",
    )
    # 10,000 jobs of 11 KB are 110 MB of Redis, and more than any worker drains within a usual deadline.
    queue_max: int = Field(
        10_000,
        ge=1,
        description="The queue takes no more jobs than this; what does not fit falls back at once.",
    )
    affinity: bool = Field(
        True,
        description="With several runtimes, send a session's jobs to the one that holds its KV, unless that "
        "is busy.",
    )
    prefilter_keep: int | None = Field(
        None,
        ge=1,
        le=MAX_CANDIDATES,
        description="Candidates that reach the worker, or `all`. Unset: 20; all where the call names `jev` "
        "or a chain that begins with it.",
    )
    # Measured on seven public memory sets in two languages (1,869 queries, macro means, signals as z-scores):
    # hit@3 .83 and MRR .73, against .79 and .69 in recall order, .76 and .68 by similarity alone, .78 and .65
    # with .4 / .3 / .3 and 30 days. Choosing on six sets gave these weights for the seventh, each time. No
    # set rewards recency; its .05 costs .003 hit@3 and no MRR, and of two memories that fit about equally
    # well puts the newer one first in 69% of cases rather than 53%.
    weight_vector: float = Field(0.6, ge=0, le=100, description="Prefilter weight of the vector similarity.")
    weight_recency: float = Field(0.05, ge=0, le=100, description="Prefilter weight of the time decay.")
    weight_keyword: float = Field(0.35, ge=0, le=100, description="Prefilter weight of the keyword score.")
    half_life_days: float = Field(
        90.0, gt=0, le=36_525, description="Age at which a memory's recency is halved."
    )

    decision_log: str = Field(
        "",
        description="Folder in which each call's decision is logged (docs/decisions.md); none by default.",
    )
    decision_log_days: float = Field(
        14.0, gt=0, le=3_650, description="Files of the decision log that are older than this are deleted."
    )
    decision_log_mb: int = Field(
        1_024, ge=16, description="So many megabytes of them are kept, by all processes together."
    )
    decision_log_user_key: str | None = Field(
        None,
        repr=False,
        min_length=16,
        description="Secret that users and sessions are hashed with there; unset: they are left out.",
    )
    decision_log_text_keys: str | None = Field(
        None,
        repr=False,
        description="Keep questions and memories there too, sealed with these keys, in the form of "
        "`MEMSIFT_SEAL_KEYS`; unset: no text.",
    )
    feedback_ttl_s: int = Field(
        0,
        ge=0,
        le=604_800,
        description="How long Redis holds the ids that a call picked, for the feedback on it; 0: feedback is "
        "not counted.",
    )

    @field_validator("decision_log_text_keys")
    @classmethod
    def _text_keys(cls, value: str | None) -> str | None:
        KeyRing.of(value)
        return value

    @field_validator("prefilter_keep", mode="before")
    @classmethod
    def _all(cls, value: Any) -> Any:
        return MAX_CANDIDATES if value == "all" else value

    @model_validator(mode="after")
    def _some_weight(self) -> ProducerSettings:
        if self.weight_vector + self.weight_recency + self.weight_keyword <= 0:
            raise ValueError("weight_vector, weight_recency and weight_keyword must not all be 0")
        return self

    def kept_for(self, ranker: str | None) -> int:
        """How many candidates the prefilter leaves for this ranker; None is the worker's default one."""
        if self.prefilter_keep is not None:
            return self.prefilter_keep
        return MAX_CANDIDATES if ranker is not None and ranker.split(">")[0] in READS_ALL else KEPT
