"""The hand-written set `time` keeps what its README promises: format, dates, categories, gold."""

import json
import math
import re
from collections import Counter, defaultdict
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from memsift_ops import datasets

HERE = Path(__file__).parent
LANGUAGES = ("zh", "en")
CATEGORIES = (
    "superseded",
    "period",
    "same_place",
    "near_duplicate",
    "two_people",
    "recurring",
    "nothing",
    "plain",
)
# In these the newer memory is sometimes right and sometimes wrong.
EITHER_WAY = ("period", "same_place", "recurring")

MEMORY_FIELDS = {"id", "pool", "text", "created_at", "category"}
QUERY_FIELDS = MEMORY_FIELDS - {"text", "created_at"} | {
    "dataset",
    "lang",
    "now",
    "query",
    "context",
    "gold",
    "lure",
    "candidates",
    "similarity",
}

ZH_DAYS = "一二三四五六日"
EN_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
EN_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)
_DAY, _MONTH = "|".join(EN_DAYS), "|".join(EN_MONTHS)
# 下周二（5月19日）, 8月28日（周五）, 9月27日周日
ZH_DAY_DATE = re.compile(rf"(?P<week>[上本这下]?)周(?P<day>[{ZH_DAYS}])（(?P<month>\d+)月(?P<number>\d+)日）")
ZH_DATE_DAY = re.compile(rf"(?P<month>\d+)月(?P<number>\d+)日（?周(?P<day>[{ZH_DAYS}])")
# Friday, 1 May; Friday, August 14
EN_DAY_DATE = re.compile(rf"(?P<day>{_DAY}), (?P<number>\d+) (?P<month>{_MONTH})")
EN_DAY_MONTH = re.compile(rf"(?P<day>{_DAY}), (?P<month>{_MONTH}) (?P<number>\d+)")
WEEKS = {"上": -1, "本": 0, "这": 0, "下": 1}


