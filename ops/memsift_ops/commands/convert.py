"""`memsift convert`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from memsift_ops import console
from memsift_ops.decisions import reading as decision_reading
from memsift_ops.own_logs import from_decisions, reading, writing
from memsift_ops.own_logs.assembling import Counts, assemble
from memsift_ops.own_logs.rows import Question
from memsift_schemas.errors import InvalidInput

# As long as a user's name may be: both are part of what rankers get as a user during an evaluation.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")


def _name(_context: click.Context, _option: click.Parameter, value: str) -> str:
    if not _NAME.fullmatch(value):
        raise click.BadParameter("use at most 32 letters, digits, '.', '_' and '-', a letter or digit first")
    return value


@click.command("convert")
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--to", "folder", required=True, type=click.Path(file_okay=False, path_type=Path), help="Folder of sets."
)
@click.option("--name", required=True, callback=_name, help="The new set's name, for `memsift eval --set`.")
@click.option("--force", is_flag=True, help="Replace a set of this name.")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as one JSON object.")
def command(file: Path, folder: Path, name: str, *, force: bool, as_json: bool) -> None:
    """Make an evaluation set of your own log: questions, recalled memories, and which were relevant.

    FILE is a decision log (a folder, or one of its files; docs/decisions.md) whose calls got feedback, or
    UTF-8 in one of three forms:

    \b
    JSON lines   {"query", "memories": [{"id", "text", "created_at"?,
                 "similarity"?} or "text", ...], "relevant": ["id", ...],
                 "id"?, "user"?, "now"?, "lang"?, "category"?, "turns"?}
    CSV          the same names as columns; memories, relevant and
                 turns are JSON in a cell
    long CSV     a row for each query and memory: query, memory,
                 relevant (1 or 0), query_id?, memory_id?, created_at?,
                 similarity?, user?, now?, lang?, category?, turns?

    Memories are in the order in which recall brought them. Times are as in 2026-03-02T09:30:00+08:00, in UTC
    without a zone. What is missing is made or assumed, and stderr tells what. A question without a relevant
    memory stays: it measures abstention.

    The set holds memory text. Its files are readable by you alone (mode 0600); keep them as you keep the
    log.
    """  # noqa: D301 - click's mark for lines that it must not join
    with console.waiting(f"reading {file.name}"):
        questions = list(_questions(file))
        try:
            found = assemble(questions, pool=name)
        except InvalidInput as error:
            raise InvalidInput(f"{file.name} {error}") from None
        written = writing.write(folder, name, found, force=force)
    for note in notes(found.counts):
        click.echo(note, err=True)
    if as_json:
        console.print_json({"set": name, "files": [str(path) for path in written], **found.counts.as_json()})
        return
    counts = found.counts
    click.echo(f"{name}: {counts.questions:,} questions, {counts.memories:,} memories")
    click.echo(f"now: memsift eval --data {folder} --set {name} --ranker prefilter,jev")


def _questions(file: Path) -> Iterable[Question]:
    if not decision_reading.is_log(file):
        return reading.read(file)
    found = from_decisions.read(file)
    for note in found.notes:
        click.echo(note, err=True)
    return found.questions


def notes(counts: Counts) -> Iterator[str]:
    """What was made, assumed or left out, a line each."""
    for count, every, what, assumed in (
        (counts.no_created_at, counts.memories, "created_at", "time plays no part among these memories"),
        (counts.no_now, counts.questions, "now", "asked when the newest of its memories was made"),
        (counts.no_similarity, counts.candidates, "similarity", "rankers go by the words"),
        (counts.no_user, counts.questions, "user", "these questions are one user's"),
    ):
        if count:
            share = "no" if count == every else f"{count:,} of {every:,} without"
            yield f"{share} {what}: {assumed}"
    if counts.languages:
        guessed = ", ".join(f"{name} {count:,}" for name, count in sorted(counts.languages.items()))
        yield f"language guessed by script: {guessed}"
    for count, what in (
        (counts.unanswerable, "questions without a relevant memory: they measure abstention"),
        (counts.left_out, "questions without memories: left out, there is nothing to rank"),
        (counts.not_recalled, "relevant memories that recall did not bring: they count as missed"),
        (counts.changed, "memories with an id that stood for another text before: it got a suffix"),
    ):
        if count:
            yield f"{count:,} {what}"
