"""The gateway's page in a browser, before a worker whose rankings are fixed, and before nobody."""

import pytest

from memsift_ops.stack import Stack

GATEWAY = {
    "MEMSIFT_GATEWAY_UI": "1",
    "MEMSIFT_DEADLINE_MS": "30000",
    "MEMSIFT_GATEWAY_MAX_DEADLINE_MS": "60000",
}
WORKER = {
    "MEMSIFT_RUNTIME": "scripted",
    "MEMSIFT_RANKER": "jev>local",
    "MEMSIFT_ALSO_SERVE": "jev,local",
}


def gateway(stack, **more):
    """The address of the page of a gateway with these settings."""
    with pytest.MonkeyPatch.context() as patched:
        for name, value in {**GATEWAY, **more}.items():
            patched.setenv(name, value)
        return f"{stack.start_gateway()}/ui/"


@pytest.fixture(scope="session")
def served():
    """A page before a worker with three rankers."""
    with Stack("q:page") as stack:
        stack.start_valkey()
        with pytest.MonkeyPatch.context() as patched:
            for name, value in WORKER.items():
                patched.setenv(name, value)
            stack.start_worker()
        yield gateway(stack)


@pytest.fixture(scope="session")
def lonely():
    """A page before a queue without workers."""
    with Stack("q:lonely-page") as stack:
        stack.start_valkey()
        yield gateway(stack)


@pytest.fixture
def opened(visit):
    """Open a page of ours and wait until it is ready; the test fails if anything went wrong in it."""
    seen = []

    def open_(url, **how):
        seen.append(visit(url, **how))
        page = seen[-1].page
        page.locator("#memories-count:not(:empty)").wait_for()
        return page

    yield open_
    for one in seen:
        assert one.errors == []
        assert one.hosts == {one.page.url.split("/")[2]}, "another host was asked"


def rank(page):
    """Press the button and wait for the result."""
    page.locator("#rank").click()
    page.locator("body:not(.busy) .summary").first.wait_for()


def paste(page, text, query="Where is the key to the cabin?"):
    """Memories of one's own."""
    page.locator("#scene").select_option("")
    page.locator("#query").fill(query)
    page.locator("#memories").fill(text)


def texts(page, side="right"):
    """The memories of one list, in order."""
    return page.locator(f".list.{side} .text").all_text_contents()
