"""The shown part of a conversation: lines are appended, until it begins anew."""

from hypothesis import given
from hypothesis import strategies as st

from memsift_workers.decks.talk import FEWEST, MOST, digests, window


def play(turns_each, cut=50):
    """Start and shown lines of each prompt of a conversation that grows by so many lines a turn."""
    lines, shown, found = [], (), []
    for at, more in enumerate(turns_each):
        lines += [f"user: line {at} {one}\n" for one in range(more)]
        given_ = lines[-cut:]
        start, kept = window(given_, shown)
        found.append((given_[start:], kept))
        shown = digests(given_[start:])
    return found


def test_a_conversation_that_grows_keeps_its_first_line_until_it_is_too_long():
    found = play([2] * 8)
    assert [len(lines) for lines, _ in found] == [2, 4, 6, 8, 10, 12, 14, 16]
    assert [kept for _, kept in found] == [0, 2, 4, 6, 8, 10, 12, 14]
    (*_, (last, kept)) = play([2] * 9)
    assert (len(last), kept) == (FEWEST, 0)


def test_a_conversation_cut_by_its_frontend_is_known_again():
    # Given a frontend that sends the last ten lines only
    lines, kept = play([2] * 6, cut=10)[-1]
    # Then the first line that was shown has gone, and the window starts anew
    assert (len(lines), kept) == (FEWEST, 0)
    assert play([2] * 5, cut=10)[-1][1] == 8


def test_a_conversation_that_was_changed_starts_anew():
    shown = digests(["user: a\n", "assistant: b\n"])
    assert window(["user: a\n", "assistant: other\n", "user: c\n"], shown) == (0, 0)


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(1, 50))
def test_never_too_long_and_always_up_to_the_last_line(turns_each, cut):
    total = 0
    for (lines, kept), more in zip(play(turns_each, cut), turns_each, strict=True):
        total += more
        assert min(total, cut, FEWEST) <= len(lines) <= max(MOST, FEWEST)
        assert kept <= len(lines)
