"""Prints values: JSON for programs, aligned plain text for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

import click

from jobrunner.cli import streams
from jobrunner.text import plain, visible


def done(text: object) -> None:
    """Print what was committed. A failed print is no error of the command, because then it would be run twice."""
    try:
        click.echo(text)
    except OSError as error:
        streams.drop(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            streams.to_stderr(f"jobrunner: done, but standard output cannot be written ({error.strerror}): {text}")


def echo_json(value: object) -> None:
    """Print one JSON document. Instants are in ISO 8601, in UTC; a record is an object with its fields in order."""
    click.echo(json.dumps(value, default=plain, ensure_ascii=True, indent=2))


def json_line(value: object) -> str:
    """One JSON document on one line."""
    return json.dumps(value, default=plain, ensure_ascii=True)


def instant(value: datetime | None) -> str:
    """An instant for people, in UTC, to the second. ``-`` means none."""
    return "-" if value is None else value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def table(headings: Sequence[str], rows: Iterable[Sequence[object]], indent: str = "  ") -> None:
    """Print aligned columns. Control characters are escaped: the text of a job must not control the terminal."""
    cells = [[visible(_cell(each)) for each in row] for row in rows]
    widths = [max(len(row[index]) for row in [list(headings), *cells]) for index in range(len(headings))]
    for row in [list(headings), *cells]:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo((indent + "  ".join(padded)).rstrip())


def _cell(value: object) -> str:
    return instant(value) if value is None or isinstance(value, datetime) else str(value)


def fields(values: Mapping[str, object], indent: str = "") -> None:
    """Print one name and its value per line."""
    width = max((len(name) for name in values), default=0)
    for name, value in values.items():
        text = instant(value) if isinstance(value, datetime) else text_of(value)
        click.echo(f"{indent}{name.ljust(width)}  {visible(text)}".rstrip())


def text_of(value: object) -> str:
    """A value as text for people."""
    if value is None:
        return "-"
    if isinstance(value, dict | list):
        return json.dumps(value, default=plain, ensure_ascii=False)
    return str(value)
