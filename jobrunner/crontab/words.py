"""Takes the command of a crontab's line apart: its standard input, and whether it truly needs a shell. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_OPERATORS = "|&;<>"
_SPECIAL = _OPERATORS + "$`()*?[]{}\r\v\f"
_ESCAPED_IN_QUOTES = ("$", "`")
_BEFORE_INPUT = re.compile(r"(?:[^\\%]|\\.?)*", re.DOTALL)
_EMPTY_BRACES = re.compile(r"(?<!\S)\{\}(?!\S)")
_CHANGE_FOLDER = re.compile(r"cd[ \t]+([\w./+@%:=,][\w./+@%:=,-]*)[ \t]*&&[ \t]*(.+)", re.ASCII | re.DOTALL)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=([\w./+@%:,-]*)[ \t]+", re.ASCII)
_ANY_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=", re.ASCII)
# What the shell does itself; test, printf, true, kill and the like are programs as well.
_SHELLS_OWN = frozenset(
    [
        ".",
        ":",
        "!",
        "[[",
        "alias",
        "bg",
        "break",
        "builtin",
        "case",
        "cd",
        "command",
        "continue",
        "declare",
        "do",
        "done",
        "elif",
        "else",
        "esac",
        "eval",
        "exec",
        "exit",
        "export",
        "fg",
        "fi",
        "for",
        "function",
        "getopts",
        "hash",
        "if",
        "jobs",
        "let",
        "local",
        "read",
        "readonly",
        "return",
        "select",
        "set",
        "shift",
        "source",
        "then",
        "time",
        "times",
        "trap",
        "type",
        "typeset",
        "ulimit",
        "umask",
        "unalias",
        "unset",
        "until",
        "wait",
        "while",
    ]
)


@dataclass(frozen=True, slots=True)
class Plain:
    """A command that needs no shell. ``folder``: what ``cd FOLDER &&`` said, else None."""

    words: tuple[str, ...]
    env: Mapping[str, str]
    folder: str | None


def without_input(command: str) -> tuple[str, str]:
    r"""The command, and what its line says of its standard input: that begins after the first ``%``.

    Before it cron reads ``\%`` and ``\\`` as one letter; after it ``\%`` alone, and each other ``%`` is a new line.
    """
    match = _BEFORE_INPUT.match(command)
    assert match
    text = re.sub(r"(?<!\\)%", "\n", command[match.end() + 1 :]).replace("\\%", "%")
    return re.sub(r"\\([\\%])", r"\1", match[0]), text + "\n" if text and not text.endswith("\n") else text


def take_apart(command: str) -> Plain | str:
    """The words of one program's call, or what in the command needs a shell."""
    match = _CHANGE_FOLDER.fullmatch(command.strip(" \t"))
    folder, rest = match.groups() if match else (None, command.strip(" \t"))
    if special := _special(rest):
        return special
    env = {}
    while assignment := _ASSIGNMENT.match(rest):
        env[assignment[1]] = assignment[2]
        rest = rest[assignment.end() :]
    try:
        words = shlex.split(rest)
    except ValueError:
        return "quotes that do not close"
    if own := _shells_own(rest, words):
        return own
    return Plain(tuple(words), env, folder)


def _special(command: str) -> str:
    """What stands outside quotes and means something to a shell, in the order of its appearance."""
    found: list[str] = []
    last = -1
    for place, character in _bare(_EMPTY_BRACES.sub("xx", command)):
        begins_word = place == 0 or command[place - 1] in " \t=:"
        if character in _SPECIAL or (begins_word and character in "~#"):
            if found and place == last + 1 and character in _OPERATORS and command[last] in _OPERATORS:
                found[-1] += character
            else:
                found.append(character if character.isprintable() else "a control character")
            last = place
    return " ".join(dict.fromkeys(found))


def _bare(command: str) -> Iterator[tuple[int, str]]:
    """What a shell looks at: outside quotes everything, in double ones the dollar and the backquote."""
    quote = ""
    place = 0
    while place < len(command):
        character = command[place]
        if quote == "'":
            quote = "" if character == "'" else quote
        elif character == "\\":
            place += 1
            # In double quotes a shell takes the backslash away, and shlex leaves it.
            if quote and command[place : place + 1] in _ESCAPED_IN_QUOTES:
                yield place, command[place]
        elif character == quote:
            quote = ""
        elif quote:
            if character in "$`":
                yield place, character
        elif character in "'\"":
            quote = character
        else:
            yield place, character
        place += 1


def _shells_own(text: str, words: list[str]) -> str:
    if not words or not words[0]:
        return "no program"
    if _ANY_ASSIGNMENT.match(text):
        return "a variable in front"
    if words[0] in _SHELLS_OWN:
        return words[0]
    if words[0] == "echo" and any("\\" in word or word.startswith("-") for word in words[1:]):
        return "echo, of which the shell's own is another"
    return ""
