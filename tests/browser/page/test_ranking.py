"""What people come for: rank a paste or a scene, compare, and see where an answer comes from."""

import json
import re

import pytest

from tests.browser.page.conftest import paste, rank, texts

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

LINES = """
2026-03-02T10:12+08:00 ~0.91 The spare key to the cabin lies under the blue flowerpot.
2026-03-05 ~0.40 On 9 May Jonas moves to Trieste.
- Mara prefers window seats on night trains.
2026-13-45 The cat is called Biscuit.
"""
PASTED = [
    "The spare key to the cabin lies under the blue flowerpot.",
    "On 9 May Jonas moves to Trieste.",
    "Mara prefers window seats on night trains.",
    "2026-13-45 The cat is called Biscuit.",  # there is no such day, so it is text
]


def test_a_pasted_list_is_ranked_and_told_with_its_signals(opened, served):
    page = opened(served)
    paste(page, LINES)
    assert page.locator("#memories-count").text_content() == "4 memories"
    rank(page)
    assert sorted(texts(page)) == sorted(texts(page, "left")) == sorted(PASTED)
    assert "Source: model" in page.locator(".summary .source").text_content()
    first = page.locator(".list.left .card").first
    assert first.locator(".text").text_content() == PASTED[0]
    assert first.locator(".day").text_content() == "2 Mar 2026"
    assert re.sub(r"\s+", " ", first.locator(".bars").inner_text()).startswith("similarity 0.91")
    # The one that is most like the question stands to the right of the middle, the other to the left
    fills = page.locator(".list.left .card .fill.vector")
    lefts = [
        float(style.split("left: ")[1].split("%")[0])
        for style in (fills.nth(n).get_attribute("style") for n in (0, 1))
    ]
    assert max(lefts) == 50 > min(lefts)
    kinds = {
        card.locator(".text").text_content(): card.locator(".chip").first.text_content()
        for card in page.locator(".list.right .card").all()
    }
    assert [kinds[text] for text in PASTED] == ["fact", "time-bound", "preference", "time-bound"]


def test_moves_are_those_between_the_lists(opened, served):
    page = opened(served)
    rank(page)
    page.get_by_role("button", name=re.compile("Show all")).click()
    before, after = texts(page, "left"), texts(page)
    assert len(after) == len(before) > 10
    moves = [re.sub(r"\s+", " ", text) for text in page.locator(".list.right .move").all_text_contents()]
    for at, (text, move) in enumerate(zip(after, moves, strict=True)):
        by = before.index(text) - at
        assert move == (f"up {by}▲ {by}" if by > 0 else f"down {-by}▼ {-by}" if by else "same place=")
    assert page.locator("path.line").count() == len(after)
    assert page.locator(".list.right .card.selected").count() == 3
    page.get_by_role("button", name="Show the first 10").click()
    assert len(texts(page)) == 10


def test_the_time_line_adds_up(opened, served):
    page = opened(served)
    with page.expect_response("**/ui/rank") as answered:
        rank(page)
    took = answered.value.json()["result"]["timings_ms"]
    legend = page.locator(".legend div").all_text_contents()
    assert [re.sub(r" ?[\d.,]+ m?s$", "", one) for one in legend] == [
        "prefilter", "in the queue", "waiting for a place", "ranking", "there and back",
    ]  # fmt: skip
    assert page.locator(".timeline .part").count() == 5
    grown = sum(
        float(part.get_attribute("style").split(": ")[1].split(" ")[0].rstrip(";"))
        for part in page.locator(".part").all()
    )
    assert grown == pytest.approx(took["total"], rel=1e-3)
    assert "read" in page.locator(".tokens").text_content()


def test_a_scene_is_picked_and_its_author_expects_something(opened, served):
    page = opened(served)
    scene = page.locator("#scene optgroup").nth(0)
    assert page.locator("#query").input_value() == "What's on for me today?"
    with page.expect_request("**/ui/rank") as first:
        rank(page)
    page.locator("#scene").select_option(index=3)
    assert page.locator("#query").input_value() in scene.locator("option").nth(2).text_content()
    assert "Assistant: " in page.locator("#turns").input_value()
    with page.expect_request("**/ui/rank") as third:
        rank(page)
    asked = third.value.post_data_json
    assert [turn["role"] for turn in asked["turns"]] == ["user", "assistant"] * 2
    assert asked["session"] == first.value.post_data_json["session"]
    assert len(asked["candidates"]) == 50
    assert {"id", "text", "created_at", "similarity"} == set(asked["candidates"][0])
    page.get_by_role("button", name="Show all 50").click()
    assert page.locator(".list.right .chip.expected").count() >= 2
    # Edited memories are nobody's scene any more
    page.locator("#memories").fill("Something else.")
    rank(page)
    assert page.locator(".chip.expected").count() == 0


