"""Stretches of days, how a grammar makes them from a calendar, and how well two of them agree."""

from __future__ import annotations

import calendar
import itertools
import math
import re
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, date, datetime
from typing import NamedTuple

WEEK = 7
MONTHS = 12
# A memory of the day before or after may still be the one that is meant: a third of a match at first, then
# fading by e with every day (with every length of the query's span, where that is longer than a day).
_NEAR = 0.3
# "Every Wednesday" says less about this Wednesday than a date does.
_RECURRING = 0.5


class Span(NamedTuple):
    """A stretch of whole days.

    Attributes:
        first: proleptic ordinal of its first day.
        last: of its last day, included.
        weekday: 0 (Monday) to 6 for a day that comes back every week; `first` and `last` then mean nothing.
    """

    first: int
    last: int
    weekday: int | None = None


def weekly(weekday: int) -> Span:
    """Every week's `weekday` (0 is Monday)."""
    return Span(0, 0, weekday)


def local_day(moment: datetime, asked: datetime) -> date:
    """The calendar day that a memory's "today" means.

    A moment keeps its own offset, since "tomorrow" written in Tokyo is Tokyo's. A moment in UTC is taken for
    one that a store has normalised, and is read in the zone of the question.

    Args:
        moment: when the memory was learned; with a time zone.
        asked: when the question was asked; with a time zone.
    """
    try:
        return (moment if moment.utcoffset() else moment.astimezone(asked.tzinfo or UTC)).date()
    except OverflowError:  # the first or the last day of the calendar
        return moment.date()


def days(today: date, first: int, last: int | None = None) -> Span:
    """From `first` to `last` days after `today`; one day when `last` is not given."""
    start = today.toordinal() + first
    return Span(start, start if last is None else today.toordinal() + last)


def week(today: date, offset: int) -> Span:
    """The Monday-to-Sunday week that is `offset` weeks after today's."""
    monday = today.toordinal() - today.weekday() + offset * WEEK
    return Span(monday, monday + WEEK - 1)


def weekend(today: date, offset: int) -> Span:
    """Saturday and Sunday of `week(today, offset)`."""
    sunday = week(today, offset).last
    return Span(sunday - 1, sunday)


def weekday_of(today: date, offset: int, weekday: int) -> Span:
    """A day of `week(today, offset)`."""
    day = week(today, offset).first + weekday
    return Span(day, day)


def either_weekday(today: date, weekday: int) -> tuple[Span, ...]:
    """A bare weekday: today if it is one, else the last and the next, as the words do not tell which."""
    ahead = (weekday - today.weekday()) % WEEK
    return (days(today, ahead),) if ahead == 0 else (days(today, ahead), days(today, ahead - WEEK))


def month(year: int, number: int) -> Span | None:
    """A whole month; `number` may lie outside 1-12 and then counts on into other years."""
    year, number = year + (number - 1) // MONTHS, (number - 1) % MONTHS + 1
    if not date.min.year < year < date.max.year:
        return None
    start = date(year, number, 1).toordinal()
    return Span(start, start + calendar.monthrange(year, number)[1] - 1)


def year(number: int) -> Span | None:
    """A whole year."""
    first, last = month(number, 1), month(number, MONTHS)
    return Span(first.first, last.last) if first and last else None


def nearest_month(today: date, number: int) -> Span | None:
    """The month of that name whose middle is nearest to today."""
    found = [span for offset in (-1, 0, 1) if (span := month(today.year + offset, number))]
    return min(found, key=lambda span: abs((span.first + span.last) / 2 - today.toordinal()), default=None)


def day(year_: int, month_: int, day_: int) -> Span | None:
    """One day; None if there is no such day."""
    try:
        ordinal = date(year_, month_, day_).toordinal()
    except ValueError:
        return None
    return Span(ordinal, ordinal)


def nearest_day(today: date, month_: int, day_: int) -> Span | None:
    """The day of that name, year unsaid, that is nearest to today."""
    found = [span for offset in (-1, 0, 1) if (span := day(today.year + offset, month_, day_))]
    return min(found, key=lambda span: abs(span.first - today.toordinal()), default=None)


