"""`memsift bench profile`."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import click

from memsift_ops.console import waiting
from memsift_ops.errors import Failure
from memsift_ops.peers.process import Client, Worker, variables
from memsift_ops.peers.round import DEADLINE_MS, job_file
from memsift_ops.peers.systems import MEMSIFT, systems
from memsift_ops.stack import Stack

# Samples per second; with more py-spy itself takes the core that it looks at.
SAMPLES = 200
END_S = 30.0


@click.command("profile")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--rate", default=500.0, show_default=True, type=click.FloatRange(1, 100_000), help="Calls per second."
)
@click.option(
    "--seconds", default=20.0, show_default=True, type=click.FloatRange(1, 600), help="Of the load."
)
def command(*, folder: Path, rate: float, seconds: float) -> int:
    """Write flame graphs of producer and worker under load into FOLDER.

    They are producer-profile.svg and worker-profile.svg. Only what holds Python's global lock is shown, so
    that waiting is not. The runtime takes 15 ms a batch.
    Needs py-spy (pip install py-spy), and on some systems root.
    """
    beside = str(Path(sys.executable).parent)
    spy = shutil.which("py-spy", path=beside) or shutil.which("py-spy")
    if spy is None:
        raise Failure("py-spy is not installed: pip install py-spy")
    folder.mkdir(parents=True, exist_ok=True)
    ours = systems()[MEMSIFT]
    with Stack("memsift.bench.profile") as stack, tempfile.TemporaryDirectory() as files:
        told = variables(
            stack.start_valkey(), job_file(Path(files)), batch_ms=15.0, wait_ms=8.0, batch_max=16, batches=4
        )
        with Worker(ours, told) as worker, Client(ours, told) as client, waiting("profiling"):
            client.do({"do": "ready"}, seconds=END_S)
            looking = [
                _look(spy, pid, folder / f"{name}-profile.svg")
                for name, pid in (("producer", client.pid), ("worker", worker.pid))
            ]
            order = {"do": "load", "rate": rate, "seconds": seconds, "seed": 1}
            client.do({**order, "deadline_ms": DEADLINE_MS, "patience_s": 5.0}, seconds=seconds)
            for one in looking:
                one.send_signal(signal.SIGINT)  # it writes what it has
            for one in looking:
                _, said = one.communicate(timeout=END_S)
                if one.returncode:
                    raise Failure("py-spy could not look", log=said.strip().splitlines()[-5:])
    for name in ("producer", "worker"):
        _shorten(folder / f"{name}-profile.svg")
    return 0


def _shorten(drawn: Path) -> None:
    """Take py-spy's command line out of the picture: its paths are nobody's business."""
    text = drawn.read_text(encoding="utf-8")
    drawn.write_text(
        re.sub(r"[^<>\"]*py-spy record [^<>\"]*", "memsift bench profile", text), encoding="utf-8"
    )


def _look(spy: str, pid: int, out: Path) -> subprocess.Popen[str]:
    options = ("--gil", "--nonblocking", "--rate", str(SAMPLES), "--duration", "unlimited")
    command = (spy, "record", "--pid", str(pid), *options, "--output", str(out))
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
