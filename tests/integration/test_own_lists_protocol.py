"""The queue protocol where two runtimes have lists of their own, come and go, and are at times busy."""

import dataclasses
import itertools

import pytest
from hypothesis import Phase
from hypothesis import strategies as st
from hypothesis.stateful import rule
from redis.asyncio import Redis as AsyncRedis

from memsift_producer.affinity import Affinity
from memsift_schemas.keys import own_key, worker_key
from memsift_workers.drain.presence import Presence
from tests.integration.test_queue_protocol import QueueProtocol, play

# Small, so that own lists are full at times.
MOST = 2
CARD = {"serves": ["local"], "limit": 2 * MOST}
RUNTIMES = ("a", "b")


class OwnLists(QueueProtocol):
    """The same promises; workers pop from the lists in turn."""

    visited = set()  # noqa: RUF012  # lists that jobs were in, of the whole run

    def __init__(self):
        super().__init__()
        self.link = AsyncRedis.from_url(self.url)
        clock = self.reranker._clock
        self.workers = {
            name: Presence(self.link, self.queue, hostname=name, clock=clock, runtime=name)
            for name in RUNTIMES
        }
        self.lists = [self.queue, *(own_key(self.queue, name) for name in RUNTIMES)]
        self.turns = itertools.cycle(range(len(self.lists)))
        for name in RUNTIMES:
            self.come(name)
        self.loop.advance(2.0)
        assert self.loop.until(lambda: len(self.reranker._parts.dispatch.affinity.lists) == len(RUNTIMES))

    def teardown(self):
        self.loop.finish(self.link.aclose())
        super().teardown()

    def come(self, name):
        self.loop.finish(self.workers[name].tell(CARD))

    @rule(name=st.sampled_from(RUNTIMES))
    def comes(self, name):
        self.come(name)

    @rule(name=st.sampled_from(RUNTIMES))
    def leaves(self, name):
        self.loop.finish(self.workers[name].leave())

    @rule(name=st.sampled_from(RUNTIMES))
    def dies(self, name):
        """Its card is gone; nobody gives its list back before another one looks."""
        self.redis.delete(worker_key(self.queue, name))

    @rule()
    def the_cards_are_read(self):
        self.loop.advance(1.0)
        self.loop.until(lambda: False, seconds=0.02)

    def has_room(self, key, before):
        return key == self.queue or before[key] < MOST + before[self.queue]

    def depths(self):
        depths = {key: self.redis.llen(key) for key in self.lists}
        type(self).visited.update(at for at, key in enumerate(self.lists) if depths[key])
        return depths

    def next_item(self):
        first = next(self.turns)
        for key in self.lists[first:] + self.lists[:first]:
            if raw := self.redis.rpop(key):
                return raw
        return None


def test_the_queue_protocol_with_own_lists(valkey_url):
    OwnLists.visited.clear()
    ends = play(OwnLists, valkey_url, max_examples=80)
    assert {"model", "deadline", "left"} <= set(ends)
    assert OwnLists.visited == {0, 1, 2}


def test_a_frontend_that_never_spills_is_found_out(valkey_url, monkeypatch):
    known = Affinity._own
    monkeypatch.setattr(Affinity, "_own", lambda *of: dataclasses.replace(known(*of), most=100))
    with pytest.raises(AssertionError):
        play(
            *(OwnLists, valkey_url),
            phases=[Phase.generate],
            derandomize=True,
            database=None,
            report_multiple_bugs=False,
        )
