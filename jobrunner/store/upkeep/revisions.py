"""The migrations as Alembic knows them, and the version that it keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from sqlalchemy import Connection as EngineConnection

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.schema_fit import number_of
from jobrunner.store.sql.versions import VERSION_TABLE

Direction: TypeAlias = Literal["upgrade", "downgrade", "stamp"]
MIGRATIONS = Path(__file__).parents[1] / "schema" / "migrations"


def version(connection: Connection, engine: EngineConnection) -> int:
    """The version of the schema, or 0 for none. It may be newer than this code."""
    from alembic.migration import MigrationContext

    options = {"version_table": VERSION_TABLE, "version_table_schema": connection.schema}
    revision = MigrationContext.configure(engine, opts=options).get_current_revision()
    return 0 if revision is None else number_of(revision)


def slices(database: str) -> Mapping[int, Sequence[str]]:
    """The statements by which each migration changes rows in slices, the first migration first."""
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory(str(MIGRATIONS)).walk_revisions()
    found = {number_of(each.revision): getattr(each.module, "SLICES", {}).get(database, ()) for each in scripts}
    return {number: found[number] for number in sorted(found) if found[number]}


def run(direction: Direction, revision: str, schema: str | None, *, sql: bool = False, **attributes: Any) -> None:
    """Run Alembic's command. ``attributes`` are what its env.py needs."""
    from alembic.config import Config

    from alembic import command

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes.update(attributes, schema=schema)
    getattr(command, direction)(config, revision, sql=sql)
