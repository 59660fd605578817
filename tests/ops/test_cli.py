"""The command line: what it says, what it refuses, and with which exit code."""

import json
import os
import subprocess
import sys

import click
import pytest

from memsift_ops import group
from memsift_ops.commands import up, version, worker

SECRET = "the spare key is under the flowerpot"


@pytest.mark.parametrize("arguments", [(), ("-h",), ("--help",)])
def test_help_lists_every_command(run, arguments):
    code, out, _ = run(*arguments)
    assert code == 0
    for name, said in group.COMMANDS.items():
        assert f"{name} " in out
        assert said in out


@pytest.mark.parametrize("name", sorted(group.COMMANDS))
def test_every_command_has_help(run, name):
    code, out, _ = run(name, "-h")
    assert code == 0
    assert out.startswith(f"Usage: memsift {name}")


def test_help_imports_no_command():
    script = (
        "import sys; from memsift_ops.group import run; run(['--help']);"
        "print({'redis', 'numpy', 'rich', 'celery'} & set(sys.modules))"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert printed.stdout.endswith("set()\n")


def test_a_missing_package_is_told_with_the_remedy():
    script = "import sys; sys.modules['click'] = None; from memsift_ops.cli import main; main()"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr == "memsift: the Python package click is missing: pip install 'memsift[all]'\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("dmeo",), "No such command 'dmeo'"),
        (("demo", "--jsno"), "No such option"),
        (("demo", "--scene", "fr"), "'fr' is not one of 'zh', 'en'"),
        (("rank",), "give either FILE or --data DIR with --set NAME"),
        (("rank", "no-such-file"), "File 'no-such-file' does not exist"),
        (("rank", "--data", "."), "give --set NAME; in . there is: none"),
        (("worker", "-n", "a@b"), "use letters, digits, '.', '_' and '-'"),
        (("up", "--port", "0"), "0 is not in the range"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_exit_code_2(run, arguments, said):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("memsift: ")
    assert said in err
    assert err.count("\n") == 1
    assert "--help`)" in err


@pytest.mark.parametrize(
    ("variable", "value"),
    [("MEMSIFT_BATCH_MAX", "many"), ("MEMSIFT_STRATEGY", "guess"), ("MEMSIFT_BATCH_WAIT_MS", "-1")],
)
@pytest.mark.parametrize("name", ["worker", "up"])
def test_a_wrong_setting_is_refused_with_the_variables_name(run, monkeypatch, name, variable, value):
    monkeypatch.setenv(variable, value)
    code, out, err = run(name)
    assert (code, out) == (2, "")
    assert err.startswith(f"memsift: {variable}: ")
    assert err.count("\n") == 1


def test_a_wrong_redis_url_is_refused_without_its_password(run, monkeypatch, question):
    monkeypatch.setenv("MEMSIFT_REDIS_URL", "http://:hunter2@nowhere")
    code, _, err = run("rank", question())
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith("memsift: MEMSIFT_REDIS_URL: ")
    assert "hunter2" not in err


def test_the_worker_becomes_celery(run, monkeypatch):
    became = []
    monkeypatch.setattr(worker.os, "execv", lambda program, argv: became.append((program, argv)))
    run("worker", "-n", "w7", "-l", "debug")
    ((program, argv),) = became
    assert program == sys.executable
    said = " ".join(argv[1:])
    assert said == (
        "-m celery -A memsift_workers.app worker -P solo --without-mingle --without-gossip -l DEBUG -n w7@%h"
    )


def test_versions(run, monkeypatch):
    monkeypatch.setattr(version, "PACKAGES", ("redis", "no-such-package"))
    code, out, _ = run("version", "--json")
    told = json.loads(out)
    assert code == 0
    assert told["python"] == ".".join(map(str, sys.version_info[:3]))
    assert (told["redis"][0].isdigit(), told["no-such-package"]) == (True, None)
    assert "no-such-package not installed" in run("version")[1]


def test_a_taken_port_is_refused(run, monkeypatch):
    monkeypatch.setattr(up.valkey, "is_free", lambda _port: False)
    code, _, err = run("up", "--port", "7000")
    assert code == 2
    assert "port 7000 is taken; leave the option out to get a free one" in err


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), click.Abort()])
def test_ctrl_c_is_exit_code_130(run, monkeypatch, raised):
    def interrupted():
        raise raised

    monkeypatch.setattr(version, "versions", interrupted)
    assert run("version")[0] == 130


def test_a_reader_that_has_gone_is_no_traceback():
    reading, writing = os.pipe()
    os.close(reading)
    argv = [sys.executable, "-m", "memsift_ops", "version"]
    ended = subprocess.run(argv, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (1, b"")


@pytest.fixture
def question(tmp_path):
    """Write a file for `memsift rank`."""

    def question(**changes):
        memory = {"id": "a", "text": SECRET, "created_at": "2026-03-02T09:30:00+08:00"}
        path = tmp_path / "question.json"
        path.write_text(json.dumps({"query": "where?", "memories": [memory | changes]}))
        return str(path)

    return question


def test_bad_input_is_one_line_per_fault_on_stderr(run, question):
    bad = question(created_at="2026-03-02T09:30:00", similarity=float("nan"))
    code, out, err = run("rank", bad)
    assert (code, out) == (2, "")
    assert err == (
        "memsift: memories.0.created_at: has no time zone; add it, as in 2026-03-02T09:30:00+08:00\n"
        "memsift: memories.0.similarity: is NaN or infinite; give a finite number, or leave it out\n"
    )


def test_bad_input_with_json_is_an_error_object_on_stdout_too(run, question):
    code, out, err = run("rank", "--json", question(created_at="2026-03-02T09:30:00"))
    assert code == 2
    assert json.loads(out) == {
        "error": {
            "kind": "invalid_input",
            "faults": [
                {
                    "place": "memories.0.created_at",
                    "problem": "has no time zone",
                    "remedy": "add it, as in 2026-03-02T09:30:00+08:00",
                }
            ],
        }
    }
    assert err.startswith("memsift: memories.0.created_at: ")


def test_bad_input_from_stdin():
    ended = subprocess.run(
        [sys.executable, "-m", "memsift_ops", "rank", "-"],
        input=f'{{"query": "{SECRET}"',
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("memsift: file: is not JSON (line 1 column")
    assert SECRET not in ended.stderr
