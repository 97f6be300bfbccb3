"""Which tests a run has, and on which database: the rules of harness/long.py, asked of a folder of tests."""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from harness.long import EVERYTHING, SEED

TESTS = """
import pytest

both = pytest.mark.parametrize("database", ["sqlite", "postgresql"])

@both
@pytest.mark.promise("P1")
def test_promise(database): ...

@both
def test_other(database): ...

@both
@pytest.mark.parametrize("case", range(6))
def test_table(database, case): ...

@both
@pytest.mark.promise("P1")
@pytest.mark.long(sample=0.5)
@pytest.mark.parametrize("case", range(6))
def test_table_of_a_promise(database, case): ...

@pytest.mark.long
def test_long(): ...

@pytest.mark.long(sample=2)
@pytest.mark.parametrize("case", range(6))
def test_sampled(case): ...
"""
LIMITS = """
import pytest

def limit(request):
    return request.node.get_closest_marker("timeout").args

@pytest.mark.long
def test_long(request):
    assert limit(request) == (3600,)

@pytest.mark.long
@pytest.mark.timeout(7)
def test_own(request):
    assert limit(request) == (7,)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for room in ("store", "cli"):
        (tmp_path / "tests" / room).mkdir(parents=True)
        (tmp_path / "tests" / room / f"test_{room}.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = tests\naddopts = --import-mode=importlib\n")
    return tmp_path


def collected(folder: Path, *words: str, seed: int = 1) -> Counter[str]:
    """How often each test runs. `test_x sqlite` counts the cases of `test_x` that have `sqlite` as a parameter."""
    told = run(folder, "--collect-only", *words, seed=seed)
    found = Counter[str]()
    for name, parameters in re.findall(r"^\S+::(\w+)(?:\[(\S+)\])?$", told, re.MULTILINE):
        found[name] += 1
        found.update(f"{name} {each}" for each in parameters.split("-") if each.isalpha())
    return found


def run(folder: Path, *words: str, seed: int = 1) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in (SEED, EVERYTHING)}
    environment |= {SEED: str(seed), "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "harness.long", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, *words], env=environment, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_test_of_the_store_runs_on_both_databases_in_each_run(folder: Path) -> None:
    for seed in (1, 2):
        found = collected(folder, "tests/store", seed=seed)
        assert (found["test_promise"], found["test_other"], found["test_table"]) == (2, 2, 12)


def test_test_of_a_command_runs_on_one_database_and_always_on_the_same(folder: Path) -> None:
    first, second = (collected(folder, "tests/cli", seed=seed) for seed in (1, 2))
    assert (first["test_promise"], first["test_other"], first["test_table"]) == (2, 1, 6)
    assert first["test_table sqlite"] == first["test_table postgresql"] == 3
    assert first == second


def test_sample_of_a_table_runs_on_the_databases_in_turn_whatever_the_room(folder: Path) -> None:
    for room in ("store", "cli"):
        found = collected(folder, f"tests/{room}")
        assert found["test_table_of_a_promise sqlite"] == found["test_table_of_a_promise postgresql"] == 3
        assert (found["test_long"], found["test_sampled"]) == (0, 2)


def test_all_of_a_test_runs_if_it_is_named_and_all_that_is_left_out_in_test_long(folder: Path) -> None:
    everything = collected(folder, "--everything", "tests/cli")
    assert (everything["test_other"], everything["test_table"], everything["test_long"]) == (2, 12, 1)
    assert (everything["test_sampled"], everything["test_table_of_a_promise"]) == (6, 12)
    assert collected(folder, "tests/cli/test_cli.py::test_table")["test_table"] == 12
    left_out = collected(folder, "--long", "tests/cli")
    assert {name for name in everything if not left_out[name]} == {
        *("test_promise", "test_promise sqlite", "test_promise postgresql"),
    }
    assert all(left_out[name] == everything[name] for name in left_out)


def test_long_test_that_is_run_on_purpose_has_an_hour_unless_it_says_itself_how_long(folder: Path) -> None:
    (folder / "tests" / "cli" / "test_limits.py").write_text(LIMITS)
    name = "tests/cli/test_limits.py"
    for words in (("--long", name), (f"{name}::test_long", f"{name}::test_own")):
        run(folder, *words)
