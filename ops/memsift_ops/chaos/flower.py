"""Reads all that a real Flower shows of a run, so that it can be searched for secrets."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Flower's API shows nothing to anybody without it.
OPEN_API = {"FLOWER_UNAUTHENTICATED_API": "true"}
PAGE_S = 5.0
# Pages of single jobs; they show what the lists show, and a few fields more.
SINGLE = 40
MOST = 10_000
_TABLE = {
    "draw": "1",
    "start": "0",
    "length": str(MOST),
    "search[value]": "",
    "order[0][column]": "0",
    "order[0][dir]": "asc",
    "columns[0][data]": "name",
}
PAGES = (
    *("/", "/workers", "/workers?json=1", "/tasks", "/broker", "/metrics"),
    *(f"/tasks/datatable?{urllib.parse.urlencode(_TABLE)}", "/api/task/types", "/api/workers?refresh=1"),
)


@dataclass(slots=True)
class Shown:
    """What a Flower showed.

    Attributes:
        jobs: how many.
        failed: pages that it could not show.
    """

    jobs: int = 0
    failed: list[str] = field(default_factory=list)


def scrape(url: str, kept: Path) -> Shown:
    """Keep every page.

    Args:
        url: Flower's.
        kept: gets the pages, one after another.

    Returns:
        How much there was.
    """
    shown = Shown()
    with kept.open("ab") as file:

        def page(path: str) -> bytes:
            body, well = _get(url + path)
            if not well:
                shown.failed.append(path)
            file.write(f"\n{path}\n".encode() + body)
            return body

        for path in PAGES:
            page(path)
        tasks: dict[str, Any] = json.loads(page(f"/api/tasks?limit={MOST}") or b"{}")
        for task in list(tasks)[:SINGLE]:
            page(f"/task/{task}")
            page(f"/api/task/info/{task}")
        # Each asks the worker itself, which takes Flower a second; they show the same of each.
        for worker in list({str(one.get("worker")) for one in tasks.values()})[:1]:
            page(f"/worker/{worker}")
    shown.jobs = len(tasks)
    return shown


def _get(url: str) -> tuple[bytes, bool]:
    try:
        with urllib.request.urlopen(url, timeout=PAGE_S) as answer:
            return answer.read(), True
    except urllib.error.HTTPError as error:
        # An error page may show as much as any other.
        return error.read(), False
    except (urllib.error.URLError, OSError):
        return b"", False
