"""`memsift up`."""

from __future__ import annotations

import click

from memsift_ops import services, valkey
from memsift_ops.loglevel import log_level, loglevel_option
from memsift_ops.logs import Logs
from memsift_ops.stack import Stack
from memsift_ops.weights import ensure_model
from memsift_schemas import settings
from memsift_schemas.settings import WorkerSettings

# Those of ops/prometheus/prometheus.yml.
METRICS_PORT, GATEWAY_METRICS_PORT = 9464, 9465


def free(_context: click.Context, _option: click.Parameter, port: int | None) -> int | None:
    """Refuse a port that is taken, for an option's callback."""
    if port and not valkey.is_free(port):
        raise click.BadParameter(f"port {port} is taken; leave the option out to get a free one")
    return port


@click.command("up")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    callback=free,
    help=f"Valkey's port.  [default: {valkey.DEFAULT_PORT}, or any free one]",
)
@click.option(
    "--flower-port",
    type=click.IntRange(1, 65535),
    callback=free,
    help=f"Flower's port.  [default: {services.FLOWER_PORT}, or any free one]",
)
@click.option("--flower/--no-flower", default=True, help="Whether to run Flower.", show_default=True)
@click.option("--gateway", is_flag=True, help="Also run the HTTP gateway, on a free port.")
@loglevel_option
def command(
    port: int | None, flower_port: int | None, loglevel: str | None, *, flower: bool, gateway: bool
) -> None:
    """Run Valkey, a worker and Flower on this machine, for development.

    One Ctrl-C (or SIGTERM) stops all of it, with exit code 0. When one process ends, the others are stopped
    and the exit code is 1.
    """
    checked = settings.load(WorkerSettings)
    level = log_level(loglevel, checked)
    ensure_model()
    logs = Logs()
    with Stack(checked.queue, sink=logs.write) as stack:
        try:
            logs.say("starting; Ctrl-C stops everything")
            stack.start_valkey(port or valkey.DEFAULT_PORT)
            metrics_port = checked.metrics_port or valkey.free_port(METRICS_PORT)
            info = stack.start_worker(loglevel=level, metrics_port=metrics_port)
            flower_url = stack.start_flower(flower_port or services.FLOWER_PORT) if flower else ""
            gateway_port = valkey.free_port(GATEWAY_METRICS_PORT) if gateway else 0
            gateway_url = stack.start_gateway(metrics_port=gateway_port) if gateway else ""
            logs.say(f"ready: {info.strategy} on {info.model} ({info.runtime})")
            logs.say(f"Valkey  {stack.redis_url}")
            if flower_url:
                logs.say(f"Flower  {flower_url}")
            logs.say(f"metrics http://127.0.0.1:{metrics_port}/metrics")
            if gateway_url:
                logs.say(f"gateway {gateway_url}")
                logs.say(f"        its metrics http://127.0.0.1:{gateway_port}/metrics")
            logs.say(f"clients: export MEMSIFT_REDIS_URL={stack.redis_url}")
            stack.wait()
        except KeyboardInterrupt:
            logs.say("stopping")
