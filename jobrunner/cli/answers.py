"""What a command answers: the option for its JSON names the record that is printed, and the schema is made from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pkgutil import resolve_name
from typing import Any, TypeVar, get_origin

import click

VERSION = 1
"""A program that reads one version can read all its outputs. A new field is no new version; what it reads stays."""
_Command = TypeVar("_Command", bound=Callable[..., Any])


class AnswerOption(click.Option):
    """``--json``, or ``--jsonl`` for a document on each line. ``record`` is the type of a document."""

    def __init__(self, *names: Any, record: Any, **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self.record = record


def answers(record: Any, words: str = "") -> Callable[[_Command], _Command]:
    """Give a command ``--json``. A text "module:name" is a type that is only imported when the schema is made."""
    kind = "array" if get_origin(record) is list else "object"
    return _option("--json", "as_json", record, f"Print a JSON {kind}{words}.")


def answers_in_lines(record: Any, words: str) -> Callable[[_Command], _Command]:
    """Give a command ``--jsonl``."""
    return _option("--jsonl", "as_lines", record, words)


def _option(flag: str, name: str, record: Any, words: str) -> Callable[[_Command], _Command]:
    return click.option(flag, name, is_flag=True, cls=AnswerOption, record=record, help=words)


def records(commands: Mapping[str, click.Command]) -> Iterator[tuple[str, Any]]:
    """Each command with its option, and the type of what it prints."""
    for words, command in commands.items():
        for option in command.params:
            if isinstance(option, AnswerOption):
                record = resolve_name(option.record) if isinstance(option.record, str) else option.record
                yield f"{words} {option.opts[0]}", record
