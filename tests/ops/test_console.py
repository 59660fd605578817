"""Progress: lines in a pipe, a spinner on a terminal that leaves nothing behind."""

import io
import json

from rich.console import Console

from memsift_ops import console


def test_in_a_pipe_each_thing_is_one_line(capsys):
    with console.waiting("starting") as say:
        say("loading [bold]")
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "starting\nloading [bold]\n")


def test_on_a_terminal_it_is_shown_and_goes_away(monkeypatch):
    terminal = Console(file=io.StringIO(), force_terminal=True, width=60)
    monkeypatch.setattr(console, "stderr", lambda: terminal)
    with console.waiting("starting") as say:
        say("loading [bold]")
    printed = terminal.file.getvalue()
    assert "loading [bold]" in printed
    # Erase the line, last of all.
    assert printed.endswith("\x1b[1A\x1b[2K")


def test_json_is_readable_in_chinese(capsys):
    console.print_json({"query": "今天的行程"})
    out = capsys.readouterr().out
    assert "今天的行程" in out
    assert json.loads(out) == {"query": "今天的行程"}
