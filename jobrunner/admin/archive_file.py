"""Reads an archive line by line, and refuses what jobrunner cannot have written. It knows no database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from jobrunner.errors import UsageError
from jobrunner.lifecycle import FINISHED
from jobrunner.store.archive import COLUMNS, INSTANTS, JSON_COLUMNS, Archived

HEAD = {"jobrunner_archive": 1}
LARGEST_ID = 2**53 - 1
"""The largest whole number that every reader of JSON keeps. The database counts on from the highest id."""
_LARGEST_LINE = 64 * 2**20


def batches(file: Path, size: int) -> Iterator[list[Archived]]:
    """The runs of a file. Raises UsageError, which names the file and the line."""
    try:
        with file.open("rb") as stream:
            head = stream.readline(_LARGEST_LINE)
            if _decoded(file, 1, head).get("jobrunner_archive") != msgspec.Raw(b"1"):
                raise UsageError(f"{file} is no archive of jobrunner")
            numbered = enumerate(iter(lambda: stream.readline(_LARGEST_LINE), b""), 2)
            while batch := [_archived(file, number, line) for number, line in islice(numbered, size)]:
                yield batch
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


def _archived(file: Path, number: int, line: bytes) -> Archived:
    parts = _decoded(file, number, line)
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
    return {name: _value(name, given.get(name)) for name in COLUMNS[table]}


def _value(name: str, raw: msgspec.Raw | None) -> Any:
    if raw is None or bytes(raw) == b"null":
        return None
    if name in JSON_COLUMNS:
        return bytes(raw).decode()
    return msgspec.json.decode(raw, type=datetime) if name in INSTANTS else msgspec.json.decode(raw)


def _check(run: Mapping[str, Any], attempts: list[dict[str, Any]]) -> None:
    """Raise ValueError for what the database would take, and jobrunner could not work with."""
    if run["status"] not in FINISHED:
        raise ValueError(f"run {run['id']!r} is {run['status']!r}, but an archive holds runs that have ended")
    for row in (run, *attempts):
        if type(row["id"]) is not int or not 1 <= row["id"] <= LARGEST_ID:
            raise ValueError(f"the id {row['id']!r} is not from 1 to {LARGEST_ID}")
    if any(attempt["run_id"] != run["id"] for attempt in attempts):
        raise ValueError(f"an attempt is not of run {run['id']}")
