"""What the gateway serves for its page: to whom, with which headers, and what it tells."""

import pytest

from memsift_producer.gateway.ui import Question, Scene
from memsift_schemas import Memory
from tests.producer.gateway.conftest import NOWHERE, QUERY, bearer, entry, serving
from tests.samples import NOW, memories

SCENES = [
    Scene(
        lang="en", title="A cabin", questions=(Question(query=QUERY, now=NOW, memories=tuple(memories(2))),)
    )
]
BODY = {
    "query": QUERY,
    "now": NOW.isoformat(),
    "candidates": [
        {"id": "a", "text": "It has no heating.", "created_at": None, "similarity": 0.1},
        {
            "id": "b",
            "text": "The key lies under the pot, as of 3 May.",
            "created_at": None,
            "similarity": 0.9,
        },
    ],
}


def test_it_is_off_by_default():
    from memsift_schemas.settings import GatewaySettings

    assert GatewaySettings().gateway_ui is False


async def test_while_it_is_off_there_is_nothing(client):
    for path in ("/", "/ui", "/ui/", "/ui/state", "/ui/main.js"):
        assert (await client.get(path)).status_code == 404
    assert (await client.post("/ui/rank", json=BODY)).status_code == 404


@pytest.fixture
async def page(valkey_url, queue, worker):
    told = {"redis_url": valkey_url, "queue": queue, "deadline_ms": 5_000, "gateway_ui": True}
    async with serving(**told, scenes=lambda: SCENES) as one:
        yield one


async def test_every_answer_is_fenced_in_and_kept_by_nobody(page):
    answers = [
        await page.get(path) for path in ("/ui/", "/ui/main.js", "/ui/style.css", "/ui/state", "/ui/scenes")
    ]
    answers.append(await page.post("/ui/rank", json=BODY))
    answers.append(await page.post("/ui/rank", content=b"{", headers={"content-type": "application/json"}))
    for answer in answers:
        assert answer.headers["cache-control"] == "no-store"
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
    assert [answer.status_code for answer in answers] == [200] * 6 + [400]


async def test_the_page_names_no_other_place_and_holds_no_script_of_its_own(page):
    html = (await page.get("/ui/")).text
    assert "http:" not in html
    assert "https:" not in html
    assert html.count("<script") == html.count('<script type="module" src=')
    assert "style=" not in html


async def test_the_root_leads_to_it(page):
    answer = await page.get("/")
    assert (answer.status_code, answer.headers["location"]) == (307, "ui/")


async def test_an_answer_tells_what_made_it(page):
    told = (await page.post("/ui/rank", json=BODY)).json()
    assert [place["id"] for place in told["before"]["ranking"]] == ["b", "a"]
    assert [place["id"] for place in told["result"]["ranking"]] == ["a", "b"]
    assert told["result"]["source"] == "model"
    assert told["top_k"] == 3
    assert told["weights"] == {"vector": 0.6, "recency": 0.05, "keyword": 0.35}
    first, second = told["seen"]
    assert (first["id"], first["kind"], second["kind"]) == ("a", "fact", "time-bound")
    assert first["signals"]["recency"] is None
    assert second["signals"]["vector"]["value"] == 0.9
    assert second["signals"]["vector"]["part"] > 0 > first["signals"]["vector"]["part"]
    # No text comes back
    assert "pot" not in str(told)


async def test_what_is_wrong_is_told_as_everywhere(page):
    answer = await page.post("/ui/rank", json={**BODY, "candidates": [{"id": "a", "text": "t"}]})
    assert answer.status_code == 422
    assert "created_at" in answer.json()["error"]["message"]


async def test_no_word_of_a_question_reaches_the_log(page, caplog):
    caplog.set_level("DEBUG")
    secret = "heliotrope"
    for candidates in ([{"id": "a", "text": secret, "created_at": None}], [{"id": secret, "text": secret}]):
        await page.post(f"/ui/rank?{secret}", json={**BODY, "query": secret, "candidates": candidates})
    await page.get(f"/ui/{secret}")
    assert " ui 200 " in caplog.text
    assert " ui 422 " in caplog.text
    ours = "\n".join(record.getMessage() for record in caplog.records if not record.name.startswith("httpx"))
    assert secret not in ours


async def test_it_tells_how_things_stand(page):
    told = (await page.get("/ui/state")).json()
    assert told == {
        "keys": False,
        "cause": None,
        "workers": 0,
        "models": [],
        "rankers": [],
        "deadline_ms": 5_000,
        "max_deadline_ms": 10_000,
        "top_k": 3,
        "max_memories": 200,
    }


async def test_without_redis_it_says_so_and_ranks(queue):
    async with serving(redis_url=NOWHERE, queue=queue, gateway_ui=True) as page:
        assert (await page.get("/ui/state")).json()["cause"] == "redis_unavailable"
        told = (await page.post("/ui/rank", json=BODY)).json()
    assert (told["result"]["source"], told["result"]["cause"]) == ("prefilter", "redis_unavailable")
    assert told["result"]["ranking"] == told["before"]["ranking"]


async def test_scenes_are_handed_in_whole(page):
    (scene,) = (await page.get("/ui/scenes")).json()
    (question,) = scene["questions"]
    assert (scene["title"], question["query"]) == ("A cabin", QUERY)
    assert [Memory.model_validate(one) for one in question["memories"]] == memories(2)


async def test_with_keys_all_but_its_files_needs_one(guarded):
    async with guarded(gateway_ui=True) as page:
        assert (await page.get("/ui/")).status_code == 200
        for answer in (
            await page.get("/ui/state"),
            await page.get("/ui/scenes"),
            await page.post("/ui/rank", json=BODY),
        ):
            assert answer.status_code == 401
            assert "API key" in answer.json()["error"]["message"]
        assert (await page.get("/ui/state", headers=bearer())).json()["keys"] is True
        assert (await page.post("/ui/rank", json=BODY, headers=bearer())).status_code == 200


ELSEWHERE = "http://10.0.0.7"


async def test_it_serves_this_machine_alone_unless_told_otherwise(guarded):
    async with guarded(entry(), gateway_ui=True, base_url=ELSEWHERE) as page:
        for answer in (await page.get("/ui/"), await page.post("/ui/rank", json=BODY, headers=bearer())):
            assert answer.status_code == 403
            assert "MEMSIFT_GATEWAY_UI_PUBLIC" in answer.json()["error"]["message"]
        # The gateway's own paths serve there as ever
        answer = await page.post("/v1/memories/rerank", json=BODY, headers=bearer())
        assert answer.status_code == 200
    async with guarded(entry(), gateway_ui=True, gateway_ui_public=True, base_url=ELSEWHERE) as page:
        assert (await page.get("/ui/")).status_code == 200


async def test_without_keys_no_switch_opens_it(queue):
    told = {"redis_url": NOWHERE, "queue": queue, "gateway_ui": True, "gateway_ui_public": True}
    async with serving(**told, base_url=ELSEWHERE) as page:
        assert (await page.get("/ui/")).status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8010", "127.0.0.1.evil.example", "["])
async def test_without_keys_a_foreign_name_for_this_machine_is_refused(page, host):
    for answer in (
        await page.get("/ui/", headers={"host": host}),
        await page.get("/ui/state", headers={"host": host}),
    ):
        assert answer.status_code == 403


@pytest.mark.parametrize("host", ["localhost:8010", "127.0.0.1:8010", "[::1]:8010", "LOCALHOST"])
async def test_this_machines_own_names_are_let_in(page, host):
    assert (await page.get("/ui/state", headers={"host": host})).status_code == 200
