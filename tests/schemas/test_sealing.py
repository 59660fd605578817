"""What is sealed opens with any key of the ring, unchanged, in its own job and direction alone."""

import base64
import itertools
import os

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_schemas import Cause, Ranked, Refusal, RerankResult, SettingsError, Source, sealing, wire
from memsift_schemas import settings as settings_module
from memsift_schemas.errors import UnknownVersion
from memsift_schemas.sealing import KeyRing, Unopened
from memsift_schemas.settings import ProducerSettings
from tests.samples import job

OLD, NEW = (bytes([fill]) * 32 for fill in (1, 2))
RING = KeyRing({"old": OLD})
SECRET = "xyzzy-secret"


def sealed_job(ring=RING, **fields):
    whole = job(reply_to="q:reply:a", **fields)
    return whole, sealing.seal_job(ring, wire.encode_job(whole), job_id=whole.id, reply_to=whole.reply_to)


def opened(ring, raw, job_id):
    return sealing.open_job(ring, orjson.loads(raw), job_id=job_id)


def result(**fields):
    defaults = {"job_id": "j1", "ranking": (Ranked(id="m1", score=1.0),), "source": Source.MODEL}
    return RerankResult(**{**defaults, **fields})


def sealed_result(ring=RING, job_id="j1", **fields):
    return sealing.seal_result(ring, wire.encode_reply(result(job_id=job_id, **fields)), job_id=job_id)


def test_a_job_comes_back_whole_and_shows_nothing():
    whole, raw = sealed_job(query=SECRET, user=SECRET, session=SECRET)
    assert wire.load_job(opened(RING, raw, whole.id)) == whole
    assert SECRET.encode() not in raw
    assert set(orjson.loads(raw)) == {"v", "reply_to", "key", "sealed"}


def test_a_result_comes_back_whole_and_shows_nothing():
    raw = sealed_result(reason=SECRET)
    assert wire.decode_reply(sealing.open_reply(RING, raw)) == result(reason=SECRET)
    assert SECRET.encode() not in raw


def test_the_same_job_never_seals_to_the_same_bytes():
    whole = job()
    seals = {
        sealing.seal_job(RING, wire.encode_job(whole), job_id=whole.id, reply_to=None) for _ in range(50)
    }
    assert len(seals) == 50


def test_rotation():
    """Given all hold {old}; when {old, new} then {new, old} then {new} is rolled out, then all is read."""
    stages = [{"old": OLD}, {"old": OLD, "new": NEW}, {"new": NEW, "old": OLD}, {"new": NEW}]
    rings = [KeyRing(stage) for stage in stages]
    for before, after in itertools.pairwise(rings):
        for sender, reader in ((before, after), (after, before)):
            whole, raw = sealed_job(sender)
            assert wire.load_job(opened(reader, raw, whole.id)) == whole
            assert sealing.open_reply(reader, sealed_result(sender))


def test_a_key_that_is_gone_is_named():
    whole, raw = sealed_job(RING)
    with pytest.raises(Unopened, match="key old, which MEMSIFT_SEAL_KEYS does not hold"):
        opened(KeyRing({"new": NEW}), raw, whole.id)


def test_another_key_of_the_same_id_opens_nothing():
    whole, raw = sealed_job(RING)
    with pytest.raises(Unopened, match="another key of the id old"):
        opened(KeyRing({"old": NEW}), raw, whole.id)


def test_an_id_that_is_no_id_is_not_repeated():
    with pytest.raises(Unopened) as caught:
        opened(RING, orjson.dumps({"key": f"{SECRET} and more", "sealed": ""}), "j1")
    assert SECRET not in str(caught.value)


def test_a_body_replayed_into_another_job_does_not_open():
    _, raw = sealed_job()
    with pytest.raises(Unopened, match="meant for another job"):
        opened(RING, raw, job().id)


def test_a_reply_replayed_into_another_job_does_not_open():
    data = orjson.loads(sealed_result(job_id="j1"))
    with pytest.raises(Unopened, match="meant for another job"):
        sealing.open_reply(RING, orjson.dumps({**data, "id": "j2"}))


def test_a_job_does_not_open_as_a_reply_nor_a_reply_as_a_job():
    whole, raw = sealed_job()
    with pytest.raises(Unopened):
        sealing.open_reply(RING, orjson.dumps({**orjson.loads(raw), "id": whole.id}))
    with pytest.raises(Unopened):
        opened(RING, sealed_result(job_id="j1"), "j1")


