"""The Dockerfile passes hadolint, and what it installs works as its user, who can write nowhere."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memsift_ops import services, valkey
from tests.deploy import environment
from tests.deploy.dockerfile import stages
from tests.deploy.paths import OPS, ROOT
from tests.integration.servers import until

pytestmark = pytest.mark.deploy

DOCKERFILE = OPS / "docker" / "Dockerfile"
FINAL = ("gateway", "worker", "worker-cpu")
USER = 10001
# With pip, the model's download and its conversion.
BUILD_S = 600


def hadolint(path):
    command = [Path(sys.executable).with_name("hadolint"), "--no-color", path]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_hadolint_finds_no_fault():
    ended = hadolint(DOCKERFILE)
    assert (ended.returncode, ended.stdout) == (0, "")


def test_hadolint_would_find_one(tmp_path):
    path = tmp_path / "Dockerfile"
    path.write_text(DOCKERFILE.read_text().replace("--no-cache-dir ", "").replace("FROM base", "FROM debian"))
    told = hadolint(path).stdout
    assert "DL3042" in told
    assert "DL3006" in told


def lineage(name):
    """A stage and those below it, the lowest first."""
    read = stages(DOCKERFILE)
    found = []
    while name in read:
        found.insert(0, read[name])
        name = read[name].base
    return found, name


@pytest.mark.parametrize("name", FINAL)
def test_an_image_is_nobodys_is_watched_and_is_pinned(name):
    chain, image = lineage(name)
    every = [instruction for stage in chain for instruction in stage.instructions]
    users = [instruction.value for instruction in every if instruction.name == "USER"]
    assert users == [f"{USER}:{USER}"]
    assert re.fullmatch(r"python:3\.\d+-slim-\w+", image)
    (check,) = (instruction for instruction in every if instruction.name == "HEALTHCHECK")
    assert check.value.partition(" CMD ")[2].startswith('["memsift", "healthcheck", "--live"')


def test_only_what_the_image_needs_is_sent_to_it():
    allowed = re.findall(r"(?m)^!(\S+)$", DOCKERFILE.with_name("Dockerfile.dockerignore").read_text())
    copies = (copy for stage in stages(DOCKERFILE).values() for copy in stage.all("COPY"))
    copied = {word for copy in copies if "--from" not in copy.value for word in copy.words[:-1]}
    assert sorted(allowed) == sorted(copied)


class Image:
    """A stage built in a folder by its COPY and RUN lines, and its command; as its user, if we are root."""

    def __init__(self, folder, name):
        self.folder, self.chain = folder / name, lineage(name)[0]
        build, _ = lineage(f"{name}-build")
        source = self.folder / "src"
        source.mkdir(parents=True)
        for stage in build:
            for instruction in stage.instructions:
                if instruction.name == "COPY":
                    *sources, target = instruction.words
                    for one in sources:
                        self._copy(ROOT / one, source / (target if target != "./" else one))
                elif instruction.name == "RUN":
                    self._run(self._here(instruction.value), source)
        shutil.rmtree(source)

    def _copy(self, source, target):
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)

    def _here(self, text):
        """With this folder's places instead of an image's."""
        for place in ("/opt/memsift", "/run/memsift", "/tmp/model"):
            text = text.replace(place, str(self.folder) + place)
        return re.sub(r"^python -m venv", f"{sys.executable} -m venv", text)

    def _run(self, script, where):
        variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        variables["PATH"] = f"{self.folder}/opt/memsift/bin:{os.environ['PATH']}"
        variables["PIP_NO_COMPILE"] = "1"  # half of the time
        subprocess.run(["/bin/sh", "-ec", script], cwd=where, env=variables, check=True, timeout=BUILD_S)

    @property
    def variables(self):
        """What ENV lines say, and nothing of ours."""
        every = [line.value for stage in self.chain for line in stage.all("ENV")]
        pairs = (pair.split("=", 1) for line in every for pair in line.split())
        said = {name: self._here(value).replace("$PATH", os.defpath) for name, value in pairs}
        return said | {"HOME": "/nonexistent"}

    def command(self, name, more=()):
        entry = next(stage.last("ENTRYPOINT").words for stage in self.chain if stage.all("ENTRYPOINT"))
        said = self.chain[-1].last(name)
        words = entry + said.words if name == "CMD" else said.words
        program = self.folder / "opt/memsift/bin" / words[0]
        return [*self._as_user(), str(program), *words[1:], *more]

    def _as_user(self):
        """What makes a command its user's; nothing where we may not, or where Python is out of his reach."""
        run = self.folder / "run/memsift"
        run.mkdir(parents=True, exist_ok=True)
        if os.geteuid() != 0:
            return []
        setpriv = environment.program("setpriv")
        words = [setpriv, f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--no-new-privs"]
        python = self.folder / "opt/memsift/bin/python"
        asked = [*words, python, "-c", "import sys; print(sys.version)"]
        if subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() != sys.version:
            return []
        os.chown(run, USER, USER)
        return words

    def files(self):
        """All that it is made of; what may be written to left out."""
        return {path for path in (self.folder / "opt").rglob("*") if path.is_file()}

    def start(self, servers, more=(), **given):
        # Not our environment: an image has its own alone.
        argv = [
            "/usr/bin/env",
            "-i",
            *(f"{name}={value}" for name, value in {**self.variables, **given}.items()),
        ]
        return servers.start("image", [*argv, *self.command("CMD", more)])

    def health(self, *more):
        """The exit code of its HEALTHCHECK."""
        return subprocess.run(
            [*self.command("HEALTHCHECK"), *more], env=self.variables, cwd="/", timeout=30, check=False
        ).returncode


def installed(image):
    python = image.folder / "opt/memsift/bin/python"
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True, check=True
    )
    return {line.split("==")[0].lower() for line in listed.stdout.split()}


