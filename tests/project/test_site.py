"""The site of `make site`: what it is made of is ours and is tested here; its generator is not installed for tests."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.pages import ROOT


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script that reads the list of pages, as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import doc_index

    return doc_index


@pytest.fixture
def site(index: Any) -> Any:
    """The script that builds the site, as a module."""
    import build_site

    return build_site


def paths_in(entries: list[Mapping[str, Any]]) -> list[str]:
    """The paths of a navigation, in order."""
    found: list[str] = []
    for entry in entries:
        (value,) = entry.values()
        found += [value] if isinstance(value, str) else paths_in(value)
    return found


def linked() -> list[str]:
    """What the list of pages links to first in each of its lines, in order, read in another way than by the script."""
    lines = (ROOT / "docs" / "README.md").read_text().split("## Tutorials")[1].splitlines()
    firsts = [re.search(r"\]\(([^)]+)\)", line) for line in lines if line.startswith(("- [", "| ["))]
    return [str((ROOT / "docs" / each[1]).resolve().relative_to(ROOT)) for each in firsts if each]


def test_navigation_has_each_page_of_the_list_in_its_order(index: Any) -> None:
    navigation = index.navigation(index.read())
    assert paths_in(navigation) == ["README.md", "docs/README.md", *linked()]
    assert [name for entry in navigation for name in entry][2:] == [
        "Tutorials",
        "How-to guides",
        "Reference",
        "Explanation",
    ]
    there = {str(path.relative_to(ROOT)) for path in ROOT.glob("docs/*/*.md") if path.parent.name != "adr"}
    assert there <= set(paths_in(navigation))
    assert all((ROOT / path).is_file() for path in paths_in(navigation))


def test_llms_txt_says_of_each_page_what_is_in_it(index: Any) -> None:
    text = index.llms(index.read())
    assert text.startswith("# jobrunner\n\n> Background jobs and schedules for Python")
    entries = re.findall(r"^- \[[^\]]+\]\(([^)]+)\): \S", text, re.MULTILINE)
    assert entries == ["README.md", *linked()]
    # Its other links, in the words about a page, lead somewhere from the root of the site, too.
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    assert [each for each in targets if not (ROOT / each).exists()] == []
    full = index.llms_full(index.read())
    for path in {"README.md", *linked()}:
        assert (ROOT / path).read_text().strip() in full, path


def test_a_line_that_is_no_page_is_not_taken_for_one(index: Any) -> None:
    text = "## One\n- [`a`: b](x/a.md): words [c](d.md)\n**Part**\n| [e](../f.md) | g |\n| page | h |\n- i [j](k.md)\n"
    (section,) = index.read(text)
    assert [(page.title, page.path, page.words) for page in section.all_pages()] == [
        ("a: b", "docs/x/a.md", "words [c](d.md)"),
        ("e", "f.md", "g"),
    ]
    assert [part.title for part in section.parts] == ["Part"]


def test_each_link_of_the_laid_out_pages_leads_to_a_file_there(site: Any, tmp_path: Path) -> None:
    """Also those to a folder, to an example and to a test; and no page lacks a place in it."""
    found = site.lay_out(tmp_path / "source")
    assert {str(path.relative_to(ROOT)) for path in ROOT.glob("docs/**/*.md")} <= set(found)
    for page in found:
        text = re.sub(r"(?ms)^```.*?^```$", "", (tmp_path / "source" / page).read_text())
        for target in re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", text):
            assert (tmp_path / "source" / page).parent.joinpath(target).is_file(), f"{page}: {target}"


def test_site_asks_no_other_host() -> None:
    configuration = (ROOT / "scripts" / "site.yml").read_text()
    assert "font: false" in configuration
    for text in (configuration, (ROOT / "scripts" / "site.css").read_text()):
        assert not re.search(r"https?:|//\w|analytics", text)
