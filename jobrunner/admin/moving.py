"""move: all rows of a database into another one, of the same or of the other kind.

The old database is closed first, so that what is read is all there is. Each slice is one transaction of the new one,
which also notes how far it is: a move that was stopped goes on there. The new database is opened when all is compared,
and then the old one is marked as moved. There is no instant at which programs can use both.
"""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from jobrunner import clock
from jobrunner.errors import DatabaseMoved, JobrunnerError, UsageError
from jobrunner.model import Actor
from jobrunner.store.changes import closing, moving
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database
from jobrunner.store.drivers.moved import Mark
from jobrunner.store.queue import pauses
from jobrunner.store.queue.ticks import audit, tallies
from jobrunner.store.upkeep.check import check_schema
from jobrunner.text import one_line
from jobrunner.verify.known import Kept
from jobrunner.verify.verifier import Scope, Verdict, verify

_SLICE = 500
_LOOK_SECONDS = 0.5
_ACTION = "move"

Report = Callable[..., None]


@dataclass(frozen=True)
class Moved:
    """How many rows were moved, and what ``verify`` says of the new database."""

    rows: int
    verdict: Verdict


def move(source: Database, target: Database, actor: Actor, kept: Kept, wait: timedelta, report: Report) -> Moved:
    """Move everything, or go on where an earlier call was stopped.

    Raises UsageError if the target has rows of its own, and JobrunnerError if runs are still at work after ``wait``, or
    if both databases do not hold the same at the end. The target must be migrated.
    """
    # Before anything is closed.
    begun = source.read(closing.mark_of)
    if begun is None or begun.role == "to" or not begun.is_done:
        target.read(partial(_part, target=target, mark=begun))
    mark = _close(source, target, actor, wait)
    source.hit("move.closed")
    if mark.is_done:
        raise UsageError(f"this database was moved to {mark.other} already")
    rows = _counts(source)
    if _prepare(source, target, mark):
        # Programs may have deleted rows there since, so it is not compared again.
        verdict = verify(target, Scope(kept))
    else:
        _copy(source, target, sum(rows.values()), report)
        verdict = _compared(source, target, rows, kept)
        target.write(
            partial(_open, mark=mark, state=source.read(moving.state_of), actor=actor, rows=sum(rows.values()))
        )
        target.hit("move.opened")
    source.write(partial(closing.set_mark, mark=mark._replace(is_done=True)))
    return Moved(sum(rows.values()), verdict)


def undo(source: Database) -> str | None:
    """Open a database again whose move was not finished. Returns where it was moved to, or None: there is no move.

    Raises UsageError if the move is finished.
    """

    def work(connection: Connection) -> str | None:
        try:
            check_schema(connection)
        except DatabaseMoved:
            mark = closing.mark_of(connection)
        else:
            return None
        if mark is None or mark.role == "to":
            return None
        if mark.is_done:
            raise UsageError(
                f"the move to {mark.other} is finished, and programs may have worked there; to come back, move that"
                " database into a new one"
            )
        closing.reopen(connection)
        return mark.other

    return source.write(work)


def _close(source: Database, target: Database, actor: Actor, wait: timedelta) -> Mark:
    """Close the source once nothing is at work. Returns its mark."""
    wanted = Mark("from", secrets.token_hex(8), target.location.label)
    give_up_at = clock.elapsed() + wait.total_seconds()
    while True:
        mark = source.write(partial(_closed, wanted=wanted))
        if mark is not None:
            return _same(mark, wanted)
        # So that nothing new begins meanwhile.
        source.write(partial(pauses.pause, kind="all", name="", actor=actor._replace(reason=_why(wanted))))
        if clock.elapsed() >= give_up_at:
            count = source.read(closing.at_work)
            raise JobrunnerError(
                f"{count} run{'s are' if count != 1 else ' is'} still at work; everything is paused, so that no other"
                " begins: call this again when they have ended (jobrunner runs --status running), or go on without a"
                " move: jobrunner resume --all"
            )
        clock.sleep(_LOOK_SECONDS)


def _why(mark: Mark) -> str:
    """The reason of the pause that a move makes. By it the new database knows that the pause may end."""
    return one_line(f"jobrunner move to {mark.other}")


def _closed(connection: Connection, wanted: Mark) -> Mark | None:
    """The mark of the source, which is closed. None: runs are at work."""
    mark = closing.mark_of(connection)
    if mark is not None and not (mark.role == "to" and mark.is_done):
        return mark
    return wanted if closing.close(connection, wanted) else None


