"""docs/explanation/architecture.md names only what exists, and the structure of the code stays within its limits."""

import ast
import importlib
import re
import subprocess
import sys
from functools import reduce
from pathlib import Path

import pytest

import jobrunner
from harness.doc_tables import text_of
from harness.pages import ROOT
from jobrunner.store.sql.traits import TRAITS

sys.path.insert(0, str(ROOT / "scripts"))
import shape

PAGE = text_of("architecture.md")


@pytest.mark.parametrize("hop", shape.hops())
def test_each_hop_in_the_architecture_page_is_an_existing_function(hop: str) -> None:
    module, _, name = hop.partition(":")
    found = importlib.import_module(f"jobrunner.{module}")
    assert callable(reduce(getattr, name.split("."), found))


def test_architecture_page_has_at_most_the_allowed_number_of_hops() -> None:
    assert 10 <= len(shape.hops()) <= shape.MOST_HOPS


def test_every_file_named_in_the_architecture_page_exists() -> None:
    named = {name for name in re.findall(r"`((?:\w+/)+\w*(?:\.py)?)`", PAGE) if not name.startswith("docs/")}
    missing = [name for name in named if not (ROOT / "jobrunner" / name.removeprefix("jobrunner/")).exists()]
    assert missing == []


RECORDS = sorted([*(ROOT / "docs" / "adr").glob("*.md"), ROOT / "CONTRIBUTING.md"])
PLACES = (ROOT, ROOT / "jobrunner", ROOT / "tests")


@pytest.mark.parametrize("page", RECORDS, ids=lambda page: page.stem)
def test_every_python_file_that_a_decision_or_contributing_names_exists(page: Path) -> None:
    named = set(re.findall(r"`((?:\w+/)+\w+\.py)`", page.read_text()))
    assert [name for name in named if not any((place / name).exists() for place in PLACES)] == []


def test_every_package_is_in_the_architecture_page() -> None:
    rooms = {path.name for path in (ROOT / "jobrunner").iterdir() if (path / "__init__.py").exists()}
    assert rooms == set(re.findall(r"^\| `(\w+)/` \|", PAGE, re.MULTILINE))


def test_imports_have_no_cycle_even_among_types() -> None:
    assert shape.circles(shape.modules(Path(ROOT / "jobrunner"))) == []
    assert shape.circles(shape.bench_modules()) == []


def test_make_shape_prints_every_figure() -> None:
    done = subprocess.run([sys.executable, ROOT / "scripts/shape.py"], capture_output=True, text=True, check=True)
    assert "methods of the pool protocol" in done.stdout
    assert "hops of a run" in done.stdout


def test_dir_of_the_package_shows_every_public_name() -> None:
    assert set(jobrunner.__all__) <= set(dir(jobrunner))


def test_lines_of_code_are_counted_without_blanks_comments_and_docstrings(tmp_path: Path) -> None:
    file = tmp_path / "some.py"
    blanks = '"""Some.\n\nMore."""\n\n# Why.\nX = """a\n\nb"""\n"""The X."""\n\n\n'
    file.write_text(f'{blanks}def f():  # here\n    """F."""\n    return (\n        X\n    )\n')
    assert shape.code_lines(file) == 6


DATABASES_BY_NAME = {
    "masking/secrets.py": "words that are no secrets",
    "store/callers/borrowed.py": "which database a driver is for",
    "store/callers/borrowed_async.py": "which database a driver of an event loop is for",
}
"""Files outside of the language and the drivers that name a database, and why."""


def test_only_the_language_and_the_drivers_name_a_database() -> None:
    package = ROOT / "jobrunner"
    # A migration is plain SQL for each database, and frozen.
    own = (package / "store" / "sql", package / "store" / "drivers", package / "store" / "schema" / "migrations")
    others = [file for file in package.rglob("*.py") if not any(each in file.parents for each in own)]
    assert {file.relative_to(package).as_posix() for file in others if _names(file) & TRAITS.keys()} == {
        *DATABASES_BY_NAME
    }


def _names(file: Path) -> set[str]:
    nodes = ast.walk(ast.parse(file.read_text()))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
