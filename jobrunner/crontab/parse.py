"""Reads a crontab line by line as Debian's cron does, and returns every line with its number. Pure."""

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
    """An empty line."""

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
    """A job. Its schedule is not checked, and each ``%`` in its command is kept."""

    number: int
    schedule: str
    user: str | None
    command: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A line that cron could not read either."""

    number: int
    reason: str


Line = Blank | Comment | Variable | Entry | Unreadable


@dataclass(frozen=True, slots=True)
class Crontab:
    """Every line of a file, in order. ``remarks`` are about the file as a whole."""

    lines: tuple[Line, ...]
    remarks: tuple[str, ...]


def read(data: bytes, *, has_user: bool) -> Crontab:
    """The lines of a crontab, with a column for the user or without. Raises UsageError if it is not one."""
    if len(data) > LARGEST_BYTES:
        raise UsageError(f"it is larger than {LARGEST_BYTES} bytes, so it is no crontab")
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
        remarks.append(
            "its lines end with a carriage return, as on Windows; cron would keep that character, here it is removed"
        )
    return Crontab(tuple(_line(number, raw, has_user) for number, raw in enumerate(raws, 1)), tuple(remarks))


def parse(number: int, text: str, has_user: bool) -> Line:
    """One line."""
    text = text.lstrip(_BLANKS)
    if not text:
        return Blank(number)
    if text.startswith("#"):
        return Comment(number, text.lstrip("#").strip())
    if variable := _VARIABLE.fullmatch(text):
        # Debian's cron removes blanks at the end of a value, even inside quotes.
        return Variable(number, _unquoted(variable[1]), _unquoted(variable[2] or variable[3] or "").rstrip())
    return _entry(number, text, has_user)


def without_input(command: str) -> tuple[str, str]:
    r"""Split an entry into its command and its standard input, which begins after the first ``%``.

    Before it ``\%`` and ``\\`` are one character. After it only ``\%`` is, and each other ``%`` is a line break.
    """
    match = _BEFORE_INPUT.match(command)
    assert match
    text = re.sub(r"(?<!\\)%", "\n", command[match.end() + 1 :]).replace("\\%", "%")
    return re.sub(r"\\([\\%])", r"\1", match[0]), text + "\n" if text and not text.endswith("\n") else text


def _line(number: int, raw: bytes, has_user: bool) -> Line:
    try:
        return parse(number, raw.decode("utf-8"), has_user)
    except UnicodeDecodeError:
        # A comment is only for people, and an old one is often Latin-1.
        line = parse(number, raw.decode("latin-1"), has_user)
    return line if isinstance(line, Comment) else Unreadable(number, "it is not UTF-8; convert it, and import again")


def _unquoted(text: str) -> str:
    return text[1:-1] if text[:1] in ("'", '"') else text


def _entry(number: int, text: str, has_user: bool) -> Line:
    # A leading - tells some crons not to log the job.
    text = text.removeprefix("-")
    parts = 1 if text.startswith("@") else 5
    match = re.fullmatch(rf"{_WORD * (parts + has_user)}(.*)", text, re.DOTALL)
    if match is None or not match[parts + has_user + 1].strip(_BLANKS):
        user = ", a user" if has_user else ""
        return Unreadable(number, f"it is neither NAME=value nor a schedule{user} and a command")
    command = match[parts + has_user + 1]
    if command.startswith(("*", "-")):
        what = "a sixth field" if command.startswith("*") else "an option for another cron"
        return Unreadable(number, f"its command begins with {what}; remove that, and import again")
    schedule = " ".join(match[place] for place in range(1, parts + 1))
    return Entry(number, schedule, match[parts + 1] if has_user else None, command)
