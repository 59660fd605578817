"""The HTML report: valid, whole in itself, readable by everyone, and without texts unless asked for."""

import itertools
import re
import xml.etree.ElementTree as ET

import pytest

from memsift_ops.datasets import load
from memsift_ops.evaluation import bad_cases, glance, report
from memsift_ops.evaluation.markup import raw, tag
from memsift_ops.evaluation.style import COLOURS, DARK, LIGHT
from memsift_ops.evaluation.summary import summarise
from tests.ops.eval.made_up import SECRET, outcome, write_set

RANKERS = ["prefilter", "jev", "jev>local"]
PLAIN = SECRET.split(" &", maxsplit=1)[0]
REASON = "Since <i>he</i> wrote it down"
SECTIONS = [
    "Quality against latency",
    "Gained over the prefilter",
    "How long calls take",
    "Knowing when nothing answers",
    "Whether probabilities can be believed",
    "By category",
    "By language",
]
# What a paragraph cannot hold: a browser ends the paragraph before it.
BLOCKS = {"p", "div", "table", "ul", "dl", "details", "figure", "h2", "svg"}


def measure(asked, silent):
    """The outcomes of `RANKERS` on these sets, all in the order of recall."""
    return [
        outcome(
            one.id,
            () if silent and ranker == "jev" else [memory.id for memory in one.memories],
            ranker=ranker,
            name=name,
            cause="deadline" if silent and ranker == "jev" else None,
            reason=REASON if ranker == "jev>local" else None,
        )
        for name, questions in asked.items()
        for ranker in RANKERS
        for one in questions
    ]


@pytest.fixture
def page(tmp_path):
    """Make a page, over one set or more, with abstention and calibration or without."""

    def page(*names, show_text=False, silent=False, full=False, prices=None):
        sets = {name: load(write_set(tmp_path, name), name, limit=None, seed=1) for name in names}
        outcomes = measure(sets, silent)
        found = summarise(sets, RANKERS, outcomes, seed=1)
        for rankers in found.values():
            for one in rankers.values():
                one.update(leaves_network=None, needs="worker & <more>")
                if full:
                    numbers = {"auroc": 0.8, "ci95": [0.7, 0.9], "n_answerable": 12, "n_unanswerable": 5}
                    bins = [
                        {"n": 9, "stated": 0.1, "relevant": 0.2},
                        {"n": 1, "stated": 0.9, "relevant": 0.6},
                    ]
                    one["abstention"] = numbers
                    one["calibration"] = {"ece": 0.1, "brier": 0.2, "n": 10, "bins": bins}
        told = {
            "sets": found,
            "machine": {"processor": "a <fast> one", "cpus": 2, "memory_gb": 8},
            "versions": {"python": "3.11", "sglang": None},
            "arguments": {"concurrency": 1},
            "prices": prices,
        }
        cases = bad_cases.collect(sets, RANKERS, outcomes, show_text=show_text)
        return report.page(told, outcomes, cases)

    return page


def text(element):
    return "".join(element.itertext())


@pytest.mark.parametrize("names", [("small",), ("small", "other & <set>")])
@pytest.mark.parametrize("silent", [False, True])
def test_it_is_well_formed_and_takes_nothing_from_outside(page, names, silent):
    made = page(*names, show_text=True, silent=silent, full=True)
    root = ET.fromstring(made)
    assert not {"script", "link", "img", "iframe", "object"} & {element.tag for element in root.iter()}
    assert not re.search(r"https?:|//|url\(|@import|\bsrc=|\bhref=|\son\w+=", made)
    assert not [
        inner.tag for p in root.iter("p") for inner in p.iter() if inner is not p and inner.tag in BLOCKS
    ]


def test_every_section_has_a_picture_of_every_set(page):
    body = ET.fromstring(page("small", "other", full=True)).find("body/main")
    elements = list(body)
    cards = {
        heading.text: after[1]
        for at, heading in enumerate(elements)
        if heading.tag == "h2" and (after := elements[at + 1 : at + 3])[-1].get("class") == "cards"
    }
    assert list(cards) == SECTIONS
    for section in cards.values():
        assert [figure.find("figcaption").text for figure in section] == ["small", "other"]
        for figure in section:
            picture = figure.find("svg")
            assert len(picture) > 2 + len(RANKERS)


def test_there_is_no_section_of_what_was_not_measured(page):
    headings = [element.text for element in ET.fromstring(page("small")).iter("h2")]
    assert not {"Knowing when nothing answers", "Whether probabilities can be believed"} & set(headings)
    assert {"Quality against latency", "How long calls take"} <= set(headings)


