"""The HTML report: well-formed, whole in itself, and without texts unless they are asked for."""

import itertools
import re
import xml.etree.ElementTree as ET

import pytest

from memsift_ops.datasets import load
from memsift_ops.evaluation import bad_cases, glance, plots, report
from memsift_ops.evaluation.bad_cases import NOT_RECALLED
from memsift_ops.evaluation.markup import raw, tag
from memsift_ops.evaluation.summary import summarise
from tests.ops.eval.made_up import SECRET, outcome, write_set

RANKERS = ["prefilter", "jev", "jev>local"]
PLAIN = SECRET.split(" &", maxsplit=1)[0]


@pytest.fixture
def page(tmp_path):
    """Make a page, over one set or two."""

    def page(*names, show_text=False, silent=False):
        sets = {name: load(write_set(tmp_path, name), name, limit=None, seed=1) for name in names}
        outcomes = [
            outcome(
                one.id,
                () if silent and ranker == "jev" else [memory.id for memory in one.memories],
                ranker=ranker,
                name=name,
                cause="deadline" if silent and ranker == "jev" else None,
            )
            for name, asked in sets.items()
            for ranker in RANKERS
            for one in asked
        ]
        found = summarise(sets, RANKERS, outcomes, seed=1)
        for rankers in found.values():
            for one in rankers.values():
                one.update(leaves_network=None, needs="worker & <more>")
        told = {
            "sets": found,
            "machine": {"processor": "a <fast> one", "cpus": 2, "memory_gb": 8},
            "versions": {"python": "3.11", "sglang": None},
            "arguments": {"concurrency": 1},
        }
        cases = bad_cases.worst(sets, RANKERS, outcomes, show_text=show_text)
        return report.page(told, cases)

    return page


@pytest.mark.parametrize("names", [("small",), ("small", "other & <set>")])
@pytest.mark.parametrize("silent", [False, True])
def test_it_is_well_formed_and_takes_nothing_from_outside(page, names, silent):
    made = page(*names, show_text=True, silent=silent)
    root = ET.fromstring(made)
    assert {"table", "svg", "details"} <= {element.tag for element in root.iter()}
    assert not {"script", "link", "img", "iframe", "object"} & {element.tag for element in root.iter()}
    assert not re.search(r"https?:|//|url\(|@import|\bsrc=|\bhref=|\son\w+=", made)


def test_texts_are_shown_only_when_asked_for_and_then_escaped(page):
    assert PLAIN not in page("small")
    shown = page("small", show_text=True)
    assert PLAIN in shown
    assert "&amp; &lt;b&gt;nowhere&lt;/b&gt;" in shown
    assert "<b>" not in shown


def test_bad_cases_are_there_by_id_either_way(page):
    for made in (page("small"), page("small", show_text=True)):
        assert "small, jev&gt;local: " in made
        assert "<code>q00</code>" in made
        assert "place 4" in made


def test_who_fell_back_is_told(page):
    assert "small, jev: 12 (deadline 12)" in page("small", silent=True)
    assert "Fell back" not in page("small")


def test_it_is_the_same_every_time(page):
    assert page("small") == page("small")


def test_the_worst_come_first_and_a_memory_that_recall_missed_is_told(tmp_path):
    asked = load(write_set(tmp_path), "small", limit=None, seed=1)[:2]
    first, second = sorted(one.id for one in asked)
    gold = {one.id: next(iter(one.gold)) for one in asked}
    outcomes = [outcome(first, ["a", "b", "c", gold[first]]), outcome(second, ["a", "b", "c"])]
    found = bad_cases.worst({"small": asked}, ["jev"], outcomes, show_text=True)
    assert [case.query for case in found] == [second, first]
    assert [case.relevant[0].place for case in found] == [None, 4]
    assert found[0].chosen[0].text == NOT_RECALLED
    assert PLAIN not in repr(found)


def test_no_figure_where_there_is_nothing_to_compare():
    one = {"against_prefilter": None, "by_category": {"facts": {}}}
    assert plots.differences("s", {"prefilter": one}) is None
    assert plots.groups("s", {"prefilter": one}, "by_category") is None


def test_labels_are_kept_apart():
    placed = plots._apart([100.0, 101.0, 99.0, 300.0])
    assert sorted(placed) == placed[2:3] + placed[:2] + placed[3:]
    order = sorted(placed)
    assert all(b - a >= plots.LABEL_GAP for a, b in itertools.pairwise(order))
    assert max(placed) <= plots.HEIGHT


def test_markup_escapes_text_and_attributes_once():
    assert tag("p", "a<b", raw("<i></i>"), title='"&') == '<p title="&quot;&amp;">a&lt;b<i></i></p>'
    assert tag("p", tag("b", "&"), class_="x", data_y=1.5, z=None) == (
        '<p class="x" data-y="1.5"><b>&amp;</b></p>'
    )


@pytest.mark.parametrize(("ends", "verdict"), [((0.01, 0.2), 1), ((-0.2, -0.01), -1), ((-0.1, 0.1), 0)])
def test_the_verdict_is_whether_the_paired_interval_leaves_zero(ends, verdict):
    assert glance.verdict({"against_prefilter": {"mrr": {"ci95": list(ends)}}}) == verdict
