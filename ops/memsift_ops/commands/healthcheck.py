"""`memsift healthcheck`: containers run it every few seconds, so it imports next to nothing."""

from __future__ import annotations

import json
from enum import IntEnum
from typing import Any

import click

from memsift_workers import liveness
from memsift_workers.liveness import Stamp

# The drain beats once a second; one that has not for this long is blocked.
LIVE_S = 15.0
ANSWER_S = 2.0
OK = 200


class Code(IntEnum):
    """Exit codes."""

    READY = 0
    NOT_READY = 1
    DEAD = 2


@click.command("healthcheck")
@click.option("--live", "kind", flag_value="live", help="Only whether it lives: restart it when not.")
@click.option("--ready", "kind", flag_value="ready", help="Whether it is ready; this is the default.")
@click.option("-w", "--worker", help="A worker's name, where several have a heartbeat here.")
@click.option("--within", default=LIVE_S, show_default=True, type=click.FloatRange(1, 3600), help="Seconds.")
@click.option(
    "--gateway", metavar="HOST:PORT", help="Ask an HTTP gateway there instead, such as 127.0.0.1:8010."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    kind: str | None, worker: str | None, within: float, gateway: str | None, *, as_json: bool
) -> int:
    """Tell whether the worker in this container lives and is ready.

    It lives when its drain loop has turned within the last seconds, with or without Redis and a runtime. It
    is ready when it reaches both, and the model is warm.

    Exit code 0: yes. 1: it lives and is not ready. 2: it is dead, or nothing is known of it.
    """
    told = _gateway(gateway) if gateway else _worker(worker, within)
    if told["live"] and kind == "live":
        code = Code.READY
    else:
        code = Code.DEAD if not told["live"] else Code.READY if told["ready"] else Code.NOT_READY
    click.echo(json.dumps({**told, "code": int(code)}) if as_json else _line(told))
    return int(code)


def _worker(name: str | None, within: float) -> dict[str, Any]:
    stamps = [stamp for stamp in liveness.read() if name in (None, stamp.worker, stamp.worker.split("@")[0])]
    if len(stamps) != 1:
        where = liveness.folder()
        why = "several workers have a heartbeat" if stamps else "there is no heartbeat"
        remedy = (
            "choose one with --worker" if stamps else "is a worker running, and MEMSIFT_RUN_DIR the same?"
        )
        return {"live": False, "ready": False, "why": f"{why} in {where}: {remedy}"}
    return _told(stamps[0], within)


def _told(stamp: Stamp, within: float) -> dict[str, Any]:
    age = stamp.age_s()
    live = age <= within
    return {
        "worker": stamp.worker,
        "pid": stamp.pid,
        "live": live,
        "ready": live and stamp.ready,
        "paused": stamp.paused,
        "age_s": round(age, 3) if age != float("inf") else None,
        "why": _why(stamp) if live else f"the drain loop has not turned for {age:.0f} s",
    }


def _why(stamp: Stamp) -> str:
    return f"it waits for: {', '.join(stamp.waits_for)}" if stamp.waits_for else ""


def _gateway(address: str) -> dict[str, Any]:
    live, _ = _get(address, "/health")
    ready, said = _get(address, "/ready") if live else (False, {})
    told = {"gateway": address, "live": live, "ready": ready, "answers": said.get("answers")}
    return {**told, "why": "" if live else f"nothing at {address} answers /health with 200"}


def _get(address: str, path: str) -> tuple[bool, dict[str, Any]]:
    import http.client  # noqa: PLC0415  # a third of this command's time, and a worker needs none of it

    connection = http.client.HTTPConnection(address, timeout=ANSWER_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        said = json.loads(answer.read())
    except (OSError, http.client.HTTPException, ValueError):
        return False, {}
    finally:
        connection.close()
    return answer.status == OK, said if isinstance(said, dict) else {}


def _line(told: dict[str, Any]) -> str:
    state = "ready" if told["ready"] else "lives, not ready" if told["live"] else "dead"
    paused = ", paused" if told.get("paused") else ""
    return f"{state}{paused}{': ' + told['why'] if told['why'] else ''}"
