"""docs/reference/api.md is made from the docstrings of what an application imports."""

from typing import Any

import pytest

import jobrunner
from harness import pages
from harness.doc_tables import path_of, text_of
from harness.pages import ROOT
from jobrunner import ask, testing


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script that makes the page, as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import api_page

    return api_page


def test_reference_of_the_api_is_up_to_date(script: Any) -> None:
    assert path_of("api.md") == script.PAGE
    assert script.PAGE.read_text() == script.page(), "run: make docs"
    name = "tests/project/test_api_page.py::test_reference_of_the_api_is_up_to_date"
    assert [block.text for block in pages.checked_by(name)] == script.signatures()


@pytest.mark.parametrize("module", [jobrunner, ask, testing], ids=lambda module: module.__name__)
def test_everything_that_an_application_imports_is_in_the_reference_with_a_sentence(module: Any) -> None:
    sections = text_of("api.md").split("\n### ")
    for name in module.__all__:
        (section,) = [each for each in sections if each.startswith((f"`{name}`\n", f"class `{name}`\n"))]
        words = section.partition("```\n\n")[2].partition("\n## ")[0]
        assert words.strip(), f"{name} has no docstring"
        assert [line for line in words.splitlines() if line.startswith("- `") and line.endswith(": ")] == []
