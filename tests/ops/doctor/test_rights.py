"""Each right that a side needs is missed when it is not there; trying them changes nothing."""

import re
from pathlib import Path

import pytest

from memsift_ops import services
from memsift_ops.doctor import rights

QUEUE = "memsift.rerank"
RULES = {
    side: re.search(rf"^user memsift-{side} on >\S+ (.*)$", Path("ops/redis-acl.conf").read_text(), re.M)[1]
    for side in ("worker", "producer")
}
SAMPLE = {"worker": RULES["worker"], "frontend": RULES["producer"]}


def rules(side):
    """The sample's, in the pieces of ACL SETUSER: what stands in brackets is one."""
    return re.findall(r"\([^)]*\)|\S+", SAMPLE[side])


@pytest.fixture
def as_user(start_valkey):
    """A client whose user has these rules, and one who may do anything."""
    url = start_valkey()
    admin = services.client(url)
    clients = [admin]

    def connect(*pieces):
        admin.execute_command("ACL", "SETUSER", "tried", "reset", "on", ">tried", *pieces)
        clients.append(services.client(url.replace("//", "//tried:tried@")))
        return clients[-1], admin

    yield connect
    for client in clients:
        client.close()


@pytest.mark.parametrize("side", SAMPLE)
def test_the_sample_users_may_do_all_that_their_side_needs(as_user, side):
    client, admin = as_user(*rules(side))
    findings = list(rights.look(client, QUEUE, side))
    assert [one.state for one in findings] == ["ok"], findings
    # And nothing of it was done
    assert admin.dbsize() == 0
    assert client.ping()


@pytest.mark.parametrize("side", SAMPLE)
def test_every_right_that_is_taken_away_is_named(as_user, side):
    needed = rights.needed(QUEUE, side)
    assert len(needed) > 15
    for name in {command[0].lower() for command in needed}:
        # Given the sample's user who may not use this command, in his own rules or a selector
        pieces = [
            f"{piece[:-1]} -{name})" if piece.startswith("(") and piece != "(" else piece
            for piece in rules(side)
        ]
        client, _ = as_user(*pieces, f"-{name}")
        denied = rights.refused(client, needed)
        assert denied == [command for command in needed if command[0].lower() == name]
        findings = list(rights.look(client, QUEUE, side))
        assert {one.state for one in findings} == {"fault"}
        assert all(name.upper() in one.told for one in findings)


def test_a_key_that_the_user_may_not_touch_is_named(as_user):
    pieces = [piece for piece in rules("worker") if piece != f"~{QUEUE}:own*"]
    client, _ = as_user(*pieces)
    told = [one.told for one in rights.look(client, QUEUE, "worker")]
    assert told
    assert all(f"{QUEUE}:own" in one for one in told)


def test_a_user_without_transactions_is_said_to_be_one(as_user):
    client, _ = as_user("+@all", "~*", "&*", "-multi")
    (finding,) = rights.look(client, QUEUE, "worker")
    assert finding.state == "skipped"