def _same(mark: Mark, wanted: Mark) -> Mark:
    if mark.role == "to":
        raise UsageError(f"this database is being filled from {mark.other}; it cannot be moved before that is done")
    if mark.other != wanted.other:
        what = "was moved" if mark.is_done else "is being moved"
        hint = "" if mark.is_done else "; go on with that, or give it up: jobrunner move --undo"
        raise UsageError(f"this database {what} to {mark.other}, not to {wanted.other}{hint}")
    return mark


def _prepare(source: Database, target: Database, mark: Mark) -> bool:
    """Close the target for all programs but this one. Returns whether this move has filled and opened it already."""
    tops = source.read(moving.highest_ids)

    def work(connection: Connection) -> bool:
        there = _part(connection, target, mark)
        if there is None:
            # First of all, so that whoever writes there already gets other ids.
            moving.reserve_ids(connection, tops)
            closing.set_mark(connection, Mark("to", mark.token, source.location.label))
        return there is not None and there.is_done

    return target.write(work)


def _part(connection: Connection, target: Database, mark: Mark | None) -> Mark | None:
    """The mark of a target that a move with this mark has begun to fill. None: it is empty.

    Raises UsageError if it is neither of both.
    """
    there, label = closing.mark_of(connection), target.location.label
    if there is not None and mark is not None and there.token == mark.token:
        return there
    if there is not None and not there.is_done:
        raise UsageError(
            f"{label} holds a part of {there.other} from a move that was given up; remove it first, with"
            " JOBRUNNER_DATABASE_URL set to it: jobrunner downgrade 0 --delete-data"
        )
    filled = [table.name for table in closing.TABLES if moving.has_rows(connection, table)]
    if filled:
        raise UsageError(
            f"{label} has rows of its own in {', '.join(filled)}; a database can only be moved into an empty one"
        )
    return None


def _copy(source: Database, target: Database, total: int, report: Report) -> None:
    there = target.read(closing.mark_of)
    assert there is not None
    names = [table.name for table in closing.TABLES]
    for table in closing.TABLES[names.index(there.table) if there.table else 0 :]:
        after = there.after if table.name == there.table else ()
        while True:
            found = source.read(partial(moving.read_slice, table=table, after=after, limit=_SLICE))
            if not found.rows:
                break
            after = found.after
            target.write(partial(_write, table=table, found=found, mark=there._replace(table=table.name, after=after)))
            target.hit("move.written")
            report(len(found.rows), total)


def _write(connection: Connection, table: Any, found: moving.Slice, mark: Mark) -> None:
    written = moving.write_slice(connection, table, found.rows)
    if _content(table, written) != _content(table, found.rows):
        raise JobrunnerError(f"rows of {table.name} are not the same in both databases; nothing of them was kept")
    closing.set_mark(connection, mark)


def _content(table: Any, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The values of rows, in the order of their keys. JSON counts as what it says."""
    texts = moving.json_columns(table)
    key = [column.name for column in table.primary_key]
    read = [
        {name: json.loads(value) if name in texts and value is not None else value for name, value in row.items()}
        for row in rows
    ]
    return sorted(read, key=lambda row: tuple(row[name] for name in key))


def _counts(database: Database) -> Mapping[str, int]:
    """How many rows each table has."""
    return {table.name: database.read(partial(moving.count, table=table)) for table in closing.TABLES}


def _compared(source: Database, target: Database, rows: Mapping[str, int], kept: Kept) -> Verdict:
    """Compare how many rows each table has, and what ``verify`` finds. Returns what it finds in the target."""
    there = _counts(target)
    if fewer := sorted(name for name, count in rows.items() if there[name] < count):
        raise JobrunnerError(f"{target.location.label} has fewer rows of {', '.join(fewer)}; it stays closed")
    of_source, of_target = (verify(database, Scope(kept)) for database in (source, target))
    if _broken(of_target) - _broken(of_source):
        raise JobrunnerError(f"{target.location.label}: {of_target.sentence}, and the old one has not; it stays closed")
    return of_target


def _broken(verdict: Verdict) -> Counter[tuple[str, str]]:
    return Counter((each.promise, each.subject) for each in verdict.breaches)


def _open(connection: Connection, mark: Mark, state: Mapping[str, Any], actor: Actor, rows: int) -> None:
    """Let programs use the target."""
    there = closing.mark_of(connection)
    assert there is not None
    moving.set_state(connection, state)
    moving.correct_gates(connection)
    closing.set_mark(connection, there._replace(is_done=True))
    if any((each.kind, each.reason) == ("all", _why(mark)) for each in pauses.listed(connection)):
        pauses.resume(connection, "all", "", actor)
    detail = {"from": there.other, "rows": rows}
    audit.record(connection, [audit.event(actor, _ACTION, None, detail, tallies.now(connection))])
