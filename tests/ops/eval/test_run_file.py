"""A run that is killed goes on where it was, and never on top of another run."""

import pytest

from memsift_ops.errors import Refused
from memsift_ops.evaluation.run_file import RunFile, fingerprint
from tests.ops.eval.made_up import SECRET, outcome

PRINT = fingerprint({"seed": 1})
ABOUT = {"worker": None}


def write(path, *outcomes, wanted=PRINT):
    with RunFile(path, wanted) as run:
        run.begin(ABOUT)
        for one in outcomes:
            run.add(one)
    return path


def test_outcomes_come_back_as_they_were(tmp_path):
    kept = [outcome("q1", "ab", cpu_ms=0.1 + 0.2), outcome("q2", (), cause="deadline")]
    path = write(tmp_path / "run.jsonl", *kept)
    with RunFile(path, PRINT) as run:
        assert (run.outcomes, run.about) == (kept, ABOUT)


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_half_written_last_line_is_forgotten(tmp_path, cut):
    # Given a run that was killed in the middle of its second outcome
    path = write(tmp_path / "run.jsonl", outcome("q1", "ab"), outcome("q2", "ab"))
    path.write_bytes(path.read_bytes()[:-cut])
    # When it goes on
    write(path, outcome("q2", "ba"))
    # Then there are two whole outcomes
    with RunFile(path, PRINT) as run:
        assert [(one.query, one.ranking) for one in run.outcomes] == [("q1", ("a", "b")), ("q2", ("b", "a"))]


def test_a_run_killed_in_its_first_line_begins_anew(tmp_path):
    path = write(tmp_path / "run.jsonl")
    path.write_bytes(path.read_bytes()[:40])
    write(path, outcome("q1", "ab"))
    with RunFile(path, PRINT) as run:
        assert (len(run.outcomes), run.about) == (1, ABOUT)


def test_another_runs_file_is_refused_and_left_alone(tmp_path):
    path = write(tmp_path / "run.jsonl", outcome("q1", "ab"))
    before = path.read_bytes()
    with pytest.raises(Refused, match="a run with other arguments, data or settings"):
        RunFile(path, fingerprint({"seed": 2}))
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", ["my diary\n", "my diary", '{"memsift_eval": 1}\n', "[]\n"])
def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "diary"
    path.write_text(content)
    with pytest.raises(Refused, match="is no run of"):
        RunFile(path, PRINT)
    assert path.read_text() == content


def test_a_broken_line_in_the_middle_is_refused(tmp_path):
    path = write(tmp_path / "run.jsonl", outcome("q1", "ab"))
    path.write_text(path.read_text() + '{"set": 1}\n')
    with pytest.raises(Refused, match="line 3 is no outcome"):
        RunFile(path, PRINT)


def test_without_a_path_nothing_is_written(tmp_path):
    write(None, outcome("q1", "ab"))
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_path_is_refused(tmp_path):
    with pytest.raises(Refused, match="cannot write"):
        write(tmp_path / "none" / "run.jsonl")


@pytest.mark.parametrize("reasons", [False, True])
def test_rankers_own_words_are_kept_only_when_asked_for(tmp_path, reasons):
    path = tmp_path / "run.jsonl"
    with RunFile(path, PRINT, reasons=reasons) as run:
        run.begin(ABOUT)
        run.add(outcome("q1", "ab", reason=SECRET))
        assert run.outcomes[0].reason == (SECRET if reasons else None)
    assert ("spare key" in path.read_text()) == reasons


def test_a_run_that_began_without_words_goes_on_with_them(tmp_path):
    path = write(tmp_path / "run.jsonl", outcome("q1", "ab", reason=SECRET))
    with RunFile(path, PRINT, reasons=True) as run:
        run.begin(ABOUT)
        run.add(outcome("q2", "ab", reason=SECRET))
    with RunFile(path, PRINT) as run:
        assert [one.reason for one in run.outcomes] == [None, SECRET]