@given(st.data())
def test_one_flipped_bit_is_noticed(data):
    whole, raw = sealed_job(count=2)
    fields = orjson.loads(raw)
    box = bytearray(base64.b64decode(fields["sealed"]))
    at = data.draw(st.integers(0, len(box) * 8 - 1))
    box[at // 8] ^= 1 << at % 8
    fields["sealed"] = base64.b64encode(box).decode()
    with pytest.raises(Unopened, match="changed on the way"):
        opened(RING, orjson.dumps(fields), whole.id)


@given(st.binary(max_size=80), st.sampled_from(["key", "sealed", "v", "id"]))
def test_noise_is_refused_by_a_typed_error(noise, name):
    data = {"v": 1, "key": "old", "sealed": "", "id": "j1", name: noise.decode("latin-1")}
    with pytest.raises((Unopened, UnknownVersion)):
        opened(RING, orjson.dumps(data), "j1")
    with pytest.raises((Unopened, UnknownVersion)):
        sealing.open_reply(RING, orjson.dumps(data))


@pytest.mark.parametrize("value", [None, 7, [], {}])
@pytest.mark.parametrize("name", ["key", "sealed"])
def test_fields_of_another_type_are_refused(name, value):
    with pytest.raises(Unopened):
        opened(RING, orjson.dumps({"v": 1, "key": "old", "sealed": "", name: value}), "j1")


def test_with_keys_clear_jobs_and_results_are_refused_with_the_remedy():
    with pytest.raises(Unopened, match="MEMSIFT_SEAL_KEYS is set here: set it in the producers"):
        sealing.open_job(RING, wire.dump_job(job()), job_id="j1")
    with pytest.raises(Unopened, match="set it in the workers too"):
        sealing.open_reply(RING, wire.encode_reply(result()))


def test_without_keys_sealed_ones_are_refused_with_the_remedy():
    whole, raw = sealed_job()
    with pytest.raises(Unopened, match="set MEMSIFT_SEAL_KEYS"):
        opened(None, raw, whole.id)
    with pytest.raises(Unopened, match="set MEMSIFT_SEAL_KEYS"):
        sealing.open_reply(None, sealed_result())


def test_without_keys_nothing_changes():
    whole = job()
    encoded, reply = wire.encode_job(whole), wire.encode_reply(result(reason='he said "sealed"'))
    assert sealing.seal_job(None, encoded, job_id=whole.id, reply_to=None) is encoded
    assert sealing.seal_result(None, reply, job_id="j1") is reply
    assert sealing.open_reply(None, reply) is reply


@pytest.mark.parametrize("ring", [None, RING])
def test_a_refusal_passes_clear(ring):
    refusal = Refusal(job_id="j1", cause=Cause.INVALID_JOB)
    assert wire.decode_reply(sealing.open_reply(ring, wire.encode_reply(refusal))) == refusal


def test_a_later_format_is_told_as_a_version():
    whole, raw = sealed_job()
    with pytest.raises(UnknownVersion):
        sealing.open_job(RING, {**orjson.loads(raw), "v": 2}, job_id=whole.id)


@pytest.mark.parametrize(
    "encode",
    [
        bytes.hex,
        lambda key: base64.b64encode(key).decode(),
        lambda key: base64.urlsafe_b64encode(key).decode(),
        lambda key: base64.urlsafe_b64encode(key).decode().rstrip("="),
    ],
)
def test_keys_are_read_in_each_encoding(encode):
    key = b"\xfb\xff" + os.urandom(30)
    assert sealing.parse_keys(f"k2:{encode(key)}, k1:{OLD.hex()}") == {"k2": key, "k1": OLD}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("secret", "entry 1 must be id:key"),
        ("bad id:" + OLD.hex(), "entry 1 must be id:key"),
        (f"a:{OLD.hex()},", "entry 2 must be id:key"),
        (f"a:{OLD.hex()},a:{NEW.hex()}", "entry 2 has the id of an earlier one"),
        ("a:" + "zz" * 32, "the key of entry 1 must be 32 bytes"),
        ("a:" + OLD.hex()[:32], "the key of entry 1 must be 32 bytes"),
        ("a:é", "the key of entry 1 must be 32 bytes"),
    ],
)
def test_a_wrong_setting_is_told_without_its_keys(text, wrong):
    with pytest.raises(SettingsError) as caught:
        settings_module.load(ProducerSettings, seal_keys=text)
    assert str(caught.value).startswith(f"MEMSIFT_SEAL_KEYS: {wrong}")
    assert OLD.hex()[:16] not in str(caught.value)


def test_keys_show_in_no_repr():
    settings = settings_module.load(ProducerSettings, seal_keys=f"a:{OLD.hex()}")
    assert OLD.hex() not in repr(settings)
    assert OLD.hex() not in repr(vars(KeyRing.of(settings.seal_keys)))


def test_the_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cryptography.exceptions", None)
    with pytest.raises(SettingsError, match=r"MEMSIFT_SEAL_KEYS: .*pip install 'memsift\[seal\]'"):
        settings_module.load(ProducerSettings, seal_keys=f"a:{OLD.hex()}")
