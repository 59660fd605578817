"""The four kinds of Redis are told by the URL; what Celery cannot use is refused with the remedy."""

import pytest

from memsift_schemas import SettingsError, redis_urls
from memsift_schemas import settings as settings_module
from memsift_schemas.redis_link import connect
from memsift_schemas.redis_urls import celery_broker, has_hash_tag, parse_sentinel
from memsift_schemas.settings import ProducerSettings, WorkerSettings

CLUSTER = "redis+cluster://127.0.0.1:7000"


def test_a_sentinel_url_in_its_parts():
    hosts, options = "one:26380,two,[::1]:26381", "sentinel_password=s&health_check_interval=5"
    read = parse_sentinel(f"sentinel://u:p%40w@{hosts}/mymaster/3?{options}")
    assert read.sentinels == (("one", 26380), ("two", 26379), ("::1", 26381))
    assert (read.master, read.login) == ("mymaster", {"password": "s"})
    assert read.data_url == "redis://u:p%40w@master/3?health_check_interval=5"
    assert "p%40w" not in repr(read)


def test_tls_is_for_sentinels_and_servers():
    read = parse_sentinel("sentinels://one/m?ssl_ca_certs=/ca.crt")
    assert read.data_url == "rediss://master/0?ssl_ca_certs=/ca.crt".replace("/ca", "%2Fca")
    assert redis_urls.sentinel_options(read) == {"ssl": True, "ssl_ca_certs": "/ca.crt"}


@pytest.mark.parametrize(
    "url", ["sentinel://one:26379", "sentinel:///m", "sentinel://one:x/m", "sentinel://a/m/0/x"]
)
def test_a_sentinel_url_without_master_or_host_is_refused_without_its_password(url):
    with pytest.raises(SettingsError, match=r"MEMSIFT_REDIS_URL: .*name-of-the-master") as caught:
        settings_module.load(ProducerSettings, redis_url=url.replace("://", "://u:xyzzy@"))
    assert "xyzzy" not in str(caught.value)


def test_celery_reaches_the_same_sentinels():
    broker, options = celery_broker("sentinel://u:p@one:26380,two/mymaster/3?sentinel_password=s")
    assert broker == "sentinel://u:p@one:26380/3;sentinel://two:26379"
    assert options == {"master_name": "mymaster", "sentinel_kwargs": {"password": "s"}}


@pytest.mark.parametrize("url", ["redis://h/1", "rediss://h?ssl_ca_certs=x", "unix:///tmp/s"])
def test_celery_reads_the_other_urls_itself(url):
    assert celery_broker(url) == (url, {})


@pytest.mark.parametrize(
    ("name", "tagged"),
    [("{q}", True), ("a{q}b", True), ("q", False), ("{}q", False), ("}q{", False), ("{}{q}", False)],
)
def test_hash_tags_are_what_the_cluster_specification_says(name, tagged):
    assert has_hash_tag(name) is tagged


@pytest.mark.parametrize("settings", [{}, {"queue": "memsift.rerank"}, {"queue": "{}memsift"}])
def test_a_cluster_wants_a_queue_in_one_slot(settings):
    with pytest.raises(SettingsError, match=r"MEMSIFT_QUEUE: .*put its name in braces, \{memsift.rerank\}"):
        settings_module.load(ProducerSettings, redis_url=CLUSTER, **settings)
    assert settings_module.load(ProducerSettings, redis_url=CLUSTER, queue="{memsift.rerank}")


def test_a_worker_on_a_cluster_wants_another_redis_for_celery():
    with pytest.raises(SettingsError, match=r"MEMSIFT_BROKER_URL: .*cannot use a Redis Cluster"):
        settings_module.load(WorkerSettings, redis_url=CLUSTER, queue="{q}")
    with pytest.raises(SettingsError, match="MEMSIFT_BROKER_URL"):
        settings_module.load(WorkerSettings, broker_url=CLUSTER)
    settings = settings_module.load(WorkerSettings, redis_url=CLUSTER, queue="{q}", broker_url="redis://h")
    assert settings.broker_url == "redis://h"


@pytest.mark.parametrize("url", ["http://h", "redis-cluster://h", "h:6379", ""])
def test_another_scheme_is_refused(url):
    with pytest.raises(SettingsError, match=r"MEMSIFT_REDIS_URL: must be a URL with .*redis\+cluster"):
        settings_module.load(ProducerSettings, redis_url=url)


async def test_each_kind_makes_a_client_that_is_not_yet_connected():
    for url in ("redis://h", "rediss://h", "unix:///s", "sentinel://h/m", "sentinels://h/m", CLUSTER):
        await connect(url, client_name="t", connections=1, queue="{q}").aclose()
