"""`ops/compose.yaml` passes Docker Compose itself and keeps what it promises."""

import copy
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from memsift_schemas.settings import GatewaySettings, WorkerSettings, load
from tests.deploy import environment
from tests.deploy.dockerfile import stages
from tests.deploy.paths import OPS, ROOT

pytestmark = pytest.mark.deploy

PUBLISHED = {"gateway": 8010, "proxy": 8080, "grafana": 3000}
DOCKERFILE = OPS / "docker" / "Dockerfile"


def config(file, *profiles):
    """What Compose makes of a file, or its refusal."""
    chosen = [option for profile in profiles for option in ("--profile", profile)]
    ended = subprocess.run(
        [*environment.compose(), "-f", file, *chosen, "config", "--format", "json"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    if ended.returncode:
        raise ValueError(ended.stderr)
    return json.loads(ended.stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, secrets):
    """The file where its secrets are."""
    folder = tmp_path_factory.mktemp("compose") / "ops"
    folder.mkdir()
    shutil.copy(OPS / "compose.yaml", folder)
    shutil.copytree(secrets, folder / "secrets")
    return folder


@pytest.fixture(scope="module")
def composed(folder):
    return config(folder / "compose.yaml", "gpu", "cpu")


def faults(composed):
    """What is wrong with services, in words; the rules that all of them keep."""
    found = []
    for name, service in composed["services"].items():
        target = service.get("build", {}).get("target")
        image = {instruction.name: instruction.value for instruction in _inherited(target)} if target else {}
        limits = service.get("deploy", {}).get("resources", {}).get("limits", {})
        mounts = service.get("volumes", [])
        rules = {
            "writes to its file system": service.get("read_only"),
            "keeps rights": service.get("cap_drop") == ["ALL"],
            "may get new rights": service.get("security_opt") == ["no-new-privileges:true"],
            "is root": not (service.get("user") or image.get("USER", "root")).startswith(("0", "root")),
            "has no health check": service.get("healthcheck") or "HEALTHCHECK" in image,
            "has no limits": {"cpus", "memory", "pids"} <= set(limits),
            "is not pinned": re.fullmatch(r"[^:]+:v?\d[\w.-]*", service["image"]),
            "is not on the inner network": "jobs" in service["networks"],
            "writes to this machine": all(m.get("read_only") for m in mounts if m["type"] == "bind"),
            "is published": bool(service.get("ports")) == (name in PUBLISHED),
            "is published to everybody": all(
                port["host_ip"] == "127.0.0.1" for port in service.get("ports", [])
            ),
            "reaches out": ("edge" in service["networks"]) <= (name in PUBLISHED),
        }
        found += [f"{name} {rule}" for rule, kept in rules.items() if not kept]
    return found


def _inherited(target):
    """Instructions of a stage and of those that it is built on."""
    read = stages(DOCKERFILE)
    chain = []
    while target in read:
        chain = [*read[target].instructions, *chain]
        target = read[target].base
    return chain


def test_every_service_keeps_the_rules(composed):
    assert len(composed["services"]) >= 9
    assert faults(composed) == []
    assert composed["networks"]["jobs"]["internal"] is True


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda services: services["redis"].pop("read_only"), "redis writes to its file system"),
        (lambda services: services["sglang"].update(user="0"), "sglang is root"),
        (lambda services: services["proxy"].update(image="nginx:latest"), "proxy is not pinned"),
        (lambda services: services["redis"].pop("healthcheck"), "redis has no health check"),
        (lambda services: services["worker"].pop("deploy"), "worker has no limits"),
        (
            lambda services: services["flower"].update(ports=[{"host_ip": "127.0.0.1", "target": 5555}]),
            "flower is published",
        ),
        (lambda services: services["worker"]["networks"].update(edge=None), "worker reaches out"),
    ],
)
def test_a_rule_that_is_broken_is_found(composed, change, told):
    changed = copy.deepcopy(composed)
    change(changed["services"])
    assert faults(changed) == [told]


def test_profiles_choose_where_the_model_runs(folder):
    always = {"redis", "gateway", "flower", "proxy", "prometheus", "grafana"}
    assert set(config(folder / "compose.yaml", "gpu")["services"]) == always | {"sglang", "worker"}
    assert set(config(folder / "compose.yaml", "cpu")["services"]) == always | {"worker-cpu"}


def test_settings_that_it_gives_are_settings(composed, monkeypatch):
    kinds = {"worker": WorkerSettings, "worker-cpu": WorkerSettings, "gateway": GatewaySettings}
    for name, kind in kinds.items():
        given = {
            k: v for k, v in composed["services"][name]["environment"].items() if k.startswith("MEMSIFT_")
        }
        for variable, value in given.items():
            monkeypatch.setenv(variable, value)
        settings = load(kind)
        fields = {f"MEMSIFT_{field.upper()}" for field in kind.model_fields}
        assert set(given) <= fields, name
        assert seconds(composed["services"][name]["stop_grace_period"]) > grace(settings), name


def grace(settings):
    if isinstance(settings, WorkerSettings):
        return settings.shutdown_grace_s
    return settings.gateway_max_deadline_ms / 1e3


def seconds(duration):
    minutes, rest = re.fullmatch(r"(?:(\d+)m)?(\d+)s", duration).groups()
    return int(minutes or 0) * 60 + int(rest)


def test_what_it_mounts_is_in_the_repository(composed, folder):
    for name, service in composed["services"].items():
        for mount in service.get("volumes", []):
            if mount["type"] == "bind" and "models" not in mount["source"]:
                there = Path(mount["source"]).relative_to(folder)
                assert (folder / there).exists() or (ROOT / "ops" / there).exists(), (name, there)


def test_redis_keeps_nothing_and_sglang_has_a_card(composed):
    redis, sglang = composed["services"]["redis"], composed["services"]["sglang"]
    assert all(mount["type"] == "bind" and mount["read_only"] for mount in redis["volumes"])
    (device,) = sglang["deploy"]["resources"]["reservations"]["devices"]
    assert (device["driver"], device["capabilities"]) == ("nvidia", ["gpu"])
    preset = next(Path(word).name for word in sglang["command"] if word.endswith(".yaml"))
    assert (OPS / "sglang" / preset).exists()


def test_compose_refuses_what_it_does_not_know(folder):
    wrong = folder / "wrong.yaml"
    wrong.write_text((folder / "compose.yaml").read_text().replace("read_only: true", "readonly: true", 1))
    with pytest.raises(ValueError, match="readonly"):
        config(wrong, "cpu")
