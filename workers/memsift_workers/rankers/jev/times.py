"""Times that a text names, in whichever language it does, and whether a question asks for one."""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache

from memsift_schemas.words import CACHED_TEXTS
from memsift_workers.rankers.jev.spans import Span
from memsift_workers.rankers.jev.times_en import spans_en, without_relative_en
from memsift_workers.rankers.jev.times_zh import spans_zh, without_relative_zh

# Any two days, years apart: what a text means on both it means on all.
_SOME_DAY, _ANOTHER_DAY = date(2001, 1, 1), date(2011, 6, 15)
_LATIN = re.compile("[a-z]{2}")
_ASKS_WHEN = re.compile(
    r"\bwhen\b|\b(?:what|which) (?:day|date|time|year|month|week)|\bhow long ago"
    r"|什么时候|什么时间|何时|哪一?天|几月|几号|几点|哪一?年|哪个月|日期|多久"
)
_CALENDAR = re.compile(
    r"行程|安排|日程|计划|打算|\b(?:schedules?|scheduled|agenda|calendar|plans?|planned)\b"
)
_CLOCK = re.compile(r"\d{1,2}[:：]\d{2}|\d ?[ap]\.?m\b|[\d一二两三四五六七八九十]点(?![心子评赞])")


@lru_cache(CACHED_TEXTS)
def spans(folded: str, written_on: date) -> tuple[Span, ...]:
    """All times that a text names.

    Args:
        folded: the text, NFKC and in lower case.
        written_on: the day that its "today" means.
    """
    chinese = () if folded.isascii() else spans_zh(folded, written_on)
    return chinese + spans_en(folded, written_on) if _LATIN.search(folded) else chinese


def dated_spans(folded: str) -> tuple[Span, ...]:
    """The times of a text that mean the same whenever it was written: dates with their year, "every Monday".

    Args:
        folded: the text, NFKC and in lower case.
    """
    elsewhere = spans(folded, _ANOTHER_DAY)
    return tuple(span for span in spans(folded, _SOME_DAY) if span in elsewhere)


def without_relative(folded: str) -> str:
    """A question without the times that are relative to its day: as words they would match other days'.

    With them go words that ask for what is on at that time, whatever it is: 行程, "schedule".
    """
    rest = without_relative_en(folded if folded.isascii() else without_relative_zh(folded))
    return folded if rest == folded else _CALENDAR.sub(" ", rest)


def asks_when(folded: str) -> bool:
    """Whether a question wants to know a time."""
    return _ASKS_WHEN.search(folded) is not None


def tells_clock(folded: str) -> bool:
    """Whether a text holds a time of day."""
    return _CLOCK.search(folded) is not None
