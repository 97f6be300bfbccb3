"""The file of an archive: written as a whole, and read line by line. Refuses what jobrunner cannot have written."""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from jobrunner import failpoints
from jobrunner.errors import JobrunnerError, UsageError
from jobrunner.lifecycle import FINISHED
from jobrunner.settings.whole_file import synchronize_folder
from jobrunner.store.changes.archive import COLUMNS, INSTANTS, JSON_COLUMNS, Archived

HEAD = {"jobrunner_archive": 1}
STATE = "state"
LARGEST_ID = 2**53 - 1
"""The largest whole number that every reader of JSON keeps. The database counts on from the highest id."""
_LARGEST_LINE = 64 * 2**20


@dataclass
class Draft:
    """A file that is being written. It appears under its name only if it is wanted, and as a whole."""

    stream: BinaryIO
    is_wanted: bool = True


@contextmanager
def new_file(file: Path) -> Iterator[Draft]:
    """A new file, which appears when all of it is on the disk. Raises UsageError if it exists."""
    temporary = file.with_name(f".{file.name}.{os.urandom(8).hex()}")
    try:
        with os.fdopen(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as stream:
            draft = Draft(stream)
            yield draft
            stream.flush()
            os.fsync(stream.fileno())
        failpoints.hit("archive.before_link")
        if draft.is_wanted:
            os.link(temporary, file)
    except FileExistsError:
        raise UsageError(f"{file} exists; give a new name") from None
    except OSError as error:
        raise JobrunnerError(f"cannot write {file}: {error.strerror}; nothing was deleted") from None
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()
    synchronize_folder(file.parent)


def parts_of(row: Mapping[str, Any], of_json: Container[str]) -> dict[str, Any]:
    """The columns of a row for a line: of JSON as the database has it."""
    return {name: _raw(value) if name in of_json and value is not None else value for name, value in row.items()}


def _raw(text: str) -> msgspec.Raw:
    # White space between the parts of a JSON text, where a line break may stand. In a string there can be none.
    return msgspec.Raw(text.replace("\n", " ").replace("\r", " ").encode())


def batches(file: Path, size: int) -> Iterator[list[Archived]]:
    """The runs of a file. Raises UsageError, which names the file and the line."""
    _head_of_runs(file)
    decoded = (_archived(file, number, parts) for number, parts in lines_of(file))
    while batch := list(islice(decoded, size)):
        yield batch


def instant_of(file: Path) -> datetime:
    """The instant before which all runs of the file ended. Raises UsageError, as ``batches`` does."""
    head = _head_of_runs(file)
    try:
        return msgspec.json.decode(head["before"], type=datetime)
    except (KeyError, msgspec.MsgspecError):
        raise refused(file, 1, "the instant of the archive is missing, or was changed") from None


def _head_of_runs(file: Path) -> dict[str, msgspec.Raw]:
    if holds_state(file):
        raise UsageError(f"{file} holds no runs; put what it holds into a database with: jobrunner archive restore")
    return head_of(file)


def holds_state(file: Path) -> bool:
    """Whether the file is of ``archive state``."""
    return head_of(file).get("holds") == msgspec.Raw(msgspec.json.encode(STATE))


def head_of(file: Path) -> dict[str, msgspec.Raw]:
    """The first line."""
    try:
        with file.open("rb") as stream:
            head = _decoded(file, 1, stream.readline(_LARGEST_LINE))
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from None
    if head.get("jobrunner_archive") != msgspec.Raw(b"1"):
        raise UsageError(f"{file} is no archive of jobrunner")
    return head


def lines_of(file: Path) -> Iterator[tuple[int, dict[str, msgspec.Raw]]]:
    """The lines after the first, with their numbers."""
    try:
        with file.open("rb") as stream:
            for number, line in enumerate(iter(lambda: stream.readline(_LARGEST_LINE), b""), 1):
                if number > 1:
                    yield number, _decoded(file, number, line)
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from None


def refused(file: Path, number: int, reason: object) -> UsageError:
    """The error for a line that cannot be used."""
    return UsageError(f"{file}, line {number}: {reason}")


def _decoded(file: Path, number: int, line: bytes) -> dict[str, msgspec.Raw]:
    try:
        return msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    except msgspec.DecodeError as error:
        raise refused(file, number, f"{error}; it is no archive of jobrunner, or was cut") from None


def _archived(file: Path, number: int, parts: Mapping[str, msgspec.Raw]) -> Archived:
    try:
        run = _values("job_runs", msgspec.json.decode(parts["run"], type=dict[str, msgspec.Raw]))
        listed = msgspec.json.decode(parts["attempts"], type=list[dict[str, msgspec.Raw]])
        attempts = [_values("job_attempts", each) for each in listed]
        schedule = msgspec.json.decode(parts.get("schedule", b"null"), type=str | None)
        _check(run, attempts)
    except (KeyError, ValueError, msgspec.MsgspecError) as error:
        raise refused(file, number, f"{error}; it is no archive of jobrunner, or was changed") from None
    return Archived(run, attempts, schedule, number)


def _values(table: str, given: Mapping[str, msgspec.Raw]) -> dict[str, Any]:
    if unknown := sorted(given.keys() - COLUMNS[table].keys()):
        raise ValueError(f"{table} has no column {unknown[0][:60]!r} in this version")
    if missing := [name for name, is_needed in COLUMNS[table].items() if is_needed and name not in given]:
        raise ValueError(f"{missing[0]} is missing")
    return {name: value_of(given.get(name), name, JSON_COLUMNS, INSTANTS) for name in COLUMNS[table]}


def value_of(raw: msgspec.Raw | None, name: str, of_json: Container[str], instants: Container[str]) -> Any:
    """The value of a column; of JSON it is the text."""
    if raw is None or bytes(raw) == b"null":
        return None
    if name in of_json:
        return bytes(raw).decode()
    return msgspec.json.decode(raw, type=datetime) if name in instants else msgspec.json.decode(raw)


def _check(run: Mapping[str, Any], attempts: list[dict[str, Any]]) -> None:
    """Raise ValueError for what the database would take, and jobrunner could not work with."""
    if run["status"] not in FINISHED:
        raise ValueError(f"run {run['id']!r} is {run['status']!r}, but an archive holds runs that have ended")
    for row in (run, *attempts):
        if type(row["id"]) is not int or not 1 <= row["id"] <= LARGEST_ID:
            raise ValueError(f"the id {row['id']!r} is not from 1 to {LARGEST_ID}")
    if any(attempt["run_id"] != run["id"] for attempt in attempts):
        raise ValueError(f"an attempt is not of run {run['id']}")
