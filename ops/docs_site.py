"""A hook of mkdocs.yml: files of the repository that pages link, beside `docs/`, are named instead.

The link works where the repository is read; the site has no such files. A link to a file that is not there
stays, and `--strict` refuses it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
_OUTWARD = re.compile(r"\[([^\]]+)\]\(\.\./([^)#\s]+)(?:#[^)\s]*)?\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace links that lead out of `docs/` by their text and the file's name.

    Args:
        markdown: the page.
        **_: what else mkdocs hands over.
    """
    return _OUTWARD.sub(_named, markdown)


def _named(link: re.Match[str]) -> str:
    text, path = link.groups()
    if not (ROOT / path).exists():
        return link[0]
    return text if path in text else f"{text} (`{path}`)"
