"""`memsift status`."""

from __future__ import annotations

from typing import Any

import click
from redis.exceptions import RedisError

from memsift_ops import status
from memsift_ops.console import print_json
from memsift_ops.errors import Failure
from memsift_schemas import settings as settings_module
from memsift_schemas.deck_use import Miss
from memsift_schemas.settings import ProducerSettings


@click.command("status")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(*, as_json: bool) -> int:
    """Show the breaker, the queue and the workers that are present.

    Exit code 0: calls can be answered by a model. 1: they cannot, or not in time.
    """
    settings = settings_module.load(ProducerSettings)
    try:
        found = status.read_as(settings)
    except (RedisError, OSError) as fault:
        raise Failure(
            f"Redis does not answer ({type(fault).__name__}): check MEMSIFT_REDIS_URL and the server"
        ) from None
    if as_json:
        print_json(found.as_json())
    else:
        for line in _lines(found):
            click.echo(line)
    return 1 if found.troubles else 0


def _lines(found: status.Status) -> list[str]:
    breaker, queue = found.breaker, found.queue
    since = "" if breaker.since_s is None else f" for {breaker.since_s:.0f} s"
    why = f", opened by {breaker.reason}" if breaker.reason else ""
    probe = "" if breaker.next_probe_s is None else f", next probe in {breaker.next_probe_s:.1f} s"
    oldest = "" if queue.oldest_s is None else f", the oldest waits for {queue.oldest_s:.3f} s"
    lines = [
        f"breaker  {breaker.state}{since}, {breaker.failures} failures in a row{why}{probe}"
        f"; opened {breaker.opened} times",
        f"queue    {queue.name}: {queue.depth} jobs{oldest}",
        f"workers  {len(found.workers)}",
    ]
    if len(queue.own) > 1:
        lines.insert(2, f"         of them for one runtime: {', '.join(map(str, queue.own.values()))}")
    for name, card in found.workers.items():
        who = ", ".join(
            filter(None, (card.get("ranker", "?"), card.get("model", "?"), card.get("prompt_version")))
        )
        rate = card.get("jobs_per_s")
        speed = f", {rate:.0f} jobs/s" if isinstance(rate, int | float) else ""
        paused = ", paused: it takes nothing (memsift control resume)" if card.get("paused") is True else ""
        lines.append(f"  {name}: {who}{paused}{speed}{_cache(card.get('cache'))}")
    return [*lines, *(f"trouble  {trouble}" for trouble in found.troubles)]


def _cache(said: Any) -> str:
    """How much of a worker's prompts came from the cache, and the turns in which that was less than hoped."""
    if not isinstance(said, dict) or not said.get("prompt_tokens"):
        return ""
    share = said["cached_tokens"] / said["prompt_tokens"]
    misses = [f"{one['turns']} {cause}" for cause, one in said["by_cause"].items() if cause in set(Miss)]
    return f", {share:.0%} of its prompts cached" + (f" (turns: {', '.join(misses)})" if misses else "")
