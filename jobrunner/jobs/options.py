"""What the tables of options are made of: their rows, and the kinds of values that an option can have.

``run_options`` has the table of the options of a run, and ``job_options`` that of the options of a job type.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from types import NoneType
from typing import Any, NamedTuple, Protocol, TypeVar, get_args

from jobrunner.durations import Duration, format_duration, parse_duration
from jobrunner.errors import UsageError, WrongOption
from jobrunner.text import nearest, shown
from jobrunner.text import whole_number as read_number

_Choice = TypeVar("_Choice", bound=str)


class Kind(Protocol):
    """What values an option has. The command line, the file and SQL have a way to read and to check each kind."""

    def check(self, name: str, value: Any) -> Any:
        """The value as it is kept. Raises UsageError."""


class Number(NamedTuple):
    """A whole number."""

    least: int
    most: int

    def check(self, name: str, value: object) -> int:
        """The number."""
        return whole_number(name, value, self.least, self.most)

    def read(self, text: str) -> int:
        """The number that a text is. Raises UsageError."""
        return read_number(text, self.least, self.most)


class OneOf(NamedTuple):
    """One of these words."""

    words: tuple[str, ...]

    def check(self, name: str, value: object) -> str:
        """The word."""
        return choice(name, value, self.words)


class Row(NamedTuple):
    """``words`` say what the option does. ``absent`` says what its absence means, where the default does not say it.

    ``takes_none``: None may be given in place of a value, and means the same as no option.
    """

    kind: Kind
    words: str
    default: Any = None
    absent: str = ""
    takes_none: bool = False

    def check(self, name: str, value: Any) -> Any:
        """The value as it is kept. Raises WrongOption, with the name of the option."""
        if value is None and self.takes_none:
            return None
        try:
            return self.kind.check(name, value)
        except WrongOption:
            raise
        except UsageError as error:
            raise WrongOption(name, str(error)) from None

    @property
    def shown_default(self) -> str:
        """What holds if the option is not given. Empty: nothing."""
        if self.absent or self.default is None:
            return self.absent
        return format_duration(self.default) if isinstance(self.default, timedelta) else str(self.default)


def rows_of(table: type) -> Mapping[str, Row]:
    """The rows of a TypedDict, which are the annotations of its keys."""
    return {
        name: hint.__metadata__[0]._replace(takes_none=NoneType in get_args(hint.__origin__))
        for name, hint in table.__annotations__.items()
    }


def whole_number(name: str, value: object, least: int, most: int) -> int:
    """``value`` if it is an int in the range. Raises WrongOption with ``name`` if not."""
    if isinstance(value, int) and not isinstance(value, bool):
        if least <= value <= most:
            return int(value)
        hint = f"; the nearest is {min(max(value, least), most)}"
    else:
        hint = ""
    raise WrongOption(name, f"must be a whole number from {least} to {most}, not {shown(value)}{hint}")


def choice(name: str, value: object, choices: tuple[_Choice, ...]) -> _Choice:
    """``value`` if it is one of these words. Raises WrongOption with all words and the nearest one if not."""
    for each in choices:
        if isinstance(value, str) and value == each:
            return each
    listed = ", ".join(repr(each) for each in choices)
    hint = f"; the nearest is {nearest(value.lower(), choices, 0.0)!r}" if isinstance(value, str) else ""
    raise WrongOption(name, f"must be one of {listed}, not {shown(value)}{hint}")


def parse_timeout(timeout: Duration) -> timedelta | None:
    """The time limit of an attempt. None means no limit, which is written as "none". Raises UsageError."""
    if isinstance(timeout, str) and timeout == "none":
        return None
    limit = parse_duration(timeout)
    if not limit:
        raise UsageError('a timeout of 0 stops a run at once; write "none" for no limit')
    return limit
