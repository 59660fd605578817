"""How long `import memsift_producer` takes in a new interpreter."""

from __future__ import annotations

import json
import subprocess
import sys

SCRIPT = """
import json, time
wall, cpu = time.perf_counter(), time.process_time()
import memsift_producer
print(json.dumps({"ms": (time.perf_counter() - wall) * 1e3, "cpu_ms": (time.process_time() - cpu) * 1e3}))
"""


def once(python: str = sys.executable) -> dict[str, float]:
    """Milliseconds, wall and CPU, of one import by this interpreter."""
    # -I: what is installed is imported, not what this command was started with.
    isolated = () if python == sys.executable else ("-I",)
    ended = subprocess.run((python, *isolated, "-c", SCRIPT), capture_output=True, text=True, check=True)
    told: dict[str, float] = json.loads(ended.stdout)
    return told
