"""`memsift doctor` from the command line: all checks, exit codes, nothing left behind."""

import json

import pytest

from tests.ops.doctor.conftest import faults, found


@pytest.fixture
def doctor(run, monkeypatch, queue):
    """Run it against this server."""

    def go(url, *arguments, **settings):
        named = {"redis_url": url, "queue": queue, "runtime": "scripted", **settings}
        for name, value in named.items():
            monkeypatch.setenv(f"MEMSIFT_{name.upper()}", str(value))
        return run("doctor", *arguments)

    return go


async def test_with_redis_away_it_is_said_once_and_all_else_is_still_looked_at(patient):
    findings = await found(patient("redis://127.0.0.1:1/0"))
    assert faults(findings.values()) == ["redis"]
    assert [name for name, one in findings.items() if one.state == "skipped"] == [
        "redis.rights",
        "workers",
        "job",
    ]
    assert findings["runtime"].state == "ok"


async def test_a_ranker_that_would_leave_the_network_is_named(patient):
    url = "redis://127.0.0.1:1/0"
    leaving = {"ranker": "nox", "nox_url": "https://203.0.114.7/v1", "nox_model": "m"}
    assert "egress.nox" in faults((await found(patient(url, **leaving))).values())
    allowed = await found(patient(url, **leaving, allow_egress=True))
    assert allowed["egress.nox"].state == "warning"
    assert "MEMSIFT_ALLOW_EGRESS" in allowed["egress.nox"].told


@pytest.mark.stack
def test_a_deployment_that_works(doctor, servers, start_valkey, queue):
    # Given a server as in the sample and a worker
    url = start_valkey("--maxmemory", "64mb")
    servers.worker(url, queue)
    code, out, err = doctor(url, "--json")
    said = json.loads(out)
    assert (code, said["healthy"]) == (0, True), out
    assert {one["state"] for one in said["findings"]} <= {"ok", "warning"}, out
    assert said["findings"][-1]["check"] == "job"
    assert "looking at a test job" in err
    # And for people
    code, out, _ = doctor(url)
    assert code == 0
    assert "✓ job" in " ".join(out.split())


def test_a_deployment_without_a_worker(doctor, start_valkey):
    code, out, _ = doctor(start_valkey(), DEADLINE_MS="100")
    assert code == 1
    assert "→ start one: memsift worker" in out


def test_a_setting_that_cannot_be_read_is_wrong_input(doctor):
    code, _, err = doctor("redis://127.0.0.1:1/0", batch_max="many")
    assert code == 2
    assert "MEMSIFT_BATCH_MAX" in err


def test_a_password_is_never_shown(doctor):
    _, out, err = doctor(
        "redis://user:hunter2@127.0.0.1:1/0", "--operator-url", "redis://o:hunter3@127.0.0.1:1/0"
    )
    assert "hunter" not in out + err
