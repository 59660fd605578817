"""The units pass systemd's own checks, are locked down, and start what they say."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from memsift_ops import services, valkey
from memsift_schemas.settings import GatewaySettings, WorkerSettings
from tests.deploy import environment
from tests.deploy.paths import OPS
from tests.integration.servers import until

pytestmark = pytest.mark.deploy

UNITS = sorted((OPS / "systemd").iterdir())
SERVICES = [unit for unit in UNITS if unit.suffix == ".service"]
# systemd-analyze counts from 0 (all locked) to 10. Cards are devices that cannot be hidden.
EXPOSURE = {"memsift-sglang@.service": 2.0}
MOST_EXPOSURE = 1.5

each_service = pytest.mark.parametrize("unit", SERVICES, ids=lambda unit: unit.stem)


def settings_of(unit):
    """Lines of a unit, in order: (name, value)."""
    lines = (line.partition("=") for line in unit.read_text().splitlines() if re.match(r"[A-Z]\w+=", line))
    return [(name, value) for name, _, value in lines]


def value_of(unit, wanted):
    return next(value for name, value in settings_of(unit) if name == wanted)


def analyze(*arguments):
    command = [environment.program("systemd-analyze"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The units, with programs that are on this machine in the places of theirs."""
    folder = tmp_path_factory.mktemp("units")
    for unit in UNITS:
        text = re.sub(r"(?m)^ExecStart=\S+", f"ExecStart={sys.executable}", unit.read_text())
        (folder / unit.name).write_text(text)
        if "@" in unit.name:
            shutil.copy(folder / unit.name, folder / unit.name.replace("@", "@0"))
    return folder


def test_systemd_finds_no_fault(installed):
    names = sorted(path for path in installed.iterdir() if "@." not in path.name)
    ended = analyze("verify", *names)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_systemd_would_find_one(installed, tmp_path):
    wrong = tmp_path / "wrong.service"
    text = (installed / "memsift-gateway.service").read_text()
    wrong.write_text(text.replace("TimeoutStopSec=15", "TimeoutStopSecs=15"))
    assert "TimeoutStopSecs" in analyze("verify", wrong).stderr


def exposure(unit):
    return float(
        re.search(r"exposure level for \S+: ([\d.]+)", analyze("security", "--offline=true", unit).stdout)[1]
    )


@each_service
def test_a_unit_is_locked_down(unit):
    assert exposure(unit) <= EXPOSURE.get(unit.name, MOST_EXPOSURE)


def test_a_unit_that_is_open_is_found(tmp_path):
    unit = tmp_path / "open.service"
    unit.write_text(re.sub(r"(?m)^(Protect|Capability)\w+=.*\n", "", SERVICES[0].read_text()))
    assert exposure(unit) > MOST_EXPOSURE


def test_the_stop_takes_longer_than_what_it_waits_for():
    allowed = {unit.stem: float(value_of(unit, "TimeoutStopSec")) for unit in SERVICES}
    assert allowed["memsift-worker@"] > WorkerSettings().shutdown_grace_s
    assert allowed["memsift-gateway"] > GatewaySettings().gateway_max_deadline_ms / 1e3


def test_secrets_are_in_files_that_the_script_makes(secrets):
    made = {path.name for path in secrets.iterdir()}
    for unit in SERVICES:
        for name, value in settings_of(unit):
            assert not re.search(r"://[^/ ]*:[^/ ]*@|PASSWORD=", value), (unit.name, name)
            if name in ("EnvironmentFile", "LoadCredential") and not value.startswith("-"):
                assert Path(value.rpartition(":")[2]).name in made, (unit.name, value)


class Unit:
    """Starts a unit's command as systemd would: its environment, specifiers and arguments."""

    def __init__(self, servers, name, instance=""):
        unit = OPS / "systemd" / name
        self.servers = servers
        self.settings = settings_of(unit)
        self.specifiers = {"%i": instance, "%d": str(servers.folder), "/run/": f"{servers.folder}/"}

    def start(self, *more, **environment):
        """Later arguments win over those of the unit."""
        given = dict(os.environ)
        for name, value in self.settings:
            if name == "Environment":
                given |= dict(pair.split("=", 1) for pair in self._filled(value).split())
        command = self._filled(next(value for name, value in self.settings if name == "ExecStart"))
        command = re.sub(r"\$\{(\w+)\}", lambda found: {**given, **environment}[found[1]], command).split()
        program = {"memsift": ("-m", "memsift_ops"), "celery": ("-m", "celery")}[Path(command[0]).name]
        return self.servers.start(
            command[0], [sys.executable, *program, *command[1:], *more], **{**given, **environment}
        )

    def _filled(self, text):
        for specifier, value in self.specifiers.items():
            text = text.replace(specifier, value)
        return text


def ends_well(child):
    os.kill(child.pid, signal.SIGTERM)
    until(lambda: child.returncode is not None)
    assert child.returncode == 0, child.last_lines(20)


@pytest.mark.timeout(180)
def test_the_workers_command_starts_and_ends(servers, valkey_url, queue):
    worker = Unit(servers, "memsift-worker@.service", "7").start(
        MEMSIFT_REDIS_URL=valkey_url, MEMSIFT_QUEUE=queue, MEMSIFT_RUNTIME="scripted"
    )
    until(lambda: services.ready_workers(valkey_url, queue), 60, worker)
    ends_well(worker)


@pytest.mark.timeout(180)
def test_the_gateways_command_starts_and_ends(servers, secrets, valkey_url, queue):
    port = valkey.free_port()
    shutil.copy(secrets / "gateway.toml", servers.folder)
    gateway = Unit(servers, "memsift-gateway.service").start(
        f"--port={port}", MEMSIFT_REDIS_URL=valkey_url, MEMSIFT_QUEUE=queue
    )
    until(lambda: services.answers_http(port, "/health"), 60, gateway)
    ends_well(gateway)


@pytest.mark.timeout(180)
def test_flowers_command_starts(servers, valkey_url):
    port = valkey.free_port()
    flower = Unit(servers, "memsift-flower.service").start(
        f"--port={port}", MEMSIFT_REDIS_URL=valkey_url, FLOWER_BASIC_AUTH="a:b"
    )
    until(lambda: services.answers_http(port, "/flower/healthcheck"), 60, flower)
    with socket.socket() as elsewhere, pytest.raises(ConnectionRefusedError):
        elsewhere.connect(("127.0.0.2", port))
