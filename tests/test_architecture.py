"""docs/architecture.md names what there is, and the shape of the code stays as it was meant."""

import importlib
import re
import subprocess
import sys
from functools import reduce
from pathlib import Path

import pytest

from harness.pages import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import shape

PAGE = (ROOT / "docs" / "architecture.md").read_text()


@pytest.mark.parametrize("hop", shape.hops())
def test_each_hop_of_a_run_is_a_function_that_there_is(hop: str) -> None:
    module, _, name = hop.partition(":")
    found = importlib.import_module(f"jobrunner.{module}")
    assert callable(reduce(getattr, name.split("."), found))


def test_a_run_passes_no_more_hops_than_a_person_can_keep_in_mind() -> None:
    assert 10 <= len(shape.hops()) <= 20


def test_every_file_that_the_page_names_is_there() -> None:
    named = {name for name in re.findall(r"`((?:\w+/)+\w*(?:\.py)?)`", PAGE) if not name.startswith("docs/")}
    missing = [name for name in named if not (ROOT / "jobrunner" / name.removeprefix("jobrunner/")).exists()]
    assert missing == []


def test_every_room_is_on_the_page() -> None:
    rooms = {path.name for path in (ROOT / "jobrunner").iterdir() if (path / "__init__.py").exists()}
    assert rooms == set(re.findall(r"^\| `(\w+)/` \|", PAGE, re.MULTILINE))


def test_no_imports_go_round_in_a_circle_not_even_those_for_types() -> None:
    assert shape.circles(shape.modules(Path(ROOT / "jobrunner"))) == []
    assert shape.circles(shape.bench_modules()) == []


def test_make_shape_prints_every_figure() -> None:
    done = subprocess.run([sys.executable, ROOT / "scripts/shape.py"], capture_output=True, text=True, check=True)
    assert "methods of the pool protocol" in done.stdout
    assert "hops of a run" in done.stdout
