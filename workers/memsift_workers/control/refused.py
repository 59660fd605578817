"""Celery's control commands that would lie or do harm here: each is refused, with what to do instead."""

from __future__ import annotations

from typing import Any

from celery.worker.control import control_command

from memsift_workers.control.reaching import Answer, no

LIMITS = "set_limits changes batch size, wait and concurrency (memsift control limits)"
REFUSED = {
    "pool_restart": "the drain has no pool: end the worker (shutdown), and its supervisor starts it again",
    "autoscale": f"the drain has no pool to scale: {LIMITS}; more throughput is more workers",
    "rate_limit": f"the drain has no rate limit: {LIMITS}",
    "time_limit": "a job's limit is its deadline, set by its sender; a batch's MEMSIFT_RANK_TIMEOUT_MS",
    "revoke_by_stamped_headers": "jobs carry no stamps: revoke them by id",
    "election": "workers of memsift have nothing to elect",
}


def install() -> None:
    """Register the refusals in the place of Celery's commands."""
    for name, why in REFUSED.items():
        control_command(name=name, variadic="given", help=f"Refused: {why}.")(_refusal(name, why))


def _refusal(name: str, why: str) -> Any:
    def refuse(_state: Any, **_: Any) -> Answer:
        return no(f"{name} is refused: {why}")

    return refuse
