"""The script that makes all passwords: they open what they should, and nothing is told or overwritten."""

import re
import stat
import subprocess

import pytest
from redis import Redis
from redis.exceptions import AuthenticationError, NoPermissionError

from memsift_ops import valkey
from tests.deploy.conftest import make_secrets
from tests.deploy.paths import OPS
from tests.integration.servers import Servers, until

pytestmark = pytest.mark.deploy


def variables(folder, name):
    return dict(line.split("=", 1) for line in (folder / f"{name}.env").read_text().splitlines())


@pytest.fixture(scope="module")
def redis_and_secrets(tmp_path_factory):
    """A server with the sample configuration and the users that were made."""
    port = valkey.free_port()
    folder = make_secrets(tmp_path_factory.mktemp("redis") / "secrets", f"127.0.0.1:{port}")
    (folder / "redis.conf").write_text((OPS / "redis.conf").read_text())
    servers = Servers(folder)
    # In the folder, for the include.
    binary = valkey.command(port)[0]
    servers.start("valkey", ["/bin/sh", "-c", f"cd {folder} && exec {binary} redis.conf --port {port}"])
    until(lambda: _listens(port))
    yield port, folder
    servers.stop()


def _listens(port):
    try:
        with Redis(port=port) as nobody:
            nobody.ping()
    except (AuthenticationError, NoPermissionError):
        return True
    except OSError:
        return False
    return True


@pytest.mark.parametrize("who", ["producer", "worker", "operator"])
def test_each_role_gets_in_by_its_own_password(redis_and_secrets, who):
    _, folder = redis_and_secrets
    with Redis.from_url(variables(folder, who)["MEMSIFT_REDIS_URL"], decode_responses=True) as client:
        assert client.ping()


def test_nobody_gets_in_without_or_by_another_roles(redis_and_secrets):
    port, folder = redis_and_secrets
    url = variables(folder, "producer")["MEMSIFT_REDIS_URL"].replace("memsift-producer", "memsift-worker")
    for refused in (Redis(port=port), Redis.from_url(url)):
        with refused, pytest.raises((AuthenticationError, NoPermissionError)):
            refused.ping()


def test_what_others_may_read_opens_nothing(secrets):
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o700
    opening = [re.search(r"[0-9a-f]{32,}", path.read_text())[0] for path in secrets.glob("*.env")]
    for path in secrets.iterdir():
        readable = stat.S_IMODE(path.stat().st_mode) & 0o077
        if readable:
            assert not any(password in path.read_text() for password in opening), path
    assert "CHANGE-ME" not in (secrets / "redis-acl.conf").read_text()
    assert len(set(opening)) == len(opening)


def test_flowers_password_is_the_proxys_too(secrets):
    user, password = variables(secrets, "flower")["FLOWER_BASIC_AUTH"].split(":")
    name, kept = (secrets / "flower.htpasswd").read_text().strip().split(":")
    salt = kept.split("$")[2]
    hashed = subprocess.run(
        ["openssl", "passwd", "-apr1", "-salt", salt, password], capture_output=True, text=True, check=True
    )
    assert (name, kept) == (user, hashed.stdout.strip())


def test_a_second_run_overwrites_nothing(secrets):
    before = {path.name: path.read_bytes() for path in secrets.iterdir()}
    ended = subprocess.run([OPS / "make-secrets.sh", secrets], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "there already" in ended.stderr
    assert {path.name: path.read_bytes() for path in secrets.iterdir()} == before
