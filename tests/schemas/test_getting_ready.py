"""What the first job need not wait for."""

import subprocess
import sys

import pytest

SCRIPT = """
import sys
from memsift_schemas.getting_ready import get_ready
from memsift_schemas.job import RerankJob
from memsift_schemas.memory import Memory
from memsift_schemas.result import Ranked, Refusal, RerankResult
MODELS = RerankJob, Memory, RerankResult, Ranked, Refusal
print(*(model.__pydantic_complete__ for model in MODELS), "rjieba" in sys.modules)
get_ready()
print(*(model.__pydantic_complete__ for model in MODELS), "rjieba" in sys.modules)
"""


@pytest.fixture(scope="module")
def told():
    """In an interpreter of its own: here all is built already."""
    return subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True).stdout


def test_an_import_builds_no_model_and_reads_no_dictionary(told):
    assert set(told.splitlines()[0].split()) == {"False"}


def test_afterwards_all_that_a_job_needs_is_there(told):
    *models, dictionary = told.splitlines()[1].split()
    assert dictionary == "True"
    assert models[0] == models[2] == models[4] == "True"
