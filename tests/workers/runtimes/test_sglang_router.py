"""Two real SGLang servers behind a real sglang-router: sessions stay with their KV, users stay apart."""

import asyncio
import uuid
from contextlib import ExitStack

import pytest

from memsift_workers.rankers.base import Scores
from memsift_workers.runtimes.sglang import SGLangRuntime
from memsift_workers.strategies.likelihood import Likelihood
from memsift_workers.strategies.listwise import NOTHING, Listwise
from memsift_workers.strategies.templates import TEMPLATES
from tests.fakes import local_ranker
from tests.samples import TEXTS, job, memory
from tests.sglang_cpu.router import route
from tests.sglang_cpu.server import serve

pytestmark = [pytest.mark.sglang, pytest.mark.timeout(900)]

SECONDS = 120.0
# Odd, so that servers that take turns do not meet the same user twice in a row.
USERS = 5
QUESTIONS = ("Where is the spare key?", "What is Mara allergic to?", "When is the water turned off?")
STRATEGIES = {
    "likelihood": Likelihood(weight_en=1.0, weight_zh=1.0),
    "listwise": Listwise(TEMPLATES["chatml"], weight_en=1.0, weight_zh=1.0),
}


class Counted:
    """A runtime, and the tokens of each user's last question: from the cache, and in all.

    Passes over no question do not count: each has its deck from the one over the question beside it.
    """

    def __init__(self, inner):
        self.inner, self.tokens = inner, {}

    def __getattr__(self, name):
        return getattr(self.inner, name)

    async def run(self, calls, *, timeout):
        answers = await self.inner.run(calls, timeout=timeout)
        for user in {call.namespace for call in calls}:
            asked = [
                answer
                for call, answer in zip(calls, answers, strict=True)
                if call.namespace == user and not call.suffix.startswith(NOTHING)
            ]
            sums = (sum(one.cached_tokens for one in asked), sum(one.prompt_tokens for one in asked))
            self.tokens[user] = sums
        return answers


@pytest.fixture(scope="module")
def two_servers(sglang_process):
    """The one that other tests have, and one more."""
    with ExitStack() as stack:
        yield [sglang_process.url, stack.enter_context(serve()).url]


@pytest.fixture
def connect(two_servers):
    """A ranker whose runtime is behind a router with this policy."""
    with ExitStack() as stack:

        async def connect(policy, strategy):
            url = stack.enter_context(route(two_servers, policy=policy))
            return await started(url, strategy)

        yield connect


async def started(url, strategy):
    ranker = local_ranker(Counted(SGLangRuntime(url)), STRATEGIES[strategy])
    await ranker.start()
    return ranker


async def cached(ranker, user, turn=0, about=None, texts=TEXTS):
    """The share of one question's prompts that came from the cache; each user has memories of his own."""
    candidates = [memory(at, id=f"m{at}", text=f"{about or user}: {text}") for at, text in enumerate(texts)]
    asked = job(user=user, query=QUESTIONS[turn], candidates=tuple(candidates), prior=())
    (outcome,) = await ranker.rank([asked], timeout=SECONDS)
    assert isinstance(outcome, Scores), outcome
    from_cache, whole = ranker._runtime.tokens[user]
    return from_cache / whole


async def turns(ranker, users):
    """All users at once, turn by turn: an idle router gives whoever is new to the first server."""
    return [
        await asyncio.gather(*(cached(ranker, user, turn) for user in users))
        for turn in range(len(QUESTIONS))
    ]


def some_users():
    return [uuid.uuid4().hex for _ in range(USERS)]


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_later_turns_are_served_from_the_cache(connect, two_servers, strategy):
    """Given users side by side, then later turns come from the cache, and each server has some of them."""
    ranker, users = await connect("cache_aware", strategy), some_users()
    first, *later = await turns(ranker, users)
    direct = await started(two_servers[0], strategy)
    there = [await cached(direct, user) > 0.5 for user in users]
    await ranker.close()
    await direct.close()
    assert max(first) < min(share for turn in later for share in turn)
    assert len(set(there)) == 2


async def test_a_router_that_does_not_look_for_the_cache_is_found_out(connect):
    """The check can fail: with turns dealt out in turn some meet a server that has not seen them."""
    ranker, users = await connect("round_robin", "listwise"), some_users()
    # One memory is one request, so that each user meets one server after the other.
    one = {"texts": TEXTS[:1]}
    first, *later = [[await cached(ranker, user, turn, **one) for user in users] for turn in range(3)]
    await ranker.close()
    assert max(first) >= min(share for turn in later for share in turn)


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_another_users_identical_prompt_gets_nothing_of_it(connect, strategy):
    ranker = await connect("cache_aware", strategy)
    mine, others = uuid.uuid4().hex, [uuid.uuid4().hex for _ in range(4)]
    # One memory is one prompt: of several, the later ones have the instructions from the user's own first.
    one = {"texts": TEXTS[:1]}
    for _ in range(2):
        await cached(ranker, mine, **one)
    again = await cached(ranker, mine, **one)
    foreign = [await cached(ranker, other, about=mine, **one) for other in others]
    await ranker.close()
    assert again > 0.5
    assert set(foreign) == {0.0}
