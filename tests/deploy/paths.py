"""Where the samples lie that an operator deploys with."""

from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
OPS = ROOT / "ops"
DOCS = ROOT / "docs"
PRESETS = sorted((OPS / "sglang").glob("*gb.yaml"))
