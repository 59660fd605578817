"""From one turn's deck to the next: what stays, what comes, what leaves, and when it all begins anew."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_workers.decks import deck as subject
from memsift_workers.decks.deck import SLACK, TRIM, Deck, Limits, deal
from memsift_workers.decks.sizes import estimate

WIDE = Limits(memories=100, tokens=10**6, carry=0.0)
TEXT = "[2026-03-01] A line of some length about something that happened on that day to somebody."
TOKENS = estimate(f"{TEXT} x")


def lines(*ids, text=TEXT):
    return [(one, f"{text} {one}") for one in ids]


def play(turns, limits=WIDE):
    """The deck of each turn, with what `deal` said of it."""
    deck, found = Deck(), []
    for candidates in turns:
        dealt = deal(deck, candidates, limits)
        deck = Deck(dealt.entries, (), deck.turn + 1, dealt.debt)
        found.append(dealt)
    return found


def ids(dealt):
    return [one.id for one in dealt.entries]


def test_what_was_there_keeps_its_place_and_what_is_new_is_appended():
    first, second = play([lines("a", "b", "c"), lines("d", "b", "e")])
    assert ids(first) == ["a", "b", "c"]
    assert ids(second) == ["a", "b", "c", "d", "e"]
    assert (second.kept, second.changed) == (3, False)
    assert [one.used for one in second.entries] == [1, 2, 1, 2, 2]


def test_an_edited_memory_leaves_at_once_and_unused_ones_behind_it_leave_too():
    # Given a deck a b c d, of which b is edited, and c is a candidate still
    edited = [*lines("b", text="Something else."), *lines("c")]
    _, second = play([lines("a", "b", "c", "d"), edited])
    # Then a stands, the old b and the unused d are gone, and the new b is last
    assert ids(second) == ["a", "c", "b"]
    assert second.entries[2].line.startswith("Something else.")
    assert (second.kept, second.changed) == (1, True)


def test_a_deck_over_its_limit_keeps_its_longest_beginning():
    limits = replace(WIDE, memories=10)
    *_, last = play([lines(*"abcdefgh"), lines("a", "h", "i", "j", "k")], limits)
    # Nine are 90% of the limit: five are candidates, and of the unused ones the first four stay.
    assert ids(last) == ["a", "b", "c", "d", "e", "h", "i", "j", "k"]
    assert last.kept == 5
    assert last.changed


def test_a_deck_is_cut_by_tokens_as_well():
    limits = replace(WIDE, tokens=5 * TOKENS)
    *_, last = play([lines(*"abcd"), lines("d", "e", "f")], limits)
    assert ids(last) == ["a", "d", "e", "f"]


def test_unused_memories_leave_when_carrying_them_has_cost_as_much_as_the_candidates():
    # Given nine unused memories that cost a tenth of themselves each turn, and one candidate
    limits = replace(WIDE, carry=0.1)
    turns = [lines(*"abcdefghi", "z"), *[lines("z")] * 3]
    found = play(turns, limits)
    # Then they leave in the second turn of being carried
    assert [len(one.entries) for one in found] == [10, 10, 1, 1]
    assert found[2].debt == 0.0


def test_memories_that_come_back_pay_for_being_carried():
    limits = replace(WIDE, carry=0.1)
    turns = [lines(*"abcdefghij"), lines("a"), *[lines("b", "c"), lines("d", "e")] * 6]
    assert all(len(one.entries) == 10 for one in play(turns, limits))


candidate_sets = st.lists(
    st.lists(st.sampled_from("abcdefghijklmnop"), min_size=1, max_size=8, unique=True),
    min_size=1,
    max_size=12,
)


@given(candidate_sets, st.integers(8, 12), st.integers(50, 400), st.floats(0, 1), st.data())
def test_a_deck_holds_every_candidate_once_as_it_is_now(turns, memories, tokens, carry, data):
    limits = Limits(memories, tokens, carry)
    deck = Deck()
    for chosen in turns:
        versions = {one: data.draw(st.integers(0, 1)) for one in chosen}
        candidates = [(one, f"{TEXT} {one}{versions[one]}") for one in chosen]
        dealt = deal(deck, candidates, limits)
        shown = [(one.id, one.line) for one in dealt.entries]
        # Every candidate is shown once, with the text that it has now
        assert len({id_ for id_, _ in shown}) == len(shown)
        assert set(candidates) <= set(shown)
        # What is said to stand stands, and not one more
        before = [(one.id, one.line) for one in deck.entries]
        assert shown[: dealt.kept] == before[: dealt.kept]
        assert shown[dealt.kept : dealt.kept + 1] != before[dealt.kept : dealt.kept + 1] or dealt.kept == len(
            before
        )
        assert dealt.changed == (dealt.kept < len(before))
        # Only candidates may take it over its limits
        unused = [one for one in dealt.entries if one.used <= deck.turn]
        if unused:
            live = sum(one.tokens for one in dealt.entries if one.used > deck.turn)
            assert len(shown) <= memories
            assert sum(one.tokens for one in dealt.entries) <= max(tokens, live * SLACK)
        deck = Deck(dealt.entries, (), deck.turn + 1, dealt.debt)


@pytest.mark.parametrize("fault", ["reorders", "keeps the old text"])
def test_the_properties_see_a_deck_that_is_wrong(monkeypatch, fault):
    if fault == "reorders":
        monkeypatch.setattr(subject, "_common", lambda before, after: len(before))
    else:
        monkeypatch.setattr(subject, "_without_edited", lambda entries, lines: entries)
    with pytest.raises(AssertionError):
        test_a_deck_holds_every_candidate_once_as_it_is_now()


def test_candidates_that_fill_a_deck_leave_room_for_a_few_that_are_missing():
    # Given eight candidates, more than the limit, and a turn in which one of them is none
    limits = replace(WIDE, tokens=5 * TOKENS)
    *_, last = play([lines(*"abcdefgh"), lines(*"acdefgh")], limits)
    assert ids(last) == list("abcdefgh")


def test_cutting_leaves_room():
    assert 0 < TRIM < 1
