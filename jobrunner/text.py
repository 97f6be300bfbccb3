"""Makes texts from outside (errors, output, names) fit for a database, one line or a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

from jobrunner.errors import UsageError
from jobrunner.untyped import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")

LAST_ERROR_CHARACTERS = 500

# Compiled when they are used first, and kept by ``re``: an idle tick needs none of them.
_WHOLE_NUMBER = r"(?a)-?\d{1,18}"
_UNSTORABLE = "[\x00\ud800-\udfff]"
# C0 and C1 controls, and the characters that reorder or hide text on a terminal.
_CONTROLS = "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
_CONTROLS_BUT_LAYOUT = rf"(?![\n\t]){_CONTROLS}"
# UUIDs, other numbers in hexadecimal of eight digits or more, and decimal numbers.
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_VARIABLE = rf"(?i)\b{_UUID}\b|\b0x[0-9a-f]+\b|\b(?=[a-f]*\d)[0-9a-f]{{8,}}\b|\d+(?:\.\d+)?"


def storable(text: str) -> str:
    """Replace what PostgreSQL cannot store: NUL and each lone surrogate become U+FFFD."""
    return re.sub(_UNSTORABLE, "\ufffd", text) if not text.isascii() or "\x00" in text else text


def one_line(text: str, limit: int = LAST_ERROR_CHARACTERS) -> str:
    """One storable line of at most ``limit`` characters. White space of any length becomes one space."""
    # Cut before the costly steps, because a handler may raise an error with megabytes of text.
    line = " ".join(storable(text.lstrip()[: limit * 4]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def with_end(text: str, limit: int) -> str:
    """One line of at most ``limit`` characters that keeps its end: there an error says where it is."""
    line = one_line(text, 10_000)
    return line if len(line) <= limit else f"{line[: limit - limit // 3 - 1]}…{line[-(limit // 3) :]}"


def first_line_of(error: Exception) -> str:
    """The type of an unexpected error and the first line of its text. In later lines a server may quote a row."""
    return f"{type(error).__name__}: {error}".splitlines()[0][:300]


def visible(text: str) -> str:
    """Safe to print in one line of a terminal: each control or reordering character becomes an escape."""
    return re.sub(_CONTROLS, _escape, storable(text))


def visible_block(text: str) -> str:
    """Like ``visible``, but new lines and tabs stay. For tracebacks and output."""
    return re.sub(_CONTROLS_BUT_LAYOUT, _escape, storable(text))


def shown(value: object, limit: int = 60) -> str:
    """A value for a message, as Python writes it, in one line. What cannot be written is told by its type."""
    try:
        return one_line(f"{value!r:.{limit}}", limit)
    except Exception:  # noqa: BLE001 - a class of the user's own writes it, or the number has too many digits
        return f"a value of the type {type(value).__name__}"


def without_numbers(text: str) -> str:
    """The text with # for each number and id."""
    return re.sub(_VARIABLE, "#", text)


def iso_instant(value: datetime) -> str:
    """An instant for programs: ISO 8601 in UTC, ending in Z."""
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def mebibytes(count: float) -> str:
    """A number of bytes for people, such as ``61.5 MiB``."""
    return f"{count / 2**20:.1f} MiB"


def plain(value: object) -> object:
    """What the JSON for programs has for a value that JSON does not know. A record is an object with its fields."""
    if isinstance(value, datetime):
        return iso_instant(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if hasattr(value, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in fields_of(value)}
    raise TypeError(type(value).__name__)


def fields_of(record: Any) -> tuple[str, ...]:
    """The names of the fields of a record, or of its class."""
    found: tuple[str, ...] = record.__match_args__
    return found


def columns_of(record: Any) -> dict[str, str]:
    """The headings of a table of such records, each with the name of what stands below it: see their ``COLUMNS``."""
    pairs = (each.partition("=") for each in record.COLUMNS.split(", "))
    return {heading: name or heading for heading, _, name in pairs}


def picked(record: Callable[..., T], source: object, **more: object) -> T:
    """A record with ``more``, and for all its other fields what the ``source`` has under their names."""
    return record(**{name: getattr(source, name) for name in fields_of(record) if name not in more}, **more)


def whole_number(text: str, least: int, most: int) -> int:
    """A number in plain digits. Python's int() would also accept 1_0. Raises UsageError."""
    if not re.fullmatch(_WHOLE_NUMBER, text) or not least <= int(text) <= most:
        raise UsageError(f"{text[:40]!r} is not a whole number from {least} to {most}")
    return int(text)


def nearest(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The word of these that was probably meant. None means that none is similar enough."""
    from difflib import get_close_matches

    found = get_close_matches(word[:200], list(known), n=1, cutoff=likeness)
    return found[0] if found else None


def _escape(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode("ascii")
