"""The command line as people use it."""

import pytest

from memsift_ops import group


@pytest.fixture
def run(capsys):
    """Run a command line: exit code, stdout, stderr."""

    def run(*arguments):
        code = group.run([str(one) for one in arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run
