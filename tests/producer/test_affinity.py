"""Who a session's favourite runtime is: found by hashing, and moved as little as possible."""

import math
from collections import Counter

import orjson
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memsift_producer.affinity import Affinity
from memsift_producer.cards import read_card
from tests.samples import job

RUNTIMES = st.lists(st.text("abcdef0123456789", min_size=1, max_size=16), min_size=2, max_size=8, unique=True)
SESSIONS = [(f"user {at % 97}", f"session {at}") for at in range(2_000)]


def card(runtime, at=0, **fields):
    said = {"own": runtime, "serves": ["local"], "limit": 24, "jobs_per_s": 10.0, **fields}
    return read_card(f"q:worker:{runtime}{at}", orjson.dumps(said))


def knowing(cards, *, enabled=True):
    affinity = Affinity("q", enabled=enabled)
    affinity.learn(cards)
    return affinity


def favourites(affinity, ranker=None):
    """The list of each session's favourite; None where there is none."""
    asked = job(ranker=ranker)
    found = {}
    for user, session in SESSIONS:
        favourite = affinity.favourite(asked.model_copy(update={"user": user, "session": session}))
        found[user, session] = favourite and favourite.own.key
    return found


@given(names=RUNTIMES)
def test_when_a_runtime_leaves_only_its_sessions_move(names):
    before = favourites(knowing(map(card, names)))
    left, *staying = names
    assume(len(staying) > 1)
    after = favourites(knowing(map(card, staying)))
    moved = {one for one in before if before[one] != after[one]}
    assert moved == {one for one in before if before[one] == f"q:own:{left}"}


@given(names=RUNTIMES)
def test_the_sessions_are_spread_evenly_and_a_new_runtime_gets_its_share(names):
    counts = Counter(favourites(knowing(map(card, names))).values())
    fair = len(SESSIONS) / len(names)
    # Six standard deviations of a binomial: once in 10^9.
    assert all(abs(count - fair) < 6 * math.sqrt(fair) for count in counts.values())
    assert len(counts) == len(names)


@given(names=RUNTIMES, data=st.data())
def test_every_frontend_finds_the_same_favourite(names, data):
    other = data.draw(st.permutations(names))
    assert favourites(knowing(map(card, names))) == favourites(knowing(map(card, other)))


@pytest.mark.parametrize(
    "cards",
    [
        [],
        [card("a")],
        [card("a", 0), card("a", 1)],  # two workers on one runtime
        [card("a"), card("", limit=24)],  # beside one of an older release
        [card("a", limit=0), card("b", limit=0)],
        [card("a", serves=["jev"]), card("b", serves=["jev"])],  # which keep no KV
    ],
    ids=range(6),
)
def test_where_there_is_no_choice_the_queue_it_is(cards):
    assert set(favourites(knowing(cards)).values()) == {None}


def test_switched_off_it_knows_no_lists():
    affinity = knowing([card("a"), card("b")], enabled=False)
    assert affinity.lists == []
    assert set(favourites(affinity).values()) == {None}


def test_workers_that_share_a_runtime_share_its_list_and_their_rates_add_up():
    affinity = knowing([card("a", 0), card("a", 1), card("b", limit=8)])
    shared, alone = affinity.lists
    assert (shared.key, shared.jobs_per_s, shared.most) == ("q:own:a", 20.0, 12)
    assert (alone.key, alone.jobs_per_s, alone.most) == ("q:own:b", 10.0, 4)


@pytest.mark.parametrize(
    ("ranker", "lists", "spills"),
    [
        (None, {"q:own:a", "q:own:b", "q:own:c"}, True),
        ("local", {"q:own:a", "q:own:b", "q:own:c"}, True),
        ("jev>local", {"q:own:b", "q:own:c"}, False),
        ("local>clef", {"q:own:c"}, False),
        ("jev", {None}, None),
        ("nobody's", {None}, None),
    ],
)
def test_a_job_goes_where_its_ranker_is_served(ranker, lists, spills):
    affinity = knowing(
        [
            card("a", serves=["local"]),
            card("b", serves=["local", "jev", "jev>local"]),
            card("c", serves=["local", "jev>local", "local>clef"]),
        ]
    )
    assert set(favourites(affinity, ranker).values()) == lists
    if spills is not None:
        assert affinity.favourite(job(ranker=ranker)).spills is spills


def test_an_older_worker_that_does_not_say_what_it_serves_is_not_asked_for_more_than_its_own_ranker():
    older = read_card("q:worker:o", b'{"ranker": "local", "limit": 24}')
    assert older.serves == ("local",)
    affinity = knowing([older, card("a", serves=["local", "jev>local"])])
    assert set(favourites(affinity, "jev>local").values()) == {"q:own:a"}
    assert set(favourites(affinity, "local").values()) == {None}


@pytest.mark.parametrize(
    "raw",
    [
        b'{"own": 7, "serves": "local", "limit": "many"}',
        b'{"own": ["a"], "serves": [1, null], "limit": -1}',
        b'{"own": null}',
    ],
)
def test_a_card_that_makes_no_sense_names_no_list(raw):
    assert knowing([read_card("w", raw), read_card("v", raw)]).lists == []
