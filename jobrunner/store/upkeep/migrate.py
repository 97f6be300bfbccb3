"""Migrates a database to the schema of this code, and checks that the two fit."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, cast

from sqlalchemy import Connection as EngineConnection
from sqlalchemy import func, select

from jobrunner.errors import DatabaseUnavailable, JobrunnerError, SchemaMismatch, UsageError
from jobrunner.settings.state_folder import make_private
from jobrunner.store.callers.borrowed import Transaction
from jobrunner.store.callers.callers_transaction import joined
from jobrunner.store.drivers import unreleased_schema
from jobrunner.store.drivers.connection import Connection, DriverError
from jobrunner.store.drivers.database import Database
from jobrunner.store.drivers.lent_connection import engine_on
from jobrunner.store.drivers.location import Location, of_file
from jobrunner.store.drivers.sqlite import FileConnection, check_version
from jobrunner.store.schema import job_runs
from jobrunner.store.sql.namespace import MARK
from jobrunner.store.sql.versions import OLDEST_CODE_OF, SCHEMA_REVISION
from jobrunner.store.upkeep import beside_ticks, kept_programs, revisions
from jobrunner.store.upkeep.check import check_schema, refuse_closed
from jobrunner.store.upkeep.repair import Inventory
from jobrunner.store.upkeep.repeatable import ALL_BUT_LONG, ALL_BUT_TABLES, PROGRAMS

_Progress: TypeAlias = Callable[[int, int], None]
_MIGRATED = "migrated"
_FINISHED = "finished the migration that was begun"
_MAKE_VIEWS = "its views are not known here, so run jobrunner migrate of the version with schema"
_SCHEMAS_OF_NAME = "SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = %(schema)s"


class Migrated(NamedTuple):
    """The version that the schema has, what was changed, in words, and the names of what was created again."""

    version: int
    changes: list[str]
    again: list[str]

    def __str__(self) -> str:
        if self.version > SCHEMA_REVISION:
            return f"up to date: its schema {self.version} is newer than this jobrunner's {SCHEMA_REVISION}, and fits"
        again = [f"created again: {', '.join(self.again)}"] if self.again else []
        return "; ".join([*self.changes, *again]) or "up to date"


def migrate(database: Database, progress: _Progress = lambda _, __: None) -> Migrated:
    """Migrate the database to this code's schema. Creates a missing SQLite file. Returns what changed.

    Any number of migrations may run at once: one does the work, and the others wait and find it done. What another
    tool has dropped is created again, unless it held rows. A newer schema that works with this code is left as it is.
    Raises JobrunnerError for what cannot be created again, and for a table or view of one of our names that is not
    ours. ``progress`` is called with how many more of the missing pieces are made, and of how many.
    """
    if database.location.is_missing():
        return Migrated(SCHEMA_REVISION, [_MIGRATED] if create_file(database) else [], [])
    with _reported_in_one_line(database):
        _set_wal(database)
        changes = [_FINISHED] if beside_ticks.finish(database) else []
        done = beside_ticks.soon(database, lambda connection: _upgrade(connection, database.location))
        if done.version > SCHEMA_REVISION:
            return done
        indexes = beside_ticks.make_indexes(database, progress)
        beside_ticks.finish(database)
        # After a migration some of them are new.
        again = [] if done.changes else indexes
        return Migrated(done.version, [*changes, *done.changes], [*done.again, *again])


def migrate_in(transaction: Transaction) -> bool:
    """Migrate in the caller's own transaction. Returns whether anything changed. Raises JobrunnerError."""
    try:
        with joined(transaction) as connection:
            location = Location(None, "of this connection", {}, connection.schema)
            done = _upgrade(connection, location)
            if done.version > SCHEMA_REVISION:
                return False
            indexes = Inventory(connection, location.label).repair(["index"])
            beside_ticks.finish_in(connection)
            return bool(done.changes or done.again or indexes)
    except DriverError as error:
        reason = str(error.orig).strip().partition("\n")[0]
        raise JobrunnerError(f"the database refused the migration: {reason}") from error.orig


