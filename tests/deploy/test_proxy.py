"""nginx with our configuration before a real Flower: who gets in, and to what."""

import base64
import http.client
import re
import shutil

import pytest

from memsift_ops import services, valkey
from tests.deploy import environment
from tests.deploy.conftest import make_secrets
from tests.deploy.paths import OPS
from tests.deploy.test_secrets import variables
from tests.deploy.test_systemd import Unit
from tests.integration.servers import Servers, until

pytestmark = [pytest.mark.deploy, pytest.mark.timeout(240)]


def configuration(folder, port, flower, *, closed=True):
    """Our file, with addresses of this machine and its password file."""
    text = (OPS / "proxy" / "nginx.conf").read_text()
    swaps = {
        "listen 8080;": f"listen 127.0.0.1:{port};",
        "http://flower:5555": f"http://127.0.0.1:{flower}",
        "/etc/nginx/flower.htpasswd": str(folder / "flower.htpasswd"),
        "/tmp/": f"{folder}/",
        "access_log /dev/stdout": f"access_log {folder}/access.log",
    }
    if not closed:
        swaps["location ~ ^/flower/(metrics|healthcheck)"] = "location ~ ^/flower/nothing-of-the-kind"
    assert all(old in text for old in swaps)
    # In one go: this folder may be below /tmp itself.
    text = re.sub("|".join(map(re.escape, swaps)), lambda found: swaps[found[0]], text)
    path = folder / f"nginx-{port}.conf"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def world(open_folder):
    """Flower as its unit starts it, on a Redis with our users, and two nginx: ours, and one too open."""
    folder = open_folder
    redis, flower, port, too_open = (valkey.free_port() for _ in range(4))
    secrets = make_secrets(folder / "secrets", f"127.0.0.1:{redis}")
    shutil.copy(secrets / "flower.htpasswd", folder)
    servers = Servers(folder)
    shutil.copy(OPS / "redis.conf", secrets)
    binary = valkey.command(redis)[0]
    servers.start("valkey", ["/bin/sh", "-c", f"cd {secrets} && exec {binary} redis.conf --port {redis}"])
    running = Unit(servers, "memsift-flower.service").start(
        f"--port={flower}", **variables(secrets, "operator"), **variables(secrets, "flower")
    )
    until(lambda: services.answers_http(flower, "/flower/healthcheck"), 60, running)
    nginx = environment.program("nginx")
    for at, closed in ((port, True), (too_open, False)):
        path = configuration(folder, at, flower, closed=closed)
        child = servers.start("nginx", [nginx, "-c", str(path), "-g", "daemon off;"])
        until(lambda at=at: _status(at, "/nowhere") == 404, 30, child)
    user_and_password = variables(secrets, "flower")["FLOWER_BASIC_AUTH"]
    yield {"proxy": port, "too open": too_open, "flower": flower, "login": user_and_password}
    servers.stop()


def _status(port, path, login=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    headers = {} if login is None else {"Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"}
    try:
        connection.request("GET", path, headers=headers)
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


PAGES = (
    "/flower/",
    "/flower/tasks",
    "/flower/broker",
    "/flower/static/css/flower.css",
    "/flower/api/workers",
)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_wants_the_password(world, page):
    assert _status(world["proxy"], page) == 401
    assert _status(world["proxy"], page, "operator:wrong") == 401
    assert _status(world["proxy"], page, world["login"]) == 200


# Also by spellings that nginx and Flower read in ways of their own.
OPEN = (
    *("/flower/metrics", "/flower/healthcheck", "/flower//metrics", "/flower/x/../metrics"),
    *("/flower/%6detrics", "/metrics", "/healthcheck", "/api/workers"),
)


@pytest.mark.parametrize("path", OPEN)
def test_what_flower_leaves_open_is_closed(world, path):
    assert _status(world["proxy"], path) == 404
    assert _status(world["proxy"], path, world["login"]) == 404


def test_without_the_rule_flower_would_tell(world):
    # Given nginx without that rule, a password opens them; Flower itself asks for none.
    assert _status(world["too open"], "/flower/metrics", world["login"]) == 200
    assert _status(world["flower"], "/flower/metrics") == 200


def test_around_the_proxy_flower_wants_the_password_too(world):
    assert _status(world["flower"], "/flower/tasks") == 401


def test_the_root_leads_there(world):
    assert _status(world["proxy"], "/") == 302
