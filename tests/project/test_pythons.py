"""`make test-pythons`: the selection of versions and Python programs."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "test_pythons.py"


def asked(question: str, **variables: str) -> str:
    code = f"import sys; sys.path.insert(0, {str(SCRIPT.parent)!r}); import test_pythons; {question}"
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True)
    return (done.stdout + done.stderr).strip()


def test_every_dependency_has_a_lower_bound_that_is_tested() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    listed += asked("print(*test_pythons.FRAMEWORKS)").split()
    constraints = asked("print(*test_pythons.lowest_versions())").split()
    assert [each.partition("==")[0] for each in constraints] == [re.split(r"[>[]", each)[0] for each in listed]
    # On Python 3.13 the one before cannot be imported.
    assert "SQLAlchemy==2.0.31" in constraints


def test_the_files_of_the_selection_exist() -> None:
    files = asked("print(*test_pythons.SMOKE)").split()
    assert files
    assert [each for each in files if not (ROOT / each).exists()] == []


@pytest.mark.parametrize("python", ["/bin/true", "/nonexistent/python3"])
def test_path_that_is_no_supported_python_is_reported(python: str) -> None:
    assert asked("test_pythons.pythons()", PYTHONS=python) == f"{python} is no Python from 3.11 on"


def test_running_python_version_is_found() -> None:
    assert str(sys.version_info[:2]) in asked("print(test_pythons.pythons())", HOME="/nonexistent", PATH="/nonexistent")
