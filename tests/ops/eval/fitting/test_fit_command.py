"""`memsift eval --fit`, what it writes, and that nothing is reported on what it was fitted on."""

import json

import pytest

from memsift_ops import group
from memsift_ops.evaluation.fitting import settings_file
from memsift_schemas import calibration
from memsift_workers.rankers.jev import FEATURES
from tests.ops.eval.made_up import SECRET, write_set


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """The command over the sets `small` and `other`, which differ in their ids."""
    for name in ("MEMSIFT_CALIBRATION", settings_file.FITTED_ON):
        monkeypatch.delenv(name, raising=False)
    for name in ("small", "other"):
        write_set(tmp_path, name)

    def run(*arguments, sets=("small",)):
        named = [part for name in sets for part in ("--set", name)]
        code = group.run(["eval", "--data", str(tmp_path), *named, *arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.fixture
def measure(run):
    """Measure the prefilter, which needs no worker."""
    return lambda *arguments, **which: run("--ranker", "prefilter", *arguments, **which)


@pytest.mark.parametrize("kind", ["jev", "prefilter"])
def test_weights_are_learnt_written_and_judged(run, tmp_path, kind):
    out = tmp_path / "fitted.env"
    code, told, _ = run("--fit", kind, "--out", str(out), "--json")
    assert code == 0
    found = json.loads(told)
    assert found["n"] == 12
    assert set(found["out_of_fold_mrr"]) == {"default", "fitted", "difference", "ci95", "by_set"}
    assert len(settings_file.read(out)) == {"jev": len(FEATURES), "prefilter": 3}[kind] + 1
    if kind == "prefilter":
        assert min(found["weights"].values()) >= 0
    assert settings_file.read(out)[settings_file.FITTED_ON] == found["fitted_on"]["small"]
    assert SECRET.split(" &", maxsplit=1)[0] not in out.read_text() + told


def test_people_are_told_whether_it_helped(run, tmp_path):
    out = tmp_path / "fitted.env"
    code, told, _ = run("--fit", "jev", "--out", str(out))
    assert code == 0
    verdict = out.read_text().splitlines()[3].removeprefix("# ")
    assert verdict in told
    assert verdict.startswith("Fitting ")


def test_the_same_call_writes_the_same_weights(run, tmp_path):
    files = []
    for name in ("a.env", "b.env"):
        run("--fit", "jev", "--out", str(tmp_path / name), "--seed", "3")
        files.append(settings_file.read(tmp_path / name))
    assert files[0] == files[1]


def test_no_report_on_what_it_was_fitted_on_unless_told_so(run, measure, tmp_path):
    # Given weights that were fitted on one set
    out = tmp_path / "fitted.env"
    assert run("--fit", "jev", "--out", str(out))[0] == 0
    with_it = ("--settings", str(out))
    # Then a report on it is refused with the remedy, of a part of it as well, and beside another set
    for more, sets in (
        ((), ("small",)),
        (("--limit", "3", "--seed", "9"), ("small",)),
        ((), ("other", "small")),
    ):
        code, printed, err = measure(*with_it, *more, sets=sets)
        assert (code, printed) == (2, "")
        assert "fitted on small" in err
        assert "--in-sample" in err
    # And under another name
    for kind in ("queries", "memories"):
        (tmp_path / f"alias.{kind}.jsonl").write_bytes((tmp_path / f"small.{kind}.jsonl").read_bytes())
    assert measure(*with_it, sets=("alias",))[0] == 2
    # But not on the other one, nor without the weights
    code, printed, _ = measure(*with_it, "--json", sets=("other",))
    assert code == 0
    assert json.loads(printed)["in_sample"] == []
    assert measure(sets=("small",))[0] == 0


def test_an_in_sample_report_says_so_everywhere(run, measure, tmp_path):
    out, page = tmp_path / "fitted.env", tmp_path / "report.html"
    run("--fit", "prefilter", "--out", str(out))
    arguments = ("--settings", str(out), "--in-sample")
    code, printed, _ = measure(*arguments, "--json", "--html", str(page), sets=("small", "other"))
    assert code == 0
    told = json.loads(printed)
    assert told["in_sample"] == ["small"]
    assert told["sets"]["small"]["prefilter"]["in_sample"] is True
    assert told["sets"]["other"]["prefilter"]["in_sample"] is False
    assert "small (in-sample)" in page.read_text()
    assert "other (in-sample)" not in page.read_text()
    printed = " ".join(measure(*arguments, sets=("small", "other"))[1].split())
    assert "in-sample: small" in printed
    assert "small (in-sample)" in printed
    assert "mean of 2 sets (in-sample)" in printed


def test_what_nothing_answers_is_in_sample_with_its_sibling(run, measure, tmp_path):
    lines = (tmp_path / "small.queries.jsonl").read_text().splitlines()
    nothing = "\n".join(json.dumps({**json.loads(line), "gold": []}) for line in lines)
    (tmp_path / "small_none.queries.jsonl").write_text(nothing)
    out = tmp_path / "fitted.env"
    # Given weights of both sets: only the one with answers taught something
    code, told, _ = run("--fit", "jev", "--out", str(out), "--json", sets=("small", "small_none"))
    assert code == 0
    assert list(json.loads(told)["fitted_on"]) == ["small"]
    # Then its AUROC, which is against those answers, is in-sample
    code, printed, _ = measure("--settings", str(out), "--in-sample", "--json", sets=("small", "small_none"))
    assert code == 0
    told = json.loads(printed)
    assert told["in_sample"] == ["small", "small_none"]
    assert told["sets"]["small_none"]["prefilter"]["abstention"]["n_answerable"] == 12
    assert told["sets"]["small_none"]["prefilter"]["n"] == 0


@pytest.mark.parametrize("method", ["isotonic", "platt"])
def test_a_calibration_is_learnt_and_judged_on_other_questions(run, measure, tmp_path, monkeypatch, method):
    # Given curves that were fitted on one set
    out = tmp_path / "curves.json"
    code, told, _ = measure("--fit", "calibration", "--method", method, "--out", str(out), "--json")
    assert code == 0
    found = json.loads(told)
    assert found["rankers"]["prefilter"]["n"] == 48
    assert found["rankers"]["prefilter"]["positives"] == 12
    curves = calibration.load(str(out))
    assert curves.fitted_on == (found["fitted_on"]["small"],)
    assert curves.curves["prefilter"].method == method
    # When it is in use, then a report on that set is refused, and one on another tells how good it is
    before = json.loads(measure("--json")[1])
    assert before["sets"]["small"]["prefilter"]["calibration"] is None
    monkeypatch.setenv("MEMSIFT_CALIBRATION", str(out))
    assert measure()[0] == 2
    code, printed, _ = measure("--json", sets=("other",))
    assert code == 0
    quality = json.loads(printed)["sets"]["other"]["prefilter"]["calibration"]
    assert quality["n"] == 48
    assert 0 <= quality["brier"] <= 1
    assert 0 <= quality["ece"] <= 1
    assert "calibration Brier" in measure(sets=("other",))[1]


def test_where_nothing_is_relevant_there_is_no_curve(measure, tmp_path):
    lines = (tmp_path / "small.queries.jsonl").read_text().splitlines()
    nothing = "\n".join(json.dumps({**json.loads(line), "gold": []}) for line in lines)
    (tmp_path / "small_none.queries.jsonl").write_text(nothing)
    out = tmp_path / "curves.json"
    code, _, err = measure("--fit", "calibration", "--out", str(out), sets=("small_none",))
    assert code == 1
    assert "no curve to fit" in err
    assert not out.exists()


def test_too_few_questions_are_told(run, tmp_path):
    code, _, err = run("--fit", "jev", "--out", str(tmp_path / "x"), "--limit", "5")
    assert code == 1
    assert "5 questions have a relevant candidate, 10 are needed" in err


@pytest.mark.parametrize(
    "arguments",
    [("--fit", "jev"), ("--out", "x.env"), ("--fit", "jev", "--out", "x.env", "--html", "y.html")],
)
def test_options_that_do_not_go_together(run, arguments):
    code, _, err = run(*arguments)
    assert code == 2
    assert "--fit and --out FILE belong together" in err


def test_a_file_that_cannot_be_written(run, tmp_path):
    code, _, err = run("--fit", "jev", "--out", str(tmp_path / "none" / "x.env"))
    assert code == 2
    assert "cannot write" in err
