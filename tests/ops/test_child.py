"""A child process ends when it should, with all it started, and its last words are kept."""

import os
import signal
import subprocess
import sys

import pytest

from memsift_ops.child import Child
from tests.ops.processes import alive, gone, linux_only, marked, until


@pytest.fixture
def start():
    started = []

    def start(script, program=sys.executable, **how):
        environment, mark = marked()
        child = Child("it", (program, "-u", "-c", script), environment=environment, **how)
        started.append(child)
        return child, mark

    yield start
    for child in started:
        child.terminate()
        child.wait(hurry=lambda: True)


def said(child, words):
    return until(lambda: words in "\n".join(child.last_lines(50)))


def test_its_output_is_kept_and_handed_on(start):
    lines = []
    child, _ = start(
        "import sys; print('one'); print('zwei ä', file=sys.stderr)", sink=lambda *line: lines.append(line)
    )
    assert until(lambda: child.returncode == 0)
    assert child.last_lines(50) == ["one", "zwei ä"]
    assert child.last_lines(1) == ["zwei ä"]
    assert lines == [("it", "one"), ("it", "zwei ä")]


def test_output_is_read_on_when_nobody_wants_it_any_more(start):
    def sink(_name, _line):
        raise BrokenPipeError

    # Given more output than a pipe holds
    child, _ = start("for at in range(20000): print('x' * 50)", sink=sink)
    # Then the child does not block on it
    assert until(lambda: child.returncode == 0, 30)


def test_a_program_that_is_not_there(start):
    child, _ = start("", program="/no/such/program")
    assert until(lambda: child.returncode == 1)
    assert child.last_lines(1) == ["cannot start /no/such/program: No such file or directory"]


def test_it_gets_time_to_end_by_itself(start):
    child, _ = start(
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print('bye'), sys.exit(7)))\n"
        "print('up'); time.sleep(60)"
    )
    assert said(child, "up")
    child.terminate()
    child.wait(hurry=lambda: False)
    assert child.returncode == 7
    assert child.last_lines(1) == ["bye"]


DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up'); time.sleep(60)"


def test_its_patience_over_it_is_killed(start):
    child, _ = start(DEAF, patience_s=0.2)
    assert said(child, "up")
    child.terminate()
    child.wait(hurry=lambda: False)
    assert child.returncode == -signal.SIGKILL


def test_hurry_kills_at_once(start):
    child, _ = start(DEAF, patience_s=3600)
    assert said(child, "up")
    child.terminate()
    child.wait(hurry=lambda: True)
    assert child.returncode == -signal.SIGKILL


@linux_only
def test_what_it_started_ends_with_it(start):
    child, mark = start(
        "import subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print('up'); time.sleep(60)"
    )
    assert said(child, "up")
    assert len(alive(mark)) == 2
    child.terminate()
    child.wait(hurry=lambda: False)
    assert gone(mark)


def test_ctrl_c_of_our_terminal_does_not_reach_it(start):
    child, _ = start("print('up'); import time; time.sleep(60)")
    assert os.getpgid(child.pid) == child.pid != os.getpgid(0)


@linux_only
def test_it_ends_when_its_parent_is_killed():
    # Given a parent that is killed and can stop nothing any more
    environment, mark = marked()
    script = (
        "import os, sys, time\n"
        "from memsift_ops.child import Child\n"
        "Child('it', (sys.executable, '-c', 'import time; time.sleep(60)'), environment=os.environ)\n"
        "print('up', flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE)
    assert parent.stdout.readline() == b"up\n"
    assert until(lambda: len(alive(mark)) == 2)
    # When it is killed
    parent.kill()
    parent.communicate()
    # Then its child does not outlive it
    assert gone(mark)
