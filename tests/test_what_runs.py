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
@pytest.mark.both_databases
def test_statement(database): ...

@both
def test_other(database): ...

@both
@pytest.mark.parametrize("case", range(6))
def test_table(database, case): ...

@both
@pytest.mark.promise("P1")
@pytest.mark.either_database
@pytest.mark.parametrize("case", range(6))
def test_table_of_a_promise(database, case): ...

@pytest.mark.long
def test_long(): ...

@pytest.mark.long(sample=2)
@pytest.mark.parametrize("case", range(6))
def test_sampled(case): ...
"""
OF_A_MODULE = """
import pytest

pytestmark = pytest.mark.{mark}

@pytest.mark.parametrize("kind", ["wheel", "sdist"])
@pytest.mark.parametrize("case", range(4))
def test_of_module(kind, case): ...

@pytest.mark.promise("P1")
def test_promise_of_module(): ...
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
    (tmp_path / "test_functions.py").write_text(TESTS)
    (tmp_path / "test_share.py").write_text(OF_A_MODULE.format(mark="share(0.5)"))
    (tmp_path / "test_one_of.py").write_text(OF_A_MODULE.format(mark="one_of('kind')"))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
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
    environment |= {SEED: str(seed), "PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "harness.long", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, *words], env=environment, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_promises_and_statements_run_on_both_databases_and_others_on_one(folder: Path) -> None:
    databases = set[str]()
    for seed in (1, 2):
        found = collected(folder, seed=seed)
        assert found["test_promise"] == found["test_statement"] == 2
        assert (found["test_other"], found["test_table"], found["test_table_of_a_promise"]) == (1, 6, 6)
        for table in ("test_table", "test_table_of_a_promise"):
            assert found[f"{table} sqlite"] == found[f"{table} postgresql"] == 3
        assert (found["test_long"], found["test_sampled"]) == (0, 2)
        assert (found["test_of_module"], found["test_promise_of_module"]) == (4 + 4, 2)
        databases |= {name for name in ("sqlite", "postgresql") if found[f"test_other {name}"]}
    assert databases == {"sqlite", "postgresql"}, "the seed chooses"


def test_all_of_a_test_runs_if_it_is_named_and_all_that_is_left_out_in_test_long(folder: Path) -> None:
    everything = collected(folder, "--everything")
    assert (everything["test_other"], everything["test_table"], everything["test_long"]) == (2, 12, 1)
    assert (everything["test_sampled"], everything["test_of_module"]) == (6, 16)
    assert collected(folder, "test_functions.py::test_table")["test_table"] == 12
    left_out = collected(folder, "--long")
    assert {name for name in everything if not left_out[name]} == {
        *("test_promise", "test_promise sqlite", "test_promise postgresql", "test_promise_of_module"),
        *("test_statement", "test_statement sqlite", "test_statement postgresql"),
    }
    assert all(left_out[name] == everything[name] for name in left_out)


def test_long_test_that_is_run_on_purpose_has_an_hour_unless_it_says_itself_how_long(folder: Path) -> None:
    (folder / "test_limits.py").write_text(LIMITS)
    for words in (("--long", "test_limits.py"), ("test_limits.py::test_long", "test_limits.py::test_own")):
        run(folder, *words)


def test_promise_that_would_be_proved_on_one_database_only_is_refused(folder: Path) -> None:
    tests = folder / "test_functions.py"
    tests.write_text(tests.read_text().replace("def test_promise(", "@pytest.mark.either_database\ndef test_promise("))
    with pytest.raises(AssertionError, match="a promise on one database"):
        collected(folder)
