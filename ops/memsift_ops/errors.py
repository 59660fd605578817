"""What an operator is told when a command cannot go on."""

from __future__ import annotations

from collections.abc import Sequence

import click


class Refused(click.ClickException):
    """An argument or a setting is wrong; the same call can never succeed."""

    exit_code = 2


class Failure(click.ClickException):
    """A command did not work. The first line says what and names the remedy.

    Args:
        message: what went wrong and what to do.
        log: the last lines of the process that failed, shown below.
    """

    exit_code = 1

    def __init__(self, message: str, *, log: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.log = tuple(log)

    def format_message(self) -> str:
        """The message, and the log lines indented below it."""
        return "\n".join([self.message, *(f"  | {line}" for line in self.log)])
