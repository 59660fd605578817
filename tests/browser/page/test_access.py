"""Everybody can use the page: by ear, by keyboard, on a phone, in the dark, in Chinese."""

import itertools
import re

import pytest

from tests.browser import accessibility
from tests.browser.page.conftest import paste, rank, texts

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

LONG = "2026-03-02 ~0.9 " + "Donaudampfschifffahrtsgesellschaft" * 12
SCHEMES = ["light", "dark"]


def ranked(page):
    """A page with all that can be in it: two rankers, all numbers, the story."""
    page.locator("#other").select_option("jev")
    rank(page)
    for summary in page.locator("summary").all():
        if summary.is_visible():
            summary.click()
    return page


@pytest.mark.parametrize(("scheme", "language"), [("light", "en-GB"), ("dark", "zh-CN")])
def test_axe_finds_nothing(opened, served, scheme, language):
    page = opened(served, scheme=scheme, language=language)
    assert accessibility.faults(page) == []
    assert accessibility.faults(ranked(page)) == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing_in_a_fallback_and_a_fault_on_a_phone(opened, lonely, scheme):
    page = opened(lonely, scheme=scheme, width=360)
    rank(page)
    page.locator("#query").fill("")
    page.locator("#rank").click()
    page.get_by_role("alert").filter(has_text="Type a question.").wait_for()
    assert accessibility.faults(page) == []


FAULTS = {
    "label": ("", 'for="memories"', 'for="nothing"'),
    "color-contrast": ("style.css", "--muted: #535e6f", "--muted: #9aa3b0"),
    "scrollable-region-focusable": ("numbers.js", 'tabindex: "0", role: "region"', 'role: "region"'),
}


@pytest.mark.parametrize("rule", FAULTS)
def test_axe_finds_what_is_broken_in_our_own_page(visit, served, rule):
    """The check can fail: the same page with a fault in it."""
    file, good, bad = FAULTS[rule]
    seen = visit("about:blank", width=800)

    def broken(route):
        original = route.fetch()
        assert good in original.text()
        route.fulfill(response=original, body=original.text().replace(good, bad))

    seen.page.route(f"**/ui/{file}", broken)
    seen.page.goto(served)
    seen.page.locator("#memories-count:not(:empty)").wait_for()
    page = ranked(seen.page) if file == "numbers.js" else seen.page
    found = accessibility.faults(page)
    assert any(fault.startswith(rule) for fault in found), found


