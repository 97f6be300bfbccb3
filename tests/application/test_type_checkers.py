"""mypy and pyright see what a handler takes: each wrong call of `typed/wrong_calls.py` is an error on its line."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
WRONG = TESTS / "typed" / "wrong_calls.py"
RIGHT = TESTS / "typed" / "right_calls.py"
Errors = set[tuple[str, int]]


def of_mypy(folder: Path) -> Errors:
    """With the cache of `make lint`, whose options are the same."""
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context", RIGHT, WRONG]
    done = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = re.findall(r"^(?:.*/)?(\w+)\.py:(\d+): error: ", done.stdout, re.MULTILINE)
    return {(name, int(line)) for name, line in found}


def of_pyright(folder: Path) -> Errors:
    settings = {"typeCheckingMode": "standard", "include": [str(RIGHT), str(WRONG)], "extraPaths": [str(TESTS)]}
    settings |= {"pythonVersion": "3.11"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable, "-p", folder]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = json.loads(done.stdout)["generalDiagnostics"]
    return {
        (Path(each["file"]).stem, each["range"]["start"]["line"] + 1) for each in found if each["severity"] == "error"
    }


@pytest.mark.parametrize("errors_of", [of_mypy, of_pyright], ids=["mypy", "pyright"])
def test_each_wrong_call_is_an_error_on_its_line_and_no_right_one_is(
    tmp_path: Path, errors_of: Callable[[Path], Errors]
) -> None:
    wrong = {number for number, line in enumerate(WRONG.read_text().splitlines(), 1) if "  # wrong" in line}
    calls = re.findall(r"^    .*\b(?:\w+|using\(.*\))\.?\w*\(", RIGHT.read_text(), re.MULTILINE)
    assert len(wrong) >= 20
    assert len(calls) >= 20
    assert errors_of(tmp_path) == {(WRONG.stem, number) for number in wrong}
