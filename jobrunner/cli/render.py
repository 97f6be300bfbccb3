"""Prints values: JSON for programs, and for people tables that fit their terminal.

If standard output is no terminal, the text is plain, stable, and in UTC: scripts read it. The texts of jobs pass
through ``visible`` here, because they must not control a terminal.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from jobrunner.cli import options, streams
from jobrunner.cli.caller import caller
from jobrunner.durations import format_duration
from jobrunner.text import columns_of, plain, visible, visible_block


def on_terminal() -> bool:
    """Whether somebody reads standard output: then it is coloured and fits the width."""
    return sys.stdout.isatty()


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
    if (asks := caller()) is not None:
        asks.answer = value
        return
    click.echo(json.dumps(value, default=plain, ensure_ascii=True, indent=2))


def echo_json_line(value: object, *, is_done: bool = False) -> None:
    """Print one JSON document on one line. ``is_done``: what it says was committed; see ``done``."""
    if (asks := caller()) is not None:
        asks.answer = value
    else:
        (done if is_done else click.echo)(json_line(value))


def json_line(value: object) -> str:
    """One JSON document on one line."""
    return json.dumps(value, default=plain, ensure_ascii=True)


def instant(value: datetime | None) -> str:
    """An instant for people, to the second. ``-`` means none.

    On a terminal it is in the reader's zone with its offset, unless ``--utc`` is given. Otherwise it is in UTC.
    """
    if value is None:
        return "-"
    return _local(value) if on_terminal() and not options.is_utc() else utc(value)


def utc(value: datetime) -> str:
    """An instant in UTC, also on a terminal."""
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def _local(value: datetime) -> str:
    try:
        local = value.astimezone()
    except (OverflowError, ValueError, OSError):  # the first and the last day that a datetime can have
        return utc(value)
    return local.isoformat(" ", "seconds") if local.utcoffset() else utc(value)


def table(headings: Sequence[str], rows: Iterable[Sequence[object]], indent: str = "  ") -> None:
    """Print aligned columns. Control characters are escaped: the text of a job must not control the terminal."""
    cells = [[visible(_cell(each)) for each in row] for row in rows]
    if on_terminal():
        from jobrunner.cli import terminal

        terminal.show_table(headings, cells, indent)
        return
    widths = [max(len(row[index]) for row in [list(headings), *cells]) for index in range(len(headings))]
    for row in [list(headings), *cells]:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo((indent + "  ".join(padded)).rstrip())


def records(found: Sequence[Any], indent: str = "  ", at: datetime | None = None) -> None:
    """Print a table of records: ``AGES`` of their class are instants that are shown as ages."""
    columns, ages = columns_of(found[0]), getattr(found[0], "AGES", ())
    rows = ([(name, getattr(each, name)) for name in columns.values()] for each in found)
    cells = [[_age(at, value) if name in ages else value for name, value in row] for row in rows]
    table([heading.upper() for heading in columns], cells, indent)


def listed(found: Sequence[Any], nothing: str, *, as_json: bool, indent: str = "") -> None:
    """Print a list of records, as JSON or as a table. ``nothing`` is what is printed in place of an empty table."""
    if as_json:
        echo_json(found)
    elif found:
        records(found, indent)
    else:
        click.echo(nothing)


def _age(at: datetime | None, then: datetime | None) -> str:
    return "-" if at is None or then is None else f"{format_duration(max(at - then, timedelta(0)))} ago"


def _cell(value: object) -> str:
    return instant(value) if value is None or isinstance(value, datetime) else str(value)


def fields(values: Mapping[str, object], indent: str = "") -> None:
    """Print one name and its value per line."""
    texts = {name: visible(text_of(value)) for name, value in values.items()}
    if on_terminal():
        from jobrunner.cli import terminal

        terminal.show_fields(list(texts.items()), indent)
        return
    width = max((len(name) for name in values), default=0)
    for name, text in texts.items():
        click.echo(f"{indent}{name.ljust(width)}  {text}".rstrip())


def bars(kinds: Sequence[str], rows: Iterable[tuple[str, Sequence[int]]]) -> None:
    """Draw the numbers of each row, for somebody. Elsewhere nothing is printed: a table has the numbers."""
    drawn = [(visible(name), numbers) for name, numbers in rows if any(numbers)]
    if drawn and on_terminal():
        from jobrunner.cli import terminal

        click.echo()
        terminal.show_bars(kinds, drawn)


def line(text: str, *, is_wrong: bool = False, hanging: int = 2) -> None:
    """Print a line of prose. On a terminal what is wrong is coloured, and a long line is wrapped between words."""
    if on_terminal():
        from jobrunner.cli import terminal

        terminal.show_line(visible(text), hanging, is_wrong=is_wrong)
    else:
        click.echo(visible(text))


def block(text: str, indent: str = "") -> None:
    """Print a text of many lines, such as a traceback. On a terminal its long lines are wrapped between words."""
    for each in visible_block(text).rstrip().split("\n"):
        if on_terminal():
            line(f"{indent}{each.expandtabs()}".rstrip(), hanging=len(indent) + 2)
        else:
            click.echo(f"{indent}{each}".rstrip())


@contextmanager
def changing_line() -> Iterator[Callable[[str, float, float | None, str], None]]:
    """A line that changes while something goes on: what it is, how much is done, of how much, and a message.

    On a terminal it is drawn in place, with a bar if there is a total. Elsewhere each change is a line of its own.
    """
    if on_terminal():
        from jobrunner.cli import terminal

        with terminal.changing_line(sys.stdout) as show:
            yield show
        return
    last = ""

    def print_changes(what: str, done: float, total: float | None, message: str) -> None:
        nonlocal last
        amount = "" if total is None else f"{done:g}/{total:g}"
        words = "  ".join(filter(None, (what, amount, visible(message))))
        if words != last:
            last = words
            click.echo(visible(words))
            sys.stdout.flush()

    yield print_changes


@contextmanager
def progress(total: int | None, what: str) -> Iterator[Callable[..., None]]:
    """How far a long command of our own is: call the function with how many more are done, and of how many if that is
    known only then.

    It is drawn on stderr if that is a terminal, and not at all otherwise. It leaves no line behind.
    """
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from jobrunner.cli import terminal

    done = 0
    with terminal.changing_line(sys.stderr, leaves_no_line=True) as show:

        def advance(more: int, of: int | None = total) -> None:
            nonlocal done
            # A transaction that is tried again begins anew.
            done = done + more if of is None else min(done + more, of)
            show(what, done, of, f"{done} done" if of is None and done else "")

        advance(0)
        yield advance


def redraw(show: Callable[[], None], *, is_first: bool) -> None:
    """Show a whole screen in place of the one before. Only for a terminal."""
    from jobrunner.cli import terminal

    terminal.redraw(show, is_first=is_first)


def text_of(value: object) -> str:
    """A value as text for people."""
    if value is None or isinstance(value, datetime):
        return instant(value)
    if isinstance(value, dict | list):
        return json.dumps(value, default=plain, ensure_ascii=False)
    return str(value)
