"""The decks of a batch: turns of one session, several workers, and a Redis that is away."""

import asyncio
from dataclasses import replace

import pytest
from redis.asyncio import Redis

from memsift_schemas import Cause, Turn
from memsift_schemas.deck_use import Miss
from memsift_workers.decks.deck import Deck
from memsift_workers.decks.session import lay_one
from memsift_workers.decks.store import DeckStore, Held, Session
from memsift_workers.decks.use import BLOCK_TOKENS, deck_use
from memsift_workers.rankers.local import LocalRanker
from memsift_workers.runtimes.base import Answer, RuntimeGarbage, RuntimeTimeout
from memsift_workers.strategies.likelihood import Likelihood
from memsift_workers.strategies.listwise import Listwise
from memsift_workers.strategies.pointwise import Pointwise
from memsift_workers.strategies.templates import TEMPLATES
from tests.fakes import LIMITS, FakeRuntime, decks
from tests.samples import job, memories


@pytest.fixture
def store(redis, queue):
    return DeckStore(redis, queue=queue, ring=None, ttl_s=60)


def asked(*numbers, **fields):
    return job(candidates=tuple(memories(20)[at] for at in numbers), prior=(), **fields)


def shown(laid):
    return [one.id for one in laid.entries]


async def test_the_next_turn_begins_as_the_last_one_did(store):
    (first,) = await decks(store).lay([asked(0, 1, 2)], most=50)
    (second,) = await decks(store).lay([asked(3, 1)], most=50)
    assert shown(first) == ["m0", "m1", "m2"]
    assert shown(second) == ["m0", "m1", "m2", "m3"]
    assert second.places == (None, 1, None, 0)
    assert (second.kept, second.turn, second.changed, second.runtime) == (3, 2, False, "r1")


async def test_jobs_of_one_session_in_one_batch_follow_each_other(store):
    batch = [asked(0, 1), asked(2, session="other"), asked(2, 1), asked(0, user="eve")]
    laid = await decks(store).lay(batch, most=50)
    assert [shown(one) for one in laid] == [["m0", "m1"], ["m2"], ["m0", "m1", "m2"], ["m0"]]
    assert [one.turn for one in laid] == [1, 1, 2, 1]


async def test_two_workers_at_once_lose_no_turn(store):
    # Given two workers that read the same deck before either has kept its own
    both = asyncio.Barrier(2)

    class Slow(DeckStore):
        slow = True

        async def load(self, sessions):
            found = await super().load(sessions)
            if self.slow:
                self.slow = False
                await both.wait()
            return found

    workers = [decks(Slow(store._redis, queue=store._queue, ring=None, ttl_s=60)) for _ in range(2)]
    # When both have a turn of the session
    laid = await asyncio.gather(workers[0].lay([asked(0, 1)], most=50), workers[1].lay([asked(2)], most=50))
    # Then one of them built on the other's, and the deck holds the memories of both
    assert sorted(one.turn for (one,) in laid) == [1, 2]
    (held,) = await store.load([Session("mara", "s1")])
    assert {one.id for one in held.deck.entries} == {"m0", "m1", "m2"}
    assert held.deck.turn == 2


async def test_a_store_that_always_loses_gives_every_job_its_deck_all_the_same(store):
    class Beaten(DeckStore):
        async def save(self, changed):
            return [False] * len(changed)

    (one,) = await decks(Beaten(store._redis, queue=store._queue, ring=None, ttl_s=60)).lay(
        [asked(0)], most=50
    )
    assert shown(one) == ["m0"]


@pytest.mark.parametrize("fault", ["refused", "hangs"])
async def test_with_redis_away_each_turn_has_a_deck_of_its_own_at_once(caplog, fault):
    async def silent(reader, writer):
        await reader.read(-1)

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1] if fault == "hangs" else 1
    broken = DeckStore(Redis(host="127.0.0.1", port=port), queue="q", ring=None, ttl_s=60)
    subject = decks(broken)
    for _ in range(3):
        (laid,) = await asyncio.wait_for(subject.lay([asked(0, 1)], most=50), 1)
        assert shown(laid) == ["m0", "m1"]
        assert laid.turn == 1
    # It is left alone for a while, and said once.
    assert caplog.text.count("out of reach") == 1
    server.close()
    await broken.close()


