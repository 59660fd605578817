"""Whether memories can leave the private network."""

from __future__ import annotations

from collections.abc import AsyncIterator

from memsift_ops.doctor.finding import Finding, fault, ok, warning
from memsift_schemas.settings import WorkerSettings
from memsift_workers.egress import SWITCH, EgressRefused, check_url
from memsift_workers.runtimes.base import RuntimeFault


async def look(settings: WorkerSettings) -> AsyncIterator[Finding]:
    """Ask where the servers are that this worker's rankers would send memories to."""
    servers = _servers(settings)
    for name, url in servers.items():
        try:
            await check_url(url, allowed=False)
        except EgressRefused as error:
            if settings.allow_egress:
                yield warning(
                    f"egress.{name}",
                    f"{SWITCH}=1: memories go to a public address",
                    "leave it only if that is meant (docs/security.md)",
                )
            else:
                yield fault(
                    f"egress.{name}",
                    str(error).partition(":")[0],
                    f"take a server of your own, or {SWITCH}=1",
                )
        except RuntimeFault as error:
            yield fault(f"egress.{name}", str(error), "correct the URL in the worker's settings")
        else:
            yield ok(f"egress.{name}", "its server is inside the private network")
    if not servers:
        yield ok("egress", "no ranker of this worker talks to a server")


def _servers(settings: WorkerSettings) -> dict[str, str]:
    """The URLs that are used, by who uses them."""
    parts = {part for name in settings.served for part in name.split(">")}
    urls = {
        "clef": settings.clef_url,
        "nox": settings.nox_url,
        "decision": settings.decision_url,
    }
    found = {name: url for name, url in urls.items() if name in parts}
    if settings.uses_runtime and settings.runtime == "sglang":
        found["sglang"] = settings.sglang_url
    return found