def test_the_headings_are_an_outline_and_news_is_spoken(opened, served):
    page = ranked(opened(served))
    levels = page.evaluate(
        "[...document.querySelectorAll('h1,h2,h3,h4')].map((one) => Number(one.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert page.locator("#told").get_attribute("role") == "status"
    assert page.locator("#fault").get_attribute("role") == "alert"
    # Who hears the page hears the move, and what a signal adds
    assert re.match(r"(up|down|same)", page.locator(".move").first.text_content())
    names = [
        page.get_by_label(name, exact=True) for name in ("Question", "Memories", "Ranker", "Compare with")
    ]
    assert [one.count() for one in names] == [1, 1, 1, 1]


def focus(page):
    """What has the focus, and whether it shows."""
    return page.evaluate(
        """() => {
            const one = document.activeElement;
            const style = getComputedStyle(one);
            return [one.id || one.dataset.language || one.className || one.tagName.toLowerCase(),
                    style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2];
        }"""
    )


def test_it_is_walked_through_by_keyboard_alone(opened, served):
    page = opened(served)
    page.keyboard.press("Tab")
    assert focus(page) == ["skip", True]
    assert page.locator(".skip").bounding_box()["y"] >= 0
    walked = []
    while "rank" not in walked:
        page.keyboard.press("Tab")
        name, shows = focus(page)
        assert shows, name
        walked.append(name)
    assert walked == [
        "en",
        "zh",
        "scene",
        "summary",
        "query",
        "memories",
        "turns",
        "ranker",
        "other",
        "summary",
        "rank",
    ]
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowDown")
    assert page.locator("#other").input_value() == "jev>local"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator("body:not(.busy) .summary").wait_for()
    assert focus(page)[0] == "rank"  # whoever pressed it is still there
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent").startswith("Show all")
    page.keyboard.press("Enter")
    assert len(texts(page)) > 10
    assert focus(page)[1]
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    # And from the top to the result at once
    page.keyboard.press("Control+Home")
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    assert focus(page)[0] == "results"


def test_control_and_enter_rank_from_a_text(opened, served):
    page = opened(served)
    page.locator("#memories").focus()
    page.keyboard.press("Control+Enter")
    page.locator("body:not(.busy) .summary").wait_for()


@pytest.mark.parametrize(
    ("width", "language"), [(360, "en-GB"), (360, "zh-CN"), (768, "en-GB"), (1000, "zh-CN"), (1280, "en-GB")]
)
def test_nothing_is_cut_off_or_scrolls_sideways(opened, served, width, language):
    page = opened(served, width=width, language=language)
    paste(page, f"{LONG}\n{page.locator('#memories').input_value()}")
    page.locator("#other").select_option("jev")
    rank(page)
    for summary in page.locator("summary").all():
        if summary.is_visible():
            summary.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = page.evaluate(
        """(width) => [...document.querySelectorAll("body *")]
            .filter((one) => !one.closest(".scroll, .heard, .skip, select"))
            .filter((one) => one.getBoundingClientRect().right > width + 1)
            .map((one) => one.className || one.tagName)""",
        width,
    )
    assert wide == []


def test_on_a_phone_the_result_comes_first_and_without_lines(opened, served):
    page = opened(served, width=360)
    rank(page)
    after, before = (page.locator(f".list.{side}").bounding_box() for side in ("right", "left"))
    assert after["y"] < before["y"]
    assert not page.locator("svg.lines").is_visible()
    # The result is brought into sight
    assert 0 <= page.locator("#results-title").bounding_box()["y"] < 900


def test_touch_targets_are_large_enough(opened, served):
    page = opened(served, width=360)
    rank(page)
    for button in page.locator("button, select").all():
        if button.is_visible():
            assert button.bounding_box()["height"] >= 32


def test_chinese_is_the_browsers_choice_and_a_whole_one(opened, served):
    page = opened(served, language="zh-CN")
    assert page.locator("html").get_attribute("lang") == "zh-CN"
    assert page.title() == "memsift：看一次排序"
    assert page.locator("#query").input_value() == "今天的行程有什么安排？"
    rank(page)
    assert page.locator(".summary .source").text_content() == "来源：模型"
    assert page.locator(".list.right h3").text_content().startswith("排序后")
    names = {"local", "none", "memsift", "worker", "token", "JSON", "memories", "rerank"}
    scenes = page.locator("#scene").inner_text()  # the other language's is offered too
    assert set(re.findall(r"[A-Za-z]{4,}", page.locator("main").inner_text().replace(scenes, ""))) <= names


def test_the_language_is_switched_without_losing_anything(opened, served):
    page = opened(served)
    paste(page, "2026-03-02 ~0.9 The key lies there.\nJonas moved.")
    rank(page)
    page.get_by_role("button", name="中文").click()
    assert page.locator("html").get_attribute("lang") == "zh-CN"
    assert page.locator(".list.right h3").text_content().startswith("排序后")
    assert page.locator("#memories").input_value().startswith("2026-03-02 ~0.9 The key")
    assert page.locator("#memories-count").text_content() == "2 条记忆"
    assert page.get_by_role("button", name="中文").get_attribute("aria-pressed") == "true"
    assert page.url.endswith("?lang=zh")
    page.reload()
    page.locator("#memories-count:not(:empty)").wait_for()
    assert page.locator("h1").text_content() == "看看哪些记忆该进提示词"
    # A Chinese memory is read out as Chinese, an English one as English
    rank(page)
    assert page.locator(".card .text").first.get_attribute("lang") == "zh-CN"


def test_both_languages_have_the_same_words(opened, served):
    page = opened(served)
    keys = page.evaluate(
        """async () => {
            const load = async (name) => (await import(`./${name}.js`)).default;
            const [en, zh] = await Promise.all(["en", "zh"].map(load));
            const marks = (text) => [...text.matchAll(/\\{\\w+\\}/g)].map(([one]) => one).sort().join();
            const list = (words) => Object.entries({ ...words, ...words.causes })
                .map(([key, text]) => [key, typeof text === "string" ? marks(text) : ""].join()).sort();
            return [list(en), list(zh)];
        }"""
    )
    assert keys[0] == keys[1]
    assert len(keys[0]) > 100


def test_every_cause_has_words_in_the_page(opened, served):
    from memsift_schemas import Cause

    page = opened(served)
    causes = page.evaluate("async () => Object.keys((await import('./en.js')).default.causes)")
    assert set(causes) == {str(cause) for cause in Cause}


def test_motion_is_only_for_those_who_want_it(opened, served):
    page = opened(served)
    durations = page.evaluate(
        "[...document.querySelectorAll('*')].map((one) => getComputedStyle(one).transitionDuration)"
    )
    assert set(durations) == {"0s"}
