"""Keeps the views, functions and triggers of the schema that is left, so that a downgrade gives exactly these back.

Those that the newer code makes may read columns that the older schema has not. The ticks of the older release, which is
on the hosts again before a downgrade, go on with what their own release has made.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sqlalchemy import select, update

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.location import Location
from jobrunner.store.schema import job_state
from jobrunner.store.sql.namespace import qualifier

# In an order in which they can be created: the later ones use the earlier ones.
_ON_SERVER = """
SELECT made FROM (
  SELECT 1 AS rank, pg_proc.oid AS number, pg_get_functiondef(pg_proc.oid) AS made
  FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace
  WHERE nspname = %(schema)s AND proname = ANY(%(names)s)
  UNION ALL
  SELECT 2, pg_class.oid,
    'CREATE VIEW ' || quote_ident(nspname) || '.' || quote_ident(relname) || ' AS ' || pg_get_viewdef(pg_class.oid)
  FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE nspname = %(schema)s AND relkind = 'v' AND relname = ANY(%(names)s)
  UNION ALL
  SELECT 3, pg_trigger.oid, pg_get_triggerdef(pg_trigger.oid)
  FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE nspname = %(schema)s AND NOT tgisinternal AND tgname = ANY(%(names)s)
) AS found ORDER BY rank, number
"""
_IN_FILE = "SELECT name, sql AS made FROM sqlite_master WHERE type IN ('view', 'trigger') ORDER BY rowid"
# As ``_all_qualified``: the server names the schema of everything.
_KEEPING = """DO $step$ DECLARE path text := current_setting('search_path'); ours text := {place}; kept text; BEGIN
  PERFORM set_config('search_path', '', true);
  SELECT json_build_object('schema', {version}, 'made_by', json_agg(made))::text INTO kept FROM ({found}) AS listed;
  PERFORM set_config('search_path', path, true);
  UPDATE {table} SET programs = kept;
END $step$"""
# The newest of several with other parameters is ours.
OTHERS = """
SELECT oid::regprocedure::text AS signature FROM (
  SELECT pg_proc.oid, rank() OVER (PARTITION BY proname ORDER BY pg_proc.oid DESC) AS place
  FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace
  WHERE nspname = %(schema)s AND proname = ANY(%(names)s)
) AS found WHERE place > 1
"""


def keep(connection: Connection, version: int, place: str | None, names: Sequence[str]) -> None:
    """Store the programs of these names as those of this schema, in place of others that were kept."""
    if connection.traits.has_server:
        with _all_qualified(connection):
            found = connection.execute(_ON_SERVER, {"schema": place, "names": [*names]}).scalars()
    else:
        found = [row.made for row in connection.execute(_IN_FILE) if row.name in names]
    connection.execute(update(job_state).values(programs=json.dumps({"schema": version, "made_by": found})))


def keeping(version: int, names: Sequence[str], location: Location) -> str:
    """The statement that does what ``keep`` does, for a script."""
    if not location.has_server:
        listed = ", ".join(f"'{name}'" for name in names)
        found = f"SELECT made FROM ({_IN_FILE}) AS found WHERE name IN ({listed})"  # noqa: S608 - our own words
        made = f"json_object('schema', {version}, 'made_by', json_group_array(made))"
        return f"UPDATE job_state SET programs = (SELECT {made} FROM ({found}))"  # noqa: S608 - the same
    return _KEEPING.format(
        found=with_literals(_ON_SERVER, names, location.schema, place="ours"),
        version=version,
        place=_place(location.schema),
        table=f"{qualifier(location.schema)}job_state",
    )


def with_literals(statement: str, names: Sequence[str], schema: str | None, *, place: str | None = None) -> str:
    """A question with the names and the schema in it. ``place`` is an expression for the schema."""
    listed = ", ".join(f"'{name}'" for name in names)
    return statement.replace("%(schema)s", place or _place(schema)).replace("%(names)s", f"ARRAY[{listed}]")


def _place(schema: str | None) -> str:
    return "current_schema()" if schema is None else f"'{schema}'"


def give_back(connection: Connection, version: int) -> None:
    """Create what was kept of this schema, where no view and no trigger is; nothing if another one's was kept."""
    kept = connection.execute(select(job_state.c.programs)).scalar_one()
    connection.execute(update(job_state).values(programs=None))
    found = json.loads(kept or "{}")
    if found.get("schema") != version:
        return
    if connection.traits.has_server:
        # A function may name a view, which is made after it.
        connection.execute("SET LOCAL check_function_bodies = off")
    for statement in found["made_by"]:
        # A driver of PostgreSQL takes a percent sign for a parameter.
        connection.execute(statement.replace("%", "%%") if connection.traits.has_server else statement)


def drop_others(connection: Connection, place: str | None, names: Sequence[str]) -> None:
    """Drop the functions of these names that have other parameters than the newest one."""
    if connection.traits.has_server:
        for signature in connection.execute(OTHERS, {"schema": place, "names": [*names]}).scalars():
            connection.execute(f"DROP FUNCTION {signature}")


@contextmanager
def _all_qualified(connection: Connection) -> Iterator[None]:
    """The server names the schema of everything, so that a later session with another search path finds it."""
    before = connection.execute("SELECT current_setting('search_path')").scalar_one()
    connection.execute("SELECT set_config('search_path', '', true)")
    yield
    connection.execute("SELECT set_config('search_path', %(path)s, true)", {"path": before})