def test_who_cannot_see_it_is_told_the_same(page):
    root = ET.fromstring(page("small", "other", full=True))
    # Given every picture, then it has a name of its own and its numbers in words
    pictures = list(root.iter("svg"))
    names = [picture.find("title").text for picture in pictures]
    assert len(set(names)) == len(names) == 2 * len(SECTIONS)
    assert all(picture.get("role") == "img" for picture in pictures)
    assert all("jev>local" in picture.find("desc").text for picture in pictures)
    # Given every table, then it has a caption, and every head says what it is the head of
    tables = list(root.iter("table"))
    assert len(tables) == 3
    assert all(text(table.find("caption")) for table in tables)
    assert {head.get("scope") for head in root.iter("th")} == {"col", "row", "rowgroup"}
    for table in tables:
        width = len(table.findall("thead/tr/th"))
        rows = table.findall("tbody/tr")
        assert all(sum(int(cell.get("colspan", 1)) for cell in row) == width for row in rows)
    # Given what scrolls by itself, then a keyboard reaches it
    assert all(element.get("tabindex") == "0" for element in root.iter() if element.get("class") == "scroll")


@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_text_and_marks_have_contrast(colours):
    found = dict(re.findall(r"--([\w-]+): #(\w+)", colours))

    def luminance(colour):
        whole = colour if len(colour) == 6 else "".join(one * 2 for one in colour)
        parts = [int(whole[at : at + 2], 16) / 255 for at in (0, 2, 4)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    names = ["ink", "soft", "good", "bad", *(f"c{at}" for at in range(COLOURS))]
    for one, below in itertools.product(names, ["page", "card"]):
        light, dark = sorted((luminance(found[one]), luminance(found[below])), reverse=True)
        # 4.5 is what WCAG 2.2 asks of text (1.4.3, level AA).
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (one, below)


def test_the_first_table_tells_what_decides(page):
    table, *_ = ET.fromstring(page("small", "other")).iter("table")
    heads = [text(head) for head in table.findall("thead/tr/th")]
    assert heads == ["ranker", "P@1", "MRR", "p50 / p95 ms", "$ a month", "leaves network", "needs"]
    rows = [[text(cell) for cell in row] for row in table.findall("tbody/tr")]
    assert [row[0].removesuffix("worker & <more>") for row in rows] == RANKERS
    assert rows[1][3:] == ["10\u00a0/ 10", "0", "unknown", "worker & <more>"]


def test_texts_are_shown_only_when_asked_for_and_then_escaped(page):
    without = page("small")
    assert not [secret for secret in (PLAIN, "wrote it down") if secret in without]
    shown = page("small", show_text=True)
    assert PLAIN in shown
    assert "&amp; &lt;b&gt;nowhere&lt;/b&gt;" in shown
    assert "<b>" not in shown


def test_a_rankers_own_words_stand_beside_its_bad_cases(page):
    root = ET.fromstring(page("small", show_text=True))
    lists = {text(one.find("summary")).split(":")[0]: one for one in root.iter("details")}
    assert {text(quote) for quote in lists["small, jev>local"].iter("q")} == {REASON}
    assert not list(lists["small, jev"].iter("q"))


def test_bad_cases_are_there_by_id_either_way(page):
    for made in (page("small"), page("small", show_text=True)):
        root = ET.fromstring(made)
        lists = {text(one.find("summary")): one for one in root.iter("details")}
        case = next(iter(lists["small, jev>local: 6 of 12"].iter("li")))
        assert case.find("div/code").text == "q00"
        assert text(case.find("div")).endswith("ranked below")
        assert "ranked below · place 4 · prefilter: place 4" in text(case.findall("dl/dd")[-1])
        assert "prefilter: place" not in text(lists["small, prefilter: 6 of 12"])


def test_who_fell_back_is_told(page):
    assert "small, jev: 12 (deadline 12)" in page("small", silent=True)
    assert "Fell back" not in page("small")


def test_where_the_prices_come_from_is_told(page):
    assert "as rankers tell, machines of your own not counted" in page("small")
    assert "by the price file p.toml, 2026-03-01" in page(
        "small", prices={"name": "p.toml", "date": "2026-03-01"}
    )
    assert "by the price file p.toml, without a date" in page("small", prices={"name": "p.toml", "date": ""})


def test_it_is_the_same_every_time(page):
    assert page("small", full=True) == page("small", full=True)


def test_markup_escapes_text_and_attributes_once():
    assert tag("p", "a<b", raw("<i></i>"), title='"&') == '<p title="&quot;&amp;">a&lt;b<i></i></p>'
    assert tag("p", tag("b", "&"), class_="x", data_y=1.5, z=None) == (
        '<p class="x" data-y="1.5"><b>&amp;</b></p>'
    )


@pytest.mark.parametrize(("ends", "verdict"), [((0.01, 0.2), 1), ((-0.2, -0.01), -1), ((-0.1, 0.1), 0)])
def test_the_verdict_is_whether_the_paired_interval_leaves_zero(ends, verdict):
    assert glance.verdict({"against_prefilter": {"mrr": {"ci95": list(ends)}}}) == verdict
