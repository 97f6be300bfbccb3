"""The tables of the pages of docs/."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def first_table(page: str, title: str) -> list[list[str]]:
    """The cells of the first table of a section, row by row, without its head."""
    section = page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    rows = re.search(r"^\|[-|]+\|\n((?:\|.*\n)+)", section, re.MULTILINE)
    assert rows
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows[1].splitlines()]


def names_in(table: list[list[str]]) -> list[str]:
    """What is code in the first column."""
    return re.findall(r"`([^`]+)`", "\n".join(row[0] for row in table))
