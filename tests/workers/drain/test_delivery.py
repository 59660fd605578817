"""A list item becomes a job worth ranking, a refusal its sender can be told, or a counted poison."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_schemas import Cause, message, wire
from memsift_workers.drain.delivery import MAX_MESSAGE_BYTES, Poison, receive
from tests.samples import NOW, job

QUEUE = "q"
REPLY = f"{QUEUE}:reply:abc"
BEFORE, AFTER = NOW.timestamp(), NOW.timestamp() + 11


def raw(whole, change=lambda data: None):
    data = orjson.loads(message.build(whole, wire.encode_job(whole), QUEUE))
    change(data)
    return orjson.dumps(data)


def in_job(whole, **fields):
    encoded = wire.dump_job(whole)
    encoded.update(fields)
    return message.build(whole, orjson.dumps(encoded), QUEUE)


def test_a_job_in_time_is_delivered():
    whole = job(reply_to=REPLY)
    delivery = receive(raw(whole), queue=QUEUE, now=BEFORE)
    assert (delivery.job, delivery.refused, delivery.reply_to) == (whole, None, REPLY)


def test_a_job_past_its_deadline_is_expired():
    assert receive(raw(job()), queue=QUEUE, now=AFTER).refused is Cause.EXPIRED


def test_the_envelopes_expiry_counts_too():
    def sooner(data):
        data["headers"]["expires"] = NOW.isoformat()

    assert receive(raw(job(), sooner), queue=QUEUE, now=BEFORE + 1).refused is Cause.EXPIRED


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda data: data.pop("headers"), "unreadable"),
        (lambda data: data["headers"].pop("id"), "unreadable"),
        (lambda data: data["headers"].update(id=7), "unreadable"),
        # No reply could carry such an id, and no batch may be lost for it.
        (lambda data: data["headers"].update(id="9" * 400), "unreadable"),
        (lambda data: data["headers"].update(id=""), "unreadable"),
        (lambda data: data.update(body="nonsense"), "unreadable"),
        (lambda data: data.update(body='[[], {"other": 1}, {}]'), "unreadable"),
        (lambda data: data["headers"].update(task="celery.ping"), "foreign_task"),
        (lambda data: data.update(padding="x" * MAX_MESSAGE_BYTES), "too_big"),
    ],
)
def test_what_is_no_message_of_ours_is_poison(change, why):
    with pytest.raises(Poison) as caught:
        receive(raw(job(), change), queue=QUEUE, now=BEFORE)
    assert caught.value.why == why


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({"v": 2}, Cause.UNKNOWN_VERSION),
        ({"query": " "}, Cause.INVALID_JOB),
        ({"candidates": "none"}, Cause.INVALID_JOB),
        # A job must not make the worker write just anywhere.
        ({"reply_to": "somebody:elses:key"}, Cause.INVALID_JOB),
    ],
)
def test_a_bad_job_is_refused_and_its_sender_known(fields, cause):
    whole = job(reply_to=REPLY)
    delivery = receive(in_job(whole, **fields), queue=QUEUE, now=BEFORE)
    assert delivery.refused is cause
    assert delivery.reply_to == (None if "reply_to" in fields else REPLY)


def test_a_plain_client_need_not_repeat_what_the_message_says():
    whole = job()
    bare = {"query": whole.query, "candidates": wire.dump_job(whole)["candidates"]}
    expires = NOW.timestamp() + 10
    delivery = receive(message.build(whole, orjson.dumps(bare), QUEUE), queue=QUEUE, now=BEFORE)
    assert (delivery.job.id, delivery.job.deadline) == (whole.id, expires)
    assert delivery.job.now == NOW


@given(st.binary(max_size=300))
def test_noise_is_poison_and_nothing_else(noise):
    with pytest.raises(Poison):
        receive(noise, queue=QUEUE, now=BEFORE)


@given(st.integers(0, 400), st.integers(0, 255))
def test_a_flipped_byte_never_raises_anything_else(at, value):
    mutated = bytearray(raw(job(2)))
    mutated[at] = value
    try:
        receive(bytes(mutated), queue=QUEUE, now=BEFORE)
    except Poison as poison:
        assert poison.why in {"unreadable", "foreign_task"}
