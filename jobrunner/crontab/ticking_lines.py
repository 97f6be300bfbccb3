"""Finds the lines of a crontab that start ticks, and what they would start. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from jobrunner.crontab.parse import Entry, Variable, parse, without_input

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_OPERATORS = frozenset("();<>|&")
_TICK = re.compile(r"\bjobrunner\b.*\btick\b", re.DOTALL)
_PATHS = ("--env-file", "--config")


@dataclass(frozen=True, slots=True)
class TickLine:
    """A line that starts ticks, in the crontab ``source``, with the variables above it. ``user`` None: the owner."""

    source: str
    number: int
    user: str | None
    command: str
    variables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Call:
    """The call of jobrunner in a line: the words that start it, its paths, and what is set in front of it."""

    program: Sequence[str]
    paths: Sequence[str]
    folder: str | None
    variables: Mapping[str, str]


def tick_lines(source: str, data: bytes, *, has_user: bool) -> list[TickLine]:
    """The lines that start ticks, in any installation."""
    found, variables = [], dict[str, str]()
    for number, raw in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        line = parse(number, raw, has_user)
        if isinstance(line, Variable):
            variables = {**variables, line.name: line.value}
        elif isinstance(line, Entry) and _TICK.search(line.command):
            found.append(TickLine(source, number, line.user, line.command, variables))
    return found


def call_of(command: str) -> Call | None:
    """The call of jobrunner in this command of a crontab. None if only a shell could tell what it is."""
    try:
        lexer = shlex.shlex(without_input(command)[0], posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        return None
    folder = None
    if len(words) > 3 and words[0] == "cd" and words[2] in ("&&", ";"):
        folder, words = words[1], words[3:]
    end = next((index for index, word in enumerate(words) if word and set(word) <= _OPERATORS), len(words))
    words = words[:end]
    begin = next((index for index, word in enumerate(words) if PurePath(word).name == "jobrunner"), None)
    if begin is None or "tick" not in words[begin:] or any(mark in word for word in words for mark in "$`*?"):
        return None
    first = _first_word(words, begin)
    # A wrapper in front of it, such as flock or timeout, is left out: only variables are taken from there.
    given = (_ASSIGNMENT.fullmatch(word) for word in words[:first])
    variables = {each[1]: each[2] for each in given if each is not None}
    return Call(words[first : begin + 1], _paths(words[begin + 1 :]), folder, variables)


def _first_word(words: Sequence[str], begin: int) -> int:
    """Where the program begins: ``python -m jobrunner`` and ``python manage.py jobrunner`` have more words."""
    if begin >= 2 and words[begin - 1] == "-m":
        return begin - 2
    if begin >= 1 and PurePath(words[begin - 1]).name == "manage.py":
        return begin - 2 if begin >= 2 and "python" in PurePath(words[begin - 2]).name else begin - 1
    if begin >= 1 and PurePath(words[begin - 1]).name == "flask":
        return begin - 1
    return begin


def _paths(words: Sequence[str]) -> list[str]:
    """The options of a tick that say where its settings are read from."""
    found = []
    for index, word in enumerate(words):
        name, is_joined, _ = word.partition("=")
        if name in _PATHS:
            found += [word] if is_joined else list(words[index : index + 2])
    return found
