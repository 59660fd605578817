"""Callers that leave, and the jobs that workers dropped for it."""

import asyncio
import json

from memsift_ops.chaos.caller import came_of
from memsift_ops.chaos.checks import always, tally
from memsift_ops.chaos.record import LEFT
from memsift_ops.chaos.scenarios.leave import withdrawn
from tests.ops.chaos.made_up import call


def left(number, cause=LEFT):
    return call(number, source="", cause=cause, ranked=())


def test_who_left_is_neither_answered_nor_without_an_answer():
    found = tally([call(0), left(1), left(2)], 3)
    assert (found.answered, found.left, found.unanswered) == (1, 2, 0)
    assert all(check.kept for check in always(found))


def test_a_call_that_was_cancelled_although_its_caller_stayed_is_without_an_answer():
    assert tally([call(0), left(1, "cancelled")], 2).unanswered == 1


async def test_a_call_is_told_by_what_it_came_to():
    loop = asyncio.get_running_loop()
    gone, raised, hung = loop.create_future(), loop.create_future(), loop.create_future()
    gone.cancel()
    raised.set_exception(ValueError("x"))
    assert came_of(gone, leaves=True) == ((), "", LEFT)
    assert came_of(gone, leaves=False) == ((), "", "cancelled")
    assert came_of(raised, leaves=True) == ((), "", "ValueError")
    assert came_of(hung, leaves=False) == ((), "", "hung")
    assert hung.cancelled()


def test_only_jobs_that_were_called_back_count_as_withdrawn(tmp_path):
    def line(kind, **fields):
        return json.dumps({"type": kind, **fields}) + "\n"

    seen = tmp_path / "events.seen"
    before = line("task-revoked", expired=False)
    seen.write_text(
        before
        + line("task-revoked", expired=True)
        + line("task-revoked", expired=False)
        + line("task-succeeded")
        + '{"type": "task-rev'
    )
    assert withdrawn(seen, len(before)) == 1
    assert withdrawn(seen, 0) == 2
