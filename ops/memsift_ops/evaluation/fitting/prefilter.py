"""The weights of the prefilter, for fitting."""

from __future__ import annotations

import numpy as np

from memsift_ops.datasets import Case
from memsift_ops.evaluation.fitting.linear import Floats, Linear, Table
from memsift_producer.prefilter.duplicates import duplicates
from memsift_producer.prefilter.signals import mix, signals
from memsift_schemas import settings
from memsift_schemas.settings import ProducerSettings

SETTINGS = ("weight_vector", "weight_recency", "weight_keyword")


def prefilter() -> Linear:
    """With the three signals as the prefilter makes them; the half-life stays what it is set to."""
    half_life_days = settings.load(ProducerSettings).half_life_days

    def table(one: Case) -> Table:
        repeated = duplicates(one.memories)
        rest = [memory for place, memory in enumerate(one.memories) if place not in repeated]
        found = signals(one.query, rest, now=one.now, half_life_days=half_life_days)
        pruned = tuple(one.memories[place].id for place in sorted(repeated))
        return Table(tuple(memory.id for memory in rest), np.stack(found, axis=1), pruned, one.gold)

    defaults = np.array([ProducerSettings.model_fields[name].default for name in SETTINGS], dtype=np.float64)
    return Linear("prefilter", SETTINGS, defaults, 0.0, table, _scores)


def _scores(values: Floats, weights: Floats) -> Floats:
    return np.array(mix(values.T.tolist(), weights.tolist()), dtype=np.float64)