@pytest.mark.timeout(BUILD_S)
def test_the_gateways_image_is_slim_and_serves(open_folder, servers, secrets, valkey_url, queue):
    image = Image(open_folder, "gateway")
    assert {"celery", "openvino", "flower", "torch", "hypothesis"} & installed(image) == set()
    keys = open_folder / "gateway.toml"
    shutil.copy(secrets / "gateway.toml", keys)
    port = valkey.free_port()
    settings = {"MEMSIFT_REDIS_URL": valkey_url, "MEMSIFT_QUEUE": queue, "MEMSIFT_GATEWAY_KEYS": keys}
    gateway = image.start(servers, ("--port", str(port)), **settings)
    until(lambda: services.answers_http(port, "/health"), 60, gateway)
    assert image.health("--gateway", f"127.0.0.1:{port}") == 0
    assert image.health("--gateway", f"127.0.0.1:{valkey.free_port()}") == 2


@pytest.mark.timeout(BUILD_S)
def test_the_workers_image_drains_and_has_flower(open_folder, servers, valkey_url, queue):
    image = Image(open_folder, "worker")
    assert "flower" in installed(image)
    assert {"openvino", "torch", "starlette"} & installed(image) == set()
    before = image.files()
    assert image.health() == 2
    settings = {"MEMSIFT_REDIS_URL": valkey_url, "MEMSIFT_QUEUE": queue, "MEMSIFT_RUNTIME": "scripted"}
    worker = image.start(servers, **settings)
    until(lambda: services.ready_workers(valkey_url, queue), 60, worker)
    assert image.health() == 0
    assert image.files() == before


@pytest.mark.timeout(BUILD_S)
def test_the_cpu_workers_image_brings_its_model(open_folder, servers, valkey_url, queue):
    image = Image(open_folder, "worker-cpu")
    before = image.files()
    worker = image.start(servers, MEMSIFT_REDIS_URL=valkey_url, MEMSIFT_QUEUE=queue)
    (info,) = until(lambda: services.ready_workers(valkey_url, queue), 120, worker)
    assert (info.runtime, info.strategy) == ("embedded", "likelihood")
    assert image.health() == 0
    assert image.files() == before