def test_two_rankers_stand_side_by_side(opened, served):
    page = opened(served)
    assert page.locator("#ranker option").all_text_contents() == ["jev>local", "jev", "local"]
    page.locator("#other").select_option("jev")
    with page.expect_response(
        lambda one: one.url.endswith("/rank") and one.request.post_data_json["ranker"] == "jev"
    ) as second:
        rank(page)
    assert page.locator(".summary h3").all_text_contents() == ["jev>localnone", "jev"]
    assert page.locator(".list h3").all_inner_texts()[0].startswith("jev\n")
    ranking = [place["id"] for place in second.value.json()["result"]["ranking"]]
    shown = [card.get_attribute("data-id") for card in page.locator(".list.right .card").all()]
    assert shown == ranking[: len(shown)]
    assert texts(page, "left") != texts(page)
    assert re.search(r"They put \d of 3 memories into the prompt alike", page.locator("#told").text_content())
    page.get_by_text("All numbers").click()
    heads = page.locator("thead th").all_text_contents()
    assert {"place (jev>local)", "place (jev)", "score (prefilter)"} <= set(heads)
    assert page.locator("tbody tr").count() == 50


def test_without_a_worker_the_fallback_is_shown_with_its_reason(opened, lonely):
    page = opened(lonely)
    assert page.locator("#standing").text_content() == "No worker on the queue"
    assert page.locator("#ranker option").all_text_contents() == ["the workers’ default"]
    paste(page, LINES)
    rank(page)
    assert "Source: prefilter, the fallback" in page.locator(".summary .source").text_content()
    assert page.locator(".summary code").text_content() == "deadline"
    why = page.locator(".summary .why").text_content()
    assert "No answer came before the deadline" in why
    assert "memsift worker" in why
    assert texts(page)[0] == PASTED[0]
    assert page.locator(".list").count() == 1
    assert page.locator(".bars").count() == 4
    assert page.locator(".legend").text_content().startswith("prefilter")


def test_json_is_read_in_every_form(opened, served):
    page = opened(served)
    memories = [
        {"id": "k", "text": "The key lies there.", "created_at": None, "kind": "preference"},
        {"text": "Jonas moved."},
    ]
    for text in (
        json.dumps(memories, indent=2),
        "\n".join(map(json.dumps, memories)),
        json.dumps({"candidates": memories}),
    ):
        paste(page, text)
        with page.expect_request("**/ui/rank") as asked:
            rank(page)
        assert asked.value.post_data_json["candidates"] == [
            memories[0] | {"created_at": None},
            {"id": "m2", "created_at": None, "text": "Jonas moved."},
        ]
        assert page.locator(".list.left .chip.preference").count() == 1


def test_a_request_that_is_pasted_whole_fills_the_form(opened, served):
    page = opened(served)
    request = {
        "query": "Who moved?",
        "top_k": 1,
        "now": "2026-03-11T07:20+08:00",
        "candidates": [{"text": "Jonas moved."}],
    }
    page.evaluate(
        """(text) => {
            const data = new DataTransfer();
            data.setData("text/plain", text);
            const paste = new ClipboardEvent("paste", { clipboardData: data, bubbles: true });
            document.getElementById("memories").dispatchEvent(paste);
        }""",
        json.dumps(request),
    )
    assert page.locator("#query").input_value() == "Who moved?"
    assert page.locator("#memories").input_value() == "Jonas moved."
    assert (page.locator("#top").input_value(), page.locator("#now").input_value()) == (
        "1",
        "2026-03-11T07:20+08:00",
    )
    rank(page)
    assert texts(page) == ["Jonas moved."]


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ("query", " ", "Type a question."),
        ("memories", " ", "Paste at least one memory."),
        ("memories", '[{"text": "a"', "This looks like JSON and is none"),
        ("memories", '[{"text": "a"}, {"id": "b"}]', "Memory 2 has no text."),
        (
            "memories",
            "\n".join(f"Note {n}." for n in range(201)),
            "201 memories; a question takes 200 at most",
        ),
        ("deadline", "0", "“Deadline in ms” must be a whole number from 1 to 60000."),
        ("now", "today", "“Asked at” must be a date and time with a zone"),
    ],
)
def test_what_cannot_be_asked_is_said_at_its_field(opened, served, field, value, fault):
    page = opened(served)
    page.locator("details.more summary").click()
    page.locator(f"#{field}").fill(value)
    page.locator("#rank").click()
    page.get_by_role("alert").filter(has_text=fault).wait_for()
    assert page.evaluate("document.activeElement.id") == field
    assert page.locator(f"#{field}").get_attribute("aria-invalid") == "true"
    assert page.locator(".summary").count() == 0


def test_what_the_gateway_refuses_is_said(visit, served):
    seen = visit(served)
    seen.page.locator("#memories-count:not(:empty)").wait_for()
    paste(seen.page, '[{"text": "a", "created_at": "2026-03-02T10:00"}]')
    seen.page.locator("#rank").click()
    seen.page.get_by_role("alert").filter(has_text="The gateway refuses it: ").wait_for()
    assert "created_at" in seen.page.locator("#fault").text_content()
    assert len(seen.errors) == 1
    assert "422" in seen.errors[0]


def test_stopping_takes_the_job_back(opened, lonely):
    page = opened(lonely)
    # As if a worker were there: else nobody would be waited for
    page.route("**/ui/state", lambda route: route.fulfill(json={**route.fetch().json(), "workers": 1}))
    page.locator("#rank").click()
    stop = page.get_by_role("button", name="Stop")
    stop.wait_for()
    page.locator("#told").filter(has_text="Asking").wait_for()
    stop.click()
    page.locator("#told").filter(has_text="Stopped.").wait_for()
    assert not stop.is_visible()
    assert page.evaluate("document.activeElement.id") == "rank"
