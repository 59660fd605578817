"""What one job holds of documents that are too many or too long."""

from hypothesis import given
from hypothesis import strategies as st

from memsift_producer.documents.shortlist import MAX_TEXT_BYTES, fits, shortlist, surely_fits
from memsift_schemas import Memory
from memsift_schemas.job import MAX_CANDIDATES, MAX_JOB_BYTES


def memories(texts):
    return [
        Memory.model_validate({"id": str(at), "text": text, "created_at": None})
        for at, text in enumerate(texts)
    ]


@given(
    st.lists(st.text(min_size=1, max_size=3_000).map(lambda text: f"a{text}"), min_size=1, max_size=20),
    st.integers(1, 15),
    st.integers(1, MAX_CANDIDATES),
)
def test_what_is_shortlisted_fits_and_nothing_is_lost(texts, times, kept):
    given_ones = memories(texts * times)
    best, others = shortlist("a question", given_ones, kept)
    assert sorted(one.id for one in best + others) == sorted(one.id for one in given_ones)
    assert best
    assert fits(best, kept)
    if surely_fits(len(given_ones), kept):
        assert fits(given_ones, kept)
    if fits(given_ones, kept):
        assert not others


def test_the_margin_for_the_rest_of_a_job_is_enough():
    # 100 bytes for each memory's other fields, its score beside it, and a question of 2,000 characters
    assert MAX_TEXT_BYTES + 150 * MAX_CANDIDATES + 4 * 2_000 + 4_000 < MAX_JOB_BYTES
