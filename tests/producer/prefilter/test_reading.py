"""New texts are read a few at a time."""

import asyncio

from memsift_producer.prefilter.duplicates import words
from memsift_producer.prefilter.reading import AT_ONCE, Reader
from memsift_producer.prefilter.tokens import keywords
from memsift_schemas.memory import MAX_MEMORY_CHARS, Memory


async def turns_of_others(memories):
    """How often somebody else got a turn meanwhile."""
    count, done = 0, False

    async def other():
        nonlocal count
        while not done:
            count += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    await asyncio.sleep(0)
    before = count
    await Reader().read(memories)
    found, done = count - before, True
    await task
    return found


def texts(name, many):
    return [{"id": f"{at}", "text": f"{name} {at} is written here", "created_at": None} for at in range(many)]


async def test_others_get_their_turn_between_new_texts():
    assert await turns_of_others(texts("first seen", 5 * AT_ONCE)) == 5


async def test_known_texts_take_no_turn():
    known = texts("known", 3 * AT_ONCE)
    await Reader().read(known)
    assert await turns_of_others(known) == 0


async def test_what_the_prefilter_looks_up_is_there():
    (one,) = texts("looked up", 1)
    await Reader().read([Memory.model_validate(one)])
    missed = keywords.cache_info().misses, words.cache_info().misses
    keywords(one["text"])
    words(one["text"])
    assert (keywords.cache_info().misses, words.cache_info().misses) == missed


async def test_what_is_no_memory_is_left_to_the_validation():
    await Reader().read([{}, {"text": None}, "text", 7, {"text": "x" * (MAX_MEMORY_CHARS + 1)}])


async def test_text_that_no_memory_can_have_is_left_for_the_check():
    # Given halves of an emoji and control characters, as bodies bring them
    await Reader().read([{"text": "a \ud800 key"}, {"text": "b \x00 key"}, {"text": 7}, {}, None])


def is_known(text):
    before = keywords.cache_info().misses
    keywords(text)
    return keywords.cache_info().misses == before


async def test_calls_with_new_texts_take_turns():
    """Given two at once, when the first is through, then the second has read its first few and no more."""
    reader = Reader()
    first, second = texts("the first's", 4 * AT_ONCE), texts("the second's", 4 * AT_ONCE)
    ended = asyncio.create_task(reader.read(first))
    waits = asyncio.create_task(reader.read(second))
    assert await ended
    assert is_known(second[0]["text"])
    assert not is_known(second[AT_ONCE]["text"])
    assert await waits


async def test_known_texts_wait_for_nobody():
    reader, known = Reader(), texts("known to all", 2 * AT_ONCE)
    await reader.read(known)
    busy = asyncio.create_task(reader.read(texts("new to all", 5 * AT_ONCE)))
    await asyncio.sleep(0)
    assert not await reader.read(known)
    assert not busy.done()
    await busy


async def test_one_that_goes_away_lets_the_next_one_in():
    reader = Reader()
    leaves = asyncio.create_task(reader.read(texts("left", 9 * AT_ONCE)))
    stays = asyncio.create_task(reader.read(texts("stays", 3 * AT_ONCE)))
    await asyncio.sleep(0)
    leaves.cancel()
    assert await asyncio.wait_for(stays, 5)
