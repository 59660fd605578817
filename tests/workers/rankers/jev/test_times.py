"""Time expressions of both languages become spans of days, from the day on which they were said."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_schemas.words import fold
from memsift_workers.rankers.jev.spans import Span, agreement, local_day, overlaps, weekly
from memsift_workers.rankers.jev.times import asks_when, dated_spans, spans, tells_clock, without_relative

WEDNESDAY = date(2026, 3, 11)


def named(text, today=WEDNESDAY):
    """As ISO dates: one for a day, two for a longer span, a number for a weekday that comes back."""
    found = []
    for span in spans(fold(text), today):
        if span.weekday is not None:
            found.append(span.weekday)
            continue
        ends = [date.fromordinal(end).isoformat() for end in (span.first, span.last)]
        found.append(ends[0] if ends[0] == ends[1] else tuple(ends))
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What's on for me today?", ["2026-03-11"]),
        ("May I practise in my room tonight?", ["2026-03-11"]),
        ("She may march on.", []),
        ("We fly to Oslo tomorrow morning.", ["2026-03-12"]),
        ("It rained yesterday.", ["2026-03-10"]),
        ("the day before yesterday", ["2026-03-09"]),
        ("Last night they sang.", ["2026-03-10"]),
        ("an exam on 7 May", ["2026-05-07"]),
        ("an exam on the 7th of May, 2027", ["2027-05-07"]),
        ("I said on May 2nd that I went", ["2026-05-02"]),
        ("Dinner on Friday, 13 March, at half past seven", ["2026-03-13"]),
        ("Today, Friday, 6 March, Tom has two pupils", ["2026-03-06"]),
        ("from 3 to 7 May", [("2026-05-03", "2026-05-07")]),
        ("Mar 3-5", [("2026-03-03", "2026-03-05")]),
        ("due 2026-04-03", ["2026-04-03"]),
        ("due 2026-13-40", []),
        ("They meet next Friday.", ["2026-03-20"]),
        ("They met last Friday.", ["2026-03-06"]),
        ("They meet this Friday.", ["2026-03-13"]),
        ("on Friday", ["2026-03-13", "2026-03-06"]),
        ("on Wednesday", ["2026-03-11"]),
        ("She swims on Tuesdays.", [1]),
        ("every Sunday", [6]),
        ("Last week Mara moved.", [("2026-03-02", "2026-03-08")]),
        ("next weekend", [("2026-03-21", "2026-03-22")]),
        ("Last month we were in Graz.", [("2026-02-01", "2026-02-28")]),
        ("In June Tom auditioned.", [("2026-06-01", "2026-06-30")]),
        ("in November", [("2025-11-01", "2025-11-30")]),
        ("last December", [("2025-12-01", "2025-12-31")]),
        ("next May", [("2026-05-01", "2026-05-31")]),
        ("early April", [("2026-04-01", "2026-04-10")]),
        ("last summer", [("2025-06-01", "2025-08-31")]),
        ("in 2022", [("2022-01-01", "2022-12-31")]),
        ("three days ago", ["2026-03-08"]),
        ("in two weeks", [("2026-03-24", "2026-03-26")]),
        ("a month ago", [("2026-02-01", "2026-02-28")]),
        ("on the 20th", ["2026-03-20"]),
        ("the second seat in coach C at 7:30", []),
    ],
)
def test_english(text, expected):
    assert named(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("今天的行程有什么安排？", ["2026-03-11"]),
        ("我今天晚上不在家", ["2026-03-11"]),
        ("今晚吃什么", ["2026-03-11"]),
        ("明天飞奥斯陆", ["2026-03-12"]),
        ("后天下午三点开会", ["2026-03-13"]),
        ("大前天", ["2026-03-08"]),
        ("昨天用户加班", ["2026-03-10"]),
        ("下周三去苏州培训", ["2026-03-18"]),
        ("下下周二", ["2026-03-24"]),
        ("上星期五", ["2026-03-06"]),
        ("周三下午围棋课", ["2026-03-11"]),
        ("周五见", ["2026-03-13", "2026-03-06"]),
        ("每周三上围棋课", [2]),
        ("一周三次去游泳", []),
        ("周一到周五上班", [("2026-03-09", "2026-03-13")]),
        ("下周三（3月18日）去苏州", ["2026-03-18"]),
        ("今天（3月4日，周三）的行程", ["2026-03-04"]),
        ("3月11日周三下午两点", ["2026-03-11"]),
        ("二月四日中午", ["2026-02-04"]),
        ("十一月十二号", ["2025-11-12"]),
        ("2024年5月1日", ["2024-05-01"]),
        ("去年十一月", [("2025-11-01", "2025-11-30")]),
        ("5月1日到5日", [("2026-05-01", "2026-05-05")]),
        ("三月下旬再谈", [("2026-03-21", "2026-03-31")]),
        ("四月才能换", [("2026-04-01", "2026-04-30")]),
        ("13月", []),
        ("2月30日", []),
        ("上周搬家了", [("2026-03-02", "2026-03-08")]),
        ("这周末去买围巾", [("2026-03-14", "2026-03-15")]),
        ("上个月去了上海", [("2026-02-01", "2026-02-28")]),
        ("下个月初", [("2026-04-01", "2026-04-10")]),
        ("去年", [("2025-01-01", "2025-12-31")]),
        ("三天前收到包裹", ["2026-03-08"]),
        ("两周后考试", [("2026-03-24", "2026-03-26")]),
        ("三天内交", [("2026-03-11", "2026-03-14")]),
        ("20号有什么安排", ["2026-03-20"]),
        ("地铁10号线，5号楼", []),
        ("今年", [("2026-01-01", "2026-12-31")]),
        ("一米四的书桌，一起去，三万日元", []),
    ],
)
def test_chinese(text, expected):
    assert named(text) == expected


def test_a_year_unsaid_is_the_nearest():
    # Said in January, Then December is the one just over
    assert named("on 30 December", date(2026, 1, 5)) == ["2025-12-30"]
    assert named("12月30日", date(2026, 1, 5)) == ["2025-12-30"]
    assert named("on 29 February", date(2025, 3, 1)) == ["2024-02-29"]


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        ("今天的行程有什么安排？", "的 有什么 ？"),
        ("行程有什么安排？", "行程有什么安排？"),
        ("my plans for tomorrow", "my   for"),
        ("下周三去哪？", "去哪？"),
        ("3月11日周三去哪？", "3月11日周三去哪？"),
        ("what is on today?", "what is on  ?"),
        ("who came last week?", "who came  ?"),
        ("what did i do on may 2nd?", "what did i do on may 2nd?"),
    ],
)
def test_words_that_mean_another_day_elsewhere_are_no_evidence(question, rest):
    assert without_relative(question).strip() == rest


def test_today_is_that_of_the_memorys_own_zone():
    asked = datetime(2026, 3, 11, 7, 0, tzinfo=timezone(timedelta(hours=8)))
    # Given a memory from Tokyo, late in its evening, Then it keeps its own day
    tokyo = datetime(2026, 3, 10, 23, 30, tzinfo=timezone(timedelta(hours=9)))
    assert local_day(tokyo, asked) == date(2026, 3, 10)
    # Given a store that writes UTC, Then the day is that of the asking user
    assert local_day(datetime(2026, 3, 10, 23, 30, tzinfo=UTC), asked) == date(2026, 3, 11)
    # Given the calendar's first moment, Then nothing breaks
    west = asked.replace(tzinfo=timezone(timedelta(hours=-8)))
    assert local_day(datetime(1, 1, 1, tzinfo=UTC), west) == date(1, 1, 1)


def span(first, last=None):
    return Span(first, first if last is None else last)


def test_agreement_tells_a_day_within_a_month_from_a_month_around_a_day():
    day, month = span(100), span(90, 119)
    assert agreement([month], [day]) == 1
    assert 0 < agreement([day], [month]) < 0.2
    assert agreement([day], [day]) == 1
    assert 0 < agreement([day], [span(101)]) < 0.2
    assert agreement([day], [span(130)]) < 0.001
    assert agreement([day], []) == agreement([], [day]) == 0


def test_a_weekday_that_comes_back_fits_its_days_and_no_whole_week():
    wednesday = WEDNESDAY.toordinal()
    assert agreement([span(wednesday)], [weekly(2)]) == 0.5
    assert agreement([weekly(2)], [span(wednesday + 7)]) == 0.5
    assert agreement([weekly(2)], [weekly(2)]) == 0.5
    assert not overlaps([span(wednesday)], [weekly(3)])
    assert not overlaps([span(wednesday, wednesday + 29)], [weekly(2)])


@pytest.mark.parametrize(
    "text", ["When did she move?", "what day is it", "他什么时候搬家？", "几点开会", "哪天"]
)
def test_a_question_for_a_time_is_known(text):
    assert asks_when(fold(text))


def test_other_questions_ask_for_no_time():
    assert not asks_when("whenever you like, who came?")
    assert [tells_clock(text) for text in ("开会在下午三点", "at 7:30", "三点心")] == [True, True, False]


pieces = st.sampled_from(
    [
        "今天",
        "下",
        "周",
        "三",
        "月",
        "99",
        "日",
        "号",
        "年",
        "前",
        "last ",
        "may ",
        "9999-99-99",
        "ago",
        "31 ",
        "st ",
    ]
)


@given(st.lists(pieces, max_size=12).map("".join) | st.text(), st.dates())
def test_any_text_on_any_day_names_spans_that_end_after_they_begin(text, today):
    found = spans(fold(text), today)
    assert all(one.first <= one.last for one in found)
    assert 0 <= agreement(found, found) <= 1
    without_relative(fold(text))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("We flew to Oslo yesterday.", ()),
        ("an exam on 7 May", ()),
        ("last year", ()),
        ("明天下午开会", ()),
        ("due 2026-04-03", (Span(739_709, 739_709),)),
        ("二〇二六年开会，也就是2026年4月3日", (Span(739_709, 739_709),)),
        ("We swim every Monday.", (weekly(0),)),
    ],
)
def test_of_a_text_of_unknown_age_only_what_it_dates_itself_counts(text, told):
    assert [span for span in dated_spans(fold(text)) if span.first == span.last] == list(told)
