"""Deadlines live on the server's clock, whatever this machine's says."""

import pytest

from memsift_schemas import ServerClock


def test_the_servers_reading_is_taken_from_the_middle_of_the_round_trip(clock):
    server = ServerClock(clock)
    server.measured(5_000.0, sent=clock.monotonic() - 0.2, received=clock.monotonic())
    assert server.time() == pytest.approx(5_000.1)
    clock.advance(3)
    assert server.time() == pytest.approx(5_003.1)


def test_a_step_of_the_local_wall_clock_changes_nothing(clock):
    class Stepping:
        wall = 1_000.0

        def time(self):
            return self.wall

        def monotonic(self):
            return clock.monotonic()

    local = Stepping()
    server = ServerClock(local)
    before = server.time()
    local.wall += 3_600
    assert server.time() == before
