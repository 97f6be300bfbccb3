"""Closes a database for each change, by triggers, so that its rows can be read in peace and moved to another one.

Applications, older programs and SQL by hand are stopped by them, too. All of it is one transaction: a change is either
seen by it, or fails.
"""

from __future__ import annotations

from sqlalchemy import Table, func, select, update

from jobrunner.lifecycle import Status
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.failures import CLOSED
from jobrunner.store.drivers.moved import MARKED, Mark, read_mark
from jobrunner.store.schema import job_runs, job_state, metadata
from jobrunner.store.sql.dialect import refusing
from jobrunner.store.sql.dialect.values import now
from jobrunner.store.sql.versions import MOVED_CODE, OLDEST_CODE_OF, SCHEMA_REVISION

TABLES: tuple[Table, ...] = tuple(
    each for each in metadata.sorted_tables if each.name not in ("job_state", "job_locks")
)
"""The tables that are moved, each after those to which it refers."""
_NAMES = [table.name for table in TABLES]


def at_work(connection: Connection) -> int:
    """How many runs are at work under a lease that has not ended. Expects any transaction."""
    columns = job_runs.c
    count = select(func.count()).where(columns.status == Status.RUNNING, columns.locked_until > now())
    return int(connection.execute(count).scalar_one())


def mark_of(connection: Connection) -> Mark | None:
    """The mark of this database, if it has one. Expects any transaction."""
    return read_mark(connection.execute(MARKED).one().moved)


def set_mark(connection: Connection, mark: Mark | None) -> None:
    """Note how far a move is. With a mark no program uses the database, and without one all do."""
    is_open = mark is None or (mark.role == "to" and mark.is_done)
    code = OLDEST_CODE_OF[SCHEMA_REVISION] if is_open else MOVED_CODE
    connection.execute(update(job_state).values(moved=None if mark is None else mark.written(), oldest_code=code))


def close(connection: Connection, mark: Mark) -> bool:
    """Let nobody change the rows from now on. False: runs are at work, and nothing was done.

    On PostgreSQL it waits for the transactions of others on these tables. Raises DriverError if the role does not own
    the tables.
    """
    for statement in refusing.locks(connection.database, _NAMES):
        connection.execute(statement)
    if at_work(connection):
        return False
    message = f"{CLOSED} are being moved to {mark.other}, or were moved there"
    for statement in refusing.refuse(connection.database, _NAMES, message):
        connection.execute(statement)
    set_mark(connection, mark)
    return True


def reopen(connection: Connection) -> None:
    """Undo ``close``."""
    for statement in refusing.allow(connection.database, _NAMES):
        connection.execute(statement)
    set_mark(connection, None)
