"""A real browser for tests of pages; `make test-browser`.

Playwright's synchronous face keeps an event loop running on the main thread as long as the browser lives, so
no `async` test may follow in the same process: tests that use it carry the marker `browser`, which runs last.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.browser import environment

ENABLED = "MEMSIFT_TEST_BROWSER"
# Two cores that others use too.
PATIENCE_MS = 30_000
FLAGS = (
    "--no-sandbox",  # it refuses to run as root with it
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # What a page asks of any other host is seen by the test, and goes nowhere.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


@dataclass
class Visit:
    """A page that is open, and what happened in it.

    Attributes:
        page: Playwright's.
        errors: what its console told as an error, exceptions, breaches of its Content-Security-Policy.
        requests: every URL that it asked for.
    """

    page: Any
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @property
    def hosts(self) -> set[str]:
        """Whom it asked, such as `127.0.0.1:8010`; `data:` and `blob:` are nobody."""
        return {part.netloc for part in map(urlsplit, self.requests) if part.scheme not in ("data", "blob")}


@pytest.fixture(scope="session")
def browser():
    """Chromium, headless, for the whole run. Skips unless `MEMSIFT_TEST_BROWSER=1`."""
    if os.environ.get(ENABLED) != "1":
        pytest.skip(f"{ENABLED} is not 1 (make test-browser): would start a real browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = environment.install()
        one = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield one
        one.close()


@pytest.fixture
def visit(browser):
    """Open a page: `visit(url, width=360, scheme="dark", language="zh-CN")`; returns a `Visit`.

    Each has cookies and storage of its own, gone after the test. Reduced motion is on, so that no test waits
    for an animation.
    """
    contexts = []

    def open_(url, *, width=1280, height=900, scheme="light", language="en-GB", **more):
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            locale=language,
            reduced_motion="reduce",
            **more,
        )
        contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        seen = Visit(context.new_page())
        _watch(seen)
        seen.page.goto(url)
        return seen

    yield open_
    for context in contexts:
        context.close()


def _watch(seen: Visit) -> None:
    def console(message):
        if message.type == "error":
            seen.errors.append(message.text)

    seen.page.on("console", console)
    seen.page.on("pageerror", lambda error: seen.errors.append(str(error)))
    seen.page.on("request", lambda request: seen.requests.append(request.url))
    # Chromium writes breaches on the console too; the event also comes for those that it only reports.
    seen.page.add_init_script(
        "addEventListener('securitypolicyviolation', (breach) =>"
        " console.error('policy: ' + breach.violatedDirective + ' ' + breach.blockedURI));"
    )
