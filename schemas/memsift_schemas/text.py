"""What text may look like inside memsift: UTF-8 that encodes, no control characters, a bounded length."""

from __future__ import annotations

import re

# C0 and C1 controls but for tab and newline, and surrogates, which no UTF-8 can carry.
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
# For JSON schemas: one character that is neither space nor control, as `clean` leaves it.
NOT_BLANK_PATTERN = r"[^\s\x00-\x1f\x7f-\x9f]"
_SENTENCE_END = re.compile(r"[。！？；…]+[”’」』）]*|[.!?;]+[\"')\]]*(?=\s)|\n")
# A cut that would lose more than half of what is allowed falls back to a cut between words.
_LEAST_KEPT = 0.5


def _replacement(match: re.Match[str]) -> str:
    return "\ufffd" if "\ud800" <= match.group() <= "\udfff" else " "


def clean(text: str) -> str:
    """Make any `str` fit to travel.

    Lone surrogates become U+FFFD (they cannot be encoded), control characters become a space, CRLF becomes
    a newline. Everything else stays as it is.
    """
    if is_clean(text):
        return text
    return _UNFIT.sub(_replacement, text.replace("\r\n", "\n"))


def is_clean(text: str) -> bool:
    """Whether `clean` would leave the text alone."""
    # Printable text holds none of them, and is told in half the time: it is nearly all that comes.
    return text.isprintable() or not _UNFIT.search(text)


def cut(text: str, limit: int) -> tuple[str, bool]:
    """Shorten to at most `limit` characters, at the end of a sentence where there is one.

    Returns:
        The text and whether it was cut.
    """
    if len(text) <= limit:
        return text, False
    head = text[:limit]
    ends = [match.end() for match in _SENTENCE_END.finditer(head)]
    if ends and ends[-1] >= limit * _LEAST_KEPT:
        return head[: ends[-1]].rstrip(), True
    space = text.rfind(" ", 0, limit + 1)
    return (head[:space] if space >= limit * _LEAST_KEPT else head).rstrip(), True
