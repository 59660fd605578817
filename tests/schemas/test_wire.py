"""What is written can be read back, also by a stock Celery client's message; what is foreign is refused."""

import base64
import math
from datetime import UTC, datetime, timedelta, timezone

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_schemas import (
    Cause,
    InvalidInput,
    JobTooLarge,
    Kind,
    Memory,
    Ranked,
    Refusal,
    RerankJob,
    RerankResult,
    Source,
    Turn,
    UnknownVersion,
    message,
    wire,
)
from tests.samples import job, memory

any_text = st.text(alphabet=st.characters(exclude_categories=()), min_size=1, max_size=80).filter(
    lambda text: any(char.isprintable() and not char.isspace() for char in text)
)
ids = st.text(alphabet=st.characters(categories=("L", "N")), min_size=1, max_size=20)
finite = st.floats(allow_nan=False, allow_infinity=False, width=64)
zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
times = st.datetimes(datetime(1970, 1, 2), datetime(9998, 1, 1), timezones=zones)
memory_models = st.builds(
    Memory,
    id=ids,
    text=any_text,
    created_at=st.none() | times,
    kind=st.sampled_from(Kind),
    similarity=st.none() | finite,
    embedding=st.none() | st.lists(finite, max_size=3).map(tuple),
)


@st.composite
def jobs(draw):
    candidates = tuple(draw(st.lists(memory_models, min_size=1, max_size=6, unique_by=lambda m: m.id)))
    size = len(candidates)
    return RerankJob(
        id=draw(ids),
        user=draw(ids),
        session=draw(ids),
        query=draw(any_text),
        now=draw(times),
        turns=tuple(
            draw(
                st.lists(
                    st.builds(Turn, role=st.sampled_from(["user", "assistant"]), text=any_text), max_size=3
                )
            )
        ),
        activity=tuple(draw(st.lists(any_text, max_size=3))),
        candidates=candidates,
        prior=draw(st.just(()) | st.lists(finite, min_size=size, max_size=size).map(tuple)),
        top_k=draw(st.integers(1, 200)),
        ranker=draw(st.none() | ids),
        deadline=draw(st.floats(1.0, 4e9)),
        sent_at=draw(st.none() | st.floats(1.0, 4e9)),
        trace=draw(st.dictionaries(st.sampled_from(["sentry-trace", "baggage", "traceparent"]), ids)),
        reply_to=draw(st.none() | ids),
    )


def without_embeddings(whole):
    bare = tuple(m.model_copy(update={"embedding": None}) for m in whole.candidates)
    return whole.model_copy(update={"candidates": bare})


@given(jobs())
def test_a_job_survives_the_trip_in_a_celery_message_but_for_its_embeddings(whole):
    raw = message.build(whole, wire.encode_job(whole), "q")
    envelope = message.read(raw)
    assert wire.load_job(envelope.job) == without_embeddings(whole)
    assert (envelope.id, envelope.task) == (whole.id, message.TASK_NAME)
    assert envelope.expires == pytest.approx(whole.deadline, abs=1e-3)
    assert not envelope.wants_result


@given(
    st.builds(
        RerankResult,
        job_id=ids,
        ranking=st.lists(st.builds(Ranked, id=ids, score=finite), max_size=5).map(tuple),
        source=st.sampled_from(Source),
        cause=st.none() | st.sampled_from(Cause),
        reason=st.none() | any_text.filter(lambda text: text.isascii()),
        timings_ms=st.dictionaries(ids, finite, max_size=3),
        prompt_tokens=st.integers(0, 2**31),
    )
    | st.builds(Refusal, job_id=ids, cause=st.sampled_from(Cause))
)
def test_a_reply_survives_the_trip(reply):
    assert wire.decode_reply(wire.encode_reply(reply)) == reply


def test_unknown_fields_are_ignored():
    data = {**wire.dump_job(job()), "from_the_future": {"a": 1}}
    data["candidates"][0]["mood"] = "new"
    assert wire.load_job(data).id == data["id"]


@pytest.mark.parametrize("version", [0, 2, "1", None, math.pi])
def test_an_unknown_version_is_refused_as_such(version):
    with pytest.raises(UnknownVersion, match="not supported"):
        wire.load_job({**wire.dump_job(job()), "v": version})


def test_without_a_version_the_first_is_meant():
    data = wire.dump_job(job())
    del data["v"]
    assert wire.load_job(data).id == data["id"]


