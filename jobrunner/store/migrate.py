"""Migrates a database to the schema of this code, and checks that the two fit."""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, column, exc, func, select, table, text

from jobrunner.errors import DatabaseUnavailable, JobrunnerError, SchemaMismatch, UsageError
from jobrunner.settings.state_folder import make_private
from jobrunner.store.database import Database
from jobrunner.store.dialect.connections import check_version, checkpoint, file_preparation
from jobrunner.store.dialect.statements import lock_migrations, stay_with
from jobrunner.store.location import Location
from jobrunner.store.schema import job_runs, job_state
from jobrunner.store.versions import CODE_LEVEL, SCHEMA_REVISION, VERSION_TABLE


def migrate(database: Database) -> bool:
    """Migrate the database to this code's schema. Creates a missing SQLite file. Returns whether anything changed.

    Any number of migrations may run at once: one does the work, and the others wait and find it done.
    """
    if database.location.is_missing():
        return create_file(database)
    with _reported_in_one_line(database):
        database.prepare()
        return database.write(_upgrade)


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
    temporary = final.with_name(f".{final.name}.{secrets.token_hex(8)}")
    try:
        make_private(final.parent)
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise DatabaseUnavailable(f"cannot create the database {final}: {error.strerror}") from None
    try:
        _fill(Database(Location(database.location.url, temporary), patience=database.waits))
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
        database.prepare()
        database.write(_upgrade)
        # Only the file itself is linked, so everything in its log must be moved into it.
        checkpoint(database.connect())
    finally:
        database.close()


def check_schema(connection: Connection) -> None:
    """Raise SchemaMismatch unless this code and the schema fit. Expects any transaction."""
    revision: str | None = connection.execute(
        select(column("version_num")).select_from(table(VERSION_TABLE))
    ).scalar_one_or_none()
    if revision is None or _number(revision) < SCHEMA_REVISION:
        raise SchemaMismatch("the database's schema is older than this jobrunner; run: jobrunner migrate")
    oldest = connection.execute(select(job_state.c.oldest_code)).scalar_one()
    if oldest > CODE_LEVEL:
        raise SchemaMismatch("the database's schema is too new for this jobrunner; upgrade jobrunner")


def migration_sql(location: Location) -> str:
    """The SQL that creates the whole schema, for a person to run. Needs no database."""
    name = "postgresql" if location.file is None else "sqlite"
    output = io.StringIO(file_preparation(name))
    output.seek(0, io.SEEK_END)
    _run("upgrade", "head", sql=True, dialect_name=name, output=output)
    return output.getvalue()


def _upgrade(connection: Connection) -> bool:
    check_version(connection)
    before = _locked_version(connection)
    _run("upgrade", "head", connection=connection)
    return before != SCHEMA_REVISION


def _downgrade(connection: Connection, version: int, location: Location, delete_data: bool) -> bool:
    before = _locked_version(connection)
    if version > before:
        raise UsageError(f"the database {location.label} has schema {before}; the way up is: jobrunner migrate")
    if version == before:
        return False
    if not delete_data:
        runs = connection.execute(select(func.count()).select_from(job_runs)).scalar_one()
        lost = "everything that jobrunner keeps" if version == 0 else f"what schema {version} does not know"
        raise UsageError(
            f"to go down from schema {before} to {version} deletes {lost} in {location.label}"
            f" ({runs} {'run' if runs == 1 else 'runs'}); if that is what you want, add --delete-data"
        )
    _run("downgrade", f"{version:04}" if version else "base", connection=connection)
    if version == 0:
        connection.execute(text(f"DROP TABLE {VERSION_TABLE}"))
    return True


def _locked_version(connection: Connection) -> int:
    """The version of the schema, or 0 for none. No other migration can change it until this transaction ends."""
    from alembic.migration import MigrationContext

    lock_migrations(connection)
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    revision = context.get_current_revision()
    version = 0 if revision is None else _number(revision)
    if version:
        # The application may have its own table job_events in an earlier schema. A DROP must not delete that one.
        stay_with(connection, VERSION_TABLE)
    if version > SCHEMA_REVISION:
        raise SchemaMismatch("the database's schema is newer than this jobrunner; upgrade jobrunner first")
    return version


@contextmanager
def _reported_in_one_line(database: Database) -> Iterator[None]:
    """Report an error in one line: a name may be taken, or an application's view may use our tables."""
    try:
        yield
    except exc.DBAPIError as error:
        reason = str(error.orig).strip().partition("\n")[0]
        raise JobrunnerError(
            f"the database {database.location.label} refused the migration and is as it was: {reason}"
        ) from None


def _number(revision: str) -> int:
    if not revision.isdigit():
        raise SchemaMismatch(f"the table {VERSION_TABLE} does not hold a version of jobrunner's schema")
    return int(revision)


def _run(direction: Literal["upgrade", "downgrade"], revision: str, *, sql: bool = False, **attributes: Any) -> None:
    from alembic.config import Config

    from alembic import command

    config = Config()
    config.set_main_option("script_location", str(_script_location()).replace("%", "%%"))
    config.attributes.update(attributes)
    getattr(command, direction)(config, revision, sql=sql)


def _script_location() -> Path:
    package = Path(__file__).resolve().parent.parent
    installed = package / "_alembic"
    return installed if installed.is_dir() else package.parent / "alembic"
