"""What ``migrate`` does beside ticks at work: it waits briefly for each lock, and does what takes long in small parts.

A statement that waits for a table lets every other statement wait behind it. So the transaction of the migrations gives
up soon, lets the ticks go on, and is tried again. Indexes are made after it, on a server without a lock that stops
writers, and rows are changed in slices, each in a transaction of its own. Both go on where they were after a crash.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, TypeVar, cast

from jobrunner import clock
from jobrunner.errors import DatabaseHeld, JobrunnerError
from jobrunner.store.drivers import failures, locks
from jobrunner.store.drivers.connection import Connection, DriverError
from jobrunner.store.drivers.database import Database
from jobrunner.store.drivers.waits import of_build
from jobrunner.store.sql.namespace import MARK, qualified
from jobrunner.store.sql.versions import SCHEMA_REVISION, VERSION_TABLE
from jobrunner.store.upkeep import revisions
from jobrunner.store.upkeep.repair import Inventory
from jobrunner.store.upkeep.repeatable import Piece

if TYPE_CHECKING:
    from jobrunner.store.drivers.postgresql import ServerConnection

T = TypeVar("T")
_PAUSE_SECONDS = 0.5
_UNFINISHED = f"SELECT unfinished FROM {MARK}.job_state WHERE unfinished IS NOT NULL"  # noqa: S608 - our own words
_IS_ON_SERVER = f"""
SELECT count(*) AS is_so FROM pg_attribute
WHERE attrelid = to_regclass('{MARK}.job_state') AND attname = 'unfinished' AND NOT attisdropped
"""  # noqa: S608 - our own words
_IS_IN_FILE = "SELECT count(*) AS is_so FROM pragma_table_xinfo('job_state') WHERE name = 'unfinished'"


def soon(database: Database, work: Callable[[Connection], T]) -> T:
    """Run ``work`` in one write transaction, which is tried again if it does not get a lock soon."""
    give_up_at = clock.elapsed() + database.waits.file
    label = database.location.label

    def once(connection: Connection) -> T:
        try:
            return work(connection)
        except DriverError as error:
            # Elsewhere it means that the schema is another one, which is no news here.
            if failures.is_missing_schema(error) or failures.is_missing_column(error):
                raise refused(label, error) from None
            raise

    while True:
        try:
            return database.write(once)
        except DatabaseHeld:
            if clock.elapsed() > give_up_at:
                raise
        clock.sleep(_PAUSE_SECONDS)


def refused(label: str, error: DriverError) -> JobrunnerError:
    """The error in one line: a name may be taken, or an application's view may use our tables."""
    reason = str(error.orig).strip().partition("\n")[0]
    return JobrunnerError(f"the database {label} refused the migration and is as it was: {reason}")


def lock(connection: Connection) -> None:
    """Keep other migrations out until the transaction ends."""
    locks.lock_migrations(connection)
    if connection.schema is None:
        # The application may have its own table job_events in an earlier schema. A DROP must not delete that one.
        locks.stay_with(connection, VERSION_TABLE)


def make_indexes(database: Database, progress: Callable[[int, int], None]) -> list[str]:
    """Make the indexes that are missing, or that a crash has left half made. Returns their names."""
    wrong = database.read(lambda connection: _wrong_indexes(connection, database.location.label))
    if not wrong:
        return []
    if database.location.has_server:
        return _make_on_server(database, progress)
    for number in range(len(wrong)):
        progress(min(number, 1), len(wrong))
        # One by one: meanwhile nobody can write.
        database.write(lambda connection: Inventory(connection, database.location.label).repair(["index"], most=1))
    return [each.name for each in wrong]


def _make_on_server(database: Database, progress: Callable[[int, int], None]) -> list[str]:
    location = database.location
    waits = of_build(database.waits)

    def make(connection: Connection) -> list[str]:
        lock(connection)
        wrong = _wrong_indexes(connection, location.label)
        place = location.schema or connection.execute("SELECT current_schema()").scalar_one()
        # An open transaction without a snapshot holds up no index that is made concurrently. This is the last one here,
        # because a SELECT keeps its snapshot until the next one.
        connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        for number, each in enumerate(wrong):
            progress(min(number, 1), len(wrong))
            for statement in (f"DROP INDEX CONCURRENTLY IF EXISTS {MARK}.{each.name}", _concurrently(each)):
                _execute_alone(alone, qualified(statement, place))
        return [each.name for each in wrong]

    with closing(Database(location, patience=waits)) as keeper, closing(Database(location, patience=waits)) as alone:
        return soon(keeper, make)


def _execute_alone(database: Database, statement: str) -> None:
    database.outside(lambda connection: cast("ServerConnection", connection).execute_alone(statement))


def _wrong_indexes(connection: Connection, label: str) -> list[Piece]:
    return Inventory(connection, label).wrong(["index"])


def _concurrently(index: Piece) -> str:
    return index.statement.replace(" INDEX ", " INDEX CONCURRENTLY ", 1)


def finish(database: Database) -> bool:
    """Change the rest of the rows that a migration changes in slices. Returns whether any was left.

    Each transaction keeps other migrations out and looks first: a downgrade may have removed the tables meanwhile.
    """
    version = soon(database, _unfinished_alone)
    if version is None:
        return False
    for statement in revisions.slices(database.location.database).get(version, ()):
        while soon(database, partial(_change_unfinished, version, statement)):
            pass
    soon(database, partial(_end_unfinished, version))
    return True


def _unfinished_alone(connection: Connection) -> int | None:
    lock(connection)
    return unfinished_version(connection)


def _change_unfinished(version: int, statement: str, connection: Connection) -> int:
    return _change(statement, connection) if _unfinished_alone(connection) == version else 0


def _end_unfinished(version: int, connection: Connection) -> None:
    if _unfinished_alone(connection) == version:
        _note_end(connection)


def finish_in(connection: Connection) -> None:
    """The same in an open transaction."""
    version = unfinished_version(connection)
    if version is not None:
        change_all(connection, version)
        _note_end(connection)


def change_all(connection: Connection, version: int) -> None:
    """Change all rows that this migration changes in slices, in the open transaction."""
    for statement in revisions.slices(connection.database).get(version, ()):
        while _change(statement, connection):
            pass


def note_begin(connection: Connection, version: int) -> None:
    """Note that the rows of this migration are still to be changed, if it changes any."""
    if version in revisions.slices(connection.database):
        connection.execute(f"UPDATE {MARK}.job_state SET unfinished = '{version:04}'")  # noqa: S608 - our own words


def _note_end(connection: Connection) -> None:
    connection.execute(f"UPDATE {MARK}.job_state SET unfinished = NULL")  # noqa: S608 - our own words


def unfinished_version(connection: Connection) -> int | None:
    """The migration whose slices are not all changed yet, if this code knows it. Expects any transaction."""
    if not connection.execute(_IS_ON_SERVER if connection.traits.has_server else _IS_IN_FILE).scalar_one():
        return None
    found = connection.execute(_UNFINISHED).scalar_one_or_none()
    return int(found) if found is not None and int(found) <= SCHEMA_REVISION else None


def _change(statement: str, connection: Connection) -> int:
    return connection.execute(statement.replace("{schema}", f"{MARK}.")).rowcount
