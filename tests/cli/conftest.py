"""What the tests of the command line share: a runner in a folder of its own."""

import shlex
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from chetaev.cli import application
from python_code import python_code_in

sys.path.insert(0, str(Path(__file__).parent))  # wrong_models can be imported by name


@pytest.fixture
def chetaev(tmp_path, monkeypatch):
    """A call such as `chetaev("simulate sleigh --t 1")` in an empty folder; the result has exit_code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CHETAEV_TRACEBACK", raising=False)
    runner = CliRunner()

    def call(line, text=None):
        found = runner.invoke(application, shlex.split(line), input=text, catch_exceptions=False)
        hints = [said for said in found.stderr.splitlines() if said.startswith("  -> ")]
        assert not any(map(python_code_in, hints)), hints  # advice is options, keys of the file, or says that it is Python
        return found

    return call
