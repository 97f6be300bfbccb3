"""`make mutants` and `make mutation-score`: what their tables name exists. Nothing is changed or run here."""

import ast
import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


NAMES = ("changes", "operators", "reach", "rooms", "rows", "sandbox", "score_page", "survivors", "table")


@pytest.fixture(scope="module")
def mutants() -> Iterator[Any]:
    """The modules of scripts/mutants, as `python scripts/mutants` imports them."""
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts" / "mutants"))
        yield SimpleNamespace(**{name: import_module(name) for name in NAMES})
    for name in [name for name in set(sys.modules) - before if name.partition(".")[0] in NAMES]:
        del sys.modules[name]


def names_in(path: Path) -> set[str]:
    return {each.name for each in ast.parse(path.read_text()).body if isinstance(each, ast.FunctionDef)}


def test_what_a_mutation_changes_is_in_the_code_exactly_once(mutants: Any) -> None:
    told = {each.name: each.problem() for each in mutants.rows.MUTATIONS}
    assert len(told) == len(mutants.rows.MUTATIONS), "two of one name"
    assert {name: problem for name, problem in told.items() if problem} == {}


def test_tests_named_by_mutations_exist(mutants: Any) -> None:
    missing = []
    for test in {test for each in mutants.rows.MUTATIONS for test in each.tests}:
        file, _, name = test.partition("::")
        path = ROOT / file
        if not path.is_file() or (name and name not in names_in(path)):
            missing.append(test)
    assert missing == []
    assert [each.name for each in mutants.rows.MUTATIONS if not each.tests] == []


SOURCE = """
class A:
    def f(self, x):
        # A comment, and a line that is broken.
        found = (
            g(x, y=1)
            .h(2, of=x)
        )
        return found and x
"""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("Swap", "g(x,y = 1)", "None"), "found = None.h(2, of=x)"),
        (("Swap", "return found and x", "return x"), "return x"),
        (("Drop", ".h"), "found = g(x, y=1)"),
        (("Drop", ".h(2, of=x)"), "found = g(x, y=1)"),
        (("Drop", "of=x"), "found = g(x, y=1).h(2)"),
        (("Drop", "found"), "return x"),
        (("Drop", "return found and x"), "pass"),
    ],
    ids=str,
)
def test_change_is_found_however_the_code_is_formatted(mutants: Any, change: tuple[str, ...], expected: str) -> None:
    kind, *texts = change
    made = mutants.changes.changed(SOURCE, "A.f", (getattr(mutants.changes, kind)(*texts),))
    assert expected in [line.strip() for line in made.splitlines()]
    assert len(made.splitlines()) == 5


def test_change_of_what_is_not_there_once_is_refused(mutants: Any) -> None:
    swap = mutants.changes.Swap
    for place, old in (("A.f", "z"), ("A.f", "x"), ("A.g", "x")):
        with pytest.raises(mutants.changes.NotThere):
            mutants.changes.changed(SOURCE, place, (swap(old, "1"),))


GUARDS = """
def f(x, y):
    if x >= 1 and y:
        return select(x).where(x, y).order_by(y).with_for_update(skip_locked=True)
    z.append(x)
    log.info(x)
    return [each for each in y if each] if x else Status.QUEUED
"""


def test_each_guard_of_a_function_is_found_and_taken_out_by_itself(mutants: Any) -> None:
    """A line of the log is no guard, and a change of one guard leaves the others."""
    found = {
        site.name: mutants.operators.changed(GUARDS, site.name) for site in mutants.operators.sites(ast.parse(GUARDS))
    }
    expected = {
        "f: negate `x >= 1 and y`": "if not (x >= 1 and y):",
        "f: guard `x >= 1 and y`": "if False:",
        "f: operand `x >= 1`": "if y:",
        "f: operand `y`": "if x >= 1:",
        "f: edge `x >= 1`": "if x > 1 and y:",
        "f: where `x`": ".where(y)",
        "f: where `y`": ".where(x)",
        "f: order `y`": "(lambda it: it)(select(x).where(x, y)).with_for_update(skip_locked=True)",
        "f: lock `with_for_update`": "return (lambda it: it)(select(x).where(x, y).order_by(y))",
        "f: lock `skip_locked=True`": ".with_for_update()",
        "f: call `z.append(x)`": "    None\n",
        "f: guard `each`": "[each for each in y] if x",
        "f: negate `x`": "if not x else",
        "f: status `Status.QUEUED`": "else Status.RUNNING",
    }
    assert found.keys() == expected.keys()
    as_it_is = ast.unparse(ast.parse(GUARDS)) + "\n"
    for name, made in found.items():
        assert expected[name] in made, name
        assert expected[name] not in as_it_is, name
        assert len(made.splitlines()) == len(as_it_is.splitlines()), name


def test_every_function_of_the_package_says_that_it_was_called(mutants: Any, tmp_path: Path) -> None:
    """And the code is as before in all else: it can be compiled, and its docstrings are where they were."""
    file = tmp_path / "jobrunner" / "some.py"
    file.parent.mkdir()
    file.write_text(
        '"""Doc."""\nfrom __future__ import annotations\nclass A:\n    def f(self):\n        "F."\n        return 1\n'
    )
    mutants.reach.instrument(SimpleNamespace(copy=tmp_path))
    lines = [line.strip() for line in file.read_text().splitlines() if line.strip()]
    assert lines[1:4] == ["from __future__ import annotations", "try:", "from reach_probe import reach as _reach_"]
    assert lines[-3:] == ['"""F."""', "_reach_('jobrunner/some.py:A.f')", "return 1"]


def test_rooms_whose_guards_are_counted_exist(mutants: Any) -> None:
    assert [room for room in mutants.rooms.ROOMS if not mutants.rooms.files(room)] == []


def test_the_mutation_score_shown_is_that_of_the_committed_results(mutants: Any) -> None:
    page = mutants.score_page
    assert page.PAGE.read_text() == page.rendered(), "make mutation-score ARGS=--render"


def test_each_mutant_that_survived_has_a_test_by_now_or_a_reason(mutants: Any) -> None:
    newest = mutants.score_page.newest()
    results = {"mutants": []} if newest is None else json.loads(newest.read_text())
    assert mutants.score_page.unexplained(results) == []
    survived = {mutants.score_page.place_of(one) for one in results["mutants"] if not one["killer"]}
    named = {**mutants.survivors.WRITTEN, **mutants.survivors.REASONS}
    assert named.keys() <= survived, "these are in no results"
    for test in mutants.survivors.WRITTEN.values():
        file, _, name = test.partition("::")
        assert name.partition("[")[0] in names_in(ROOT / file), test
