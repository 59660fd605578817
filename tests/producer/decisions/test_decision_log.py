"""Every call leaves one line that says why; no line holds a word of it, unless it is sealed."""

import stat
from pathlib import Path

import pytest
from pydantic import ValidationError

from memsift_producer import Reranker
from memsift_schemas import InvalidInput, Source
from memsift_schemas.decision import Decision, DecisionText, Gap, decode, encode
from memsift_schemas.memory import Memory
from memsift_schemas.result import Fusion
from memsift_schemas.sealing import KeyRing
from memsift_schemas.settings import ProducerSettings
from tests.samples import NOW, memories, memory

KEYS = "k1:" + "5a" * 32
SECRET = "xyzzy-private"


def lines(folder):
    raw = b"".join(path.read_bytes() for path in sorted(Path(folder).glob("decisions-*.jsonl")))
    return [decode(line) for line in raw.splitlines()]


async def decided(folder, url="redis://127.0.0.1:1/0", queue="q", given=None, ask=None, **settings):
    """The lines after one call."""
    given = memories(8) if given is None else given
    settings = {"deadline_ms": 5_000, "decision_log": str(folder), **settings}
    async with Reranker.from_url(url, queue=queue, **settings) as reranker:
        told = {"query": "Where is the spare key?", "memories": given, "user": "mara", "session": "s1"}
        reranking = await reranker.rerank(**{**told, **(ask or {})})
    return reranking, lines(folder)


async def test_a_line_says_what_became_of_each_memory_and_by_whom(tmp_path, valkey_url, queue, worker):
    # Given a near-duplicate, more memories than are kept, and a worker that fuses
    def answer(job):
        result = worker.reversed(job)
        ids = [place.id for place in result.ranking]
        fusion = Fusion(weight=0.5, prior=dict.fromkeys(ids, 1.0), model=dict.fromkeys(ids, -2.0))
        update = {"ranker": "local", "model": "m", "prompt_version": "likelihood-1", "fusion": fusion}
        return result.model_copy(update=update)

    worker.answer = answer
    older = memory(9, id="old", text=memories(1)[0].text, created_at=NOW.replace(year=2020))
    reranking, (line,) = await decided(
        tmp_path, valkey_url, queue, [*memories(8), older], prefilter_keep=5, top_k=2
    )
    # Then the job asked for it, and the line tells all of it
    assert worker.jobs[0].explain
    assert (line.job, line.source, line.cause) == (reranking.result.job_id, Source.MODEL, None)
    assert (line.ranker, line.model, line.prompt_version) == ("local", "m", "likelihood-1")
    assert (line.fusion_weight, line.weights.keep, line.top_k) == (0.5, 5, 2)
    assert line.picked == tuple(reranking.result.selected)
    by_id = {one.id: one for one in line.memories}
    assert by_id.keys() == {one.id for one in memories(8)} | {"old"}
    assert by_id["old"].duplicate_of == "m0"
    assert [one.place for one in line.memories if one.sent] == [1, 2, 3, 4, 5]
    assert sorted(one.prefilter_place for one in line.memories if one.prefilter_place) == [*range(1, 9)]
    for one in line.memories:
        if one.sent:
            assert (one.prior, one.model) == (1.0, -2.0)
            mixed = (0.6 * one.similarity + 0.05 * one.recency + 0.35 * one.keyword) / 1.0
            assert one.prefilter == pytest.approx(mixed, abs=1e-4)
    assert {"prefilter", "total"} <= line.timings_ms.keys()


async def test_a_fallback_leaves_a_line_with_its_cause_and_no_ranker(tmp_path):
    reranking, (line,) = await decided(tmp_path)
    assert (line.source, line.cause, line.ranker, line.prompt_version) == (
        Source.PREFILTER,
        reranking.cause,
        "",
        "",
    )
    assert line.picked == tuple(reranking.result.selected)


async def test_a_call_without_memories_leaves_a_line(tmp_path):
    _, (line,) = await decided(tmp_path, given=[])
    assert (str(line.cause), line.memories) == ("no_candidates", ())


async def test_no_word_and_no_user_is_in_it_by_default(tmp_path):
    words = {"query": f"{SECRET} query", "user": f"{SECRET}-user", "session": f"{SECRET}-session"}
    words |= {"turns": [{"role": "user", "text": SECRET}], "activity": [SECRET]}
    _, (line,) = await decided(tmp_path, given=[memory(0, text=SECRET), memory(1)], ask=words)
    raw = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert SECRET.encode() not in raw
    assert (line.user, line.session, line.text) == (None, None, None)


async def test_with_a_key_users_are_hashed_and_told_apart(tmp_path):
    async def user_of(name, user, key):
        _, (line,) = await decided(tmp_path / name, ask={"user": user}, decision_log_user_key=key)
        return line.user

    key, other = "k" * 16, "l" * 16
    one, again = await user_of("a", "mara", key), await user_of("b", "mara", key)
    assert one == again
    assert "mara" not in one
    assert len({one, await user_of("c", "jonas", key), await user_of("d", "mara", other)}) == 3


async def test_text_is_kept_only_sealed_and_opens_with_its_key_for_its_job_alone(tmp_path):
    given = [memory(0, text=f"{SECRET} memory", similarity=None, embedding=(0.6, 0.8)), memory(1)]
    ask = {"query": f"{SECRET}?", "query_embedding": (0.6, 0.8)}
    _, (line,) = await decided(tmp_path, given=given, ask=ask, decision_log_text_keys=KEYS)
    assert SECRET.encode() not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
    box, ring = line.text.model_dump(), KeyRing.of(KEYS)
    text = DecisionText.model_validate_json(ring.open(box, direction="decision", job_id=line.job))
    assert (text.query, text.memories[0].text) == (f"{SECRET}?", f"{SECRET} memory")
    # The similarity that was taken stands for the embedding
    assert (text.memories[0].embedding, text.memories[0].similarity) == (None, pytest.approx(1.0))
    with pytest.raises(InvalidInput, match="cannot be opened"):
        ring.open(box, direction="decision", job_id="another")
    other = KeyRing.of("k2:" + "6b" * 32)
    with pytest.raises(InvalidInput, match="MEMSIFT_DECISION_LOG_TEXT_KEYS does not hold"):
        other.open(box, direction="decision", job_id=line.job)


async def test_files_are_for_their_owner_alone(tmp_path):
    folder = tmp_path / "log"
    await decided(folder)
    (path,) = folder.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_it_can_be_opened_again(tmp_path):
    settings = ProducerSettings(redis_url="redis://127.0.0.1:1/0", decision_log=str(tmp_path))
    reranker = Reranker(settings)
    for _ in range(2):
        async with reranker:
            await reranker.rerank(query="key?", memories=memories(3))
    assert len(lines(tmp_path)) == 2


def test_wrong_settings_are_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="MEMSIFT_DECISION_LOG: cannot make the folder"):
        Reranker(ProducerSettings(decision_log=str(tmp_path / "file" / "log")))
    with pytest.raises(ValidationError, match="32 bytes"):
        ProducerSettings(decision_log_text_keys="k1:abc")


def test_a_line_reads_as_it_was_written_and_nothing_else_is_one():
    gap = Gap(at=NOW, dropped=3)
    assert decode(encode(gap)) == gap
    assert encode(gap).startswith(b'{"kind":"gap","v":1,')
    for raw in (b"", b"{", b"[]", b'{"kind":"else"}', encode(gap).replace(b'"v":1', b'"v":2')):
        with pytest.raises(InvalidInput):
            decode(raw)
    assert issubclass(Decision, Memory.__base__)
