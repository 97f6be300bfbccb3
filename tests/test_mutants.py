"""`make mutants`: the code and the tests that its table names exist. Nothing is changed or run here."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def mutants() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        import mutants

        yield mutants
    del sys.modules["mutants"]


def names_in(path: Path) -> set[str]:
    return {each.name for each in ast.parse(path.read_text()).body if isinstance(each, ast.FunctionDef)}


def test_mutation_texts_occur_exactly_once_in_the_code(mutants: Any) -> None:
    told = {each.name: each.problem() for each in mutants.MUTATIONS}
    assert len(told) == len(mutants.MUTATIONS), "two of one name"
    assert {name: problem for name, problem in told.items() if problem} == {}
    assert [each.name for each in mutants.MUTATIONS if any(old == new for old, new in each.changes())] == []


def test_tests_named_by_mutations_exist(mutants: Any) -> None:
    missing = []
    for test in {test for each in mutants.MUTATIONS for test in each.tests}:
        file, _, name = test.partition("::")
        path = ROOT / file
        if not path.is_file() or (name and name not in names_in(path)):
            missing.append(test)
    assert missing == []
    assert [each.name for each in mutants.MUTATIONS if not each.tests] == []
