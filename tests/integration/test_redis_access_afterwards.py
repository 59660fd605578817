"""Feedback and shadow mode under the sample's users: each can do its part, and nothing of another's."""

import pytest
from redis.exceptions import NoPermissionError

from memsift_ops import hits, shadow
from memsift_producer import FeedbackOutcome, Reranker
from memsift_schemas import RerankResult
from memsift_schemas.redis_link import connect
from memsift_workers.shadow import tally
from memsift_workers.shadow.copying import Copy
from tests.integration.servers import until
from tests.integration.test_redis_access import QUEUE, clean, sample
from tests.samples import job, memories
from tests.workers.shadow.test_shadow import Worker, shadowing
from tests.workers.shadow.test_shadow import until as eventually

__all__ = ["clean", "sample"]

pytestmark = pytest.mark.stack


async def test_a_frontend_counts_feedback_and_the_operator_reads_it(sample, clean):
    settings = {"queue": QUEUE, "feedback_ttl_s": 60, "deadline_ms": 50}
    async with Reranker.from_url(sample.url("producer"), **settings) as reranker:
        result = (await reranker.rerank(query="key?", memories=memories(4))).result
        outcome = await reranker.feedback(result.job_id, used=[result.selected[0]])
    assert outcome is FeedbackOutcome.COUNTED
    (found,) = hits.read(sample.url("operator"), QUEUE, since_s=3600).series.values()
    assert (found["right"], found["any"]) == (1, 1)
    assert clean.acl_log() == []


async def test_a_worker_copies_and_compares_and_the_operator_begins_anew(sample, clean):
    link = connect(sample.url("worker"), client_name="test", connections=12)
    one = Worker(link, QUEUE)
    async with shadowing(one):
        await one.copies._send([copied()])

        async def compared():
            return tally.read(clean.hgetall(f"{QUEUE}:shadow:tally")).pairs

        await eventually(compared)
    await link.aclose()
    assert shadow.read(sample.url("operator"), QUEUE).sent == 1
    assert shadow.reset(sample.url("operator"), QUEUE)
    until(lambda: not clean.exists(f"{QUEUE}:shadow:tally"))
    assert clean.acl_log() == []


def copied():
    whole = job(3)
    ranking = tuple({"id": one.id, "score": 1.0} for one in whole.candidates)
    return Copy(whole, RerankResult(job_id=whole.id, ranking=ranking, source="model", ranker="local"))


@pytest.mark.parametrize(
    ("user", "command"),
    [
        ("producer", ("LRANGE", f"{QUEUE}:shadow", 0, -1)),
        ("producer", ("LPUSH", f"{QUEUE}:shadow", "x")),
        ("producer", ("DEL", f"{QUEUE}:shadow:tally")),
        ("worker", ("HGETALL", f"{QUEUE}:hits:1")),
        ("worker", ("GET", f"{QUEUE}:picked:j")),
        ("operator", ("DEL", f"{QUEUE}:shadow")),
        ("operator", ("HINCRBY", f"{QUEUE}:hits:1", "x", 1)),
    ],
    ids=str,
)
def test_what_each_may_not(sample, clean, user, command):
    with pytest.raises(NoPermissionError):
        sample.client(user).execute_command(*command)
