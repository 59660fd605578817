"""What speaks for a memory, and that the weights of the settings make a ranking of it."""

from datetime import UTC, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_ops.scene import load
from memsift_schemas import RerankJob, Turn
from memsift_schemas.settings import WorkerSettings
from memsift_workers.rankers.jev import FEATURES, Collection, features, weights
from tests.samples import NOW, job, memory

WEIGHTS = weights(WorkerSettings())


def about(query, *texts, **fields):
    """A job whose memories are all equally similar and equally new."""
    learned = NOW - timedelta(days=60)
    candidates = tuple(
        memory(at, text=text, similarity=0.8, created_at=learned) for at, text in enumerate(texts)
    )
    return job(query=query, candidates=candidates, prior=(), **fields)


def column(whole, name, **options):
    return features(whole, **options)[:, FEATURES.index(name)]


def best(whole):
    return int(np.argmax(features(whole) @ WEIGHTS))


def test_every_feature_has_its_weight():
    assert WEIGHTS.shape == (len(FEATURES),)
    assert weights(WorkerSettings(jev_weight_recency=7))[FEATURES.index("recency")] == 7


def test_terms_are_sorted_by_what_they_are():
    english = about("Did Mara cook the soup?", "Mara cooked soup.", "Jonas ran.")
    assert [column(english, name)[0] > 0 for name in ("names", "verbs", "words")] == [True] * 3
    chinese = about("小孟在上海打车吗？", "小孟在上海打车。", "用户在家睡觉。")
    assert [column(chinese, name)[0] > 0 for name in ("names", "verbs", "characters")] == [True] * 3
    assert not column(chinese, "names")[1]


@pytest.mark.parametrize(
    ("query", "right", "wrong"),
    [
        ("What does Jonas eat?", "Jonas eats rice at noon.", "Mara eats rice at noon."),
        ("what does jonas eat?", "At noon Jonas eats rice.", "At noon Mara eats rice."),
        ("李总喜欢吃什么？", "李总喜欢吃清淡的菜。", "王总喜欢吃清淡的菜。"),
        ("我姐姐住在哪里？", "用户的姐姐住在宁波。", "用户的妹妹住在宁波。"),
        (
            "Where does my sister live?",
            "The user's sister lives in Graz.",
            "The user's brother lives in Graz.",
        ),
    ],
)
def test_the_named_one_comes_before_another(query, right, wrong):
    # Given a third memory that shows which words are names
    whole = about(query, wrong, right, "One day Mara came.")
    assert column(whole, "same_name").tolist()[:2] == [0, 1]
    assert column(whole, "other_name").tolist()[:2] == [1, 0]
    assert best(whole) == 1


@pytest.mark.parametrize(
    ("query", "right", "wrong"),
    [
        ("What is on today?", "On 18 March Mara meets Jonas.", "On 11 March Mara meets Jonas."),
        (
            "What is on today?",
            "On 18 March Mara meets Jonas.",
            "Today, 4 March, what is on: Mara meets Jonas.",
        ),
        ("What did we do last month?", "On 7 February they skied.", "On 7 March they skied."),
        ("今天有什么安排？", "3月18日用户去看牙。", "今天（3月4日）的安排：用户去看牙。"),
        ("下周三去哪里？", "3月25日用户去苏州。", "3月18日用户去苏州。"),
        ("上个月去了哪里？", "2月4日用户去了苏州。", "3月4日用户去了苏州。"),
    ],
)
def test_the_right_time_comes_before_the_right_words(query, right, wrong):
    whole = about(query, wrong, right)
    assert column(whole, "wrong_time")[0] > 0 == column(whole, "wrong_time")[1]
    assert best(whole) == 1


def test_yesterday_is_the_day_before_the_memory_was_learned():
    # Given the same words, learned on two days, When the question asks for the day before one of them
    texts = [
        memory(at, text="Yesterday Mara fell ill.", similarity=0.8, created_at=NOW - timedelta(days=at))
        for at in (1, 5)
    ]
    whole = job(query="Who fell ill on 12 March?", candidates=tuple(texts), prior=())
    # Then the one that was learned on the 13th says so
    assert column(whole, "when").tolist()[1] == 1
    assert best(whole) == 1


def test_a_memory_learned_on_the_asked_day_fits_without_saying_so():
    texts = [
        memory(at, text="Mara was at the museum.", similarity=0.8, created_at=NOW - timedelta(days=at))
        for at in (1, 5)
    ]
    whole = job(query="Where was Mara on 13 March?", candidates=tuple(texts), prior=())
    assert column(whole, "learned")[1] == 1
    assert best(whole) == 1


def test_who_asks_when_wants_a_time():
    whole = about("When does the train leave?", "The train leaves full.", "The train leaves at 7:30.")
    assert column(whole, "tells_time").tolist() == [0, 1]


