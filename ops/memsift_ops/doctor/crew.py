"""Who works on the queue, by their cards and Celery's remote control; and who has no business there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from celery import Celery
from kombu.exceptions import OperationalError

from memsift_ops import services
from memsift_ops.doctor.finding import Finding, fault, ok, skipped, warning
from memsift_schemas import redis_urls
from memsift_schemas.redis_faults import REDIS_FAULTS, tell

# Workers answer Celery's remote control within tenths of a second, unless they are busy loading a model.
ANSWER_S = 1.5


def look(client: Any, queue: str, broker_url: str) -> Iterator[Finding]:
    """Compare cards with what Celery workers say that they consume.

    Args:
        client: connected, with an operator's rights.
        queue: the drained queue.
        broker_url: where Celery's control and events go.

    Raises:
        RedisError: the server went away meanwhile.
    """
    cards = sorted(services.cards(client, queue))
    if cards:
        yield ok("workers.present", f"{len(cards)} on {queue}: {', '.join(cards)}")
    else:
        yield fault("workers.present", f"no worker drains {queue}", "start one: memsift worker")
    try:
        consumed = _consumed(broker_url)
    except (*REDIS_FAULTS, OperationalError) as error:
        yield skipped("workers.control", f"Celery's remote control cannot be used ({tell(error)})")
        return
    silent = [name for name in cards if name not in consumed]
    if silent:
        yield warning(
            "workers.control",
            f"{', '.join(silent)} did not answer remote control within {ANSWER_S:g} s",
            "is MEMSIFT_BROKER_URL the same everywhere, and may the user publish to /0.celery.pidbox?",
        )
    elif cards:
        yield ok("workers.control", "all of them answer Celery's remote control")
    yield from _strangers(queue, cards, consumed)


def _consumed(broker_url: str) -> Mapping[str, set[str]]:
    """The queues of every Celery worker that answers, by its name."""
    broker, options = redis_urls.celery_broker(broker_url)
    app = Celery("memsift-doctor", broker=broker, set_as_current=False)
    app.conf.broker_transport_options = {"socket_timeout": 2 * ANSWER_S, **options}
    app.conf.broker_connection_retry = False
    try:
        said = app.control.inspect(timeout=ANSWER_S).active_queues() or {}
    finally:
        app.close()
    return {name: {str(one["name"]) for one in queues or ()} for name, queues in said.items()}


def _strangers(queue: str, cards: list[str], consumed: Mapping[str, set[str]]) -> Iterator[Finding]:
    """Workers of another app that take what is memsift's: they ack and drop what they do not know."""
    found = False
    for name, queues in consumed.items():
        ours = sorted(
            one for one in queues if one in (queue, f"{queue}.celery") or one.startswith(f"{queue}:")
        )
        if name not in cards and ours:
            found = True
            yield fault(
                "workers.strangers",
                f"{name} is no worker of memsift and consumes {', '.join(ours)}: what it takes is lost",
                "give that app other queues (celery worker -Q), or memsift another MEMSIFT_QUEUE",
            )
    if not found:
        yield ok("workers.strangers", "no other Celery app consumes memsift's queues")
