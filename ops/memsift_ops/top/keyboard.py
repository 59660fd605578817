"""Waits between two frames, and notices a key that ends it."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import time
from collections.abc import Iterator

QUIT = frozenset(b"qQ")


@contextlib.contextmanager
def single_keys() -> Iterator[bool]:
    """While it lasts keys come one by one and are not shown; yields whether there is a keyboard at all."""
    try:
        import termios  # noqa: PLC0415  # not everywhere
        import tty  # noqa: PLC0415

        number = sys.stdin.fileno()
        before = termios.tcgetattr(number)
    except (ImportError, OSError, ValueError, termios.error):
        yield False
        return
    try:
        tty.setcbreak(number)
        yield True
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)


def wait(seconds: float, *, keys: bool) -> bool:
    """Wait; True, and sooner, when a key of `QUIT` was pressed.

    Args:
        seconds: how long.
        keys: whether there is a keyboard.
    """
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if not keys:
            time.sleep(left)
        elif select.select([sys.stdin], [], [], left)[0]:
            pressed = os.read(sys.stdin.fileno(), 64)
            if not pressed or QUIT & set(pressed):
                return True
    return False
