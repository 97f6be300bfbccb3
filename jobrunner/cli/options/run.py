"""The options of a run on the command line, made from their table."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any, TypeVar

import click

from jobrunner.cli.parameters import Checked, job_id, parse_run_at, timeout_of_a_run
from jobrunner.durations import parse_duration
from jobrunner.jobs.options import Kind, Number, OneOf, Row, choice
from jobrunner.jobs.run_options import OF_RUN, Limit, Runs, Span, Text, Time

_Command = TypeVar("_Command", bound=Callable[..., Any])


def run_options(names: Collection[str] = tuple(OF_RUN)) -> Callable[[_Command], _Command]:
    """Give the options of a run to a command: all, or those of these names. What is not given is None."""

    def add(command: _Command) -> _Command:
        for name in reversed([name for name in OF_RUN if name in names]):
            command = _option(name, OF_RUN[name])(command)
        return command

    return add


def _option(name: str, row: Row) -> Callable[[_Command], _Command]:
    flag = flag_of(name)
    check, metavar, way = _written(flag, row.kind)
    # A page or a help text says the names of options as they are written there.
    words = row.words.replace("`after`", "--after")
    default = f" [default: {row.shown_default}]" if row.shown_default else ""
    return click.option(
        flag,
        name,
        type=Checked(check),
        metavar=metavar,
        multiple=isinstance(row.kind, Runs),
        callback=lambda _, __, value: None if value == () else value,
        help=f"{words}{way}.{default}",
    )


def flag_of(name: str) -> str:
    """How an option is written on the command line."""
    return f"--{name.replace('_', '-')}"


def _written(flag: str, kind: Kind) -> tuple[Callable[[str], Any], str, str]:
    """How the text of an option of this kind is read, what stands for it in help, and what help says beside it."""
    match kind:
        case Number():
            return kind.read, "N", ""
        case OneOf():
            return partial(choice, flag, choices=kind.words), "|".join(kind.words), ""
        case Time():
            return parse_run_at, "TIME", ": ISO 8601 with an offset, or +5m from now"
        case Limit():
            return timeout_of_a_run, "DURATION", ""
        case Span():
            return parse_duration, "DURATION", ""
        case Runs():
            return job_id, "JOB_ID", "; repeatable"
        case Text():
            return str, flag[2].upper(), ""
    raise TypeError(kind)
