"""The harness with real processes: a small crew that is told to do wrong is found out by the right check."""

import pytest

from memsift_ops.chaos import secret as secrets
from memsift_ops.chaos.run import SEARCHED
from memsift_ops.chaos.stage import FAULTS, Stage
from memsift_ops.chaos.world import World

pytestmark = pytest.mark.stack

SEED = 11
SECRET = secrets.plant(SEED)
# What each fault breaks. `leak` and `dead` are found by other means than the calls.
BREAKS = {
    "": [],
    "unanswered": ["calls without an answer"],
    "invalid": ["invalid rankings"],
    "foreign": ["invalid rankings", "answers that hold another call's memories"],
    "late": ["return after the deadline at p99.9, ms"],
    "leak": [],
    "dead": [],
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    one = World(tmp_path_factory.mktemp("chaos"), workers=1)
    with one.running():
        one.healthy()
        yield one


def play(world, fault, folder):
    stage = Stage("small", world, SEED, SECRET, quick=False, fault=fault, folder=folder)
    stage.runtime(prompt_ms=2.0)
    with stage.crew(1, calls=40, callers=8, deadline_ms=10_000) as crew:
        crew.join(30)
    return stage.result(crew, [])


def test_every_fault_is_tried():
    assert {"", *FAULTS} == set(BREAKS)


@pytest.mark.parametrize("fault", BREAKS)
def test_a_fault_breaks_its_check_and_no_other(world, fault, tmp_path):
    # Given callers, or a model's clock, that do wrong on purpose
    result = play(world, fault, tmp_path)
    # Then exactly the promises that this fault concerns are broken
    assert [check.promise for check in result.checks if not check.kept] == BREAKS[fault]
    assert (result.spent.dead_s > 0) == (fault == "dead")
    logs = [path for pattern in SEARCHED for path in tmp_path.rglob(pattern)]
    assert bool(secrets.leaks(logs, SECRET)) == (fault == "leak")
    assert result.tally.expected == 40
    if fault != "unanswered":
        assert result.tally.by_model == 40


def test_what_is_killed_comes_back(world):
    # Given every process of the product and the runtime, killed
    victims = ["valkey", "runtime", *world.worker_names]
    before = {name: world.processes[name].pid for name in victims}
    for name in victims:
        world.processes[name].kill()
    world.wait(lambda: all(world.processes[name].pid != pid for name, pid in before.items()), 30)
    # Then new ones serve, and none of the ends counts as the process's own
    world.healthy()
    assert all(not world.processes[name].own_ends for name in victims)


def test_what_a_scenario_left_in_redis_is_forgotten_but_not_who_is_there(world):
    world.redis.set(f"{world.queue}:breaker", "open")
    world.redis.lpush("anything", "else")
    world.wipe()
    assert not world.redis.exists(f"{world.queue}:breaker", "anything")
    assert list(world.redis.scan_iter(f"{world.queue}:worker:*"))


def test_a_process_of_one_scenario_is_started_again_meanwhile_and_ends_with_it(world):
    import sys

    with world.also("guest", [sys.executable, "-c", "import time; time.sleep(60)"]):
        guest = world.processes["guest"]
        guest.kill()
        assert world.wait(lambda: guest.starts == 2 and guest.running, 10)
    assert "guest" not in world.processes
    assert not guest.running


def test_a_worker_that_ends_by_itself_breaks_a_promise(world, tmp_path):
    import os
    import signal

    process = world.processes["worker0"]
    os.kill(process.pid, signal.SIGKILL)
    assert world.wait(lambda: bool(process.own_ends), 10)
    world.healthy()
    broken = [check.promise for check in play(world, "", tmp_path).checks if not check.kept]
    process.own_ends.clear()
    assert broken == ["workers that ended by themselves"]


def test_an_end_that_nobody_asked_for_is_noted(world):
    import os
    import signal

    process = world.processes["sentry"]
    os.kill(process.pid, signal.SIGTERM)
    assert world.wait(lambda: bool(process.own_ends), 10)
    assert process.own_ends[0][0] == -signal.SIGTERM
    assert world.wait(lambda: process.running, 10)
