"""The prefix cache against one that is slow and plain: every token by itself."""

from hypothesis import given
from hypothesis import strategies as st

from memsift_ops.planning.prefix_lru import PrefixLru

CALLS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 30), st.integers(1, 30)), max_size=60)


class TokenByToken:
    """Keeps each token as (key, position); evicts one after the other."""

    def __init__(self, room):
        self.room, self.there, self.recent = room, [], []

    def use(self, key, shared, kept):
        hit = sum(1 for owner, at in self.there if owner == key and at < shared)
        self.there = [one for one in self.there if one[0] != key] + [(key, at) for at in range(kept)]
        self.recent = [one for one in self.recent if one != key] + [key]
        while len(self.there) > self.room:
            oldest = next(owner for owner in self.recent if any(one[0] == owner for one in self.there))
            self.there.remove(max(one for one in self.there if one[0] == oldest))
        return hit

    def held(self):
        counts = {key: sum(1 for one in self.there if one[0] == key) for key in self.recent}
        return {key: count for key, count in counts.items() if count}


@given(room=st.integers(1, 80), calls=CALLS)
def test_it_holds_what_the_plain_one_holds(room, calls):
    quick, plain = PrefixLru(room), TokenByToken(room)
    for call in calls:
        assert quick.use(*call) == plain.use(*call)
        assert list(quick.held().items()) == list(plain.held().items())


@given(room=st.integers(1, 80), calls=CALLS)
def test_it_never_holds_more_than_there_is_room_for(room, calls):
    cache = PrefixLru(room)
    for call in calls:
        hit = cache.use(*call)
        assert 0 <= hit <= call[1]
        assert cache.tokens == sum(cache.held().values()) <= room
        assert all(tokens > 0 for tokens in cache.held().values())


@given(calls=CALLS, room=st.integers(30, 60), more=st.integers(0, 60))
def test_a_larger_cache_never_finds_less(calls, room, more):
    """LRU is a stack algorithm (Mattson et al. 1970, doi:10.1147/sj.92.0078)."""
    small, large = PrefixLru(room), PrefixLru(room + more)
    assert sum(small.use(*call) for call in calls) <= sum(large.use(*call) for call in calls)


def test_the_end_of_the_session_used_longest_ago_goes_first():
    cache = PrefixLru(100)
    cache.use(1, 0, 60)
    cache.use(2, 0, 60)
    assert cache.held() == {1: 40, 2: 60}
    assert cache.use(1, 50, 50) == 40
