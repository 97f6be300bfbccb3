"""Write the tables of docs/reference/settings.md from the table of settings: `make docs`."""

from __future__ import annotations

import re
from pathlib import Path

from jobrunner.settings.config import SETTINGS
from jobrunner.settings.setting import Setting

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "settings.md"
_HEALTH, _KEEP = "health_", "keep_"


def page(text: str) -> str:
    """The text of the page, with its tables as they are in the code."""
    for title, (head, rows) in _tables().items():
        lines = [_line(head), f"|{'---|' * len(head)}", *map(_line, rows)]
        pattern = rf"(\n## {re.escape(title)}\n(?s:(?!\n## ).)*?\n)(?:\|.*?\n)+(?=\n)"
        text, count = re.subn(pattern, lambda found, lines=lines: found[1] + "\n".join(lines) + "\n", text, count=1)
        assert count == 1, f"the page has no table in the section {title!r}"
    return text


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")


def _tables() -> dict[str, tuple[list[str], list[list[str]]]]:
    """By the title of the section: the heads of the columns, and the rows."""
    of_health = [each for each in SETTINGS.values() if each.name.startswith(_HEALTH)]
    retention = [each for each in SETTINGS.values() if each.name.startswith(_KEEP)]
    tuning = [each for each in SETTINGS.values() if not (each.on_host or each in of_health or each in retention)]
    key = ["key in `[settings]`", "variable", "default", ""]
    return {
        "Settings that most hosts need": (
            ["variable", "default", ""],
            [_row(each)[1:] for each in SETTINGS.values() if each.on_host],
        ),
        "Fine tuning": (key, [_row(each) for each in tuning]),
        "Retention": (key, [_row(each) for each in retention]),
        "Thresholds of the health check": (
            ["key in `[health]`", "variable", "default", "a problem is reported if"],
            [_row(each) for each in of_health],
        ),
    }


def _row(setting: Setting) -> list[str]:
    return [
        f"`{setting.name.removeprefix(_HEALTH)}`",
        f"`JOBRUNNER_{setting.name.upper()}`",
        setting.shown or setting.default,
        setting.words,
    ]


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
