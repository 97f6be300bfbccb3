"""Archives: ended runs as JSON lines in a file, deleted only once the file is on the disk, and put back from it.

A line has a run and its attempts. JSON columns are in it as the database has them, so no number is rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import msgspec

from jobrunner import failpoints
from jobrunner.admin.archive_file import HEAD, batches, instant_of, new_file, parts_of, refused
from jobrunner.lifecycle import FINISHED
from jobrunner.model import Actor
from jobrunner.store.changes import archive
from jobrunner.store.changes.archive import JSON_COLUMNS, Archived, Batch, CannotRestore, Ended, Position
from jobrunner.store.drivers.connection import Connection, DriverError
from jobrunner.store.drivers.database import Database
from jobrunner.store.queue.ticks import tallies
from jobrunner.text import iso_instant, one_line

_BATCH = 500


@dataclass(frozen=True)
class Written:
    """How many runs are in the file, and how many are not, because their attempts are not counted yet."""

    runs: int
    left_out: int


@dataclass(frozen=True)
class Deleted:
    """How many runs were deleted. ``stay`` were retried, have a slot to come, or are gone already.

    ``refused`` says why the database keeps others.
    """

    deleted: int
    stay: int
    refused: str | None


def write(
    database: Database,
    before: datetime | timedelta,
    job_types: Sequence[str],
    file: Path,
    report: Callable[[int], None],
) -> Written:
    """Write the runs that ended before a time to a new file. Raises UsageError if it exists.

    The file appears under its name as a whole, when all of it is on the disk.
    """
    while database.write(tallies.fold):
        pass
    instant = database.read(tallies.now) - before if isinstance(before, timedelta) else before
    count = left_out = 0
    with new_file(file) as draft:
        draft.stream.write(msgspec.json.encode(HEAD | {"before": iso_instant(instant)}) + b"\n")
        for batch in _read(database, instant, job_types):
            draft.stream.writelines(map(_line, batch.runs))
            count, left_out = count + len(batch.runs), left_out + batch.left_out
            report(len(batch.runs))
        draft.is_wanted = count > 0
    failpoints.hit("archive.written")
    return Written(count, left_out)


def _read(database: Database, before: datetime, job_types: Sequence[str]) -> Iterator[Batch]:
    for status in FINISHED:
        after: Position | None = None
        while True:
            work = partial(archive.read, status=status, before=before, job_types=job_types, after=after, limit=_BATCH)
            batch = database.read(work)
            after = batch.after
            if after is None:
                break
            yield batch


def _line(archived: Archived) -> bytes:
    run = parts_of(archived.run, JSON_COLUMNS)
    return msgspec.json.encode({"run": run, "schedule": archived.schedule, "attempts": archived.attempts}) + b"\n"


def delete(database: Database, file: Path, actor: Actor, report: Callable[[int], None]) -> Deleted:
    """Delete the runs that the file holds and that have not changed since, by the rules of retention.

    It may be repeated.
    """
    deleted = seen = 0
    refused, before = None, instant_of(file)
    database.write(partial(archive.note, actor=actor, action="archive runs", file=file, before=before))
    for archived in batches(file, _BATCH):
        ended = [Ended(each.run["id"], each.run["status"], each.run["finished_at"]) for each in archived]
        count, why = database.write(partial(archive.delete, ended=ended, before=before))
        database.hit("archive.deleted")
        deleted, seen, refused = deleted + count, seen + len(ended), refused or why
        report(len(ended))
    return Deleted(deleted, seen - deleted, refused)


def restore(database: Database, file: Path, actor: Actor, report: Callable[[int], None]) -> tuple[int, int]:
    """Put the runs of the file back: how many, and how many were there already.

    Every line is tried before the first is kept. Raises UsageError, which names the file and the line.
    """
    for archived in batches(file, _BATCH):
        _try(database, file, archived)
    # First, so that the row is there whatever becomes of the rest.
    note = partial(archive.note, actor=actor, action="archive restore", file=file, before=instant_of(file))
    database.write(note)
    restored = seen = 0
    for archived in batches(file, _BATCH):
        try:
            restored += database.write(partial(archive.restore, archived=archived))
        except CannotRestore as error:
            raise refused(file, error.line, f"{error}; {restored} runs of the lines before are restored") from None
        seen += len(archived)
        report(len(archived))
    return restored, seen - restored


class _Tried(Exception):
    """Ends the transaction without a commit."""


def _try(database: Database, file: Path, archived: Sequence[Archived]) -> None:
    """Raise UsageError if these runs cannot be restored. It writes nothing that lasts."""

    def work(connection: Connection) -> None:
        archive.restore(connection, archived, is_trial=True)
        raise _Tried

    try:
        database.write(work)
    except _Tried:
        return
    except CannotRestore as error:
        raise refused(file, error.line, f"{error}; nothing was restored") from None
    except (DriverError, ValueError, TypeError, OverflowError) as error:
        if len(archived) > 1:
            # One of them; the error does not say which.
            for each in archived:
                _try(database, file, [each])
        reason = one_line(str(getattr(error, "orig", error)).partition("\n")[0], 200)
        raise refused(file, archived[0].line, f"the database refuses it: {reason}; nothing was restored") from None