def nearest_of_month(today: date, day_: int) -> Span | None:
    """The day with that number in a month that is nearest to today."""
    found = []
    for offset in (-1, 0, 1):
        whole = month(today.year, today.month + offset)
        if whole and 1 <= day_ <= whole.last - whole.first + 1:
            found.append(Span(whole.first + day_ - 1, whole.first + day_ - 1))
    return min(found, key=lambda span: abs(span.first - today.toordinal()), default=None)


def shifted(today: date, count: int, unit: str) -> Span | None:
    """`count` days, weeks, months or years from today, as exact as such words are meant.

    Args:
        today: the day that is counted from.
        count: below 0 for the past.
        unit: `day`, `week`, `month` or `year`.
    """
    match unit:
        case "day":
            return _moved(Span(today.toordinal(), today.toordinal()), count)
        case "week":
            middle = _moved(Span(today.toordinal(), today.toordinal()), count * WEEK)
            return middle and Span(middle.first - 1, middle.last + 1)
        case "month":
            return month(today.year, today.month + count)
        case _:
            return year(today.year + count)


def _moved(span: Span, by: int) -> Span | None:
    first, last = span.first + by, span.last + by
    return Span(first, last) if first > 0 and last <= date.max.toordinal() else None


def joined(spans: Iterable[Span | None]) -> Span | None:
    """From the first day of all of them to the last; None if one is missing."""
    found = list(spans)
    known = [span for span in found if span is not None]
    if not known or len(known) < len(found):
        return None
    return Span(min(span.first for span in known), max(span.last for span in known))


def without_glosses(
    matches: Sequence[re.Match[str]], dates: Collection[re.Match[str]], *, before: int, after: int
) -> list[re.Match[str]]:
    """Time expressions less those that a date beside them says again: "today, Friday, 9 October".

    Args:
        matches: in the order of the text.
        dates: those of them that name a full date.
        before: the most characters between an expression and a date, or another such gloss, that follows.
        after: the same for one that comes before.
    """
    told = set(dates)
    for nearer, gap in ((matches[::-1], before), (matches, after)):
        for known, match in itertools.pairwise(nearer):
            first, second = sorted((known, match), key=lambda one: one.start())
            if known in told and second.start() - first.end() <= gap:
                told.add(match)
    return [match for match in matches if match in dates or match not in told]


def agreement(asked: Iterable[Span], told: Iterable[Span]) -> float:
    """How well the times of a memory fit those of a question: 1 for within, 0 for far away.

    Where they overlap it is the root of the share of the memory's days that the question asks for, so that a
    day fits last month wholly and a month fits today little. Where they do not it fades with the gap.

    Returns:
        0 to 1; the best of all pairs, 0 when there is none.
    """
    tells = list(told)
    return max((_pair(ask, tell) for ask in asked for tell in tells), default=0.0)


def overlaps(asked: Iterable[Span], told: Iterable[Span]) -> bool:
    """Whether any two of them share a day."""
    tells = list(told)
    return any(_shared(ask, tell) > 0 for ask in asked for tell in tells)


def _pair(ask: Span, tell: Span) -> float:
    shared = _shared(ask, tell)
    if ask.weekday is not None or tell.weekday is not None:
        return _RECURRING * shared
    if shared:
        return math.sqrt(shared / (tell.last - tell.first + 1))
    gap = max(tell.first - ask.last, ask.first - tell.last)
    return _NEAR * math.exp(-gap / (ask.last - ask.first + 1))


def _shared(ask: Span, tell: Span) -> int:
    """Days in common; for a recurring day 1 or 0, and 0 in a span that holds every day of the week."""
    if ask.weekday is not None and tell.weekday is not None:
        return int(ask.weekday == tell.weekday)
    if tell.weekday is not None:
        return _holds(ask, tell.weekday)
    if ask.weekday is not None:
        return _holds(tell, ask.weekday)
    return max(0, min(ask.last, tell.last) - max(ask.first, tell.first) + 1)


def _holds(span: Span, weekday: int) -> int:
    if span.last - span.first + 1 >= WEEK:
        return 0
    return int(any((at - 1) % WEEK == weekday for at in range(span.first, span.last + 1)))
