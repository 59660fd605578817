"""`memsift plan`: what it prints, writes and refuses."""

import json
import re
import xml.dom.minidom

import pytest

from memsift_ops import group
from memsift_ops.planning import hardware
from memsift_ops.planning.options import SECTIONS

QUICK = ("--jobs", "2000", "--think-time", "5")


@pytest.fixture
def plan(capsys):
    """Run the command: exit code, stdout, stderr."""

    def plan(*arguments):
        code = group.run(["plan", *arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return plan


def test_json_has_every_row_with_its_numbers(plan):
    code, out, _ = plan(*QUICK, "--workers", "6", "--json")
    told = json.loads(out)
    assert code == 0
    assert set(told) == {"asked", "target_p99_ms", "rows"}
    assert told["asked"]["card"]["source"]
    assert told["asked"]["efficiency"] == {
        "compute": 0.6,
        "bandwidth": 0.8,
        "memory": 0.85,
        "overhead_s": 0.005,
    }
    assert list(told["rows"]) == [
        "no reuse",
        "reuse",
        "affinity",
        "no reuse, fp8",
        "reuse, fp8",
        "affinity, fp8",
    ]
    for row in told["rows"].values():
        result = row["result"]
        assert result["cards"] == 6
        assert 0 <= result["hit_ratio"] < 1
        assert 0 < result["utilisation"] <= 1
        assert result["latency_ms"]["p50"] <= result["latency_ms"]["p95"] <= result["latency_ms"]["p99"]
        assert result["usd_per_million"] == pytest.approx(0.756 * 24 * 6)
        assert result["calls"] > 1_500


def test_without_workers_it_finds_how_many_are_needed(plan):
    arguments = ("--layout", "naive", "--affinity", "random", "--no-compare", "--target-p99", "300")
    code, out, _ = plan(*QUICK, *arguments, "--json")
    (row,) = json.loads(out)["rows"].values()
    assert code == 0
    assert row["needed_cards"] == row["result"]["cards"] > 4
    assert row["result"]["latency_ms"]["p99"] <= 300


def test_a_target_that_cannot_be_met_is_exit_code_1_and_says_why(plan):
    code, out, _ = plan(*QUICK, "--card", "a10", "--layout", "naive", "--no-compare", "--target-p99", "200")
    assert code == 1
    told = " ".join(out.split())
    assert "a first call takes 268 ms alone. Take a faster card" in told


def test_for_people(plan):
    code, out, _ = plan(*QUICK, "--workers", "8")
    assert code == 0
    assert "23.1/s in the busiest hour" in out
    assert "▸ affinity" in out


def test_the_seed_repeats_a_run(plan):
    arguments = (*QUICK, "--workers", "8", "--no-compare", "--json")
    assert plan(*arguments, "--seed", "3") == plan(*arguments, "--seed", "3")
    assert plan(*arguments, "--seed", "3") != plan(*arguments, "--seed", "4")


def test_callers_may_wait_for_ever(plan):
    arguments = (*QUICK, "--workers", "4", "--no-compare", "--layout", "naive", "--deadline", "0")
    told = json.loads(plan(*arguments, "--json")[1])
    assert told["asked"]["batching"]["deadline_s"] is None
    # Four cards cannot keep up with 23 calls a second of 0.2 s.
    assert told["rows"]["as asked"]["result"]["latency_ms"]["p99"] > 1_000
    assert told["rows"]["as asked"]["result"]["late"] == 0
    assert "deadline" not in plan(*arguments)[1]


def test_a_price_is_given_where_none_is_known(plan):
    arguments = (*QUICK, "--workers", "8", "--no-compare", "--json", "--card", "a10")
    unknown, given = (json.loads(plan(*arguments, *more)[1]) for more in ((), ("--usd-per-hour", "0.5")))
    assert unknown["rows"]["as asked"]["result"]["usd_per_million"] is None
    assert given["rows"]["as asked"]["result"]["usd_per_million"] == pytest.approx(0.5 * 24 * 8)


def test_reports_are_well_formed_and_need_nothing_from_outside(plan, tmp_path):
    html, svg = tmp_path / "plan.html", tmp_path / "plan.svg"
    code, _, _ = plan(*QUICK, "--workers", "8", "--html", str(html), "--svg", str(svg))
    assert code == 0
    page, picture = html.read_text(), svg.read_text()
    assert len(xml.dom.minidom.parseString(picture).getElementsByTagName("svg")) == 5
    assert page.count("<svg") == 4
    for text in (page, picture):
        assert "<script" not in text
        assert not re.search(r'(?:href|src)="|url\(|@import', text)
    for name in ("no reuse", "affinity, fp8"):
        assert name in page
        assert name in picture


def test_the_list_shows_every_card_and_model_with_its_source(plan, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = plan("--list")
    assert code == 0
    for row in (*hardware.cards(), *hardware.models()):
        assert row.name in out
        assert row.source in out


def test_help_shows_every_option_under_its_heading(plan):
    code, out, _ = plan("-h")
    assert code == 0
    for heading, options in SECTIONS.items():
        assert f"{heading}:" in out
        for flag, *_ in options:
            assert f"{flag} " in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--card", "b300"), "--card b300: there is rtx3090, rtx4090"),
        (("--model", "gpt"), "--model gpt: there is qwen3-0.6b"),
        (("--layout", "list"), "'list' is not one of 'naive', 'deck'"),
        (("--model", "qwen3-8b", "--memory-fraction", "0.7"), "take a card with more memory"),
        (("--mfu", "1.5"), "1.5 is not in the range"),
        (("--turns", "0.5"), "0.5 is not in the range"),
        (("--workers", "2", *QUICK, "--no-compare", "--html", "no/such/folder.html"), "cannot write no/such"),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_code_2(plan, arguments, said):
    code, out, err = plan(*arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
