"""`memsift control`: pause, resume, limits, stats, shutdown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from memsift_ops import control
from memsift_ops.console import print_json
from memsift_schemas import settings as settings_module
from memsift_schemas.settings import WorkerSettings

F = TypeVar("F", bound=Callable[..., Any])

NO_ANSWER = "no answer: it is busy, ends or is gone (memsift status)"


def _addressed(timeout_s: float) -> Callable[[F], F]:
    """The options that all of them have."""

    def add(command: F) -> F:
        options = (
            click.option(
                "--worker",
                "-w",
                "workers",
                multiple=True,
                help="A worker's name, the part before its @, or a pattern with *; again for more. "
                "[default: all of this queue]",
            ),
            click.option(
                "--timeout",
                default=timeout_s,
                show_default=True,
                type=click.FloatRange(0.1, 600),
                help="Seconds to wait.",
            ),
            click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
        )
        for option in options:
            command = option(command)
        return command

    return add


@click.group("control")
def command() -> None:
    """Pause, resume, tune, ask or end the workers of the queue while they run.

    What is changed here lasts until a worker is restarted. Exit code 0: all workers did it. 1: one refused or
    did not answer in time, or there is none.
    """


@command.command("pause")
@_addressed(2.0)
def pause(workers: tuple[str, ...], timeout: float, *, as_json: bool) -> int:
    """Take no more jobs: what is in flight is answered, the rest is left to other workers."""
    return _tell("drain_pause", {}, workers, timeout, as_json=as_json)


@command.command("resume")
@_addressed(2.0)
def resume(workers: tuple[str, ...], timeout: float, *, as_json: bool) -> int:
    """Take jobs again."""
    return _tell("drain_resume", {}, workers, timeout, as_json=as_json)


@command.command("limits")
@click.option("--batch-max", type=int, help="Jobs that make a micro-batch full.")
@click.option("--batch-wait-ms", type=float, help="How long a micro-batch waits to fill up.")
@click.option(
    "--concurrency",
    type=int,
    help="Jobs in the runtime at once. Workers that share an SGLang should all have the same.",
)
@_addressed(2.0)
def limits(workers: tuple[str, ...], timeout: float, *, as_json: bool, **wanted: int | float | None) -> int:
    """Change limits, or show those in force when none is given."""
    given = {name: value for name, value in wanted.items() if value is not None}
    return _tell("set_limits", given, workers, timeout, as_json=as_json)


@command.command("stats")
@_addressed(2.0)
def stats(workers: tuple[str, ...], timeout: float, *, as_json: bool) -> int:
    """Ask workers for their state and numbers, at the source: also of one whose card has run out."""
    return _tell("memsift_stats", {}, workers, timeout, as_json=as_json)


@command.command("shutdown")
@_addressed(10.0)
def shutdown(workers: tuple[str, ...], timeout: float, *, as_json: bool) -> int:
    """End workers as SIGTERM does, and wait until they take nothing more.

    What is in flight is answered first, at most for MEMSIFT_SHUTDOWN_GRACE_S. A supervisor starts them again.
    """
    settings = _settings()
    gone = control.shut_down(settings, control.addressed(settings, workers), timeout)
    if as_json:
        print_json({"done": all(gone.values()), "workers": gone})
    for name, left in gone.items() if not as_json else ():
        click.echo(f"{name}: {'ends, takes nothing more' if left else 'is still there'}")
    return 0 if all(gone.values()) else 1


def _settings() -> WorkerSettings:
    return settings_module.load(WorkerSettings)


def _tell(
    what: str, arguments: dict[str, Any], workers: tuple[str, ...], timeout_s: float, *, as_json: bool
) -> int:
    settings = _settings()
    answers = control.ask(settings, what, arguments, control.addressed(settings, workers), timeout_s)
    done = all(answer is not None and "ok" in answer for answer in answers.values())
    if as_json:
        print_json({"done": done, "workers": answers})
    for name, answer in answers.items() if not as_json else ():
        click.echo(f"{name}: {_shown(answer)}")
    return 0 if done else 1


def _shown(answer: dict[str, Any] | None) -> str:
    if answer is None:
        return NO_ANSWER
    if "ok" not in answer:
        return f"refused: {answer.get('error', answer)}"
    said = answer["ok"]
    return said if isinstance(said, str) else ", ".join(f"{name} {_value(one)}" for name, one in said.items())


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} {_value(one)}" for name, one in value.items()) + "}"
    return f"{value:.4g}" if isinstance(value, float) else "-" if value is None else str(value)
