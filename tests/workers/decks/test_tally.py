"""The sums on a worker's card."""

from memsift_schemas import RerankResult
from memsift_schemas.deck_use import DeckUse, Miss
from memsift_schemas.result import Source
from memsift_workers.decks.tally import CacheTally


def result(prompt, cached, *, miss=None, deck=True):
    use = DeckUse(turn=2, memories=3, stale=1, tokens=80, stale_tokens=20, expected_tokens=60, miss=miss)
    return RerankResult(
        job_id="j",
        ranking=(),
        source=Source.MODEL,
        prompt_tokens=prompt,
        cached_tokens=cached,
        deck=use if deck else None,
    )


def test_each_job_counts_under_its_cause():
    tally = CacheTally()
    for one in (
        result(100, 90),
        result(100, 80),
        result(100, 0, miss=Miss.EVICTED),
        result(50, 40, deck=False),
    ):
        tally.note(one)
    told = tally.as_dict()
    assert (told["prompt_tokens"], told["cached_tokens"]) == (350, 210)
    assert (told["deck_tokens"], told["stale_tokens"]) == (240, 60)
    assert told["by_cause"] == {
        "evicted": {"turns": 1, "prompt_tokens": 100, "cached_tokens": 0},
        "hit": {"turns": 2, "prompt_tokens": 200, "cached_tokens": 170},
        "no_deck": {"turns": 1, "prompt_tokens": 50, "cached_tokens": 40},
    }
