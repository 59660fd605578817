"""Commands that run, and which processes are there: found by a mark in their environment."""

import os
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

MARK = "MEMSIFT_TEST_MARK"
MEMSIFT = (sys.executable, "-m", "memsift_ops")

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def marked():
    """An environment with a mark that no other test has, and the mark."""
    mark = f"{MARK}={uuid.uuid4().hex}"
    name, value = mark.split("=")
    return {**os.environ, name: value, "PYTHONUNBUFFERED": "1"}, mark


def alive(mark):
    """Process ids of those that carry the mark; zombies do not."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            if mark.encode() in environment:
                found.append(int(entry.name))
    return found


def gone(mark, seconds=10.0):
    """Wait until nobody carries the mark."""
    return until(lambda: not alive(mark), seconds)


def until(condition, seconds=10.0):
    """Whether a condition came true in time."""
    give_up_at = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > give_up_at:
            return False
        time.sleep(0.02)
    return True


class Command:
    """`memsift` as a person runs it, with what it prints; its processes, and children's, carry `mark`."""

    def __init__(self, *arguments, **more):
        environment, self.mark = marked()
        self.process = subprocess.Popen(
            (*MEMSIFT, *arguments),
            env={**environment, **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.printed = []

    def until_printed(self, words):
        """The line on stdout that holds these words."""
        for line in self.process.stdout:
            self.printed.append(line)
            if words in line:
                return line
        raise AssertionError(f"ended without: {words}\n{''.join(self.printed)}{self.process.stderr.read()}")

    def end(self):
        """Wait for its end: exit code and stderr."""
        out, err = self.process.communicate(timeout=60)
        self.printed.append(out)
        return self.process.returncode, err

    def kill(self):
        self.process.kill()
        self.process.communicate()
