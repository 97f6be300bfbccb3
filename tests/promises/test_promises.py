"""Every promise of docs/explanation/reliability.md is proven by a test on every database."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.doc_tables import witnesses
from harness.promises import DATABASES, FOUND

TESTS = Path(__file__).parents[1]
PROMISES = list(witnesses())

# Promises of features that are not built yet.
LATER: set[str] = set()


@pytest.fixture(scope="module")
def proofs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str, str]]:
    """What the whole folder of tests says of itself, whichever of them were selected for this session."""
    if FOUND in request.config.stash:
        return request.config.stash[FOUND]
    found = tmp_path_factory.mktemp("promises") / "found.json"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"PROMISES_FILE": str(found)}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q"]
    command += ["-p", "no:cacheprovider", "-p", "no:xdist", str(TESTS)]
    done = subprocess.run(command, env=environment, cwd=TESTS.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return [tuple(proof) for proof in json.loads(found.read_text())]


def test_every_promise_is_proven_on_every_database(proofs: list[tuple[str, str, str]]) -> None:
    proven = {(promise, database) for promise, database, _ in proofs}
    wanted = {(promise, database) for promise in PROMISES if promise not in LATER for database in DATABASES}
    missing = sorted(wanted - proven, key=lambda cell: (int(cell[0][1:]), cell[1]))
    cells = ", ".join(f"{promise} on {database}" for promise, database in missing)
    assert not missing, f"no test proves {cells}"


def test_markers_name_promises_and_databases_that_exist(proofs: list[tuple[str, str, str]]) -> None:
    wrong = [proof for proof in proofs if proof[0] not in PROMISES or proof[1] not in DATABASES]
    assert not wrong, f"a promise marker needs P1 ... P14 and a test with a database (or on=...): {wrong}"


def test_proven_promise_is_not_marked_as_open(proofs: list[tuple[str, str, str]]) -> None:
    proven = {(promise, database) for promise, database, _ in proofs}
    assert not {promise for promise in LATER if all((promise, name) in proven for name in DATABASES)}


def test_page_of_the_promises_links_each_of_them_to_files_with_tests_that_prove_it(
    proofs: list[tuple[str, str, str]],
) -> None:
    proving = {(promise, test.partition("::")[0]) for promise, _, test in proofs}
    linked = [(promise, f"tests/{path}") for promise, each in witnesses().items() for path in _FILE.findall(each.tests)]
    assert {promise for promise, _ in linked} == set(PROMISES)
    assert [each for each in linked if each not in proving] == []


_FILE = re.compile(r"\.\./\.\./tests/([\w/]+\.py)")
