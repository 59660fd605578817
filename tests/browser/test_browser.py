"""The browser's fixture sees what tests ask it about: each fault is put into a page here, and found."""

import pytest

from tests import debian
from tests.browser import accessibility, environment

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

GOOD = """<!doctype html><html lang="en"><head><title>A page</title></head>
<body><main><h1>A page</h1><label>Name <input></label></main></body></html>"""


@pytest.fixture
def page(visit):
    """Shows a page of these bytes, with these headers."""

    def show(html, **headers):
        seen = visit("about:blank")
        seen.page.route(
            "http://127.0.0.1:9/",
            lambda route: route.fulfill(body=html, headers={"content-type": "text/html", **headers}),
        )
        seen.page.goto("http://127.0.0.1:9/")
        return seen

    return show


def test_a_good_page_has_no_faults(page):
    seen = page(GOOD)
    assert accessibility.faults(seen.page) == []
    assert seen.errors == []
    assert seen.hosts == {"127.0.0.1:9"}


@pytest.mark.parametrize(
    ("good", "bad", "rule"),
    [
        ("<label>Name <input></label>", "Name <input>", "label"),
        ('lang="en"', "", "html-has-lang"),
        ("<h1>A page</h1>", '<h1 style="color:#bbb;background:#fff">A page</h1>', "color-contrast"),
    ],
)
def test_a_page_that_somebody_cannot_use_is_found(page, good, bad, rule):
    assert good in GOOD
    found = accessibility.faults(page(GOOD.replace(good, bad)).page)
    assert any(fault.startswith(rule) for fault in found), found


def test_an_exception_an_error_and_a_breach_are_seen(page):
    assert any("broken" in error for error in page(GOOD + "<script>throw Error('broken')</script>").errors)
    assert page(GOOD + "<script>console.error('told')</script>").errors == ["told"]
    csp = {"content-security-policy": "default-src 'none'"}
    assert any(error.startswith("policy: ") for error in page(GOOD + "<script>1</script>", **csp).errors)


def test_a_request_to_another_host_is_seen_and_goes_nowhere(page):
    seen = page(GOOD + '<img src="http://elsewhere.example/a.png" alt="">')
    assert "elsewhere.example" in seen.hosts
    assert any("ERR_NAME_NOT_RESOLVED" in error for error in seen.errors)


def test_without_a_browser_it_is_told_what_to_install(monkeypatch):
    monkeypatch.setattr(debian.shutil, "which", lambda name, path=None: None)
    with pytest.raises(SystemExit, match="apt-get install chromium"):
        environment.install()
