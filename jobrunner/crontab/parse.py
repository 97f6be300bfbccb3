"""Reads a crontab line by line as Debian's cron does; whatever a line is, it comes back with its number. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from jobrunner.errors import UsageError

LARGEST_BYTES = 1024 * 1024
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_BLANKS = " \t\f\v"
_QUOTED = r"'[^']*'|\"[^\"]*\""
_VARIABLE = re.compile(rf"({_QUOTED}|[^\s='\"][^\s=]*)\s*=\s*(?:({_QUOTED})\s*|((?!['\"]).*))")
_BEFORE_INPUT = re.compile(r"(?:[^\\%]|\\.?)*", re.DOTALL)
_WORD = r"([^ \t]+)[ \t]+"


@dataclass(frozen=True, slots=True)
class Blank:
    """Nothing at all."""

    number: int


@dataclass(frozen=True, slots=True)
class Comment:
    """A line that begins with ``#``; ``text`` is what follows."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Variable:
    """``NAME=value``, for the lines below it."""

    number: int
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A job as it stands: the schedule is not checked, and each ``%`` in the command still is one."""

    number: int
    schedule: str
    user: str | None
    command: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """What cron, too, would not take for any of the others."""

    number: int
    reason: str


Line = Blank | Comment | Variable | Entry | Unreadable


@dataclass(frozen=True, slots=True)
class Crontab:
    """Every line of a file, in order. ``remarks`` are about the file as a whole."""

    lines: tuple[Line, ...]
    remarks: tuple[str, ...]


def read(data: bytes, *, has_user: bool) -> Crontab:
    """The lines of a crontab, with a column for the user or without. Raises UsageError where it is none."""
    if len(data) > LARGEST_BYTES:
        raise UsageError(f"it is larger than {LARGEST_BYTES} bytes, and no crontab")
    if found := _BINARY.search(data):
        line = data.count(b"\n", 0, found.start()) + 1
        raise UsageError(f"there is a control character in line {line}, so it is no crontab")
    remarks = []
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
        remarks.append("it begins with a byte order mark, which cron does not know")
    if data and not data.endswith(b"\n"):
        remarks.append("its last line does not end with a newline; cron skips such a file")
    raws = data.split(b"\n")
    if not raws[-1]:
        raws.pop()
    if any(raw.endswith(b"\r") for raw in raws):
        raws = [raw.removesuffix(b"\r") for raw in raws]
        remarks.append("lines end as on Windows, which to cron is a letter more; they are read without it")
    return Crontab(tuple(_line(number, raw, has_user) for number, raw in enumerate(raws, 1)), tuple(remarks))


def parse(number: int, text: str, has_user: bool) -> Line:
    """One line."""
    text = text.lstrip(_BLANKS)
    if not text:
        return Blank(number)
    if text.startswith("#"):
        return Comment(number, text.lstrip("#").strip())
    if variable := _VARIABLE.fullmatch(text):
        # Debian's cron cuts the end of a value even where it stands in quotes.
        return Variable(number, _unquoted(variable[1]), _unquoted(variable[2] or variable[3] or "").rstrip())
    return _entry(number, text, has_user)


def without_input(command: str) -> tuple[str, str]:
    r"""The command of an entry, and what its line says of standard input: that begins after the first ``%``.

    Before it cron reads ``\%`` and ``\\`` as one letter; after it ``\%`` alone, and each other ``%`` is a new line.
    """
    match = _BEFORE_INPUT.match(command)
    assert match
    text = re.sub(r"(?<!\\)%", "\n", command[match.end() + 1 :]).replace("\\%", "%")
    return re.sub(r"\\([\\%])", r"\1", match[0]), text + "\n" if text and not text.endswith("\n") else text


def _line(number: int, raw: bytes, has_user: bool) -> Line:
    try:
        return parse(number, raw.decode("utf-8"), has_user)
    except UnicodeDecodeError:
        # A comment is only read by people, and before UTF-8 there was Latin-1.
        line = parse(number, raw.decode("latin-1"), has_user)
    return line if isinstance(line, Comment) else Unreadable(number, "it is not UTF-8; write it so, and import again")


def _unquoted(text: str) -> str:
    return text[1:-1] if text[:1] in ("'", '"') else text


def _entry(number: int, text: str, has_user: bool) -> Line:
    # Some crons: do not write this one to the system's log.
    text = text.removeprefix("-")
    parts = 1 if text.startswith("@") else 5
    match = re.fullmatch(rf"{_WORD * (parts + has_user)}(.*)", text, re.DOTALL)
    if match is None or not match[parts + has_user + 1].strip(_BLANKS):
        user = ", a user" if has_user else ""
        return Unreadable(number, f"it is neither NAME=value nor a schedule{user} and a command")
    command = match[parts + has_user + 1]
    if command.startswith(("*", "-")):
        what = "a sixth field" if command.startswith("*") else "an option for another cron"
        return Unreadable(number, f"its command begins with {what}; leave that out, and import again")
    schedule = " ".join(match[place] for place in range(1, parts + 1))
    return Entry(number, schedule, match[parts + 1] if has_user else None, command)
