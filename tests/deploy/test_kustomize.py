"""`ops/k8s` builds with kustomize, fits Kubernetes' own schemas and keeps what it promises."""

import copy
import re
import subprocess

import kubernetes_validate
import pytest
import yaml

from memsift_schemas.metrics import catalogue
from memsift_schemas.settings import GatewaySettings, WorkerSettings
from tests.deploy import environment
from tests.deploy.paths import OPS

pytestmark = pytest.mark.deploy

OVERLAYS = ("cpu", "gpu")
# The oldest that has sidecars by default, and the newest that the schemas know.
VERSIONS = ("1.29", "1.37")
# Read in the CRD and the Prometheus scaler of KEDA 2.20, since no package has their schema.
SCALED_OBJECT = {
    "scaleTargetRef", "pollingInterval", "cooldownPeriod", "minReplicaCount", "maxReplicaCount",
    "idleReplicaCount", "initialCooldownPeriod", "fallback", "advanced", "triggers",
}  # fmt: skip
TRIGGER = {"type", "name", "metricType", "metadata", "authenticationRef", "useCachedMetrics"}
PROMETHEUS = {"serverAddress", "query", "threshold", "activationThreshold", "ignoreNullValues", "timeout"}


def build(folder):
    command = [environment.program("kubectl"), "kustomize", folder]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return list(yaml.safe_load_all(ended.stdout))


@pytest.fixture(scope="module", params=OVERLAYS)
def objects(request):
    return build(OPS / "k8s" / "overlays" / request.param)


def one(objects, kind, name):
    (found,) = (item for item in objects if item["kind"] == kind and item["metadata"]["name"] == name)
    return found


def pods(objects):
    return {
        item["metadata"]["name"]: item["spec"]["template"]["spec"]
        for item in objects
        if item["kind"] == "Deployment"
    }


def containers(pod):
    return [*pod.get("initContainers", []), *pod["containers"]]


def refusals(objects, version):
    """What Kubernetes' schemas say against objects, unknown fields included."""
    found = []
    for item in objects:
        if item["kind"] == "ScaledObject":
            continue
        try:
            kubernetes_validate.validate(item, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            found.append(f"{item['metadata']['name']}: {error.message}")
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_every_object_fits_kubernetes_schema(objects, version):
    assert refusals(objects, version) == []
    changed = copy.deepcopy(objects)
    containers(pods(changed)["worker"])[0]["readynessProbe"] = {}
    assert len(refusals(changed, version)) == 1


def lax(pod):
    """What breaks the `restricted` pod security standard, and our own rules, in words."""
    found = []
    if pod.get("automountServiceAccountToken") is not False:
        found.append("has a token of the cluster")
    for container in containers(pod):
        security = container.get("securityContext", {})
        user = security.get("runAsUser", pod["securityContext"].get("runAsUser"))
        limits = container.get("resources", {}).get("limits", {})
        image = container["image"].rpartition("/")[2]
        rules = {
            "is root": bool(user) and pod["securityContext"].get("runAsNonRoot"),
            "may get new rights": security.get("allowPrivilegeEscalation") is False,
            "writes to its file system": security.get("readOnlyRootFilesystem"),
            "keeps rights": security.get("capabilities") == {"drop": ["ALL"]},
            "may make any system call": pod["securityContext"].get("seccompProfile", {}).get("type"),
            "has no limit": "memory" in limits,
            "is not pinned": re.search(r":v?\d", image),
            "is not watched": "livenessProbe" in container,
        }
        found += [f"{container['name']} {rule}" for rule, kept in rules.items() if not kept]
    return found


def test_every_pod_is_locked_down(objects):
    assert {name: lax(pod) for name, pod in pods(objects).items() if lax(pod)} == {}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda pod: pod.pop("automountServiceAccountToken"), "has a token of the cluster"),
        (lambda pod: pod["containers"][0].pop("securityContext"), "worker writes to its file system"),
        (lambda pod: pod["containers"][0]["resources"].pop("limits"), "worker has no limit"),
        (lambda pod: pod["containers"][0].update(image="memsift-worker:latest"), "worker is not pinned"),
    ],
)
def test_a_pod_that_is_lax_is_found(objects, change, told):
    pod = copy.deepcopy(pods(objects)["worker"])
    change(pod)
    assert told in lax(pod)


def test_workers_end_later_than_their_batches_and_gateways_than_their_calls(objects):
    worker, gateway = pods(objects)["worker"], pods(objects)["gateway"]
    assert worker["terminationGracePeriodSeconds"] > WorkerSettings().shutdown_grace_s
    assert gateway["terminationGracePeriodSeconds"] > GatewaySettings().gateway_max_deadline_ms / 1e3 + 5