def go_down(database: Database, version: int, *, delete_data: bool) -> str:
    """Migrate down to an older version; 0 removes everything that jobrunner made. Returns what was done, in words.

    Raises UsageError for a newer version. Without ``delete_data`` it also raises one that says what would be lost.
    """
    if database.location.is_missing():
        raise DatabaseUnavailable(f"there is no database at {database.location.file}")
    with _reported_in_one_line(database):
        beside_ticks.finish(database)
        return beside_ticks.soon(
            database, lambda connection: _downgrade(connection, version, database.location, delete_data)
        )


def create_file(database: Database) -> bool:
    """Create and migrate an SQLite file with mode 0600 under a temporary name, then link it to its name.

    So no process opens an unfinished file. If two processes do this at once, one link fails, and its process uses the
    other file. Returns whether our file was linked.
    """
    final = database.location.file
    assert final is not None
    temporary = final.with_name(f".{final.name}.{os.urandom(8).hex()}")
    try:
        make_private(final.parent)
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise DatabaseUnavailable(f"cannot create the database {final}: {error.strerror}") from None
    try:
        _fill(Database(of_file(temporary), patience=database.waits))
        os.link(temporary, final)
        return True
    except FileExistsError:
        if database.location.is_missing():
            raise DatabaseUnavailable(f"cannot create the database {final}: it is a link to nothing") from None
        return False
    except OSError as error:
        raise DatabaseUnavailable(f"cannot create the database {final}: {error.strerror}") from None
    finally:
        for leftover in (temporary, *(Path(f"{temporary}{suffix}") for suffix in ("-wal", "-shm"))):
            with suppress(FileNotFoundError):
                leftover.unlink()


def _fill(database: Database) -> None:
    try:
        _set_wal(database)
        database.write(lambda connection: _upgrade(connection, database.location))
        # Only the file itself is linked, so everything in its log must be moved into it.
        database.outside(lambda connection: cast(FileConnection, connection).checkpoint())
    finally:
        database.close()


def _upgrade(connection: Connection, location: Location) -> Migrated:
    """Everything but the indexes of tables that are there, and the slices of the newest migration."""
    if not connection.traits.has_server:
        check_version()
    with engine_on(connection) as engine:
        beside_ticks.lock(connection)
        _create_schema(connection)
        if unreleased_schema.is_unreleased(connection):
            raise unreleased_schema.refused(location.label)
        found = Inventory(connection, location.label)
        before = revisions.version(connection, engine)
        refuse_closed(connection, before, location.label)
        if before > SCHEMA_REVISION:
            # What a newer program has made is no damage. It must only be known to work with this one.
            return Migrated(check_schema(connection), [], [])
        if found.is_without_tables():
            return Migrated(SCHEMA_REVISION, _create(connection, engine, found, location), [])
        if 0 < before < SCHEMA_REVISION:
            found = _migrated(connection, engine, location, "upgrade", before, SCHEMA_REVISION)
        found.check_names()
        found.check_is_complete()
        if before == 0:
            found.check_is_known()
        again = found.repair(ALL_BUT_LONG)
        if before == 0:
            revisions.run("stamp", "head", connection.schema, connection=engine)
    return Migrated(SCHEMA_REVISION, [] if before == SCHEMA_REVISION else [_MIGRATED], again)


def _create(connection: Connection, engine: EngineConnection, found: Inventory, location: Location) -> list[str]:
    """Create everything where there is none of our tables."""
    found.check_names()
    had_tables = not found.is_empty()
    found.remove("view", "function")
    found.forget_version()
    _migrated(connection, engine, location, "upgrade", 0, SCHEMA_REVISION)
    return [_MIGRATED, "its tables were gone, and all runs with them"] if had_tables else [_MIGRATED]


