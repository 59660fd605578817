"""From a raw list item to a job that is worth ranking, or to a word why not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memsift_schemas import message, sealing, wire
from memsift_schemas.errors import InvalidInput, UnknownVersion
from memsift_schemas.job import MAX_JOB_BYTES, RerankJob
from memsift_schemas.keys import reply_key
from memsift_schemas.message import Envelope
from memsift_schemas.result import Cause
from memsift_schemas.sealing import KeyRing

# A stock Celery client escapes Chinese (6 bytes for 3) and wraps the body in base64 (4 for 3).
MAX_MESSAGE_BYTES = MAX_JOB_BYTES * 3
# The deadline of a job that comes with neither a deadline nor an expiry; nobody waits longer for a prompt.
PATIENCE_S = 60.0


class Poison(Exception):
    """A list item that is no message of ours; nobody can be answered. Holds no payload."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class Delivery:
    """One readable message.

    Attributes:
        envelope: its Celery headers.
        job: None when `refused` says that it cannot be ranked.
        refused: why not.
        reply_to: the sender's reply list, checked to be one.
        why: for the log: which field was wrong.
    """

    envelope: Envelope
    job: RerankJob | None
    refused: Cause | None
    reply_to: str | None
    why: str = ""


def receive(
    raw: bytes, *, queue: str, now: float, ring: KeyRing | None = None, task: str = message.TASK_NAME
) -> Delivery:
    """Read one list item and decide whether it is worth model time.

    Args:
        raw: the list item.
        queue: the drained list; reply lists are named after it.
        now: unix seconds on the Redis server's clock.
        ring: opens sealed jobs; with it, clear ones are refused.
        task: the only task that belongs in that list.

    Raises:
        Poison: it is no Celery message for this task, or too big.
    """
    if len(raw) > MAX_MESSAGE_BYTES:
        raise Poison("too_big")
    try:
        envelope = message.read(raw)
    except InvalidInput:
        raise Poison("unreadable") from None
    if envelope.task != task:
        raise Poison("foreign_task")
    reply_to = _reply_list(envelope.job, queue)
    try:
        opened = sealing.open_job(ring, envelope.job, job_id=envelope.id)
        job = wire.load_job(_complete(opened, envelope, now))
    except InvalidInput as error:
        cause = Cause.UNKNOWN_VERSION if isinstance(error, UnknownVersion) else Cause.INVALID_JOB
        return Delivery(envelope, None, cause, reply_to, str(error))
    if job.reply_to != reply_to:
        return Delivery(envelope, None, Cause.INVALID_JOB, None, "reply_to: is no reply list of this queue")
    if message.task_of(job) != task:
        return Delivery(envelope, None, Cause.INVALID_JOB, reply_to, "warm: does not go with the task's name")
    expired = now >= min(job.deadline, envelope.expires or job.deadline)
    return Delivery(envelope, job, Cause.EXPIRED if expired else None, reply_to)


def _complete(job: Any, envelope: Envelope, now: float) -> Any:
    """A plain Celery client need not repeat in the job what its message says already."""
    if not isinstance(job, dict):
        return job
    whole = {"deadline": envelope.expires or now + PATIENCE_S, **job, "id": envelope.id}
    if "now" not in whole:
        whole["now"] = datetime.fromtimestamp(now, UTC).isoformat()
    return whole


def _reply_list(job: Any, queue: str) -> str | None:
    """The job's reply list, unless it names a key that is none: a job must not write just anywhere."""
    name = job.get("reply_to") if isinstance(job, dict) else None
    return name if isinstance(name, str) and name.startswith(reply_key(queue, "")) else None
