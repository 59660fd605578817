"""Which processes are there: found by a mark in their environment, which children inherit."""

import os
import sys
import time
import uuid
from pathlib import Path

import pytest

MARK = "MEMSIFT_TEST_MARK"

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