def test_workers_are_probed_by_their_own_heartbeat(objects):
    (worker,) = (one for one in pods(objects)["worker"]["containers"] if one["name"] == "worker")
    asked = {
        kind: worker[f"{kind}Probe"]["exec"]["command"][-1] for kind in ("startup", "liveness", "readiness")
    }
    assert asked == {"startup": "--live", "liveness": "--live", "readiness": "--ready"}


def test_what_workers_may_talk_to_is_redis_and_names(objects):
    def reaches(policy):
        labels = policy["spec"]["podSelector"]
        chosen = labels.get("matchExpressions", [{}])[0].get(
            "values", [labels.get("matchLabels", {}).get("app")]
        )
        everybody = not labels
        return (everybody or "worker" in chosen) and "Egress" in policy["spec"]["policyTypes"]

    policies = [item for item in objects if item["kind"] == "NetworkPolicy" and reaches(item)]
    ports = {
        (rule_port["protocol"], rule_port["port"])
        for policy in policies
        for rule in policy["spec"].get("egress", [])
        for rule_port in rule["ports"]
    }
    assert "nothing" in {policy["metadata"]["name"] for policy in policies}
    assert ports == {("UDP", 53), ("TCP", 53), ("TCP", 6379)}
    # No rule without a peer, which would be everybody.
    assert all(rule.get("to") for policy in policies for rule in policy["spec"].get("egress", []))


def test_secrets_are_named_and_made(objects, secrets):
    named = {
        reference["secretRef"]["name"]
        for pod in pods(objects).values()
        for container in containers(pod)
        for reference in container.get("envFrom", [])
    }
    volumes = (volume for pod in pods(objects).values() for volume in pod.get("volumes", []))
    named |= {volume["secret"]["secretName"] for volume in volumes if "secret" in volume}
    printed = subprocess.run(
        [OPS / "k8s" / "secrets.sh", secrets], capture_output=True, text=True, timeout=60, check=True
    )
    made = [item for item in yaml.safe_load_all(printed.stdout) if item["kind"] == "Secret"]
    assert named == {item["metadata"]["name"] for item in made}
    assert refusals(made, VERSIONS[-1]) == []
    assert not any(item["kind"] == "Secret" for item in objects)


def test_each_runtime_has_a_name_of_its_own():
    pod = pods(build(OPS / "k8s" / "overlays" / "gpu"))["worker"]
    (worker,) = pod["containers"]
    names = [variable["name"] for variable in worker["env"]]
    values = {variable["name"]: variable.get("value") for variable in worker["env"]}
    assert values["MEMSIFT_SGLANG_URL"] == "http://$(POD_IP):30000"
    # Kubernetes fills in what stands before alone.
    assert names.index("POD_IP") < names.index("MEMSIFT_SGLANG_URL")
    (sglang,) = pod["initContainers"]
    # So that it ends after the worker.
    assert sglang["restartPolicy"] == "Always"
    assert (OPS / "sglang" / sglang["args"][1].rpartition("/")[2]).exists()


def test_the_presets_are_all_in_the_config_map():
    kustomization = yaml.safe_load((OPS / "sglang" / "kustomization.yaml").read_text())
    files = set(kustomization["configMapGenerator"][0]["files"])
    assert files == {path.name for path in (OPS / "sglang").glob("*gb.yaml")} | {"qwen3-reranker.jinja"}


def test_workers_are_scaled_by_work_and_by_age_and_never_to_zero(objects):
    spec = one(objects, "ScaledObject", "worker")["spec"]
    assert set(spec) <= SCALED_OBJECT
    assert all(set(trigger) <= TRIGGER for trigger in spec["triggers"])
    assert all(set(trigger["metadata"]) <= PROMETHEUS for trigger in spec["triggers"])
    work, age = spec["triggers"]
    # Before 2.18 KEDA's fallback stood in for the first type alone.
    assert (work["metricType"], age["metricType"]) == ("AverageValue", "Value")
    assert spec["fallback"]["behavior"] == "currentReplicasIfHigher"
    assert 1 <= spec["minReplicaCount"] <= spec["fallback"]["replicas"] <= spec["maxReplicaCount"]
    assert "idleReplicaCount" not in spec
    asked = {
        name for trigger in (work, age) for name in re.findall(r"memsift_\w+", trigger["metadata"]["query"])
    }
    assert asked <= {metric.name for metric in catalogue.ALL}
    assert asked >= {"memsift_queue_jobs", "memsift_worker_in_flight_jobs", "memsift_queue_oldest_seconds"}
    # An apply must not set back what KEDA set.
    assert "replicas" not in one(objects, "Deployment", "worker")["spec"]
    assert float(age["metadata"]["threshold"]) == 0.1
    assert float(work["metadata"]["threshold"]) < 1
