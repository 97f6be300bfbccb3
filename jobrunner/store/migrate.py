"""Bringing a database to the schema of this code, and checking that the two serve each other."""

from __future__ import annotations

import io
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, column, select, table

from jobrunner.errors import DatabaseUnavailable, SchemaMismatch
from jobrunner.store import dialect
from jobrunner.store.database import Database
from jobrunner.store.location import Location
from jobrunner.store.schema import CODE_LEVEL, SCHEMA_REVISION, VERSION_TABLE, job_state


def migrate(database: Database) -> bool:
    """Bring the database to this code's schema; create an SQLite file that is not there. True: it changed.

    Any number of migrators may run at once: one works, the others wait and find it done.
    """
    if database.location.is_missing():
        return create_file(database)
    dialect.prepare_file(database.connect())
    return database.write(_upgrade)


def create_file(database: Database) -> bool:
    """Create and migrate an SQLite file, mode 0600, under a temporary name, then link it in place.

    So nobody ever opens a half-made one; the loser of a race finds the winner's. True: ours was linked.
    """
    final = database.location.file
    assert final is not None
    temporary = final.with_name(f".{final.name}.{secrets.token_hex(8)}")
    try:
        final.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise DatabaseUnavailable(f"cannot create the database {final}: {error.strerror}") from None
    try:
        _fill(Database(Location(database.location.url, temporary), patience=database.patience))
        os.link(temporary, final)
        return True
    except FileExistsError:
        return False
    except OSError as error:
        raise DatabaseUnavailable(f"cannot create the database {final}: {error.strerror}") from None
    finally:
        for leftover in (temporary, *(Path(f"{temporary}{suffix}") for suffix in ("-wal", "-shm"))):
            with suppress(FileNotFoundError):
                leftover.unlink()


def _fill(database: Database) -> None:
    try:
        dialect.prepare_file(database.connect())
        database.write(_upgrade)
        # Only the file itself is linked: what still lies in its log must be in it.
        dialect.checkpoint(database.connect())
    finally:
        database.close()


def check_schema(connection: Connection) -> None:
    """Raise SchemaMismatch unless this code and the schema serve each other. Expects any transaction."""
    revision: str | None = connection.execute(
        select(column("version_num")).select_from(table(VERSION_TABLE))
    ).scalar_one_or_none()
    if revision is None or _number(revision) < SCHEMA_REVISION:
        raise SchemaMismatch("the database's schema is older than this jobrunner; run: jobrunner migrate")
    oldest = connection.execute(select(job_state.c.oldest_code)).scalar_one()
    if oldest > CODE_LEVEL:
        raise SchemaMismatch("the database's schema is newer than this jobrunner serves; upgrade jobrunner")


def migration_sql(location: Location) -> str:
    """The SQL that builds the schema from nothing, for a person to run. Needs no database."""
    name = "postgresql" if location.file is None else "sqlite"
    output = io.StringIO(dialect.file_preparation(name))
    output.seek(0, io.SEEK_END)
    _run("head", sql=True, dialect_name=name, output=output)
    return output.getvalue()


def _upgrade(connection: Connection) -> bool:
    dialect.lock_migrations(connection)
    before = _revision(connection)
    if before is not None and before > SCHEMA_REVISION:
        raise SchemaMismatch("the database's schema is newer than this jobrunner; upgrade jobrunner first")
    _run("head", connection=connection)
    return before != SCHEMA_REVISION


def _revision(connection: Connection) -> int | None:
    from alembic.migration import MigrationContext

    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    revision = context.get_current_revision()
    return None if revision is None else _number(revision)


def _number(revision: str) -> int:
    if not revision.isdigit():
        raise SchemaMismatch(f"the table {VERSION_TABLE} does not hold a version of jobrunner's schema")
    return int(revision)


def _run(revision: str, *, sql: bool = False, **attributes: Any) -> None:
    from alembic.config import Config

    from alembic import command

    config = Config()
    config.set_main_option("script_location", str(_script_location()).replace("%", "%%"))
    config.attributes.update(attributes)
    command.upgrade(config, revision, sql=sql)


def _script_location() -> Path:
    package = Path(__file__).resolve().parent.parent
    installed = package / "_alembic"
    return installed if installed.is_dir() else package.parent / "alembic"