@pytest.mark.parametrize("unnamed", [{"user": "anonymous"}, {"session": "default"}], ids=str)
async def test_jobs_that_do_not_say_whose_they_are_see_nothing_of_each_other(redis, queue, store, unnamed):
    # Given two such jobs in one batch, and one after it
    subject = decks(store)
    batch = await subject.lay([asked(0, 1, **unnamed), asked(2), asked(3, **unnamed)], most=50)
    (later,) = await subject.lay([asked(4, **unnamed)], most=50)
    # Then each has its own memories alone, and nothing of them is kept
    assert [shown(one) for one in (*batch, later)] == [["m0", "m1"], ["m2"], ["m3"], ["m4"]]
    assert later.turn == 1
    assert len(await redis.keys(f"{queue}:deck:*")) == 1


async def test_no_more_memories_are_shown_than_the_strategy_has_labels_for(store):
    (laid,) = await decks(store).lay([asked(*range(12))], most=5)
    assert len(laid.entries) == 5


def test_a_deck_that_another_runtime_holds_begins_anew():
    _, kept = lay_one(asked(0, 1, 2), Deck(), LIMITS, "r1")
    laid, _ = lay_one(asked(2, 3), kept, LIMITS, "r2")
    assert (shown(laid), laid.kept, laid.turn, laid.runtime) == (["m2", "m3"], 0, 2, "r1")


def two_turns(*, edit=False, **second):
    talk = (Turn(role="user", text="Where is the key?"), Turn(role="assistant", text="Under the pot."))
    first = asked(0, 1)
    later = asked(1, 2, **{"turns": talk, **second})
    if edit:
        later = later.model_copy(
            update={
                "candidates": (later.candidates[0].model_copy(update={"text": "New."}), later.candidates[1])
            }
        )
    _, kept = lay_one(first, Deck(), LIMITS, "r1")
    return lay_one(later, kept, LIMITS, "r1")[0]


ANSWER = Answer(prompt_tokens=400, prefix_tokens=(100, 80, 60, 50, 5, 10, 10), cached_tokens=240)


def test_a_turn_is_told_by_the_runtimes_own_counts():
    use = deck_use(two_turns(), ANSWER, runtime="r1")
    assert (use.turn, use.memories, use.stale, use.tokens, use.stale_tokens) == (2, 3, 1, 290, 80)
    assert (use.expected_tokens, use.miss) == (240, None)


@pytest.mark.parametrize(
    ("laid", "cached", "runtime", "miss"),
    [
        (lay_one(asked(0, 1), Deck(), LIMITS, "r1")[0], 0, "r1", Miss.FIRST_TURN),
        (two_turns(), 240 - BLOCK_TOKENS, "r1", None),
        (two_turns(), 239 - BLOCK_TOKENS, "r1", Miss.EVICTED),
        (two_turns(), 240, "r2", Miss.OTHER_RUNTIME),
        (two_turns(edit=True), 240, "r1", Miss.DECK_CHANGED),
        (two_turns(edit=True), 0, "r1", Miss.EVICTED),
    ],
    ids=["first", "whole blocks only", "evicted", "elsewhere", "edited", "edited and evicted"],
)
def test_each_miss_has_its_cause(laid, cached, runtime, miss):
    answer = Answer(prompt_tokens=400, prefix_tokens=ANSWER.prefix_tokens, cached_tokens=cached)
    assert deck_use(laid, answer, runtime=runtime).miss is miss


