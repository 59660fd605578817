"""Each way from a prepared call to its answer, with time in hand."""

import asyncio

import pytest

from memsift_producer.admission import Admission
from memsift_producer.affinity import Affinity
from memsift_producer.answering import Answering
from memsift_producer.breaker import Breaker
from memsift_producer.breaker_state import Reading
from memsift_producer.dispatch import Dispatch
from memsift_producer.outbox import Parcel
from memsift_producer.preparation import prepare
from memsift_producer.question import Question
from memsift_schemas import Cause, Ranked, Refusal, RerankResult, Source, calibration
from memsift_schemas.settings import ProducerSettings
from tests.samples import NOW, memories


class Sent:
    """An outbox that takes everything, and replies that come at a moment of one's choice."""

    def __init__(self, clock, seconds, reply):
        self.clock, self.seconds, self.reply = clock, seconds, reply
        self.withdrawn = []

    def __len__(self):
        return 0

    def expect(self, job_id):
        future = asyncio.get_running_loop().create_future()
        future.set_result(self.reply(job_id))
        return future

    def forget(self, job_id):
        pass

    def put(self, job_id, message, deadline, favourite):
        self.clock.advance(self.seconds)
        taken = asyncio.get_running_loop().create_future()
        taken.set_result(None)
        return Parcel(job_id, message, deadline, favourite, taken, sent=True)

    def withdraw(self, parcel, *, cancelled):
        self.withdrawn.append((parcel.job_id, cancelled))


@pytest.fixture
def answer(clock):
    """Answer one call with 0.4 s to go; `reply` comes after so many seconds."""

    async def answer(seconds, reply, breaker=None, *, prepared_in=0.0, deadline=0.4):
        settings = ProducerSettings()
        if breaker is None:
            breaker = Breaker(settings, clock)
            breaker.learn(Reading(), None)
        sent = Sent(clock, seconds, reply)
        prepared = prepare(
            Question(query="where?", memories=memories(3), now=NOW, deadline=deadline),
            settings=settings,
            reply_to="r",
            clock=clock,
            calibration=calibration.load(settings.calibration),
        )
        answering = Answering(
            breaker=breaker,
            dispatch=Dispatch(Affinity(settings.queue, enabled=True), Admission(clock)),
            outbox=sent,
            replies=sent,
            clock=clock,
        )
        result = await answering.answer(prepared, prepared.job, clock.monotonic() - prepared_in)
        assert sent.withdrawn == [(prepared.job.id, False)]
        return result, breaker

    return answer


def ranking(job_id):
    places = tuple(Ranked(id=memory.id, score=1.0) for memory in memories(3))
    return RerankResult(job_id=job_id, ranking=places, source=Source.MODEL)


async def test_a_reply_before_the_deadline_is_the_answer(answer):
    result, breaker = await answer(0.399, ranking)
    assert (result.source, result.cause) == (Source.MODEL, None)
    assert breaker.report()[0].answers == 1


async def test_a_reply_past_the_deadline_is_dropped_and_counts_as_a_failure(answer):
    result, breaker = await answer(0.401, ranking)
    assert (result.source, result.cause) == (Source.PREFILTER, Cause.DEADLINE)
    assert len(breaker.report()[0].failed) == 1


async def test_a_slow_way_to_a_worker_is_told_to_the_breaker_and_a_slow_frontend_is_not(answer):
    _, slow = await answer(1.5, ranking, deadline=9)
    _, busy = await answer(0.1, ranking, deadline=9, prepared_in=5)
    assert slow.report()[0].slow == 1
    assert busy.report()[0].slow == 0


async def test_a_refusal_tells_its_cause_to_the_breaker(answer):
    def refusal(job_id):
        return Refusal(job_id=job_id, cause=Cause.UNKNOWN_RANKER)

    result, breaker = await answer(0.1, refusal)
    assert result.cause is Cause.UNKNOWN_RANKER
    assert breaker.report()[0].failed == []


async def test_a_probe_whose_caller_goes_away_is_given_back(answer, clock):
    def gone(job_id):
        raise asyncio.CancelledError

    breaker = Breaker(ProducerSettings(), clock)
    breaker.learn(Reading(open=True), None)

    async def grant():
        while (claim := breaker.report()[2]) is None:
            await asyncio.sleep(0)
        breaker.learn(Reading(open=True, granted=True), claim)
        return claim.token

    granting = asyncio.create_task(grant())
    with pytest.raises(asyncio.CancelledError):
        await answer(0.0, gone, breaker)
    assert breaker.report()[1] == (await granting, "void")
