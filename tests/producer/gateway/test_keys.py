"""Who may call, and as whom."""

import hashlib

import pytest

from memsift_producer.gateway import keys
from memsift_producer.gateway.problems import OutOfScope
from memsift_schemas import SettingsError
from tests.producer.gateway.conftest import DOCUMENTS, KEY, QUERY, bearer, entry, serving

ASKED = {"query": QUERY, "documents": DOCUMENTS}
PATHS = ["/rerank", "/v2/rerank", "/voyage/v1/rerank", "/tei/rerank", "/v1/memories/rerank"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        bearer("msk_wrong"),
        {"authorization": "Bearer"},
        {"authorization": f"Basic {KEY}"},
        {"authorization": KEY},
        bearer(hashlib.sha256(KEY.encode()).hexdigest()),  # what the file holds is no key
    ],
)
async def test_without_a_known_key_nothing_is_ranked(guarded, worker, path, headers):
    async with guarded() as client:
        answer = await client.post(path, json=ASKED, headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert not worker.jobs


async def test_a_known_key_is_let_in_and_its_name_is_the_user(guarded, worker):
    async with guarded(entry("open-webui"), entry("other", "msk_other")) as client:
        for key in (KEY, "msk_other"):
            assert (await client.post("/rerank", json=ASKED, headers=bearer(key))).status_code == 200
    assert [job.user for job in worker.jobs] == ["open-webui", "other"]


@pytest.mark.parametrize(
    ("scope", "named", "user"),
    [
        (None, None, "app"),
        (None, "app", "app"),
        (None, "mara", None),
        ("mara", None, "mara"),
        ("mara", "mara", "mara"),
        ("mara", "mara2", None),
        ("tenant-a/*", None, "tenant-a/app"),
        ("tenant-a/*", "tenant-a/mara", "tenant-a/mara"),
        ("tenant-a/*", "tenant-ab/mara", None),
        ("tenant-a/*", "tenant-a/", None),
        ("tenant-a/*", "tenant-b/mara", None),
        ("*", "anybody", "anybody"),
        ("*", None, "app"),
    ],
)
def test_a_key_speaks_for_the_users_of_its_scope_alone(scope, named, user):
    key = keys.Key(name="app", sha256="0" * 64, user=scope)
    if user is None:
        with pytest.raises(OutOfScope):
            key.user_of(named)
    else:
        assert key.user_of(named) == user


async def test_a_user_out_of_scope_is_refused_and_nothing_is_ranked(guarded, worker):
    headers = {**bearer(), "x-memsift-user": "tenant-b/mara"}
    memory = {"id": "a", "text": "b", "created_at": None}
    async with guarded(entry(user="tenant-a/*")) as client:
        plain = await client.post("/rerank", json=ASKED, headers=headers)
        native = await client.post(
            "/v1/memories/rerank",
            json={"query": QUERY, "candidates": [memory], "user": "tenant-b/mara"},
            headers=bearer(),
        )
    assert (plain.status_code, plain.json()["code"]) == (403, "forbidden")
    assert (native.status_code, native.json()["error"]["code"]) == (403, "forbidden")
    assert not worker.jobs


async def test_a_used_up_rate_says_when_to_come_back(guarded, clock):
    async with guarded(entry(requests_per_minute=2), clock=clock) as client:
        codes = [(await client.post("/rerank", json=ASKED, headers=bearer())).status_code for _ in range(3)]
        last = await client.post("/rerank", json=ASKED, headers=bearer())
        clock.advance(float(last.headers["retry-after"]))
        again = await client.post("/rerank", json=ASKED, headers=bearer())
    assert codes == [200, 200, 429]
    assert (last.json()["code"], last.headers["retry-after"]) == ("rate_limited", "30")
    assert again.status_code == 200


async def test_sizes_are_the_keys_within_the_gateways(guarded):
    small, many = entry("small", max_bytes=300), entry("few", "msk_few", max_documents=2)
    async with guarded(small, many, gateway_max_documents=4) as client:
        for key, body, code in (
            (KEY, {**ASKED, "documents": ["a"]}, 200),
            (KEY, {**ASKED, "documents": ["a" * 300]}, 413),
            ("msk_few", {**ASKED, "documents": ["a", "b"]}, 200),
            ("msk_few", {**ASKED, "documents": ["a", "b", "c"]}, 413),
        ):
            assert (await client.post("/rerank", json=body, headers=bearer(key))).status_code == code


async def test_without_keys_only_this_machine_is_served(valkey_url, queue):
    async with serving("http://10.0.0.7", redis_url=valkey_url, queue=queue) as client:
        answer = await client.post("/rerank", json=ASKED)
    assert answer.status_code == 401
    assert "MEMSIFT_GATEWAY_KEYS" in answer.json()["message"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "keys: Field required"),
        ("keys = []", "keys: "),
        (entry(sha="x"), "keys.0.sha: Extra inputs"),
        (entry() + entry("b"), "no two keys may have the same sha256"),
        (entry() + entry(key="other"), "no two keys may have the same name"),
        (entry(user="a*"), 'must be one user, "prefix/\\*", or "\\*"'),
        (entry(user="*/a/*"), "must be one user"),
        (entry(requests_per_minute=0), "keys.0.requests_per_minute"),
        ("[[keys", "is no TOML file"),
        ("\x00", "is no TOML file"),
    ],
)
def test_a_wrong_key_file_is_refused_at_start(tmp_path, content, said):
    path = tmp_path / "keys.toml"
    path.write_text(content)
    with pytest.raises(SettingsError, match=f"^MEMSIFT_GATEWAY_KEYS: .*{said}.*memsift gateway key NAME"):
        keys.load(str(path))


@pytest.mark.parametrize("path", ["/nowhere/keys.toml", "/", "a\x00b"])
def test_a_key_file_that_cannot_be_read_is_refused_at_start(path):
    with pytest.raises(SettingsError, match=r"^MEMSIFT_GATEWAY_KEYS: "):
        keys.load(path)


def test_a_new_key_opens_what_its_entry_describes(tmp_path):
    key, line = keys.new("open-webui")
    path = tmp_path / "keys.toml"
    path.write_text(line)
    (known,) = keys.load(str(path))
    assert known.sha256 == hashlib.sha256(key.encode()).hexdigest()
    assert key not in line
    assert key != keys.new("open-webui")[0]
    assert len(key) >= 47  # 256 bits and the prefix
    with pytest.raises(SettingsError, match="a key's name"):
        keys.new('a"b')


def test_an_entry_does_not_show_its_hash():
    assert "0000" not in repr(keys.Key(name="app", sha256="0" * 64))
