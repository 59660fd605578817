"""The click group: commands are imported when they are called, and every error becomes one line.

Exit codes: 0 done; 1 it did not work (a process died, a ranking came from the prefilter where the model was
asked for); 2 wrong input, option or setting; 130 ended by Ctrl-C; 143 ended by SIGTERM.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import click

from memsift_ops import signals
from memsift_ops.errors import Refused

# Command -> its one line of help, kept here so that `memsift --help` imports no command.
COMMANDS = {
    "bench": "Measure memsift on this machine.",
    "chaos": "Break everything that can break and count what callers got.",
    "compare": "Compare two reports of `memsift eval`, noise told apart.",
    "control": "Pause, resume, tune, ask or end workers while they run.",
    "convert": "Make an evaluation set of your own CSV or JSON lines.",
    "demo": "Play two conversations through Redis and a real model.",
    "doctor": "Look at a deployment and say what is wrong, with remedies.",
    "eval": "Measure rankers on labelled questions: quality, latency, cost.",
    "explain": "Say why each memory of a logged call came in or stayed out.",
    "gateway": "Serve HTTP to clients that speak a reranking API.",
    "healthcheck": "Tell a container whether its worker lives and is ready.",
    "hits": "Show the memory hit rate by ranker and prompts, from feedback.",
    "mcp": "Serve tools to agents over the Model Context Protocol.",
    "model": "Fetch and list model weights.",
    "plan": "Plan capacity by simulation: how many cards a load needs.",
    "rank": "Rank the memories of a file, or measure on a data set.",
    "replay": "Rank logged calls again, and show what differs.",
    "shadow": "Compare the shadow ranker with the live one.",
    "status": "Show breaker, queue, workers; exit code 1 if calls fall back.",
    "top": "Watch queues, breaker and workers live.",
    "ui": "Look at rankings in a browser.",
    "up": "Run Valkey, a worker and Flower on this machine.",
    "version": "Show the versions of memsift and what it stands on.",
    "worker": "Run a worker in the foreground.",
}

EPILOG = (
    "Exit codes: 0 done, 1 it did not work, 2 wrong input, option or setting, "
    "130 ended by Ctrl-C, 143 ended by SIGTERM."
)


class LazyGroup(click.Group):
    """A group that imports `memsift_ops.commands.<name>` when that command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, in the order in which help shows them."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"memsift_ops.commands.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a wrong argument or setting of ours ends like a wrong option."""
        try:
            return super().invoke(ctx)
        except ValueError as error:
            # Imported when it is needed: the container's health check pays for every import.
            from memsift_schemas.errors import InvalidInput, SettingsError  # noqa: PLC0415

            if isinstance(error, InvalidInput | SettingsError):
                raise Refused(str(error)) from None
            raise


@click.group(cls=LazyGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Memsift picks the three to five memories that belong in a chat assistant's prompt."""


def run(arguments: Sequence[str]) -> int:
    """Run a command line.

    Args:
        arguments: without the program's name.

    Returns:
        The exit code.
    """
    with signals.as_interrupt() as came:
        try:
            value = cli.main(list(arguments) or ["--help"], prog_name="memsift", standalone_mode=False)
        except click.ClickException as error:
            _show(error)
            return error.exit_code
        except (click.Abort, KeyboardInterrupt):
            return came.exit_code
    return value if isinstance(value, int) else 0


def _show(error: click.ClickException) -> None:
    context = error.ctx if isinstance(error, click.UsageError) else None
    hint = f" (see `{context.command_path} --help`)" if context else ""
    click.echo(f"memsift: {error.format_message()}{hint}", err=True)
