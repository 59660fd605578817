"""Who answers an evaluation: a running worker, or a temporary one that serves the asked rankers."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator, Sequence

import psutil

from memsift_ops import environment, services
from memsift_ops.errors import Refused
from memsift_ops.local import Answering, running, temporary
from memsift_schemas import calibration, settings
from memsift_schemas.ranker_names import asks_runtime
from memsift_schemas.settings import ProducerSettings, WorkerSettings

# Settings of what only looks on.
_WATCHING = ("decision_log", "feedback_", "shadow_")


@contextlib.contextmanager
def serving(rankers: Sequence[str], strategy: str | None = None) -> Iterator[Answering]:
    """The worker at `MEMSIFT_REDIS_URL` if one is ready there, else a temporary stack.

    A temporary worker counts no words for `jev` in Redis unless `MEMSIFT_JEV_IDF_MEMORIES` is set: a ranking
    then depends on its own question alone, and a continued run gives the numbers of an unbroken one.

    Args:
        rankers: names and chains, at least one.
        strategy: of `local` in a temporary worker; None takes the setting's. Whether a running one has it,
            `check_strategies` tells.

    Raises:
        Failure: a process did not start, or the model cannot be had.
        SettingsError: a setting is wrong.
    """
    if (answering := running()) is not None:
        yield answering
        return
    needs_model = any(asks_runtime(ranker) for ranker in rankers)
    what = f"a worker that serves {', '.join(rankers)}" + (f" by {strategy}" if strategy else "")
    told = {**worker_environment(rankers), **({"MEMSIFT_STRATEGY": strategy} if strategy else {})}
    with environment.variables(told), temporary(what, model=needs_model) as answering:
        yield answering


def check_strategies(strategies: Collection[str]) -> None:
    """Make sure that every strategy can be had, before any is measured.

    Raises:
        Refused: the worker at `MEMSIFT_REDIS_URL` has another, and a worker has one.
        SettingsError: a setting is wrong.
    """
    wanted = settings.load(ProducerSettings)
    workers = services.ready_workers(wanted.redis_url, wanted.queue)
    others = [strategy for strategy in strategies if any(one.strategy != strategy for one in workers)]
    if others:
        raise Refused(
            f"the worker at MEMSIFT_REDIS_URL asks by {workers[0].strategy}, not by {', '.join(others)}: "
            "stop it, or set MEMSIFT_REDIS_URL to where none runs, and one is started for each strategy"
        )


def worker_environment(rankers: Sequence[str]) -> dict[str, str]:
    """What a temporary worker is told beyond the environment of this process."""
    first, *more = rankers
    told = {"MEMSIFT_RANKER": first, "MEMSIFT_ALSO_SERVE": ",".join(more)}
    counted = os.environ.get("MEMSIFT_JEV_IDF_MEMORIES", "0")
    return {**told, "MEMSIFT_JEV_IDF_MEMORIES": counted}


def relevant_settings() -> dict[str, object]:
    """The settings that may change a ranking, JSON-ready; without keys and the queue's address.

    Raises:
        SettingsError: a setting is wrong, or the calibration cannot be read.
    """
    every = {
        **settings.load(WorkerSettings).model_dump(mode="json"),
        **settings.load(ProducerSettings).model_dump(mode="json"),
    }
    # Its content counts, wherever the file is.
    every["calibration"] = calibration.load(every["calibration"]).model_dump(mode="json")
    apart = ("redis_url", "queue", "seal_keys", "sentry_dsn", "ranker", "also_serve")
    return {
        name: value
        for name, value in every.items()
        if name not in apart and not name.endswith("_key") and not name.startswith(_WATCHING)
    }


class WorkerCpu:
    """CPU seconds of a worker on this machine.

    Args:
        pid: the process id that the worker tells of itself. It may run on another machine, where the same
            number is something else here; only a process that is a memsift worker is read.
    """

    def __init__(self, pid: int) -> None:
        self._process: psutil.Process | None = None
        with contextlib.suppress(psutil.Error, ValueError):
            process = psutil.Process(pid)
            if services.APP in process.cmdline():
                self._process = process

    def seconds(self) -> float | None:
        """User and system time so far, in steps of the kernel's clock tick; None when it cannot be read."""
        if self._process is None:
            return None
        try:
            times = self._process.cpu_times()
        except psutil.Error:
            return None
        return float(times.user + times.system)
