"""Migrates a database to the schema of this code, and checks that the two fit."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from sqlalchemy import Connection as EngineConnection
from sqlalchemy import func, select

from jobrunner.errors import DatabaseUnavailable, JobrunnerError, SchemaMismatch, UsageError
from jobrunner.settings.state_folder import make_private
from jobrunner.store.callers.borrowed import Transaction
from jobrunner.store.callers.callers_transaction import joined
from jobrunner.store.drivers import locks, unreleased_schema
from jobrunner.store.drivers.connection import Connection, DriverError
from jobrunner.store.drivers.database import Database
from jobrunner.store.drivers.lent_connection import engine_on
from jobrunner.store.drivers.location import Location, of_file
from jobrunner.store.drivers.sqlite import WAL, FileConnection, check_version
from jobrunner.store.schema import job_runs
from jobrunner.store.sql.namespace import MARK
from jobrunner.store.sql.versions import SCHEMA_REVISION, VERSION_TABLE
from jobrunner.store.upkeep.check import number_of
from jobrunner.store.upkeep.repair import Inventory
from jobrunner.store.upkeep.repeatable import ALL_BUT_TABLES, PROGRAMS, not_yet_in

_Progress: TypeAlias = Callable[[int, int], None]
_Direction: TypeAlias = Literal["upgrade", "downgrade", "stamp"]
_MIGRATED = "migrated"
MIGRATIONS = Path(__file__).parents[1] / "schema" / "migrations"
_SCHEMAS_OF_NAME = "SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = %(schema)s"


def migrate(database: Database, progress: _Progress = lambda _, __: None) -> list[str]:
    """Migrate the database to this code's schema. Creates a missing SQLite file. Returns what changed, in words.

    Any number of migrations may run at once: one does the work, and the others wait and find it done. What another
    tool has dropped is created again, unless it held rows. Raises JobrunnerError for what cannot be created again, and
    for a table or view of one of our names that is not ours. ``progress`` is called with how many more of the missing
    pieces are made, and of how many.
    """
    if database.location.is_missing():
        return [_MIGRATED] if create_file(database) else []
    with _reported_in_one_line(database):
        _set_wal(database)
        return database.write(lambda connection: _upgrade(connection, database.location, progress))


def migrate_in(transaction: Transaction) -> bool:
    """Migrate in the caller's own transaction. Returns whether anything changed. Raises JobrunnerError."""
    try:
        with joined(transaction) as connection:
            return bool(_upgrade(connection, Location(None, "of this connection", {}, connection.schema)))
    except DriverError as error:
        reason = str(error.orig).strip().partition("\n")[0]
        raise JobrunnerError(f"the database refused the migration: {reason}") from error.orig


def go_down(database: Database, version: int, *, delete_data: bool) -> bool:
    """Migrate down to an older version; 0 removes everything that jobrunner made. Returns whether anything changed.

    Raises UsageError for a newer version. Without ``delete_data`` it also raises one that says what would be lost.
    """
    if database.location.is_missing():
        raise DatabaseUnavailable(f"there is no database at {database.location.file}")
    with _reported_in_one_line(database):
        return database.write(lambda connection: _downgrade(connection, version, database.location, delete_data))


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


def migration_sql(location: Location) -> str:
    """The SQL that creates the whole schema, for an operator to run. Needs no database."""
    first = "" if location.schema is None else f'CREATE SCHEMA IF NOT EXISTS "{location.schema}";\n\n'
    output = io.StringIO(first if location.file is None else f"{WAL};\n\n")
    output.seek(0, io.SEEK_END)
    afterwards = partial(not_yet_in, dialect_name=location.database, schema=location.schema)
    _run(
        "upgrade",
        "head",
        location.schema,
        sql=True,
        dialect_name=location.database,
        output=output,
        afterwards=afterwards,
    )
    return output.getvalue()


def _upgrade(connection: Connection, location: Location, progress: _Progress = lambda _, __: None) -> list[str]:
    if not connection.traits.has_server:
        check_version()
    with engine_on(connection) as engine:
        _lock(connection)
        _create_schema(connection)
        if unreleased_schema.is_unreleased(connection):
            raise unreleased_schema.refused(location.label)
        found = Inventory(connection, location.label)
        before = _version(connection, engine)
        if found.is_without_tables():
            return _create(connection, engine, found, location)
        if 0 < before < SCHEMA_REVISION:
            found = _migrated(connection, engine, location, "upgrade", "head")
        found.check_names()
        found.check_is_complete()
        repaired = [f"created again: {', '.join(names)}"] if (names := found.repair(progress)) else []
        if before == 0:
            _run("stamp", "head", connection.schema, connection=engine)
    return repaired if before == SCHEMA_REVISION else [_MIGRATED, *repaired]


