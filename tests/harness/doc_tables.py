"""The pages of docs/ by their names, and their tables."""

import re
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parents[2] / "docs"


def path_of(page: str) -> Path:
    """The one page of this name, such as `limits.md`, in whatever folder it lies."""
    (found,) = (path for path in DOCS.rglob(page) if path.parent.name != "adr")
    return found


def text_of(page: str) -> str:
    return path_of(page).read_text("utf-8")


def first_table(page: str, title: str) -> list[list[str]]:
    """The cells of the first table of a section, row by row, without its head."""
    section = page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    rows = re.search(r"^\|[-|]+\|\n((?:\|.*\n)+)", section, re.MULTILINE)
    assert rows
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows[1].splitlines()]


def names_in(table: list[list[str]]) -> list[str]:
    """What is code in the first column."""
    return re.findall(r"`([^`]+)`", "\n".join(row[0] for row in table))


class Witnesses(NamedTuple):
    """The row of a promise in the table of what proves it: its cells."""

    models: str
    simulator: str
    judged_by: str
    tests: str


def witnesses() -> dict[str, Witnesses]:
    """What proves each promise, as its page says."""
    found = {row[0]: Witnesses(*row[1:]) for row in first_table(text_of("reliability.md"), "How each is proven")}
    assert list(found) == [f"P{number}" for number in range(1, 15)]
    return found
