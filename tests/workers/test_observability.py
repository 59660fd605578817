"""What reaches Sentry says what went wrong and where, and holds no text of a job."""

import logging

import orjson
import pytest
import sentry_sdk

from memsift_schemas import SystemClock
from memsift_schemas.settings import WorkerSettings
from memsift_workers import observability, tracing
from memsift_workers.faults import describe
from memsift_workers.runtimes.base import RuntimeGarbage
from tests.samples import NOW, job

SECRET = "xyzzy-secret"


def fail(error):
    memory_text = SECRET  # a local variable that a stack frame would show
    try:
        raise error
    except type(error) as caught:
        sentry_sdk.capture_exception(caught)
    return memory_text


def test_a_foreign_exceptions_message_and_the_local_variables_stay_here(sentry):
    fail(ValueError(f"bad value {SECRET}"))
    sentry_sdk.flush(2)
    (raw,) = sentry.sent
    assert SECRET.encode() not in raw
    assert b"ValueError" in raw
    assert b"message withheld" in raw


def test_our_own_message_passes(sentry):
    fail(RuntimeGarbage("19 answers for 20 prompts"))
    sentry_sdk.flush(2)
    assert b"19 answers for 20 prompts" in sentry.sent[0]


def test_extra_data_and_breadcrumbs_are_taken_out():
    event = {
        "extra": {"memory": SECRET},
        "breadcrumbs": [SECRET],
        "exception": {"values": [{"value": SECRET}]},
    }
    assert SECRET.encode() not in orjson.dumps(observability.scrub(event, {}))


def test_without_a_dsn_nothing_is_started():
    observability.start(WorkerSettings(sentry_dsn=None))
    assert not sentry_sdk.is_initialized()


def test_an_error_is_told_by_type_and_place():
    try:
        raise KeyError(SECRET)
    except KeyError as error:
        told = describe(error)
    assert told.startswith("KeyError (test_observability.py:")
    assert SECRET not in told
    assert describe(RuntimeGarbage("odd")) == "RuntimeGarbage: odd"


@pytest.mark.parametrize("name", ["kombu.connection", "asyncio", "openai._base_client", "celery.worker"])
def test_what_other_loggers_say_is_withheld(sentry, name):
    logging.getLogger(name).error("body was %s", SECRET)
    logging.getLogger(name).error(f"body was {SECRET}")  # noqa: G004  # as some libraries do
    sentry_sdk.flush(2)
    sent = b"".join(sentry.sent)
    assert len(sentry.sent) > 0
    assert SECRET.encode() not in sent
    assert name.encode() in sent


def test_what_our_loggers_say_passes(sentry):
    logging.getLogger("memsift.worker").error("a batch of %d items is lost", 16)
    sentry_sdk.flush(2)
    assert b"a batch of 16 items is lost" in sentry.sent[0]


def test_integrations_that_record_arguments_are_off(sentry):
    assert not {"celery", "redis", "openai", "httpx"} & set(sentry_sdk.get_client().integrations)


def test_errors_of_a_batch_carry_job_ids_and_nothing_else_of_the_jobs(sentry):
    jobs = [job(query=SECRET, user=SECRET, session=SECRET) for _ in range(3)]
    with tracing.ranking(jobs, queue="q", popped_at=NOW.timestamp(), clock=SystemClock()):
        logging.getLogger("memsift.worker").error("a job falls back")
        fail(ValueError(SECRET))
    logging.getLogger("memsift.worker").error("another error")
    sentry_sdk.flush(2)
    *of_the_batch, later = sentry.sent
    assert len(of_the_batch) == 2
    assert all(one.id.encode() in raw for one in jobs for raw in of_the_batch)
    assert jobs[0].id.encode() not in later
    assert SECRET.encode() not in b"".join(sentry.sent)