def _create(connection: Connection, engine: EngineConnection, found: Inventory, location: Location) -> list[str]:
    """Create everything where there is none of our tables."""
    found.check_names()
    had_tables = not found.is_empty()
    found.remove("view", "function")
    found.forget_version()
    _migrated(connection, engine, location, "upgrade", "head")
    return [_MIGRATED, "its tables were gone, and all runs with them"] if had_tables else [_MIGRATED]


def _migrated(
    connection: Connection, engine: EngineConnection, location: Location, direction: _Direction, revision: str
) -> Inventory:
    """Run migrations, then make the views, functions and triggers again from this code. Returns what is there then.

    A view or a trigger that reads a column would stand in the way of its change, so they go before. Roles keep their
    rights on the views.
    """
    found = Inventory(connection, location.label)
    rights = found.rights_on_views()
    found.remove("view", "trigger")
    _run(direction, revision, connection.schema, connection=engine)
    # An older schema may have no column for an index of this code.
    Inventory(connection, location.label).repair(kinds=PROGRAMS if direction == "downgrade" else ALL_BUT_TABLES)
    for right in rights:
        connection.execute(right)
    return Inventory(connection, location.label)


def _downgrade(connection: Connection, version: int, location: Location, delete_data: bool) -> bool:
    with engine_on(connection) as engine:
        _lock(connection)
        return _downgrade_on(connection, engine, version, location, delete_data)


def _downgrade_on(
    connection: Connection, engine: EngineConnection, version: int, location: Location, delete_data: bool
) -> bool:
    found = Inventory(connection, location.label)
    before = _version(connection, engine)
    if version > before:
        raise UsageError(f"the database {location.label} has schema {before}; the way up is: jobrunner migrate")
    was_released = not unreleased_schema.is_unreleased(connection)
    if version > 0 and not was_released:
        raise unreleased_schema.refused(location.label)
    if was_released and before in (0, SCHEMA_REVISION):
        found.check_names()
    if version == before and (version > 0 or found.is_empty()):
        return False
    if not delete_data:
        count = select(func.count()).select_from(job_runs)
        runs = connection.execute(count).scalar_one() if found.has_runs() else 0
        lost = "everything that jobrunner keeps" if version == 0 else f"what schema {version} does not know"
        raise UsageError(
            f"to go down from schema {before} to {version} deletes {lost} in {location.label}"
            f" ({runs} {'run' if runs == 1 else 'runs'}); if that is what you want, add --delete-data"
        )
    if before == 0:
        _run("stamp", "head", connection.schema, connection=engine)
    if version > 0:
        _migrated(connection, engine, location, "downgrade", f"{version:04}")
        return True
    found.remove("view", "trigger")
    if was_released:
        _run("downgrade", "base", connection.schema, connection=engine)
    else:
        found.remove("table")
    found.remove("function")
    connection.execute(f"DROP TABLE {MARK}.{VERSION_TABLE}")
    return True


def _lock(connection: Connection) -> None:
    """Keep other migrations out until the transaction ends."""
    locks.lock_migrations(connection)
    if connection.schema is None:
        # The application may have its own table job_events in an earlier schema. A DROP must not delete that one.
        locks.stay_with(connection, VERSION_TABLE)


def _create_schema(connection: Connection) -> None:
    # Only if it is missing: the right to create schemas is needed even if nothing has to be created.
    named = {"schema": connection.schema}
    if connection.schema is not None and not connection.execute(_SCHEMAS_OF_NAME, named).all():
        connection.execute(f'CREATE SCHEMA "{connection.schema}"')


def _version(connection: Connection, engine: EngineConnection) -> int:
    """The version of the schema, or 0 for none."""
    from alembic.migration import MigrationContext

    options = {"version_table": VERSION_TABLE, "version_table_schema": connection.schema}
    revision = MigrationContext.configure(engine, opts=options).get_current_revision()
    version = 0 if revision is None else number_of(revision)
    if version > SCHEMA_REVISION:
        raise SchemaMismatch("the database's schema is newer than this jobrunner; upgrade jobrunner first")
    return version


def _set_wal(database: Database) -> None:
    if database.location.file is not None:
        database.outside(lambda connection: cast(FileConnection, connection).set_wal())


@contextmanager
def _reported_in_one_line(database: Database) -> Iterator[None]:
    """Report an error in one line: a name may be taken, or an application's view may use our tables."""
    try:
        yield
    except DriverError as error:
        reason = str(error.orig).strip().partition("\n")[0]
        raise JobrunnerError(
            f"the database {database.location.label} refused the migration and is as it was: {reason}"
        ) from None


def _run(
    direction: _Direction,
    revision: str,
    schema: str | None,
    *,
    sql: bool = False,
    **attributes: Any,
) -> None:
    from alembic.config import Config

    from alembic import command

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes.update(attributes, schema=schema)
    getattr(command, direction)(config, revision, sql=sql)
