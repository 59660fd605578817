"""The docs' table of settings is the code's."""

from pathlib import Path

from memsift_ops.settings_table import page
from memsift_schemas.settings import GatewaySettings, WorkerSettings

DOCS = Path(__file__).parent.parent.parent / "docs" / "settings.md"


def test_the_page_in_the_docs_is_up_to_date():
    assert DOCS.read_text() == page(), "run `make docs`"


def test_every_setting_is_on_it_once_and_described():
    lines = page().splitlines()
    for name in {**GatewaySettings.model_fields, **WorkerSettings.model_fields}:
        (row,) = [line for line in lines if line.startswith(f"| `MEMSIFT_{name.upper()}` ")]
        assert "None" not in row
