"""`make test-servers`, and what the page says about versions."""

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest

from harness.doc_tables import text_of
from harness.pages import ROOT
from harness.postgres import Access

SCRIPT = ROOT / "scripts" / "test_servers.py"
OLDER = "pgserver==0.1.4"
"""A package of the index with a PostgreSQL 16.2."""


def asked(question: str, **variables: str) -> str:
    code = f"import sys; sys.path.insert(0, {str(SCRIPT.parent)!r}); import test_servers; {question}"
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True)
    return (done.stdout + done.stderr).strip()


def test_files_of_the_selection_exist() -> None:
    files = asked("print(*test_servers.SELECTION)").split()
    assert files
    assert [each for each in files if not (ROOT / each).exists()] == []


def test_one_server_of_each_version_is_tried_up_to_that_of_the_tests(postgres_server: Access) -> None:
    majors = [int(each.partition(".")[0]) for each in asked("print(*test_servers.PACKAGES)").split()]
    assert majors == list(range(majors[0], majors[-1] + 1))
    assert postgres_server.version // 1_00_00 in majors


def test_word_that_names_no_server_is_reported(tmp_path: Path) -> None:
    assert asked("test_servers.named()", SERVERS=f"14={tmp_path}").startswith(f"SERVERS: '14={tmp_path}' is not")


def test_pythons_of_the_classifiers_go_from_the_oldest_on_without_a_gap() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = [int(number) for number in re.findall(r"Python :: 3\.(\d+)'", str(project["classifiers"]))]
    assert project["requires-python"] == f">=3.{found[0]}"
    assert found == list(range(found[0], found[-1] + 1))
    assert sys.version_info[1] >= found[0]
    assert f"| Python | 3.{found[0]} |" in text_of("installation.md")


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_migrations_and_claims_work_on_an_older_server() -> None:
    """That of a package of the index; the others are for `make test-servers`."""
    # Not in a folder of pytest's: the user of the server could not enter it.
    with tempfile.TemporaryDirectory(prefix="jrpg-older-") as folder:
        Path(folder).chmod(0o755)
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, OLDER]
        subprocess.run(install, check=True, capture_output=True)
        (programs,) = (path.parent for path in Path(folder).rglob("bin/postgres"))
        done = subprocess.run(
            [sys.executable, SCRIPT, "unused", "-p", "no:cacheprovider", *FILES],
            env={"SERVERS": f"16={programs}", "PATH": "/usr/bin:/bin"},
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert done.stdout.endswith("passed: PostgreSQL 16\n")


FILES = ("tests/store/test_migrations.py", "tests/worker/test_leases.py", "tests/promises/test_two_at_once.py")
