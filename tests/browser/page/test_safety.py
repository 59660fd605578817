"""What people paste is text to the page, stays in the tab, and goes to no other place."""

import re

import pytest

from tests.browser.page.conftest import gateway, paste, rank, texts
from tests.producer.gateway.conftest import KEY, entry

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

ATTACKS = [
    "<img src=x onerror=\"document.title='owned'\">",
    "<script>document.title='owned'</script>",
    "</textarea><svg onload=document.title='owned'>",
    "javascript:document.title='owned'",
    '"><iframe srcdoc="<script>parent.document.title=\'owned\'</script>"></iframe>',
    "{{constructor.constructor('document.title=1')()}} ${document.title='owned'} &lt;b&gt;",
]
TITLE = "memsift: look at a ranking"


def attack(page):
    """Put markup wherever the page takes text."""
    paste(page, "\n".join(ATTACKS), query=ATTACKS[0])
    page.locator("#turns").fill("\n".join(f"User: {one}" for one in ATTACKS[:3]))
    page.locator("#other").select_option("jev")
    rank(page)
    page.get_by_text("All numbers").click()


def test_markup_in_memories_stays_text(opened, served):
    page = opened(served)
    attack(page)
    assert sorted(texts(page)) == sorted(ATTACKS)
    assert page.locator("#shown").locator("img, script, iframe, b").count() == 0
    assert page.title() == TITLE
    page.locator("#other").select_option("")
    rank(page)
    assert texts(page)[0][:40] in page.locator("#told").text_content()


def test_markup_in_a_model_s_reason_and_name_stays_text(opened, served):
    page = opened(served)

    def told(route):
        answer = route.fetch().json()
        answer["result"] |= {"reason": ATTACKS[0], "model": ATTACKS[1], "ranker": ATTACKS[2]}
        route.fulfill(json=answer)

    page.route("**/ui/rank", told)
    rank(page)
    assert page.locator(".reason").text_content().endswith(ATTACKS[0])
    assert page.locator("h3 .model").text_content() == ATTACKS[1]
    assert page.title() == TITLE


def sloppy(page, *, policy):
    """The page with the mistake that it must not make: text that becomes markup."""

    def dom(route):
        original = route.fetch()
        good = "node.append(...children.flat(9).filter((child) => child != null));"
        assert good in original.text()
        bad = "for (const child of children.flat(9)) {"
        bad += " if (typeof child === 'string') node.insertAdjacentHTML('beforeend', child);"
        bad += " else if (child) node.append(child); }"
        route.fulfill(response=original, body=original.text().replace(good, bad))

    def index(route):
        original = route.fetch()
        headers = dict(original.headers)
        if not policy:
            del headers["content-security-policy"]
        route.fulfill(response=original, headers=headers)

    page.route("**/ui/dom.js", dom)
    page.route("**/ui/", index)


def test_the_check_of_markup_can_fail(visit, served):
    seen = visit("about:blank")
    sloppy(seen.page, policy=False)
    seen.page.goto(served)
    seen.page.locator("#memories-count:not(:empty)").wait_for()
    attack(seen.page)
    seen.page.locator("#shown img").first.wait_for(state="attached")
    assert seen.page.title() == "owned"


def test_the_policy_holds_even_where_the_page_makes_that_mistake(visit, served):
    seen = visit("about:blank")
    sloppy(seen.page, policy=True)
    with seen.page.expect_event("pageerror") as thrown:
        seen.page.goto(served)
    assert "TrustedHTML" in str(thrown.value)
    assert seen.page.title() == TITLE


def test_nothing_is_kept(opened, served):
    page = opened(served)
    paste(page, "The key lies under the pot.")
    rank(page)
    kept = page.evaluate(
        """async () => ({
            local: localStorage.length, session: sessionStorage.length, cookies: document.cookie,
            caches: (await caches.keys()).length, databases: (await indexedDB.databases()).length,
            workers: (await navigator.serviceWorker.getRegistrations()).length,
        })"""
    )
    assert kept == {"local": 0, "session": 0, "cookies": "", "caches": 0, "databases": 0, "workers": 0}
    assert "pot" not in page.url
    page.reload()
    page.locator("#memories-count:not(:empty)").wait_for()
    assert "pot" not in page.locator("#memories").input_value()
    assert page.locator(".summary").count() == 0


def test_every_answer_is_no_store_and_from_the_gateway_itself(visit, served):
    seen = visit("about:blank")
    kept = []
    seen.page.on("response", lambda answer: kept.append(answer.headers.get("cache-control")))
    seen.page.goto(served)
    seen.page.locator("#memories-count:not(:empty)").wait_for()
    rank(seen.page)
    assert len(kept) > 12
    assert set(kept) == {"no-store"}
    assert seen.hosts == {served.split("/")[2]}


@pytest.fixture(scope="session")
def guarded(served, tmp_path_factory):
    """A page that needs a key."""
    from memsift_ops.stack import Stack

    path = tmp_path_factory.mktemp("keys") / "keys.toml"
    path.write_text(entry())
    with Stack("q:guarded-page") as stack:
        stack.start_valkey()
        yield gateway(stack, MEMSIFT_GATEWAY_KEYS=str(path))


def test_a_key_is_asked_for_and_stays_in_the_tab(visit, guarded):
    seen = visit(guarded)
    page = seen.page
    page.get_by_label("API key").wait_for()
    assert page.locator("#standing").text_content() == "Needs an API key"
    page.get_by_label("API key").fill("msk_wrong")
    page.get_by_role("button", name="Use it").click()
    page.get_by_role("alert").filter(has_text="The gateway does not know this key.").wait_for()
    page.get_by_label("API key").fill(KEY)
    page.keyboard.press("Enter")
    page.locator("#memories-count:not(:empty)").wait_for()
    assert not page.locator("#key-field").is_visible()
    with page.expect_request("**/ui/rank") as asked:
        rank(page)
    assert asked.value.headers["authorization"] == f"Bearer {KEY}"
    assert "user" not in asked.value.post_data_json  # the key says whose memories these are
    assert KEY not in page.url
    assert page.evaluate("localStorage.length + sessionStorage.length") == 0
    assert {re.sub(r".*status of (\d+).*", r"\1", error) for error in seen.errors} == {"401"}
