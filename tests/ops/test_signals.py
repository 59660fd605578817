"""SIGTERM ends a command like Ctrl-C does, once, and not while things are being stopped."""

import asyncio
import signal

import pytest

from memsift_ops import signals


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_it_is_an_interruption_with_its_own_exit_code(number, code):
    with signals.as_interrupt() as came:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
        assert came.exit_code == code


def test_the_second_one_does_not_interrupt_the_clean_up():
    with signals.as_interrupt():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)


def test_it_works_where_ctrl_c_is_ignored_as_in_a_background_job():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with signals.as_interrupt(), pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGINT, before)


def test_asyncio_unwinds():
    unwound = []

    async def work():
        try:
            signal.raise_signal(signal.SIGTERM)
            await asyncio.sleep(60)
        finally:
            unwound.append(True)

    with signals.as_interrupt(), pytest.raises(KeyboardInterrupt):
        asyncio.run(work())
    assert unwound == [True]


def test_without_a_signal_the_exit_code_is_that_of_ctrl_c():
    with signals.as_interrupt() as came:
        assert came.exit_code == 130


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_while_noted_nothing_is_interrupted(number):
    with signals.noted() as came:
        assert not came.came
        signal.raise_signal(number)
        assert came.came


def test_handlers_are_put_back():
    before = [signal.getsignal(number) for number in signals.EXIT_CODES]
    with signals.as_interrupt(), signals.noted():
        pass
    assert [signal.getsignal(number) for number in signals.EXIT_CODES] == before
