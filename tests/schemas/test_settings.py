"""An explicit argument beats the environment, which beats the default; a wrong value names its variable."""

import pytest

from memsift_schemas import SettingsError
from memsift_schemas.settings import ProducerSettings, WorkerSettings, load


def test_argument_beats_environment_beats_default(monkeypatch):
    assert load(WorkerSettings).batch_max == 16
    monkeypatch.setenv("MEMSIFT_BATCH_MAX", "7")
    assert load(WorkerSettings).batch_max == 7
    assert load(WorkerSettings, batch_max=3).batch_max == 3
    assert load(WorkerSettings, batch_max=None).batch_max == 7


@pytest.mark.parametrize(
    ("role", "variable", "value"),
    [
        (WorkerSettings, "MEMSIFT_BATCH_MAX", "many"),
        (WorkerSettings, "MEMSIFT_BATCH_MAX", "0"),
        (WorkerSettings, "MEMSIFT_STRATEGY", "guesswork"),
        (ProducerSettings, "MEMSIFT_DEADLINE_MS", "-5"),
        (ProducerSettings, "MEMSIFT_PREFILTER_KEEP", "most"),
        (ProducerSettings, "MEMSIFT_HALF_LIFE_DAYS", "nan"),
    ],
)
def test_a_wrong_value_is_refused_with_the_variables_name(monkeypatch, role, variable, value):
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError, match=f"^{variable}: "):
        load(role)


def test_all_wrong_values_are_named_at_once(monkeypatch):
    monkeypatch.setenv("MEMSIFT_BATCH_MAX", "0")
    monkeypatch.setenv("MEMSIFT_RUNTIME", "abacus")
    with pytest.raises(
        SettingsError, match=r"MEMSIFT_RUNTIME: .*MEMSIFT_BATCH_MAX: |MEMSIFT_BATCH_MAX: .*MEMSIFT_RUNTIME: "
    ):
        load(WorkerSettings)


def test_some_prefilter_weight_is_needed():
    with pytest.raises(SettingsError, match="must not all be 0"):
        load(ProducerSettings, weight_vector=0, weight_recency=0, weight_keyword=0)


def test_secrets_are_not_shown():
    shown = repr(load(WorkerSettings, sglang_api_key="sk-hidden", sentry_dsn="https://hidden@sentry"))
    assert "hidden" not in shown


@pytest.mark.parametrize("role", [ProducerSettings, WorkerSettings])
@pytest.mark.parametrize(
    "url", ["redis://user:hidden@h/0", "sentinels://user:hidden@h:1/m/0", "rediss://:hidden@h/0"]
)
def test_the_password_of_a_redis_is_not_shown(role, url):
    given = load(role, redis_url=url)
    assert "hidden" not in f"{given!r} {given}"


@pytest.mark.parametrize("name", ["broker_url", "sglang_url", "clef_url", "nox_url", "decision_url"])
def test_the_password_of_another_server_is_not_shown(name):
    scheme = "redis" if name == "broker_url" else "http"
    given = load(WorkerSettings, **{name: f"{scheme}://user:hidden@h/0"})
    assert "hidden" not in f"{given!r} {given}"


@pytest.mark.parametrize("variable", ["MEMSIFT_REDIS_URL", "MEMSIFT_BROKER_URL"])
@pytest.mark.parametrize(
    ("url", "said"),
    [("amqp://u:hidden@h", "must be a URL with redis,"), ("sentinel://hidden", "must be sent")],
)
def test_a_url_that_is_none_of_redis_is_refused_with_its_variables_name(monkeypatch, variable, url, said):
    monkeypatch.setenv(variable, url)
    with pytest.raises(SettingsError, match=f"^{variable}: {said}") as refused:
        load(WorkerSettings)
    assert "hidden" not in str(refused.value)


def test_a_worker_serves_its_default_and_what_it_is_told_each_once():
    assert load(WorkerSettings, also_serve="local, local>local").served == ["local", "local>local"]
    with pytest.raises(SettingsError, match="MEMSIFT_RANKER: rankers are"):
        load(WorkerSettings, ranker="oracle")
    with pytest.raises(SettingsError, match="MEMSIFT_ALSO_SERVE"):
        load(WorkerSettings, also_serve="local>oracle")


@pytest.mark.parametrize(
    ("value", "ranker", "kept"),
    [
        (None, None, 20),
        (None, "local", 20),
        (None, "jev", 200),
        (None, "jev>local", 200),
        (None, "local>jev", 20),
        ("7", "jev", 7),
        ("all", None, 200),
    ],
)
def test_how_many_candidates_go_on_depends_on_the_ranker_unless_it_is_set(monkeypatch, value, ranker, kept):
    if value is not None:
        monkeypatch.setenv("MEMSIFT_PREFILTER_KEEP", value)
    assert load(ProducerSettings).kept_for(ranker) == kept
