"""What axe-core, the usual checker of accessibility, finds wrong with a page."""

from __future__ import annotations

from typing import Any

# WCAG 2.2 up to AA, and what axe's authors advise beyond it.
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def faults(page: Any, *, tags: list[str] | None = None) -> list[str]:
    """One line for each rule that the page as it stands now breaks, with the places.

    Args:
        page: Playwright's.
        tags: sets of axe's rules.
    """
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options={"runOnly": {"type": "tag", "values": tags or TAGS}}).response
    # A page on which nothing was looked at would pass as well.
    assert found["passes"], "axe has checked nothing"
    return [
        f"{rule['id']} ({rule['impact']}): {', '.join(str(node['target'][0]) for node in rule['nodes'])}"
        for rule in found["violations"]
    ]
