"""One setting, and what makes one of each kind. ``config`` has the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial

from jobrunner import names
from jobrunner.durations import parse_duration
from jobrunner.errors import UsageError
from jobrunner.text import whole_number
from jobrunner.untyped import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

_SWITCHES = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
# Compiled when it is used first: most ticks have no such setting.
_NAME = r"(?a)[\w.-]{1,100}"
_MOST = 1_000_000_000


class Setting(NamedTuple):
    """One setting. ``words`` are its line in the page of settings; ``parse`` makes the value of a text, or refuses it.

    ``default`` is written as somebody would; "" means ``empty``. ``shown`` is what the page says in its place.
    ``filed`` is what the configuration file may have besides a text and a number. ``is_path``, ``is_url``: a relative
    path in that file begins at the folder of the file. ``on_host``: most hosts need it.
    ``metavar``: `tick` has an option of the same name, which takes this.
    """

    parse: Callable[[str], Any]
    words: str
    default: str = ""
    empty: Any = None
    shown: str = ""
    name: str = ""
    filed: type | None = None
    is_path: bool = False
    is_url: bool = False
    on_host: bool = False
    metavar: str = ""

    @property
    def value(self) -> Any:
        """What it is if it is not given."""
        return self.parse(self.default) if self.default else self.empty


# These say Any, as ``dataclasses.field`` does: the field of ``Config`` has the type of the value.


def text(words: str, **more: Any) -> Any:
    """Any text."""
    return Setting(str, words, empty="", **more)


def name(words: str, **more: Any) -> Any:
    """A name of letters, digits, '.', '_' and '-'; "" for none."""
    return Setting(_parse_name, words, empty="", **more)


def several(words: str, **more: Any) -> Any:
    """Texts separated by commas, or a list of the configuration file."""
    return Setting(_parse_several, words, empty=(), filed=list, **more)


def schema(words: str, **more: Any) -> Any:
    """The name of a schema of PostgreSQL."""
    return Setting(names.check_schema_name, words, **more)


def path(words: str, **more: Any) -> Any:
    """An absolute path."""
    return Setting(str, words, is_path=True, **more)


def url(words: str, **more: Any) -> Any:
    """The URL of a database."""
    return Setting(str, words, is_url=True, **more)


def one_of(values: tuple[str, ...], words: str) -> Any:
    """One of these words; the first by default."""

    def parse(text: str) -> str:
        if text not in values:
            raise UsageError(f"{text[:60]!r} is none of {', '.join(values)}")
        return text

    return Setting(parse, words, values[0])


def switch(words: str) -> Any:
    """True or false; false by default."""
    return Setting(_parse_switch, words, "false", filed=bool)


def number(default: int, least: int, most: int, words: str, **more: Any) -> Any:
    """A whole number."""
    return Setting(partial(whole_number, least=least, most=most), words, str(default), **more)


def count(words: str) -> Any:
    """How many of something are still in order; none by default."""
    return number(0, 0, _MOST, words)


def duration(default: str, words: str, check: Callable[[timedelta], object] = lambda _: None, **more: Any) -> Any:
    """A duration, which ``check`` may refuse."""

    def parse(text: str) -> timedelta:
        found = parse_duration(text)
        check(found)
        return found

    return Setting(parse, words, default, **more)


def durations(words: str, check: Callable[[str], object]) -> Any:
    """Durations by name: ``report=1d,audit=2h``, or a table of the configuration file. ``check`` refuses a name."""

    def parse(text: str) -> Mapping[str, timedelta]:
        found = {}
        for part in text.split(","):
            key, is_given, length = part.rpartition("=")
            if not is_given:
                raise UsageError(f"{part.strip()[:60]!r} is not NAME=DURATION")
            check(key.strip())
            found[key.strip()] = parse_duration(length.strip())
        return found

    return Setting(parse, words, empty={}, filed=dict)


def _parse_name(text: str) -> str:
    import re

    if not re.fullmatch(_NAME, text):
        raise UsageError(f"{text[:60]!r} is not a name; write up to 100 letters, digits, '.', '_' and '-'")
    return text


def _parse_several(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _parse_switch(text: str) -> bool:
    if text.lower() not in _SWITCHES:
        raise UsageError(f"{text!r} is neither true nor false")
    return _SWITCHES[text.lower()]