def _migrated(
    connection: Connection,
    engine: EngineConnection,
    location: Location,
    direction: Literal["upgrade", "downgrade"],
    before: int,
    version: int,
) -> Inventory:
    """Run migrations, then make the views, functions and triggers again from this code. Returns what is there then.

    A view or a trigger that reads a column would stand in the way of its change, so they go before. Roles keep their
    rights on the views.
    """
    found = Inventory(connection, location.label)
    rights = found.rights_on_views()
    if direction == "upgrade" and before:
        found.keep_programs(before)
    found.remove("view", "trigger")
    if direction == "upgrade" and before:
        for each in revisions.slices(connection.database):
            if before < each < version:
                # A release was left out. The next migration may need what this one changes.
                revisions.run("upgrade", f"{each:04}", connection.schema, connection=engine)
                beside_ticks.change_all(connection, each)
        beside_ticks.note_begin(connection, version)
    revisions.run(direction, f"{version:04}", connection.schema, connection=engine)
    connection.execute(f"UPDATE {MARK}.job_state SET oldest_code = {OLDEST_CODE_OF[version]}")  # noqa: S608 - our own words
    if direction == "upgrade":
        # A new database has no rows for which an index could take long.
        Inventory(connection, location.label).repair(PROGRAMS if before else ALL_BUT_TABLES)
    else:
        kept_programs.give_back(connection, version)
    found.drop_other_functions()
    left = Inventory(connection, location.label)
    for view, right in rights:
        # An older schema has fewer views.
        if left.has_view(view):
            connection.execute(right)
    return left


def _downgrade(connection: Connection, version: int, location: Location, delete_data: bool) -> str:
    with engine_on(connection) as engine:
        beside_ticks.lock(connection)
        return _downgrade_on(connection, engine, version, location, delete_data)


def _downgrade_on(
    connection: Connection, engine: EngineConnection, version: int, location: Location, delete_data: bool
) -> str:
    found = Inventory(connection, location.label)
    before = revisions.version(connection, engine)
    if before > SCHEMA_REVISION:
        raise SchemaMismatch("the database's schema is newer than this jobrunner; upgrade jobrunner first")
    if version > before:
        raise UsageError(f"the database {location.label} has schema {before}; the way up is: jobrunner migrate")
    was_released = not unreleased_schema.is_unreleased(connection)
    if version > 0 and not was_released:
        raise unreleased_schema.refused(location.label)
    if was_released and before in (0, SCHEMA_REVISION):
        found.check_names()
    if version == before and (version > 0 or found.is_empty()):
        return "up to date"
    if version > 0:
        # The mark of a move would go, and older code would use the rows that are in another database by now.
        refuse_closed(connection, before, location.label)
    if not delete_data:
        count = select(func.count()).select_from(job_runs)
        runs = connection.execute(count).scalar_one() if found.has_runs() else 0
        lost = "everything that jobrunner keeps" if version == 0 else f"what schema {version} does not know"
        raise UsageError(
            f"to go down from schema {before} to {version} deletes {lost} in {location.label}"
            f" ({runs} {'run' if runs == 1 else 'runs'}); if that is what you want, add --delete-data"
        )
    if version > 0:
        has_programs = _migrated(connection, engine, location, "downgrade", before, version).has_programs()
        return _MIGRATED if has_programs else f"{_MIGRATED}; {_MAKE_VIEWS} {version}"
    found.remove("view", "trigger")
    if was_released and before not in (0, SCHEMA_REVISION):
        # An older schema may have tables that this code does not know.
        revisions.run("downgrade", "base", connection.schema, connection=engine)
    else:
        # Not by the migrations: they would change tables before they drop them, and some may be lost. Views and tables
        # of other names, which were never released, may depend on those of an unreleased state.
        found.remove("table", with_dependants=not was_released)
    found.remove("function")
    found.forget_version()
    return _MIGRATED


def _create_schema(connection: Connection) -> None:
    # Only if it is missing: the right to create schemas is needed even if nothing has to be created.
    named = {"schema": connection.schema}
    if connection.schema is not None and not connection.execute(_SCHEMAS_OF_NAME, named).all():
        connection.execute(f'CREATE SCHEMA "{connection.schema}"')


def _set_wal(database: Database) -> None:
    if not database.location.has_server:
        database.outside(lambda connection: cast(FileConnection, connection).set_wal())


@contextmanager
def _reported_in_one_line(database: Database) -> Iterator[None]:
    try:
        yield
    except DriverError as error:
        raise beside_ticks.refused(database.location.label, error) from None
