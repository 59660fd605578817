"""Decks in a real Valkey: compare-and-set, TTL, sealed, and never with a memory that is to be forgotten."""

import base64

import pytest

from memsift_schemas.keys import deck_key, decks_key, forgotten_key
from memsift_schemas.sealing import KeyRing
from memsift_workers.decks.codec import decode, encode
from memsift_workers.decks.deck import Deck, Entry
from memsift_workers.decks.store import DeckStore, Held, Session

SESSION = Session("mara", "s1")
DECK = Deck((Entry("m1", "[2026-03-01] xyzzy keeps the key.", 3, 12),), ("d1",), 3, 1.5, "r1")
KEYS = f"a:{base64.b64encode(bytes(32)).decode()}"


@pytest.fixture
def make(redis, queue):
    return lambda ring=None: DeckStore(redis, queue=queue, ring=ring, ttl_s=60)


async def test_a_deck_comes_back_as_it_was_kept(make):
    store = make()
    (held,) = await store.load([SESSION])
    assert held == Held(Deck())
    assert await store.save([(SESSION, held, DECK)]) == [True]
    (held, other) = await store.load([SESSION, Session("mara", "s2")])
    assert held.deck == DECK
    assert other == Held(Deck())


async def test_of_two_turns_at_once_the_second_is_told(make):
    store = make()
    (first,), (second,) = await store.load([SESSION]), await store.load([SESSION])
    assert await store.save([(SESSION, first, DECK)]) == [True]
    assert await store.save([(SESSION, second, Deck(turn=9))]) == [False]
    (held,) = await store.load([SESSION])
    assert held.deck == DECK
    assert await store.save([(SESSION, held, Deck(turn=9))]) == [True]


async def test_decks_and_their_index_have_a_ttl(make, redis, queue):
    store = make()
    await store.save([(SESSION, Held(Deck()), DECK)])
    key = deck_key(queue, "mara", "s1")
    assert 0 < await redis.ttl(key) <= 60
    assert 0 < await redis.ttl(decks_key(queue, "mara")) <= 60
    assert await redis.smembers(decks_key(queue, "mara")) == {key.encode()}
    assert "mara" not in key


async def test_a_deck_with_a_memory_that_is_to_be_forgotten_is_not_kept(make, redis, queue):
    store = make()
    await redis.sadd(forgotten_key(queue, "mara"), "m1")
    assert await store.save([(SESSION, Held(Deck()), DECK)]) == [False]
    assert await store.load([SESSION]) == [Held(Deck())]
    other = Deck((Entry("m2", "another", 1, 5),), turn=1)
    assert await store.save([(SESSION, Held(Deck()), other)]) == [True]


async def test_sealed_decks_hold_no_text_and_open_under_their_own_key_alone(make, redis, queue):
    ring = KeyRing.of(KEYS)
    store = make(ring)
    await store.save([(SESSION, Held(Deck()), DECK)])
    raw = await redis.get(deck_key(queue, "mara", "s1"))
    assert b"xyzzy" not in raw
    assert (await store.load([SESSION]))[0].deck == DECK
    # When it is put in another session's place, or read without the keys, it is no deck
    await redis.set(deck_key(queue, "eve", "s1"), raw)
    assert (await store.load([Session("eve", "s1")]))[0].deck == Deck()
    assert (await make().load([SESSION]))[0].deck == Deck()


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"v": 2}', b'{"v": 1, "entries": [["m1"]]}', b"\xff"])
def test_what_cannot_be_read_is_an_empty_deck(raw):
    assert decode(raw, ring=None, key="k") == Deck()
    assert decode(raw, ring=KeyRing.of(KEYS), key="k") == Deck()


def test_the_codec_keeps_everything():
    for ring in (None, KeyRing.of(KEYS)):
        assert decode(encode(DECK, ring=ring, key="k"), ring=ring, key="k") == DECK