def rows(kind):
    lines = (HERE / f"time.{kind}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


MEMORIES = {row["id"]: row for row in rows("memories")}
QUERIES = rows("queries")
each_query = pytest.mark.parametrize("query", QUERIES, ids=lambda query: query["id"])


def of(*categories):
    return [query for query in QUERIES if query["category"] in categories]


def created(key):
    return datetime.fromisoformat(MEMORIES[key]["created_at"])


def said_dates(text, said_on):
    """Each date with a weekday in a text: (what is written, its date, the weekday, the week or "")."""
    for pattern in (ZH_DAY_DATE, ZH_DATE_DAY, EN_DAY_DATE, EN_DAY_MONTH):
        for found in pattern.finditer(text):
            parts = found.groupdict()
            chinese = parts["day"] in ZH_DAYS
            month = int(parts["month"]) if chinese else EN_MONTHS.index(parts["month"]) + 1
            weekday = (ZH_DAYS if chinese else EN_DAYS).index(parts["day"])
            # No year is ever written; the nearest one is meant.
            near = (date(said_on.year + step, month, int(parts["number"])) for step in (-1, 0, 1))
            meant = min(near, key=lambda day: abs(day - said_on.date()))
            yield found.group(), meant, weekday, parts.get("week") or ""


def test_every_row_has_its_fields_and_no_others():
    assert len(MEMORIES) == len(rows("memories"))
    assert len({query["id"] for query in QUERIES}) == len(QUERIES)
    for memory in MEMORIES.values():
        assert set(memory) == MEMORY_FIELDS
        assert all(isinstance(value, str) and value.strip() == value != "" for value in memory.values())
    for query in QUERIES:
        assert set(query) - {"answer"} == QUERY_FIELDS
        assert query["dataset"] == "time"
        assert query["context"] == []


def test_the_reader_of_sets_reads_it_and_keeps_the_offsets():
    cases = datasets.load(HERE, "time")
    assert len(cases) == len(QUERIES) - len(of("nothing"))
    written = {query["id"]: query for query in QUERIES}
    for case in cases:
        assert case.now == datetime.fromisoformat(written[case.id]["now"])
        assert case.now.utcoffset() == datetime.fromisoformat(written[case.id]["now"]).utcoffset()
        assert [memory.id for memory in case.memories] == written[case.id]["candidates"]
        assert all(memory.created_at == created(memory.id) for memory in case.memories)
        assert not any(memory.truncated for memory in case.memories)


def test_each_language_has_at_least_sixty_questions_and_eight_of_each_category():
    counts = Counter((query["lang"], query["category"]) for query in QUERIES)
    assert set(counts) == {(lang, category) for lang in LANGUAGES for category in CATEGORIES}
    assert min(counts.values()) >= 8
    assert all(sum(query["lang"] == lang for query in QUERIES) >= 60 for lang in LANGUAGES)


def test_the_readme_counts_right():
    readme = (HERE / "README.md").read_text(encoding="utf-8")
    for category in CATEGORIES:
        zh, en = (sum(query["lang"] == lang for query in of(category)) for lang in LANGUAGES)
        assert f"| `{category}` | {zh} | {en} |" in readme
    by_language = Counter(query["lang"] for query in QUERIES)
    assert f"{len(QUERIES)} questions ({by_language['zh']} Chinese, {by_language['en']} English)" in readme


def test_each_user_has_one_language_and_a_life_of_25_to_45_memories_with_no_text_twice():
    pools = defaultdict(list)
    for memory in MEMORIES.values():
        pools[memory["pool"]].append(memory)
    assert all(25 <= len(memories) <= 45 for memories in pools.values())
    language = {query["pool"]: query["lang"] for query in QUERIES}
    assert set(language) == set(pools)
    assert all(query["lang"] == language[query["pool"]] for query in QUERIES)
    assert all(4 <= list(language.values()).count(lang) <= 6 for lang in LANGUAGES)
    texts = [memory["text"].casefold() for memory in MEMORIES.values()]
    texts += [query["query"].casefold() for query in QUERIES]
    assert len(set(texts)) == len(texts)


def test_memories_have_realistic_lengths():
    language = {query["pool"]: query["lang"] for query in QUERIES}
    for memory in MEMORIES.values():
        if language[memory["pool"]] == "zh":
            assert 15 <= len(memory["text"]) <= 60, memory["id"]
        else:
            assert 10 <= len(memory["text"].split()) <= 40, memory["id"]


@each_query
def test_candidates_are_the_whole_pool_and_hold_gold_and_lure(query):
    pool = {key for key, memory in MEMORIES.items() if memory["pool"] == query["pool"]}
    assert len(query["candidates"]) == len(set(query["candidates"])) <= 50
    assert set(query["candidates"]) == pool
    assert {*query["gold"], *query["lure"]} <= pool
    assert not {*query["gold"]} & {*query["lure"]}


@each_query
def test_similarity_follows_the_rule_of_the_readme(query):
    def grams(text):
        plain = re.sub(r"[\W_]+", "" if query["lang"] == "zh" else " ", text.lower()).strip()
        sizes = (1, 2) if query["lang"] == "zh" else (3, 4)
        return Counter(plain[at : at + n] for n in sizes for at in range(len(plain) - n + 1))

    def similarity(key):
        one, other = grams(query["query"]), grams(MEMORIES[key]["text"])
        dot = sum(count * other[gram] for gram, count in one.items())
        return 0.76 + 0.18 * math.sqrt(dot / math.hypot(*one.values()) / math.hypot(*other.values()))

    assert query["similarity"] == pytest.approx([similarity(key) for key in query["candidates"]], abs=6e-5)
    assert query["similarity"] == sorted(query["similarity"], reverse=True)


@each_query
def test_every_memory_was_made_before_the_question(query):
    now = datetime.fromisoformat(query["now"])
    assert now.tzinfo
    for key in query["candidates"]:
        assert created(key).tzinfo
        assert created(key) < now


@each_query
def test_gold_and_lure_are_there_where_they_must_be(query):
    if query["category"] == "nothing":
        assert query["gold"] == []
        assert query["lure"]
        assert "answer" not in query
    else:
        assert 1 <= len(query["gold"]) <= 2
        assert query["answer"]
        assert query["lure"] or query["category"] == "plain"


@pytest.mark.parametrize("query", of("superseded"), ids=lambda query: query["id"])
def test_what_supersedes_is_newer(query):
    assert min(map(created, query["gold"])) > max(map(created, query["lure"]))


@pytest.mark.parametrize("query", of("plain"), ids=lambda query: query["id"])
def test_a_plain_question_is_answered_by_an_old_memory(query):
    now = datetime.fromisoformat(query["now"])
    newest = max(map(created, query["gold"]))
    assert now - newest > timedelta(days=300)
    assert all(created(key) > newest for key in query["lure"])


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("category", EITHER_WAY)
def test_the_newer_memory_is_sometimes_right_and_sometimes_wrong(category, lang):
    pairs = [
        (created(gold), created(lure))
        for query in of(category)
        if query["lang"] == lang
        for gold in query["gold"]
        for lure in query["lure"]
    ]
    newer = sum(gold > lure for gold, lure in pairs)
    assert 0.25 <= newer / len(pairs) <= 0.75


def test_weekdays_and_dates_agree():
    checked = Counter()
    texts = [(row["text"], row["created_at"]) for row in MEMORIES.values()]
    texts += [
        (query[part], query["now"]) for query in QUERIES for part in ("query", "answer") if part in query
    ]
    for text, at in texts:
        said_on = datetime.fromisoformat(at)
        for written, meant, weekday, week in said_dates(text, said_on):
            assert meant.weekday() == weekday, (written, at)
            checked["zh" if "周" in written else "en"] += 1
            if week:
                monday = said_on.date() - timedelta(days=said_on.weekday())
                first = monday + timedelta(weeks=WEEKS[week])
                assert first <= meant < first + timedelta(weeks=1), (written, at)
                checked["week"] += 1
    # Guards the patterns: should they find nothing any more, nothing would be checked.
    assert checked["zh"] >= 8
    assert checked["en"] >= 8
    assert checked["week"] >= 5