def test_a_conversation_behind_an_unchanged_deck_is_expected_too():
    talk = tuple(Turn(role="user", text=f"Line {at}") for at in range(4))
    _, kept = lay_one(asked(0, 1, turns=talk[:2]), Deck(), LIMITS, "r1")
    laid, _ = lay_one(asked(0, 1, turns=talk), kept, LIMITS, "r1")
    assert (laid.kept, laid.kept_talk) == (2, 2)
    answer = Answer(prompt_tokens=400, prefix_tokens=(100, 80, 60, 5, 10, 11, 12, 13), cached_tokens=266)
    assert deck_use(laid, answer, runtime="r1").expected_tokens == 100 + 80 + 60 + 5 + 10 + 11
    # A memory that is new moves all lines behind it.
    moved, _ = lay_one(asked(0, 1, 2, turns=talk), kept, LIMITS, "r1")
    assert moved.kept_talk == 0


def test_an_unheld_session_is_an_empty_deck():
    assert Held(Deck()).deck.entries == ()


async def test_what_a_line_really_takes_decides_from_the_next_turn_on(store):
    # Given a tokenizer that takes far more tokens than was estimated
    limits = replace(LIMITS, tokens=1000)
    subject = decks(store, limits=limits)
    (first,) = await subject.lay([asked(0, 1, 2, 3)], most=50)
    assert sum(one.tokens for one in first.entries) < 200
    subject.learn(first, Answer(prompt_tokens=2000, prefix_tokens=(50, 400, 400, 400, 400)))
    # Then the next turn's deck is cut to what fits
    (second,) = await subject.lay([asked(0)], most=50)
    assert shown(second) == ["m0", "m1"]


async def test_a_session_whose_job_could_not_be_ranked_begins_anew(redis, store):
    subject = decks(store)
    ranker = LocalRanker(
        FakeRuntime(fault=RuntimeGarbage("no")),
        Listwise(TEMPLATES["chatml"], weight_en=1.0, weight_zh=1.0),
        subject,
    )
    (outcome,) = await ranker.rank([asked(0, 1)], timeout=5)
    assert outcome.cause is Cause.RUNTIME_GARBAGE
    assert await store.load([Session("mara", "s1")]) == [Held(Deck())]


async def test_a_session_whose_job_was_late_goes_on(store):
    ranker = LocalRanker(
        FakeRuntime(fault=RuntimeTimeout("late")),
        Listwise(TEMPLATES["chatml"], weight_en=1.0, weight_zh=1.0),
        decks(store),
    )
    await ranker.rank([asked(0, 1)], timeout=5)
    assert (await store.load([Session("mara", "s1")]))[0].deck.turn == 1


async def test_warming_deals_the_deck_and_asks_nothing(store):
    runtime = FakeRuntime()
    ranker = LocalRanker(runtime, Listwise(TEMPLATES["chatml"], weight_en=1.0, weight_zh=1.0), decks(store))
    await ranker.warm([asked(0, 1, query="xyzzy?")], timeout=5)
    ((call,),) = runtime.batches
    assert "xyzzy" not in call.suffix
    # The first question's prompt begins with what was warmed
    await ranker.rank([asked(0, 1)], timeout=5)
    assert runtime.batches[1][0].prefix == call.prefix


async def test_a_warm_up_shows_no_conversation_so_none_is_expected_of_it(store):
    talk = tuple(Turn(role="user", text=f"Line {at}") for at in range(4))
    await decks(store).lay([asked(0, 1, turns=talk, warm=True, query="")], most=50)
    (laid,) = await decks(store).lay([asked(0, 1, turns=talk)], most=50)
    assert (laid.turn, laid.kept, laid.kept_talk) == (2, 2, 0)


@pytest.mark.parametrize(
    "strategy", [Likelihood(weight_en=1.0, weight_zh=1.0), Pointwise(TEMPLATES["chatml"])]
)
async def test_strategies_without_a_deck_warm_each_memory(strategy):
    runtime = FakeRuntime()
    ranker = LocalRanker(runtime, strategy, decks())
    await ranker.warm([asked(0, 1)], timeout=5)
    await ranker.rank([asked(0, 1)], timeout=5)
    assert [call.prefix for call in runtime.batches[0]] == [call.prefix for call in runtime.batches[1]]
