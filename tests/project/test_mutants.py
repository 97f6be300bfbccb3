"""`make mutants`: the code and the tests that its table names exist. Nothing is changed or run here."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def mutants() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        import mutants

        yield mutants
    del sys.modules["mutants"], sys.modules["mutation"]


def names_in(path: Path) -> set[str]:
    return {each.name for each in ast.parse(path.read_text()).body if isinstance(each, ast.FunctionDef)}


def test_what_a_mutation_changes_is_in_the_code_exactly_once(mutants: Any) -> None:
    told = {each.name: each.problem() for each in mutants.MUTATIONS}
    assert len(told) == len(mutants.MUTATIONS), "two of one name"
    assert {name: problem for name, problem in told.items() if problem} == {}


def test_tests_named_by_mutations_exist(mutants: Any) -> None:
    missing = []
    for test in {test for each in mutants.MUTATIONS for test in each.tests}:
        file, _, name = test.partition("::")
        path = ROOT / file
        if not path.is_file() or (name and name not in names_in(path)):
            missing.append(test)
    assert missing == []
    assert [each.name for each in mutants.MUTATIONS if not each.tests] == []


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
        (("Drop", "of=x"), "found = g(x, y=1).h(2)"),
        (("Drop", "found"), "return x"),
        (("Drop", "return found and x"), "pass"),
    ],
    ids=str,
)
def test_change_is_found_however_the_code_is_formatted(mutants: Any, change: tuple[str, ...], expected: str) -> None:
    kind, *texts = change
    made = mutants.mutation.changed(SOURCE, "A.f", (getattr(mutants.mutation, kind)(*texts),))
    assert expected in [line.strip() for line in made.splitlines()]
    assert len(made.splitlines()) == 5


def test_change_of_what_is_not_there_once_is_refused(mutants: Any) -> None:
    swap = mutants.mutation.Swap
    for place, old in (("A.f", "z"), ("A.f", "x"), ("A.g", "x")):
        with pytest.raises(mutants.mutation.NotThere):
            mutants.mutation.changed(SOURCE, place, (swap(old, "1"),))
