"""Random histories of many ticks with faults, in simulated time: the promises hold, and known mistakes are found."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.doc_tables import witnesses
from harness.long import draw
from simulator import history, judge
from simulator.ledger import Ledger
from simulator.shrink import shrunk
from simulator.twins import TWINS

SEEDS = 5
"""In each run."""
PARTS = 40
"""Of the long run, so that many may run at once; each takes a minute."""


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=history.in_memory()) as made:
        yield Path(made)


@pytest.fixture
def template(sqlite_template: Path, folder: Path) -> Path:
    return history.prepared(sqlite_template, folder / "template.db")


@pytest.mark.promise("P1", on="sqlite")
@pytest.mark.parametrize("number", range(SEEDS))
def test_promises_hold_in_random_histories_of_faulty_hosts(number: int, template: Path, folder: Path) -> None:
    seed = draw(f"simulator {number}").randrange(10**9)
    found = history.run(seed, template, folder)
    assert found.problem is None, f"seed {seed}: {found.problem}"


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_promises_hold_in_ten_million_steps(part: int, template: Path, folder: Path) -> None:
    steps, seed = 0, part * 10**6
    while steps < 10**7 / PARTS:
        found = history.run(seed, template, folder)
        assert found.problem is None, f"seed {seed}: {found.problem}"
        steps, seed = steps + found.steps, seed + 1


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_same_seed_gives_the_same_history_to_the_last_byte(hash_seed: str, template: Path, folder: Path) -> None:
    told = "\n".join(history.run(7, template, folder, tells=True).told)
    assert "!!!" in told
    again = subprocess.run(
        [sys.executable, "-c", _TELL, str(template), str(folder)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": "tests"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert again.stdout == hashlib.sha256(told.encode()).hexdigest()


def test_failing_history_is_made_short(template: Path, folder: Path) -> None:
    twin = TWINS["the end of a parent is not followed"]
    with twin.broken():
        whole = history.run(twin.first, template, folder)
        short = shrunk(twin.first, template, folder, most_tries=25)
    assert short.problem is not None
    assert sum(map(bool, short.numbers)) * 2 < sum(map(bool, whole.numbers))
    assert "never end" in short.problem


_TELL = """
import hashlib, pathlib, sys
from simulator import history
template, folder = map(pathlib.Path, sys.argv[1:])
told = "\\n".join(history.run(7, template, folder, tells=True).told)
print(hashlib.sha256(told.encode()).hexdigest(), end="")
"""


@pytest.mark.long(sample=3)
@pytest.mark.parametrize("twin", TWINS)
def test_broken_twin_of_the_code_is_found(twin: str, template: Path, folder: Path) -> None:
    with TWINS[twin].broken():
        for seed in range(TWINS[twin].first, TWINS[twin].first + 20):
            problem = history.run(seed, template, folder).problem
            if problem is not None:
                # And not because the twin itself is broken in another way.
                assert "Error: " not in problem, problem
                return
    pytest.fail(f"none of the seeds finds it: {twin}")


def test_page_of_the_promises_names_rules_of_the_simulator_that_are_there() -> None:
    named = {name for each in witnesses().values() for name in re.findall(r"`(\w+)`", each.simulator)}
    assert named
    assert {
        name for name in named if not (hasattr(judge, f"_{name}") or hasattr(judge, name) or hasattr(Ledger, name))
    } == set()
