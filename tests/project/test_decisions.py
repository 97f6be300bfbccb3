"""Each decision in docs/adr has one form, and the index has all of them, those that shape all of the code first."""

import re
from functools import cache
from pathlib import Path

import pytest

from harness.doc_tables import DOCS
from jobrunner.cli.program import every_command

FOLDER = DOCS / "adr"
RECORDS = sorted(FOLDER.glob("0*.md"))
INDEX = (FOLDER / "README.md").read_text()
FORM = re.compile(
    r"# (?P<number>\d+)\. (?P<title>[^\n]+)\n\nStatus: (?P<status>[^\n]+), 20\d\d-\d\d\n\n"
    r"## Context\n\n.+?\n\n## Decision\n\n.+?\n\n## Consequences\n\n.+\n",
    re.DOTALL,
)
LONGEST_WORDS = 720
"""About a page."""
FIRST, MERGED = "## What you should know first", "## Merged or superseded"


def form_of(record: Path) -> dict[str, str]:
    found = FORM.fullmatch(record.read_text())
    assert found is not None, f"{record.name} has another form"
    return found.groupdict()


def rows(section: str) -> list[tuple[int, str]]:
    """The numbers of a table's rows, with the file that each leads to."""
    return [
        (int(number), name) for number, name in re.findall(r"^\| (\d+) \| .*\]\((0[\w.-]+)\)", section, re.MULTILINE)
    ]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
def test_decision_has_the_form_of_all_and_is_about_a_page_long(record: Path) -> None:
    form = form_of(record)
    assert int(form["number"]) == int(record.name[:4])
    assert re.findall(r"^## (.+)", record.read_text(), re.MULTILINE) == ["Context", "Decision", "Consequences"]
    assert len(record.read_text().split()) <= LONGEST_WORDS


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
def test_decision_is_accepted_or_names_the_one_in_its_place(record: Path) -> None:
    status = form_of(record)["status"]
    if status == "accepted":
        return
    found = re.fullmatch(r"superseded by \[\d+\]\((0[\w.-]+)\)", status)
    assert found is not None
    assert form_of(FOLDER / found[1])["status"] == "accepted"


def test_index_has_each_decision_once_with_its_title_and_a_sentence() -> None:
    accepted, _, _ = INDEX.partition(MERGED)
    found = re.findall(r"^\| (\d+) \| \[(.+)\]\((.+)\) \| \S.*\. \|$", accepted, re.MULTILINE)
    forms = [(form_of(record), record.name) for record in RECORDS]
    in_force = [(form["number"], form["title"], name) for form, name in forms if form["status"] == "accepted"]
    assert sorted(found, key=lambda row: int(row[0])) == in_force


def test_index_begins_with_about_twenty_decisions_and_ends_with_those_that_are_gone() -> None:
    sections = re.split(r"^(?=## )", INDEX, flags=re.MULTILINE)
    assert sections[1].startswith(FIRST)
    assert 15 <= len(rows(sections[1])) <= 25
    assert sections[-1].startswith(MERGED)
    for _, name in rows(sections[-1]):
        assert form_of(FOLDER / name)["status"] == "accepted"


def test_no_number_of_a_decision_is_missing_without_a_word_or_given_twice() -> None:
    accepted, _, gone = INDEX.partition(MERGED)
    given = re.findall(r"^\| (\d+) \|", accepted + gone, re.MULTILINE)
    numbers = {int(number) for number in given}
    assert len(numbers) == len(given), "two decisions have one number"
    (never,) = re.findall(r"The numbers ([\d and,]+) were never given", INDEX)
    never_given = {int(number) for number in re.findall(r"\d+", never)}
    assert numbers & never_given == set()
    assert numbers | never_given == set(range(1, max(numbers) + 1))


@pytest.mark.parametrize("page", [*RECORDS, FOLDER / "README.md"], ids=lambda page: page.stem)
def test_number_of_a_link_between_decisions_is_that_of_its_file(page: Path) -> None:
    links = re.findall(r"\[(\d+)\]\((0\d+)-[\w.-]+\)", page.read_text())
    assert [(number, name) for number, name in links if int(number) != int(name)] == []


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
def test_links_of_a_decision_lead_somewhere(record: Path) -> None:
    targets = re.findall(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", record.read_text())
    assert [target for target in targets if not (FOLDER / target).exists()] == []


def test_decisions_that_the_code_names_exist() -> None:
    named = {
        name
        for folder in ("jobrunner", "tests", "scripts", "bench", "examples")
        for path in (DOCS.parent / folder).rglob("*")
        if path.suffix in (".py", ".md", ".toml")
        for name in re.findall(r"adr/(0[\w-]+\.md)", path.read_text())
    }
    assert {"0013-idle-tick.md"} <= named
    assert {name for name in named if not (FOLDER / name).exists()} == set()


SUFFIXES = (".py", ".sql", ".js", ".html", ".css")


@cache
def words_of_the_code() -> frozenset[str]:
    """Every word of the code and of the tests, the names of the files included."""
    folders = ("jobrunner", "tests", "alembic", "scripts", "bench")
    files = [path for folder in folders for path in (DOCS.parent / folder).rglob("*") if path.suffix in SUFFIXES]
    words = {word for path in files for word in re.findall(r"\w+", path.read_text("utf-8"))}
    return frozenset({word.lstrip("_") for word in words} | words | {path.stem for path in files})


def named_by(record: Path) -> list[str]:
    """What stands as code in a record, but for what was not chosen."""
    chosen = re.sub(r"\*\*Not chosen.*?(?=\n## )", "", record.read_text(), flags=re.DOTALL)
    return re.findall(r"`([^`\n]+)`", chosen)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
def test_names_that_a_decision_gives_are_in_the_code(record: Path) -> None:
    name = re.compile(r"[a-z]_[a-z]|[a-z][A-Z]|[A-Z]_[A-Z]")
    names = {word for text in named_by(record) for word in re.findall(r"\w+", text) if name.search(word)}
    assert names - words_of_the_code() == set()


ROOTS = [DOCS.parent / folder for folder in ("", "jobrunner", "jobrunner/store", "tests")]
OF_OTHER_PROGRAMS = {"--everything"}


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
def test_files_and_options_that_a_decision_names_exist(record: Path) -> None:
    """A file of Python is looked for by ``test_architecture.py``, wherever a page names it."""
    paths = [text for text in named_by(record) if re.fullmatch(r"\w[\w.-]*/[\w./-]*", text)]
    ours = [path for path in paths if any((root / path.partition("/")[0]).is_dir() for root in ROOTS)]
    assert [path for path in ours if not any((root / path).exists() for root in ROOTS)] == []
    spelled = {name for command in every_command().values() for each in command.params for name in each.opts}
    spelled |= {name for command in every_command().values() for each in command.params for name in each.secondary_opts}
    options = {option for text in named_by(record) for option in re.findall(r"(?<!\S)--[a-z][\w-]*", text)}
    assert options - spelled - OF_OTHER_PROGRAMS == set()
