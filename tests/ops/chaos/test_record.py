"""A call survives its line."""

from hypothesis import given
from hypothesis import strategies as st

from memsift_ops.chaos.record import Call, read
from tests.ops.chaos.made_up import call

IDS = st.sampled_from(("a0-0.0", "a0-0.12", "a0-0.01", "a0-0.", "a0-0.x", "a0-0.²", "b-1.0", "", "a0-00.1"))


@given(st.lists(IDS, max_size=5))
def test_any_ids_come_back_as_they_were(ranked):
    one = call(ranked=tuple(ranked))
    assert Call.from_line(one.to_line()) == one


def test_a_line_that_a_killed_process_left_unfinished_is_passed_over(tmp_path):
    path = tmp_path / "a0.calls"
    path.write_bytes(call(0).to_line() + call(1).to_line()[:-5])
    assert list(read([path])) == [call(0)]
