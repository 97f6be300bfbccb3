"""One call of a command for an agent: what it may do to the database, and what of its answer leaves."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple, TypeVar

import click

from jobrunner.admin.bulk import Counted
from jobrunner.cli import reporting
from jobrunner.cli.caller import Caller
from jobrunner.errors import UsageError
from jobrunner.masking.values import Names
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database
from jobrunner.store.drivers.location import Location
from jobrunner.store.drivers.waits import Waits
from jobrunner.text import one_line, plain, storable
from jobrunner.web.masking import Known, Masks

T = TypeVar("T")
_LONGEST_TEXT = 4_000
_LONGEST_ANSWER = 200_000


class Refused(Exception):
    """What an agent asks for is not done. The text says why, in one line."""


class Answer(NamedTuple):
    """The answer of a command, cleaned and as JSON has it, and the runs that it would change or has changed."""

    value: Any
    counted: Counted | None


class Calls:
    """Calls commands. ``redact`` are names whose values are hidden, beside those that look like secrets."""

    def __init__(self, redact: Collection[str]) -> None:
        self._masks = Masks(redact)
        self._names = Names(redact)

    def question(self, command: click.Command, words: Sequence[str], client: str) -> Answer:
        """The answer of a command that can write nothing. Raises Refused."""
        opened = list[Reading]()

        def opens(location: Location, waits: Waits) -> Database:
            opened.append(Reading(location, waits, self._masks))
            return opened[-1]

        caller = self._call(command, words, Caller(f"mcp:{client}", opens))
        answer = caller.answer
        for each in opened:
            for known in each.known:
                answer = self._masks.leaving(answer, known)
        return Answer(_as_json(answer), caller.counted)

    def change(self, command: click.Command, words: Sequence[str], client: str) -> Answer:
        """The answer of a command that may write. It has numbers only. Raises Refused."""

        def opens(location: Location, waits: Waits) -> Database:
            return Database(location, patience=waits)

        caller = self._call(command, words, Caller(f"mcp:{client}", opens))
        return Answer(_as_json(caller.answer), caller.counted)

    def told(self, command: click.Command, words: Sequence[str], client: str, *, is_dry: bool) -> list[str]:
        """The lines that a command prints. ``is_dry``: what it writes is rolled back at its end. Raises Refused."""

        def opens(location: Location, waits: Waits) -> Database:
            return Trial(location, patience=waits) if is_dry else Database(location, patience=waits)

        # The server calls one command at a time, and speaks through a file of its own.
        printed = io.StringIO()
        with redirect_stdout(printed), redirect_stderr(printed):
            self._call(command, words, Caller(f"mcp:{client}", opens))
        lines = printed.getvalue().splitlines()
        return [self._names.masked(one_line(line.removeprefix("jobrunner: "), 1000)) for line in lines]

    def _call(self, command: click.Command, words: Sequence[str], caller: Caller) -> Caller:
        try:
            # Each call has a context of its own, which no other shares.
            with click.Context(command, info_name=command.name) as context:
                caller.calls(context)
                command.parse_args(context, list(words))
                command.invoke(context)
        except click.exceptions.Exit:
            # The exit code of ``health``. What a shell is told by it stands in the answer.
            pass
        except click.ClickException as error:
            raise self._refused(error.format_message()) from None
        except Exception as error:  # noqa: BLE001 - a command that fails must not end the server
            raise self._refused(reporting.told(error)[0]) from None
        return caller

    def _refused(self, text: str) -> Refused:
        return Refused(one_line(self._names.masked(text), 1000))


class Trial(Database):
    """A database to which a command writes in one transaction, which its end rolls back."""

    _is_begun = False

    def close(self) -> None:
        """See Database."""
        super().close()
        self._is_begun = False

    def _once(self, work: Callable[[Connection], T], *, writes: bool, is_snapshot: bool = False) -> T:
        def call() -> T:
            connection = self.connect()
            if not self._is_begun:
                connection.begin()
                self._is_begun = True
            try:
                return work(connection)
            except BaseException:
                connection.rollback()
                self._is_begun = False
                raise

        return self._call(call)


class Reading(Database):
    """A database that is only read. ``known`` are the secrets of what was read, learned in the same transaction."""

    def __init__(self, location: Location, waits: Waits, masks: Masks) -> None:
        super().__init__(location, patience=waits)
        self._masks = masks
        self.known = list[Known]()

    def read(self, work: Callable[[Connection], T]) -> T:
        """See Database."""
        return self._noted(super().read(self._reading(work)))

    def snapshot(self, work: Callable[[Connection], T]) -> T:
        """See Database."""
        return self._noted(super().snapshot(self._reading(work)))

    def write(self, work: Callable[[Connection], T]) -> T:
        """Refuse it: the command is no question. Raises UsageError."""
        raise UsageError("this tool only reads")

    def _reading(self, work: Callable[[Connection], T]) -> Callable[[Connection], tuple[T, Known]]:
        def reading(connection: Connection) -> tuple[T, Known]:
            connection.refuse_writes()
            found = work(connection)
            return found, self._masks.known(connection, found)

        return reading

    def _noted(self, found: tuple[T, Known]) -> T:
        value, known = found
        self.known.append(known)
        return value


def _as_json(answer: Any) -> Any:
    """The answer as JSON has it, with long texts cut. Raises Refused if it is too long as a whole."""
    text = json.dumps(_cut(json.loads(json.dumps(answer, default=plain))))
    if len(text) > _LONGEST_ANSWER:
        raise Refused(
            f"the answer has {len(text)} characters, and at most {_LONGEST_ANSWER} are sent; ask for less: a smaller"
            " limit, one type, or a shorter time"
        )
    return json.loads(text)


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return _without_middle(value)
    if isinstance(value, Mapping):
        return {_without_middle(name): _cut(each) for name, each in value.items()}
    return [_cut(each) for each in value] if isinstance(value, list) else value


def _without_middle(text: str) -> str:
    """The begin of a long text, and its end, where a traceback has its error. Half a surrogate is no UTF-8."""
    text = storable(text)
    left_out = len(text) - _LONGEST_TEXT
    if left_out <= 0:
        return text
    half = _LONGEST_TEXT // 2
    return f"{text[:half]}\n[{left_out} characters are left out here]\n{text[-half:]}"
