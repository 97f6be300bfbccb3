"""Each block of code in the docs is run, saved for a run, compared with the code, or says why it cannot be."""

import re
from pathlib import Path

import pytest

from harness import pages
from harness.doc_tables import text_of
from harness.pages import ROOT, Block
from jobrunner.settings import config

BLOCKS = [block for page in pages.every_page() for block in pages.read(page)]


def unchecked(block: Block) -> str:
    """What is missing for this block to be checked; "" if nothing is."""
    if block.checked_by:
        return missing_test(block.checked_by)
    if block.reason_not_run:
        return "" if block.language in ("console", "crontab") else "only commands may be excused from being run"
    if block.comment:
        return f"the comment before it means nothing: {block.comment}"
    saved = block.saved_as is not None and any(block in session.blocks for session in pages.sessions())
    return "" if saved or block.is_run else "no test runs it or compares it"


def missing_test(name: str) -> str:
    file, _, test = name.partition("::")
    path = ROOT / file
    source = path.read_text() if path.exists() else ""
    if not re.search(rf"^def {re.escape(test)}\(", source, re.MULTILINE):
        return f"there is no test {name}"
    # What several tests need of a page, the harness asks for.
    harness = (each.read_text() for each in (ROOT / "tests" / "harness").rglob("*.py"))
    is_asked = any(f'"{name}"' in each for each in (source, *harness))
    return "" if is_asked else f"{name} does not ask for its blocks"


@pytest.mark.parametrize("page", pages.every_page())
def test_every_block_of_a_page_is_checked(page: str) -> None:
    complaints = {block.place: unchecked(block) for block in BLOCKS if block.page == page}
    assert not {place: complaint for place, complaint in complaints.items() if complaint}


@pytest.mark.parametrize("page", pages.every_page())
def test_code_is_fenced_so_that_it_can_be_found(page: str) -> None:
    prose = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(), flags=re.MULTILINE | re.DOTALL)
    assert not re.findall(r"(?:^|\n)\n(?: {4}|\t).*", prose)
    assert not re.findall(r"^ +```|^~~~", prose, re.MULTILINE)


@pytest.mark.parametrize("page", pages.every_page())
def test_links_between_pages_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", (ROOT / page).read_text()):
        if target.startswith(("http:", "https:")):
            continue
        path, _, anchor = target.partition("#")
        found = (ROOT / page).parent / path if path else ROOT / page
        assert found.exists(), target
        if anchor:
            titles = re.findall(r"^#+ (.*)$", found.read_text(), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}, target


@pytest.mark.parametrize("page", pages.every_page())
def test_no_page_tells_to_install_another_projects_package(page: str) -> None:
    """`jobrunner` on the package index is not this project, and installs a module of the same name."""
    assert not re.findall(r"pip3? install(?: -\S+)* jobrunner\b", (ROOT / page).read_text())


def test_toml_examples_of_the_crontab_page_are_valid(tmp_path: Path) -> None:
    page = text_of("quickstart-crontab.md")
    translations = re.findall(r"^\|.*?[^\\]\|(.*)\|$", page, re.MULTILINE)
    lines = [line.replace("\\|", "|") for each in translations for line in re.findall(r"`(\w+ = [^`]+)`", each)]
    keys = [line.split(" = ")[0] for line in lines]
    assert set(keys) >= {"command", "shell", "cwd", "env", "concurrency", "timeout"}
    for line, key in zip(lines, keys, strict=True):
        beside = {"command": "", "shell": 'command = "true"'}.get(key, 'command = ["true"]')
        if line.startswith('command = "'):
            beside = "shell = true"
        (tmp_path / "jobrunner.toml").write_text(f"[jobs.x]\n{beside}\n{line}\n")
        assert config.load({"JOBRUNNER_CONFIG": str(tmp_path / "jobrunner.toml")}).commands