def test_what_was_said_before_counts_the_less_the_longer_ago_it_was():
    turns = (Turn(role="user", text="The ferry."), Turn(role="assistant", text="A violin."))
    whole = about("And then?", "They took the ferry.", "He tuned the violin.", turns=turns)
    first, second = column(whole, "context")
    assert 0 < first < second


def test_of_two_that_fit_equally_well_the_newer_comes_first():
    pair = [
        memory(at, text="Mara lives in Graz.", similarity=0.8, created_at=NOW - timedelta(days=9 - at))
        for at in range(2)
    ]
    assert best(job(query="Where does Mara live?", candidates=tuple(pair), prior=())) == 1


def test_a_missing_similarity_is_guessed_from_the_words():
    texts = ("The key hangs in the hall.", "The dog sleeps.", "The key is lost.")
    mixed = job(
        prior=(),
        query="Where is the key?",
        candidates=tuple(
            memory(at, text=text, similarity=None if at < 2 else 0.5) for at, text in enumerate(texts)
        ),
    )
    first, second, _ = column(mixed, "similarity")
    assert first > second


def test_the_collection_says_what_is_rare():
    # Given that nearly all of the user's memories hold "tea" and hardly any "harbour"
    whole = about("tea harbour", "tea in bed", "harbour at dawn")
    known = Collection(size=100, holders={"tea": 90, "harbour": 1}, counted=frozenset({0, 1}))
    tea, harbour = column(whole, "words", collection=known)
    assert harbour > tea
    # Without it the candidates tell, and both are as rare
    tea, harbour = column(whole, "words")
    assert tea == pytest.approx(harbour)
    # A store that lost some of its counts harms nothing
    lost = Collection(size=1, holders={"tea": 90}, counted=frozenset({0, 1}))
    assert np.isfinite(features(whole, lost)).all()


def test_a_job_that_was_counted_scores_as_before_it_was():
    # Given a job none of whose memories is counted, Then counting exactly them changes nothing
    whole = job(query="Where is the spare key to the cabin?")
    from memsift_workers.rankers.jev.analysis import analyse

    holders = {}
    for one in whole.candidates:
        for term in analyse(one.text).counts:
            holders[term] = holders.get(term, 0) + 1
    counted = Collection(len(whole.candidates), holders, frozenset(range(len(whole.candidates))))
    assert np.allclose(features(whole), features(whole, counted))


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize(("count", "top_k"), [(50, 3), (20, 2)])
def test_the_founding_question_brings_todays_memories_to_the_top(lang, count, top_k):
    scene = load(lang)
    first = scene.turns[0]
    whole = RerankJob(
        id="x", query=first.query, now=first.now, candidates=tuple(scene.recalled(first))[:count], deadline=1
    )
    scores = features(whole) @ WEIGHTS
    top = [whole.candidates[at] for at in np.argsort(-scores, kind="stable")[:top_k]]
    on = {"zh": "3月11日", "en": "9 October"}[lang]
    assert all(on in one.text for one in top)


texts = st.text(min_size=1).filter(lambda text: text.strip())
moments = st.datetimes(timezones=st.just(UTC))


@given(
    texts,
    st.lists(
        st.tuples(texts, moments, st.none() | st.floats(allow_nan=False, allow_infinity=False)),
        min_size=1,
        max_size=6,
    ),
    moments,
)
def test_any_job_has_finite_features_and_the_same_twice(query, found, now):
    try:
        whole = RerankJob(
            id="x",
            query=query,
            now=now,
            candidates=[
                {"id": str(at), "text": text, "created_at": moment, "similarity": similarity}
                for at, (text, moment, similarity) in enumerate(found)
            ],
            deadline=1,
        )
    except ValueError:
        return  # text that holds nothing but controls
    table = features(whole)
    assert table.shape == (len(found), len(FEATURES))
    assert np.isfinite(table).all()
    assert np.array_equal(table, features(whole))


def test_the_prior_is_not_looked_at():
    whole = job(query="Where is the key?")
    bare = whole.model_copy(update={"prior": ()})
    assert np.array_equal(features(whole), features(bare))


def test_an_unknown_time_speaks_neither_for_nor_against_a_memory():
    # Given a question about a day, and three memories of which one has no time
    texts = ("Yesterday Mara fell ill.", "Mara fell ill.", "Yesterday Mara fell ill.")
    times = (NOW - timedelta(days=1), NOW - timedelta(days=400), None)
    candidates = tuple(
        memory(at, text=text, similarity=0.8, created_at=time)
        for at, (text, time) in enumerate(zip(texts, times, strict=True))
    )
    whole = job(query="What happened the day before yesterday?", candidates=candidates, prior=())
    # When its features are made, then the "yesterday" of the undated one means no day
    assert column(whole, "when")[0] > 0 == column(whole, "when")[2]
    assert [column(whole, name)[2] for name in ("learned", "wrong_time", "recency")] == [0, 0, 0]
    assert np.isfinite(features(whole)).all()
