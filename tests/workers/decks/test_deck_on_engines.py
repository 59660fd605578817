"""Two turns of a session on real engines: what they begin with is token-identical and cached."""

import uuid
from dataclasses import replace

import pytest

from memsift_schemas import Turn
from memsift_schemas.deck_use import Miss
from memsift_workers.decks.store import DeckStore
from memsift_workers.decks.use import BLOCK_TOKENS
from memsift_workers.rankers.local import LocalRanker
from memsift_workers.runtimes.sglang import SGLangRuntime
from memsift_workers.strategies.listwise import Listwise
from memsift_workers.strategies.templates import TEMPLATES
from tests.fakes import decks
from tests.samples import job, memories

# Lines that end in the middle of a word, in spaces, in Chinese and with an emoji: where tokens like to merge.
TEXTS = (
    "Mara's key is under the flowerpot",
    "钥匙在蓝色的花盆下面",
    'She said: "never again"  ',
    "Rex 🐕 and Bo",
    "cab",
    "inet 7",
)


@pytest.fixture(
    params=[
        pytest.param("embedded", marks=pytest.mark.engine),
        pytest.param("sglang", marks=pytest.mark.sglang),
    ]
)
async def runtime(request):
    if request.param == "embedded":
        yield request.getfixturevalue("embedded_runtime")
        return
    subject = SGLangRuntime(request.getfixturevalue("sglang_server"))
    await subject.start()
    yield subject
    await subject.close()


class Watching:
    """A runtime whose prompts are kept as the tokens that the engine was given."""

    def __init__(self, inner):
        self.inner, self.calls, self.answers = inner, [], []

    def __getattr__(self, name):
        return getattr(self.inner, name)

    async def run(self, calls, *, timeout):
        answers = await self.inner.run(calls, timeout=timeout)
        self.calls += calls
        self.answers += answers
        return answers


def turn(user, numbers, talk=(), query="Where is the key?"):
    candidates = [
        memories(30)[at].model_copy(update={"text": f"{TEXTS[at % 6]} {at}{TEXTS[-at % 6]}"})
        for at in numbers
    ]
    return job(user=user, candidates=tuple(candidates), prior=(), turns=talk, query=query)


@pytest.fixture
async def session(runtime, redis, queue):
    """A ranker with decks, what it asked, and a user that no other test has."""
    watching = Watching(runtime)
    store = DeckStore(redis, queue=queue, ring=None, ttl_s=60)
    ranker = LocalRanker(watching, Listwise(TEMPLATES["chatml"], weight_en=1.0, weight_zh=1.0), decks(store))
    await ranker.start()
    return ranker, watching, f"u-{uuid.uuid4().hex}"


async def test_the_second_turn_is_served_from_the_cache_as_the_deck_predicts(session):
    ranker, watching, user = session
    (first,) = await ranker.rank([turn(user, range(12))], timeout=60)
    talk = (Turn(role="user", text="Where is the key?"), Turn(role="assistant", text="Under the pot."))
    (second,) = await ranker.rank([turn(user, range(4, 16), talk, "And the dog?")], timeout=60)
    before, _, after, _ = watching.answers
    # The pieces of the old deck have the same tokens, whatever stands behind them now
    assert after.prefix_tokens[:13] == before.prefix_tokens
    assert watching.calls[2].prefix[:13] == watching.calls[0].prefix
    # and as many are cached as the deck predicts
    assert first.deck.miss is Miss.FIRST_TURN
    assert second.deck.expected_tokens == sum(before.prefix_tokens)
    assert second.deck.expected_tokens - BLOCK_TOKENS <= after.cached_tokens <= after.prompt_tokens
    assert second.deck.miss is None
    assert (second.deck.memories, second.deck.stale) == (16, 4)


async def test_a_third_turn_over_the_same_deck_has_the_conversation_cached_too(session):
    ranker, watching, user = session
    talk = tuple(Turn(role="user", text=f"Line {at} of a conversation that goes on.") for at in range(6))
    for shown in (talk[:4], talk):
        (last,) = await ranker.rank([turn(user, range(6), shown)], timeout=60)
    with_talk = watching.answers[2]
    assert last.deck.expected_tokens == sum(with_talk.prefix_tokens[: 1 + 6 + 1 + 4])
    assert with_talk.cached_tokens >= last.deck.expected_tokens - BLOCK_TOKENS


async def test_what_the_prompts_of_a_batch_have_in_common_is_computed_once(session):
    ranker, watching, user = session
    await ranker.rank([turn(user, range(24)), turn(user, range(24), query="And the dog?")], timeout=60)
    # Given four prompts over one deck: two questions, and a pass over none for each
    assert len(watching.answers) == 4
    deck = sum(watching.answers[0].prefix_tokens)
    behind = sum(one.prompt_tokens - deck for one in watching.answers)
    computed = sum(one.prompt_tokens - one.cached_tokens for one in watching.answers)
    # Then its tokens are computed once, but for part of a block
    assert deck > 4 * BLOCK_TOKENS
    assert computed <= deck + behind + 3 * BLOCK_TOKENS


async def test_an_edited_memory_is_in_no_later_prompt_and_costs_what_stands_behind_it(session):
    ranker, watching, user = session
    await ranker.rank([turn(user, range(12))], timeout=60)
    edited = turn(user, range(12))
    changed = edited.candidates[6].model_copy(update={"text": "Something quite different."})
    edited = edited.model_copy(
        update={"candidates": (*edited.candidates[:6], changed, *edited.candidates[7:])}
    )
    (later,) = await ranker.rank([edited], timeout=60)
    assert later.deck.miss is Miss.DECK_CHANGED
    old = memories(30)[6].model_copy(update={"text": f"{TEXTS[0]} 6{TEXTS[0]}"}).text
    assert not any(old in piece for piece in watching.calls[2].prefix)
    assert later.deck.expected_tokens == sum(watching.answers[0].prefix_tokens[:7])


async def test_another_users_same_deck_gets_nothing_from_the_cache(session):
    ranker, watching, user = session
    await ranker.rank([turn(user, range(12))], timeout=60)
    await ranker.rank([turn(f"{user}-other", range(12))], timeout=60)
    asked = watching.answers[2]
    assert asked.cached_tokens == 0


async def test_a_runtime_that_has_given_the_kv_up_is_told_from_one_that_never_had_it(session, redis, queue):
    ranker, watching, user = session
    await ranker.rank([turn(user, range(12))], timeout=60)
    # When the next turn meets an engine that has nothing: another namespace stands in for it
    elsewhere = LocalRanker(
        Emptied(watching),
        Listwise(TEMPLATES["chatml"], weight_en=1.0, weight_zh=1.0),
        decks(DeckStore(redis, queue=queue, ring=None, ttl_s=60), runtime="r2"),
    )
    (moved,) = await elsewhere.rank([turn(user, range(12))], timeout=60)
    assert moved.deck.miss is Miss.OTHER_RUNTIME
    # and then, at home again by its name, finds nothing of its own either
    (evicted,) = await elsewhere.rank([turn(user, range(12))], timeout=60)
    assert evicted.deck.miss is Miss.EVICTED


class Emptied(Watching):
    """Every batch in a namespace that was never used."""

    async def run(self, calls, *, timeout):
        fresh = uuid.uuid4().hex
        return await self.inner.run([replace(call, namespace=fresh) for call in calls], timeout=timeout)