@pytest.mark.parametrize("data", [None, [], "text", 3])
def test_what_is_no_object_is_refused(data):
    with pytest.raises(InvalidInput):
        wire.load_job(data)


@pytest.mark.parametrize("raw", [b"", b"nonsense", b"[]", b'{"v":1}', b'{"v":1,"result":{"job_id":"a"}}'])
def test_an_unreadable_reply_is_refused(raw):
    with pytest.raises(InvalidInput):
        wire.decode_reply(raw)


def test_a_job_over_the_limit_is_refused_at_the_door():
    heavy = tuple(memory(at, id=f"h{at}", text="weighty words. " * 130) for at in range(150))
    with pytest.raises(JobTooLarge, match="send fewer or shorter"):
        wire.encode_job(job(candidates=heavy, prior=()))


def test_the_envelope_shows_counts_and_no_text():
    whole = job(query="a very private question")
    headers = orjson.loads(message.build(whole, wire.encode_job(whole), "q"))["headers"]
    assert headers["kwargsrepr"] == "{candidates: 6, turns: 0, top_k: 3}"
    assert "private" not in str(headers)


def test_a_stock_clients_kwargsrepr_is_not_shown():
    whole = job()
    raw = stock_message(whole.id, {"job": wire.dump_job(whole)}, kwargsrepr="{'job': {'query': 'private'}}")
    envelope = message.read(raw)
    assert "private" not in envelope.shown
    assert envelope.wants_result
    assert wire.load_job(envelope.job) == whole


def stock_message(task_id, kwargs, **headers):
    """As kombu writes it: the body in base64."""
    body = base64.b64encode(orjson.dumps([[], kwargs, {"callbacks": None}])).decode()
    return orjson.dumps(
        {
            "body": body,
            "content-type": "application/json",
            "content-encoding": "utf-8",
            "headers": {"id": task_id, "task": message.TASK_NAME, "origin": "gen1@host", **headers},
            "properties": {"body_encoding": "base64", "correlation_id": task_id},
        }
    )


@given(
    st.binary(max_size=200)
    | st.recursive(
        st.none() | st.booleans() | finite | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["headers", "body", "properties", "id", "task", "expires"]), inner, max_size=4
            )
        ),
    ).map(orjson.dumps)
)
def test_whatever_is_on_the_list_is_read_or_refused(raw):
    try:
        envelope = message.read(raw)
    except InvalidInput:
        return
    assert isinstance(envelope.id, str)


def test_an_expiry_without_a_zone_is_utc():
    raw = orjson.loads(stock_message("a", {"job": {}}))
    raw["headers"]["expires"] = "2026-01-01T00:00:00"
    assert message.read(orjson.dumps(raw)).expires == datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    raw["headers"]["expires"] = "soon"
    with pytest.raises(InvalidInput, match="expires"):
        message.read(orjson.dumps(raw))


def test_when_a_message_was_sent_is_readable_without_its_body(clock):
    sent = job(sent_at=clock.now)
    assert message.sent_at(message.build(sent, b"sealed", "q")) == clock.now
    without = sent.model_copy(update={"sent_at": None})
    for raw in (message.build(without, b"sealed", "q"), b"\x00noise", b"[]", b"{}"):
        assert message.sent_at(raw) is None


@pytest.mark.parametrize("name", ["memsift.rerank", "{memsift.rerank}:own:4781103021fc01a4", "q-1"])
def test_a_message_tells_which_list_it_was_pushed_on(name):
    assert message.read(message.build(job(), b"{}", name)).queue == name


@pytest.mark.parametrize("foreign", ["what the user said", "", "q" * 201, 7, None])
def test_what_is_no_name_of_a_list_is_not_told(foreign):
    raw = orjson.loads(message.build(job(), b"{}", "q"))
    raw["properties"]["delivery_info"] = {"routing_key": foreign} if foreign is not None else None
    assert message.read(orjson.dumps(raw)).queue == ""


def test_a_warm_up_travels_without_a_query_under_a_task_of_its_own():
    whole = job(warm=True, query="")
    encoded = wire.encode_job(whole)
    assert b"query" not in encoded
    envelope = message.read(message.build(whole, encoded, "q"))
    assert envelope.task == message.WARM_TASK_NAME != message.TASK_NAME
    assert wire.load_job(envelope.job) == whole


def test_a_job_without_a_query_is_no_job():
    data = {name: value for name, value in wire.dump_job(job()).items() if name != "query"}
    with pytest.raises(InvalidInput, match="query: the query must not be blank"):
        wire.load_job(data)
