"""English time expressions as spans of days: today, last week, on 7 May, next Friday, in March."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from memsift_workers.rankers.jev.spans import (
    WEEK,
    Span,
    day,
    days,
    either_weekday,
    joined,
    month,
    nearest_day,
    nearest_month,
    nearest_of_month,
    shifted,
    week,
    weekday_of,
    weekend,
    weekly,
    without_glosses,
    year,
)

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        1,
    )
    for name in names.split()
}
_WEEKDAYS = {"mon": 0, "tues": 1, "wednes": 2, "thurs": 3, "fri": 4, "satur": 5, "sun": 6}
_TO_TWELVE = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_NUMBERS = {name: value for value, name in enumerate(_TO_TWELVE.split("|"), 1)} | {
    "a": 1,
    "an": 1,
    "a couple of": 2,
    "a few": 3,
    "few": 3,
    "several": 4,
}
_TURNS = {"last": -1, "past": -1, "previous": -1, "this": 0, "coming": 0, "next": 1}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_DAYS = {"today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1}

_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
# Names that are no other word; "may", "march", "mar" and "sun" need a neighbour that tells.
_SURE_MONTH = "january|february|april|june|july|august|september|october|november|december"
_WEEKDAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)"
_COUNT = rf"\d{{1,3}}|an?|a\ couple\ of|a\ few|few|several|{_TO_TWELVE}"
_ORDINAL = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"(?:19|20)\d\d"
_PATTERN = re.compile(
    rf"""\b(?:
    (?P<iso>\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}})
    | (?:(?P<from>{_ORDINAL})(?:\ ?[-–]\ ?|\ to\ |\ and\ |\ until\ ))?
      (?P<day>{_ORDINAL})\ (?:of\ )?(?P<month>{_MONTH})\b\.?(?:,?\ (?P<year>{_YEAR}))?
    | (?P<usmonth>{_MONTH})\.?\ (?P<usday>{_ORDINAL})(?![\d:%])
      (?:(?:\ ?[-–]\ ?|\ to\ )(?P<usto>{_ORDINAL}))?(?:,?\ (?P<usyear>{_YEAR}))?
    | (?P<turn>last|past|previous|this|coming|next)\ (?:
        (?P<unit>weekend|week|month|year) | (?P<season>spring|summer|autumn|fall|winter)
        | (?P<turnday>{_WEEKDAY})day | (?P<turnmonth>{_SURE_MONTH}|may|march)
        | (?P<part>morning|afternoon|evening|night) )
    | (?P<beyond>day\ (?:after\ tomorrow|before\ yesterday))
    | (?P<rel>today|tonight|tomorrow|yesterday)
    | (?P<ago>{_COUNT})\ (?P<agounit>day|week|month|year)s?\ (?P<way>ago|earlier|later|from\ now)
    | (?:in|within)\ (?P<in>{_COUNT})\ (?P<inunit>day|week|month|year)s?
    | (?:(?P<every>every|each)\ )?(?P<weekday>{_WEEKDAY})day(?P<plural>s)?
    | (?:on|by|until)\ the\ (?P<nth>\d{{1,2}})(?:st|nd|rd|th)(?!\ (?:of|{_MONTH}))
    | (?P<third>early|mid|late|beginning\ of|middle\ of|end\ of)[\ -](?P<thirdmonth>{_MONTH})
    | (?:in|since|by|until|during|of|for|before|after)\ (?P<inmonth>{_MONTH})\b
      (?:,?\ (?P<inmonthyear>{_YEAR}))?
    | (?P<sure>{_SURE_MONTH})(?:,?\ (?P<sureyear>{_YEAR}))?
    | (?:in|since|during|of|from|by|year)\ (?P<yearalone>{_YEAR})
    )\b""",
    re.VERBOSE,
)
# Nothing of the pattern can match without one of these; most texts have none, and are told in 1 µs.
_TRIGGER = re.compile(
    rf"day|{_MONTH}|tonight|tomorrow|(?:last|past|previous|this|coming|next)\ |ago\b|later|earlier|\ now\b"
    rf"|(?:in|within)\ (?:{_COUNT})\ |{_YEAR}|(?:on|by|until)\ the\ \d"
)
# What stands this near to a date says the same again: "Friday, 9 October".
_GAP_BEFORE, _GAP_AFTER = 6, 2
_THIRDS = {
    "early": (0, 9),
    "beginning": (0, 9),
    "mid": (10, 19),
    "middle": (10, 19),
    "late": (20, 30),
    "end": (20, 30),
}


def spans_en(text: str, today: date) -> tuple[Span, ...]:
    """All times that an English text names.

    Dates such as 3/4 are left alone: the words do not tell the day from the month.

    Args:
        text: any text, in lower case.
        today: the day that it was written on.
    """
    if not _TRIGGER.search(text):
        return ()
    matches = list(_PATTERN.finditer(text))
    dates = [match for match in matches if match["iso"] or match["day"] or match["usday"]]
    told = without_glosses(matches, dates, before=_GAP_BEFORE, after=_GAP_AFTER)
    return tuple(span for match in told for span in _resolve(match, today))


def without_relative_en(text: str) -> str:
    """The text without such words as "today" or "next Friday", which mean another day in every text."""
    return _PATTERN.sub(_unless_relative, text) if _TRIGGER.search(text) else text


def _unless_relative(match: re.Match[str]) -> str:
    relative = any(match[group] for group in ("rel", "turn", "beyond", "ago", "in"))
    return " " if relative else match.group()


def _resolve(match: re.Match[str], today: date) -> Iterator[Span]:
    if match["weekday"]:
        at = _WEEKDAYS[match["weekday"]]
        yield from [weekly(at)] if match["every"] or match["plural"] else either_weekday(today, at)
        return
    found: Span | None
    if match["iso"]:
        found = day(*map(int, re.split(r"[-/.]", match["iso"])))
    elif match["month"]:
        found = _date(match, ("year", "month", "from", "day"), today)
    elif match["usmonth"]:
        found = _date(match, ("usyear", "usmonth", "usday", "usto"), today)
    elif match["turn"]:
        found = _turned(match, today)
    else:
        found = _named(match, today) or _relative(match, today)
    if found is not None:
        yield found


def _date(match: re.Match[str], groups: tuple[str, str, str, str], today: date) -> Span | None:
    in_year, in_month, *ends = (match[group] for group in groups)
    number = _MONTHS[in_month]
    written = [int(end.rstrip("stndrh")) for end in ends if end]
    return joined(
        nearest_day(today, number, at) if in_year is None else day(int(in_year), number, at) for at in written
    )


def _turned(match: re.Match[str], today: date) -> Span | None:
    offset = _TURNS[match["turn"]]
    if match["turnday"]:
        return _turned_weekday(today, offset, _WEEKDAYS[match["turnday"]])
    if match["part"]:
        return days(today, offset)
    if match["season"]:
        return _season(today.year + offset, _SEASONS[match["season"]])
    if match["turnmonth"]:
        return _turned_month(today, offset, _MONTHS[match["turnmonth"]])
    return _turned_unit(today, offset, match["unit"])


def _turned_unit(today: date, offset: int, unit: str) -> Span | None:
    match unit:
        case "week":
            return week(today, offset)
        case "weekend":
            return weekend(today, offset)
        case "month":
            return month(today.year, today.month + offset)
        case _:
            return year(today.year + offset)


def _turned_weekday(today: date, offset: int, weekday: int) -> Span:
    """Last Friday is the one before today; this and next Friday are of this and next week."""
    if offset < 0:
        return days(today, (weekday - today.weekday()) % WEEK - WEEK)
    return weekday_of(today, offset, weekday)


def _turned_month(today: date, offset: int, number: int) -> Span | None:
    """Last March is the latest that is over, next March the first to come, this March is of this year."""
    if offset < 0:
        return month(today.year - (number >= today.month), number)
    return month(today.year + (offset > 0 and number <= today.month), number)


def _season(in_year: int, first_month: int) -> Span | None:
    return joined((month(in_year, first_month), month(in_year, first_month + 2)))


def _named(match: re.Match[str], today: date) -> Span | None:
    """A month, a part of one, or a year."""
    if match["yearalone"]:
        return year(int(match["yearalone"]))
    name = match["inmonth"] or match["sure"] or match["thirdmonth"]
    if not name:
        return None
    in_year = match["inmonthyear"] or match["sureyear"]
    whole = nearest_month(today, _MONTHS[name]) if not in_year else month(int(in_year), _MONTHS[name])
    if not match["third"] or whole is None:
        return whole
    first, last = _THIRDS[match["third"].split()[0]]
    return Span(whole.first + first, min(whole.first + last, whole.last))


def _relative(match: re.Match[str], today: date) -> Span | None:
    if match["rel"]:
        return days(today, _DAYS[match["rel"]])
    if match["beyond"]:
        return days(today, 2 if "after" in match["beyond"] else -2)
    if match["nth"]:
        return nearest_of_month(today, int(match["nth"]))
    written, unit = match["ago"] or match["in"], match["agounit"] or match["inunit"]
    count = _NUMBERS.get(written) or int(written)
    return shifted(today, -count if match["way"] in ("ago", "earlier") else count, unit)
