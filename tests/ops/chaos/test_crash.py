"""Quarantine seen from outside: by what came back, and by how often the runtime died."""

import pytest

from memsift_ops.chaos.scenarios.crash import Seen, before_quarantine

DIED = Seen(7, "runtime_unavailable", 2)
KEPT = Seen(7, "quarantined", 0)


@pytest.mark.parametrize(
    ("batches", "before"),
    [
        ([DIED, DIED, KEPT], 2),
        ([DIED, KEPT, KEPT], 1),
        ([KEPT, DIED, KEPT], 2),  # what began to kill again was not kept away
        ([DIED, DIED, DIED], None),
        ([DIED, DIED, Seen(7, "quarantined", 1)], None),  # refused, but only after it had killed
        ([DIED, DIED, Seen(7, "", 0)], None),  # nobody heard of it
        ([], None),
    ],
)
def test_a_job_counts_as_quarantined_when_it_kills_no_more(batches, before):
    assert before_quarantine(batches) == before
