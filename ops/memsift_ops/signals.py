"""Ctrl-C, SIGTERM and a closed terminal all end a command the same way: through its `finally` blocks."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType

EXIT_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


class Signals:
    """The signals that came."""

    def __init__(self) -> None:
        self.last: signal.Signals | None = None

    @property
    def came(self) -> bool:
        """Whether any came."""
        return self.last is not None

    @property
    def exit_code(self) -> int:
        """What a shell expects from a process that the last signal ended; Ctrl-C if none was noted."""
        return EXIT_CODES[self.last or signal.SIGINT]


@contextlib.contextmanager
def as_interrupt() -> Iterator[Signals]:
    """Let the first SIGTERM or SIGHUP act like Ctrl-C, which asyncio and `with` blocks understand.

    Later ones do nothing: `timeout` and process managers send the same signal twice, and the second must
    not interrupt the clean-up that the first began.
    """
    signals = Signals()

    def interrupt(number: int, frame: FrameType | None) -> None:
        if signals.came:
            return
        signals.last = signal.Signals(number)
        # asyncio puts its own handler there; a shell's background job ignores SIGINT and has none.
        on_interrupt = signal.getsignal(signal.SIGINT)
        if not callable(on_interrupt):
            raise KeyboardInterrupt
        on_interrupt(signal.SIGINT, frame)

    with _handled((signal.SIGTERM, signal.SIGHUP), interrupt):
        yield signals


@contextlib.contextmanager
def noted() -> Iterator[Signals]:
    """Let no signal interrupt what runs inside; it is only noted, so that stopping can hurry."""
    signals = Signals()

    def note(number: int, _frame: FrameType | None) -> None:
        signals.last = signal.Signals(number)

    with _handled(tuple(EXIT_CODES), note):
        yield signals


@contextlib.contextmanager
def _handled(
    numbers: Sequence[signal.Signals], handler: Callable[[int, FrameType | None], None]
) -> Iterator[None]:
    # Python takes signals in the main thread alone.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
