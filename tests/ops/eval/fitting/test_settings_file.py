"""Settings files: written, read back, and in the environment only as long as they are asked for."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_ops.errors import Refused
from memsift_ops.evaluation.fitting import settings_file
from memsift_schemas import settings
from memsift_schemas.settings import WorkerSettings

WORDS = "MEMSIFT_JEV_WEIGHT_WORDS"


@given(st.dictionaries(st.from_regex(r"\AMEMSIFT_[A-Z]{1,9}\Z"), st.floats(-100, 100), min_size=1))
def test_what_is_written_is_read(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("settings") / "fitted.env"
    told = {name: f"{value:.4g}" for name, value in values.items()}
    settings_file.write(path, ["by hand: $(x) 'y'", "second line"], told)
    assert settings_file.read(path) == told
    assert path.read_text().startswith("# by hand")


def test_it_is_in_the_environment_for_a_while_and_what_is_set_there_wins(tmp_path, monkeypatch):
    path = tmp_path / "fitted.env"
    path.write_text(f"{WORDS}=0.61\nMEMSIFT_JEV_WEIGHT_NAMES=0.5\nOTHER=1\n")
    monkeypatch.setenv("MEMSIFT_JEV_WEIGHT_NAMES", "0.9")
    monkeypatch.delenv(WORDS, raising=False)
    before = dict(os.environ)
    with settings_file.applied(path):
        found = settings.load(WorkerSettings)
        assert (found.jev_weight_words, found.jev_weight_names) == (0.61, 0.9)
        assert "OTHER" not in os.environ
    assert dict(os.environ) == before


def test_what_environment_and_file_were_fitted_on_both_counts(tmp_path, monkeypatch):
    path = tmp_path / "fitted.env"
    path.write_text(f"{settings_file.FITTED_ON}=b,c\n")
    monkeypatch.setenv(settings_file.FITTED_ON, "a")
    with settings_file.applied(path):
        assert os.environ[settings_file.FITTED_ON] == "a,b,c"
    assert os.environ[settings_file.FITTED_ON] == "a"


def test_without_a_file_nothing_changes():
    before = dict(os.environ)
    with settings_file.applied(None):
        assert dict(os.environ) == before


@pytest.mark.parametrize("content", [b"", b"PATH=/x\n", b'{"a": 1}', b"\xff\xfe"])
def test_a_file_of_something_else_is_refused(tmp_path, content):
    path = tmp_path / "x.env"
    path.write_bytes(content)
    with pytest.raises(Refused, match=r"x\.env"):
        settings_file.read(path)
