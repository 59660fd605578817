"""Imports run one way, files stay small, and no two ideas share a room."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAY_IMPORT = {
    "memsift_schemas": set(),
    "memsift_producer": {"memsift_schemas"},
    "memsift_workers": {"memsift_schemas"},
    "memsift_ops": {"memsift_schemas", "memsift_producer", "memsift_workers"},
}
FOLDERS = {name: ROOT / name.removeprefix("memsift_") / name for name in MAY_IMPORT}
FILES = [(name, path) for name, folder in FOLDERS.items() for path in sorted(folder.rglob("*.py"))]
MOST_LINES = 300


def imported(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


def foreign(package, source):
    return (
        {name for name in imported(source) if name.startswith("memsift_")} - MAY_IMPORT[package] - {package}
    )


@pytest.mark.parametrize(("package", "path"), FILES, ids=lambda value: getattr(value, "stem", value))
def test_a_file_imports_only_what_its_layer_may(package, path):
    assert foreign(package, path.read_text()) == set()


@pytest.mark.parametrize(("package", "path"), FILES, ids=lambda value: getattr(value, "stem", value))
def test_a_file_holds_one_idea(package, path):
    assert len(path.read_text().splitlines()) <= MOST_LINES


def test_the_layer_check_can_fail():
    assert foreign("memsift_producer", "from memsift_workers.app import app") == {"memsift_workers"}
    assert foreign("memsift_schemas", "def f():\n    import memsift_producer") == {"memsift_producer"}


def test_every_package_says_that_it_is_typed():
    assert all((folder / "py.typed").exists() for folder in FOLDERS.values())
