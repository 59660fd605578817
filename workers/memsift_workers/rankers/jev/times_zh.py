"""Chinese time expressions as spans of days: 今天, 下周三, 上个月, 3月11日, 三天前."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from memsift_workers.rankers.jev.spans import (
    MONTHS,
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

_DIGITS = {mark: value for value, mark in enumerate("一二三四五六七八九", 1)} | {"两": 2, "几": 3}
_UNITS = {"天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year"}
_DAYS = {"大前": -3, "前": -2, "昨": -1, "今": 0, "当": 0, "明": 1, "后": 2, "大后": 3}
_YEARS = {"前": -2, "去": -1, "今": 0, "本": 0, "明": 1, "后": 2}
_TURNS = {"上上": -2, "上": -1, "这": 0, "本": 0, "": 0, "下": 1, "下下": 2}
_WEEKDAYS = {mark: at for at, mark in enumerate("一二三四五六日")} | {"天": 6}
_THIRDS = {"上": (0, 9), "初": (0, 9), "中": (10, 19), "下": (20, 30), "底": (20, 30), "末": (20, 30)}
# A numeral that goes on to the left was meant; 十一月 is no 一月. Houses and lines have numbers with 号 too.
_NUMBER = r"(?:\d{1,3}|[一二两三四五六七八九十]{1,3})"
_NO_DAY = "线楼门房院店机位厅馆桌口台室柜码"
_MONTHDAY = rf"{_NUMBER}(?:[日号](?![{_NO_DAY}])|(?=[上下中]午|[早晚]))"
_MONTH = r"(?:(?<![\d.一二三四五六七八九十])\d{1,2}|[一二三四五六七八九十]{1,2})"
_PATTERN = re.compile(
    rf"""
    (?P<iso>(?<!\d)\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?!\d))
    | (?:(?P<year>\d{{4}}|[去今明前后本])年)?(?P<month>{_MONTH})\ ?月(?![球饼薪租票嫂])
      (?:份?(?P<third>[上中下]旬|[初中底末])
        | \ ?(?P<day>{_MONTHDAY})
          (?:\ ?[到至—–~-]\ ?(?:(?P<month2>{_NUMBER})月)?(?P<day2>{_MONTHDAY}))?)?
    | (?P<every>每个?)?(?P<turn>上上|下下|[上下这本])?个?
      (?:周|星期|礼拜)(?P<weekday>[一二三四五六日天末])(?![次个顿遍场节回])
      (?:[到至](?:周|星期|礼拜)?(?P<weekday2>[一二三四五六日天]))?
    | (?P<turnweek>上上|下下|[上下这本])一?个?(?:周|星期|礼拜)(?!年)
    | (?P<turnmonth>上上|下下|[上下这本])一?个?月(?![球饼票])(?P<part>[初中底末])?
    | (?P<rel>大前|大后|[前昨今明后当])(?:天|日(?=[上下中早晚，。]))
    | (?P<rel2>[昨今明])[晚早夜晨]
    | (?P<yearalone>(?<!\d)(?:19|20)\d\d|[去今明])年(?![级轻龄会])
    | (?P<half>半)个?(?P<halfunit>月|年)(?:之|以)?(?P<halfway>[前后])
    | (?P<count>{_NUMBER}|几)\ ?个?(?P<unit>天|日|周|星期|礼拜|月|年)(?:之|以)?(?P<way>[前后]|内)(?![天面来])
    | (?P<dayalone>(?<![\d第])\d{{1,2}})号(?=[，。？！有是要去到的上下中早晚那]|$)
    | (?P<few>[前这][几两]天)
    """,
    re.VERBOSE,
)
# Nothing of the pattern can match without one of these.
_TRIGGER = re.compile(r"[天日周月年号晚早夜晨近]|星期|礼拜|\d{4}[-/.]")
# What stands this near to a date says the same again: 下周三（3月11日）, 3月4日，周三.
_GLOSS_GAP = 2


def spans_zh(text: str, today: date) -> tuple[Span, ...]:
    """All times that a Chinese text names.

    Args:
        text: any text, NFKC.
        today: the day that it was written on.
    """
    if not _TRIGGER.search(text):
        return ()
    matches = list(_PATTERN.finditer(text))
    dates = [match for match in matches if match["iso"] or match["day"]]
    told = without_glosses(matches, dates, before=_GLOSS_GAP, after=_GLOSS_GAP)
    return tuple(span for match in told for span in _resolve(match, today))


def without_relative_zh(text: str) -> str:
    """The text without such words as 今天 or 下周三, which mean another day in every text."""
    return _PATTERN.sub(_unless_relative, text) if _TRIGGER.search(text) else text


def _unless_relative(match: re.Match[str]) -> str:
    bare_weekday = match["weekday"] and not match["turn"]
    a_year = (match["yearalone"] or "").isdigit()
    absolute = match["iso"] or match["month"] or match["dayalone"] or bare_weekday or a_year
    return match.group() if absolute else " "


def _resolve(match: re.Match[str], today: date) -> Iterator[Span]:
    kind = match.lastgroup
    if match["weekday"]:
        yield from _weekday(match, today)
        return
    found: Span | None
    if match["iso"]:
        found = day(*map(int, re.split(r"[-/.]", match["iso"])))
    elif match["month"]:
        found = _in_month(match, today)
    elif kind == "dayalone":
        found = nearest_of_month(today, int(match["dayalone"]))
    elif kind in ("yearalone", "turnweek", "turnmonth", "part"):
        found = _turned(match, today)
    else:
        found = _relative(match, today)
    if found is not None:
        yield found


def _weekday(match: re.Match[str], today: date) -> Iterator[Span]:
    name, turn = match["weekday"], match["turn"]
    if name == "末":
        yield from (weekly(5), weekly(6)) if match["every"] else (weekend(today, _TURNS[turn or ""]),)
    elif match["every"]:
        yield weekly(_WEEKDAYS[name])
    elif match["weekday2"]:
        last = _WEEKDAYS[match["weekday2"]]
        both = joined(weekday_of(today, _TURNS[turn or ""], at) for at in (_WEEKDAYS[name], last))
        if both is not None:
            yield both
    elif turn:
        yield weekday_of(today, _TURNS[turn], _WEEKDAYS[name])
    else:
        yield from either_weekday(today, _WEEKDAYS[name])


def _in_month(match: re.Match[str], today: date) -> Span | None:
    number = _value(match["month"])
    in_year = _year(match["year"], today)
    if match["day"]:
        first = _day(today, in_year, number, match["day"])
        if not match["day2"]:
            return first
        last = _day(today, in_year, _value(match["month2"] or match["month"]), match["day2"])
        return joined((first, last))
    if not 1 <= number <= MONTHS:
        return None
    whole = nearest_month(today, number) if in_year is None else month(in_year, number)
    return _third(whole, match["third"])


def _day(today: date, in_year: int | None, in_month: int, written: str) -> Span | None:
    number = _value(written.rstrip("日号"))
    return nearest_day(today, in_month, number) if in_year is None else day(in_year, in_month, number)


def _turned(match: re.Match[str], today: date) -> Span | None:
    if match["turnweek"]:
        return week(today, _TURNS[match["turnweek"]])
    if match["turnmonth"]:
        return _third(month(today.year, today.month + _TURNS[match["turnmonth"]]), match["part"])
    number = _year(match["yearalone"], today)
    return None if number is None else year(number)


def _relative(match: re.Match[str], today: date) -> Span | None:
    if match["rel"] or match["rel2"]:
        return days(today, _DAYS[match["rel"] or match["rel2"]])
    if match["few"]:
        return days(today, -4, -1) if match["few"].startswith("前") else days(today, -3, 3)
    if match["half"]:
        length = 15 if match["halfunit"] == "月" else 182
        middle = length if match["halfway"] == "后" else -length
        return days(today, middle - length // 5, middle + length // 5)
    count = _value(match["count"])
    if match["way"] == "内":
        ahead = shifted(today, count, _UNITS[match["unit"]])
        return joined((days(today, 0), ahead))
    return shifted(today, count if match["way"] == "后" else -count, _UNITS[match["unit"]])


def _year(written: str | None, today: date) -> int | None:
    if written is None:
        return None
    return int(written) if written.isdigit() else today.year + _YEARS[written]


def _third(whole: Span | None, part: str | None) -> Span | None:
    """The beginning, middle or end of a month."""
    if whole is None or not part:
        return whole
    first, last = _THIRDS[part[0]]
    return Span(whole.first + first, min(whole.first + last, whole.last))


def _value(written: str) -> int:
    """A number up to 99 in digits or Chinese numerals."""
    if written.isdigit():
        return int(written)
    tens, ten, ones = written.rpartition("十")
    value = _DIGITS.get(ones, 0) if ones else 0
    return value + 10 * (_DIGITS.get(tens, 1) if tens else 1) if ten else value
