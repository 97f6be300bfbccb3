"""archive state: what a database holds besides runs, as JSON lines in a file, and put into another database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from jobrunner.admin.archive_file import (
    HEAD,
    LARGEST_ID,
    STATE,
    head_of,
    lines_of,
    new_file,
    parts_of,
    refused,
    value_of,
)
from jobrunner.errors import UsageError
from jobrunner.model import Actor
from jobrunner.store.changes import archive, state_rows
from jobrunner.store.drivers import numbering
from jobrunner.store.drivers.connection import Connection, DriverError
from jobrunner.store.drivers.database import Database
from jobrunner.text import one_line

_BATCH = 500


class _Line(NamedTuple):
    number: int
    kind: str
    row: Mapping[str, Any]


def write(database: Database, file: Path) -> Mapping[str, int]:
    """Write all of it to a new file; how many rows of each kind. Raises UsageError if the file exists."""
    with new_file(file) as draft:

        def work(connection: Connection) -> Counter[str]:
            # It may be tried again.
            draft.stream.seek(0)
            draft.stream.truncate()
            head = HEAD | {"holds": STATE, "highest_run": state_rows.highest_run(connection)}
            draft.stream.write(msgspec.json.encode(head) + b"\n")
            counted = Counter[str]()
            for kind, found in state_rows.read(connection):
                draft.stream.writelines(_encoded(kind, row) for row in found)
                counted[kind] += len(found)
            return counted

        return database.read(work)


def _encoded(kind: str, row: Mapping[str, Any]) -> bytes:
    of_json = state_rows.shape(kind).json_columns
    return msgspec.json.encode({kind: parts_of(row, of_json)}) + b"\n"


def restore(database: Database, file: Path, actor: Actor) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Put the rows of the file into a database without runs: how many of each kind, and how many were there.

    All of it or nothing. Raises UsageError, which names the file and the line.
    """
    top = _highest_run(file)

    def work(connection: Connection) -> tuple[Counter[str], Counter[str]]:
        if state_rows.has_runs(connection):
            raise UsageError(
                f"{database.location.label} has runs already, and the keys and events of {file} could refer to them by"
                " mistake; restore the file into a new database, before any run"
            )
        newest = state_rows.newest_event(connection)
        restored, seen = Counter[str](), Counter[str]()
        for kind, lines in _batches(file):
            restored[kind] += _insert(connection, file, kind, lines, newest)
            seen[kind] += len(lines)
        numbering.reserve(connection, "job_runs", top)
        archive.note(connection, actor, "archive restore", file, None)
        return restored, seen - restored

    return database.write(work)


def _highest_run(file: Path) -> int:
    head = head_of(file)
    try:
        top: int = msgspec.json.decode(head["highest_run"], type=int)
    except (KeyError, msgspec.MsgspecError) as error:
        raise refused(file, 1, f"{error}; it is no archive of jobrunner, or was changed") from None
    if not 0 <= top <= LARGEST_ID:
        raise refused(file, 1, f"highest_run is not from 0 to {LARGEST_ID}")
    return top


def _insert(connection: Connection, file: Path, kind: str, lines: list[_Line], newest: int) -> int:
    try:
        with connection.savepoint():
            return state_rows.insert(connection, kind, [line.row for line in lines], newest)
    except (DriverError, ValueError, TypeError, OverflowError) as error:
        if len(lines) > 1:
            # One of them; the error does not say which.
            return sum(_insert(connection, file, kind, [line], newest) for line in lines)
        reason = one_line(str(getattr(error, "orig", error)).partition("\n")[0], 200)
        raise refused(file, lines[0].number, f"the database refuses it: {reason}; nothing was restored") from None


def _batches(file: Path) -> Iterator[tuple[str, list[_Line]]]:
    decoded = (_decoded(file, number, parts) for number, parts in lines_of(file))
    for kind, lines in groupby(decoded, lambda line: line.kind):
        while batch := list(islice(lines, _BATCH)):
            yield kind, batch


def _decoded(file: Path, number: int, parts: Mapping[str, msgspec.Raw]) -> _Line:
    kind = next(iter(parts), "")
    try:
        if len(parts) != 1 or kind not in state_rows.TABLES:
            raise ValueError(f"{kind[:60]!r} is no kind of row")
        of_kind = state_rows.shape(kind)
        given = msgspec.json.decode(parts[kind], type=dict[str, msgspec.Raw])
        names = {each.name for each in of_kind.columns} | ({"schedule_name"} if of_kind.has_schedule else set())
        if unknown := sorted(given.keys() - names):
            raise ValueError(f"a row of this kind has no {unknown[0][:60]!r} in this version")
        row = {name: value_of(given.get(name), name, of_kind.json_columns, of_kind.instants) for name in names}
        if missing := sorted(name for name in of_kind.needed if row[name] is None):
            raise ValueError(f"{missing[0]} is missing")
        if isinstance(run_id := row.get("run_id"), int) and run_id > LARGEST_ID:
            raise ValueError(f"the id {run_id} is above {LARGEST_ID}")
    except (ValueError, msgspec.MsgspecError) as error:
        raise refused(file, number, f"{error}; it is no archive of jobrunner, or was changed") from None
    return _Line(number, kind, row)
