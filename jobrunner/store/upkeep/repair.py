"""Finds what is missing of our tables and of what belongs to them, and creates again what holds no rows.

Another tool on the same database may have dropped it, such as a migration tool that does not know our tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from jobrunner.errors import JobrunnerError, SchemaMismatch
from jobrunner.store.drivers.connection import Connection, DriverError
from jobrunner.store.schema import metadata
from jobrunner.store.schema.views import views
from jobrunner.store.sql.dialect.enqueue_function import SCHEMA
from jobrunner.store.sql.namespace import MARK
from jobrunner.store.sql.versions import VERSION_TABLE
from jobrunner.store.upkeep import kept_programs
from jobrunner.store.upkeep.repeatable import ALL_BUT_TABLES, PROGRAMS, Piece, pieces

_READS_OURS = re.compile(rf"\b({'|'.join((*metadata.tables, *views.tables))})\b")
_NO_COLUMNS: frozenset[str] = frozenset()
_MOST_ROUNDS = 5

# The definition of an index says only whether it can be used, that of a trigger whether it fires.
_SERVER_OBJECTS = """
WITH ours (schema) AS (SELECT oid FROM pg_namespace WHERE nspname = %(schema)s)
SELECT CASE WHEN relkind IN ('r', 'p') THEN 'table' WHEN relkind = 'v' THEN 'view' WHEN relkind = 'i' THEN 'index'
    ELSE 'other' END AS kind, relname::text AS name,
  CASE WHEN relkind = 'v' THEN pg_get_viewdef(oid) WHEN indisvalid THEN 'valid' ELSE '' END AS definition,
  ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = oid AND attnum > 0 AND NOT attisdropped) AS columns
FROM ours JOIN pg_class ON relnamespace = schema LEFT JOIN pg_index ON indexrelid = oid WHERE relname = ANY(%(names)s)
UNION ALL SELECT 'function', proname::text, prosrc, '{}'
FROM ours JOIN pg_proc ON pronamespace = schema WHERE proname = ANY(%(names)s)
UNION ALL SELECT 'trigger', tgname::text, CASE WHEN tgenabled IN ('O', 'A') THEN 'valid' ELSE '' END, '{}'
FROM ours JOIN pg_class ON relnamespace = schema JOIN pg_trigger ON tgrelid = pg_class.oid WHERE tgname = ANY(%(names)s)
"""
_FILE_OBJECTS = """
SELECT type AS kind, lower(name) AS name,
  CASE WHEN type IN ('index', 'trigger') THEN 'valid' ELSE coalesce(sql, '') END AS definition
FROM sqlite_master
"""
RIGHTS = """
WITH found AS (
  SELECT relname::text AS name, privilege_type AS granted,
    CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END AS option,
    CASE WHEN grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS role
  FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace CROSS JOIN aclexplode(relacl)
  WHERE nspname = %(schema)s AND relkind = 'v' AND relname = ANY(%(names)s) AND grantee <> relowner)
SELECT name, granted, option, role FROM found
UNION SELECT new.name, granted, option, role FROM found
  JOIN (VALUES ('job_limits_in_force', 'job_open_limits'), ('job_claimable_by_host', 'job_claimable'),
    ('job_waiting_types', 'job_claimable'), ('job_unpaused_types', 'job_claimable'),
    ('job_ungated_due', 'job_claimable'), ('job_expandable_by_host', 'job_expandable')) AS new (name, former)
    ON found.name = new.former
  WHERE NOT EXISTS (SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = %(schema)s AND relname = new.name)
"""
"""The rights on the views. One that is new with schema 2 gets those of one that the same roles read."""


class Found(NamedTuple):
    """What the database has of that name. ``definition`` is the text of a view or a function."""

    kind: str
    definition: str
    columns: frozenset[str]


class Inventory:
    """Our pieces, and what the database has of their names. Expects the transaction of a migration.

    Raises JobrunnerError if what has the name of our table of the version is not ours.
    """

    def __init__(self, connection: Connection, label: str) -> None:
        self._connection = connection
        self._label = label
        self._traits = connection.traits
        self._pieces = pieces(connection.database, connection.schema)
        names = [*(piece.name for piece in self._pieces), VERSION_TABLE]
        self._found = _in_server(connection, names) if self._traits.has_server else _in_file(connection)
        self._check_is_ours("table", VERSION_TABLE, ["version_num"])

    def check_names(self) -> None:
        """Raise JobrunnerError if a table or a view of one of our names is not ours."""
        for name, table in metadata.tables.items():
            self._check_is_ours("table", name, [column.name for column in table.columns])
        for piece in self._of_kind("view"):
            self._check_is_ours("view", piece.name, [])

    def is_without_tables(self) -> bool:
        """Whether none of our tables is there."""
        return not any(map(self._has, self._of_kind("table")))

    def is_empty(self) -> bool:
        """Whether nothing of ours is there."""
        return not any(map(self._has, self._pieces)) and ("table", VERSION_TABLE) not in self._found

    def has_programs(self) -> bool:
        """Whether there are views of ours."""
        return any(map(self._has, self._of_kind("view")))

    def has_view(self, name: str) -> bool:
        """Whether there is this view."""
        return ("view", name) in self._found

    def has_runs(self) -> bool:
        """Whether there is a table of runs."""
        return ("table", "job_runs") in self._found

    def check_is_complete(self) -> None:
        """Raise JobrunnerError if a table is missing: its rows cannot be created again."""
        missing = [piece.name for piece in self._of_kind("table") if not self._has(piece)]
        if missing:
            raise JobrunnerError(
                f"the database {self._label} has lost {', '.join(missing)}, but not the other tables of jobrunner;"
                " restore them from a backup, or begin again with empty tables:"
                " jobrunner downgrade 0 --delete-data, then jobrunner migrate"
            )

    def check_is_known(self) -> None:
        """Raise SchemaMismatch if a table has a column that this code does not know: a newer program made it."""
        for name, table in metadata.tables.items():
            if unknown := self._found["table", name].columns - {column.name for column in table.columns}:
                raise SchemaMismatch(
                    f"the database {self._label} has lost its version ({VERSION_TABLE}), and {name} has a column that"
                    f" this jobrunner does not know ({min(unknown)}); run: jobrunner migrate of the newest jobrunner"
                )

    def remove(self, *kinds: str, with_dependants: bool = False) -> None:
        """Drop what is there of these kinds, the last first. ``with_dependants``: also what others made on it."""
        for piece in reversed(self._pieces):
            if piece.kind in kinds and self._has(piece):
                self._drop(piece, with_dependants)

    def forget_version(self) -> None:
        """Drop the table of the version, if it is there."""
        if ("table", VERSION_TABLE) in self._found:
            self._connection.execute(f"DROP TABLE {MARK}.{VERSION_TABLE}")

    def keep_programs(self, version: int) -> None:
        """Keep the views, functions and triggers, which this schema has, for a downgrade."""
        kept_programs.keep(self._connection, version, self._place(), self._names_of(*PROGRAMS))

    def drop_other_functions(self) -> None:
        """Drop functions of our names with other parameters than those that were made last."""
        kept_programs.drop_others(self._connection, self._place(), self._names_of("function"))

    def _place(self) -> str | None:
        return _place(self._connection) if self._traits.has_server else None

    def _names_of(self, *kinds: str) -> list[str]:
        return [piece.name for piece in self._pieces if piece.kind in kinds]

    def rights_on_views(self) -> list[tuple[str, str]]:
        """The views, each with a statement that gives a role a right on it that it has now."""
        if not self._traits.has_server:
            return []
        given = self._connection.execute(RIGHTS, {"schema": self._place(), "names": self._names_of("view")})
        return [(row.name, f"GRANT {row.granted} ON {MARK}.{row.name} TO {row.role}{row.option}") for row in given]

    def wrong(self, kinds: Sequence[str] = ALL_BUT_TABLES) -> list[Piece]:
        """What of these kinds is missing or different."""
        return [piece for piece in self._pieces if piece.kind in kinds and not self._is_right(piece)]

    def repair(self, kinds: Sequence[str], most: int | None = None) -> list[str]:
        """Create again what of these kinds is missing or different, but not more than ``most``. Returns the names."""
        wrong = self.wrong(kinds)[:most]
        for piece in wrong:
            self._create(piece)
        return [f"the row of {piece.name}" if piece.kind == "row" else piece.name for piece in wrong]

    def _of_kind(self, kind: str) -> list[Piece]:
        return [piece for piece in self._pieces if piece.kind == kind]

    def _has(self, piece: Piece) -> bool:
        return (piece.kind, piece.name) in self._found

    def _check_is_ours(self, kind: str, name: str, columns: Sequence[str]) -> None:
        others = [each for each in ("table", "view", "index", "other") if each != kind and (each, name) in self._found]
        found = self._found.get((kind, name))
        if others:
            wrong = f"it is no {kind}"
        elif found is not None and (missing := [each for each in columns if each not in found.columns]):
            wrong = f"it has no column {missing[0]}"
        elif found is not None and kind == "view" and not _READS_OURS.search(found.definition):
            wrong = "it reads none of jobrunner's tables"
        else:
            return
        raise JobrunnerError(
            f"the database {self._label} has a {name} that is not jobrunner's ({wrong}); rename that one, or give"
            f" jobrunner {_own_place(self._connection)}"
        )

    def _is_right(self, piece: Piece) -> bool:
        if piece.kind == "row":
            return bool(self._connection.execute(f"SELECT 1 FROM {MARK}.{piece.name}").all())  # noqa: S608 - our own words
        found = self._found.get((piece.kind, piece.name))
        if found is None:
            return False
        if piece.kind == "function":
            body = re.search(r"(\$\w*\$)(.*)\1", piece.body, re.DOTALL)
            return body is not None and found.definition.split() == self._in_place(body[2]).split()
        if piece.kind == "view":
            return self._is_right_view(piece, found)
        return piece.kind == "table" or found.definition == "valid"

    def _in_place(self, body: str) -> str:
        """The body of a function as it is stored: it may name the schema that the search path gave."""
        if SCHEMA not in body:
            return body
        schema: str = self._connection.execute("SELECT quote_ident(current_schema())").scalar_one()
        return body.replace(SCHEMA, schema)

    def _is_right_view(self, piece: Piece, found: Found) -> bool:
        if self._traits.keeps_texts:
            return found.definition.split() == piece.statement.split()
        try:
            with self._connection.savepoint():
                expected = self._as_shown(piece.body)
                return expected == found.definition or self._settled(expected) == self._settled(found.definition)
        except DriverError as error:
            if getattr(error.orig, "sqlstate", None) not in ("42501", "25006"):
                raise
            return True  # temporary objects are not allowed there, or nothing may be written

    def _settled(self, definition: str) -> str:
        """The text that no longer changes when a view is created from it.

        A dump has the server's text of a view, and a restore creates the view from that. Its text is then another one.
        """
        for _ in range(_MOST_ROUNDS):
            following = self._as_shown(f" AS {definition}")
            if following == definition:
                break
            definition = following
        return definition

    def _as_shown(self, body: str) -> str:
        """How the server shows a view: it keeps no text, and writes one from what it has understood."""
        self._connection.execute(f"CREATE TEMPORARY VIEW jobrunner_expected{body}")
        shown = self._connection.execute("SELECT pg_get_viewdef('pg_temp.jobrunner_expected'::regclass)").scalar_one()
        self._connection.execute("DROP VIEW pg_temp.jobrunner_expected")
        return str(shown)

    def _create(self, piece: Piece) -> None:
        statement = piece.statement
        if self._has(piece):
            if piece.kind in ("view", "function") and not self._traits.keeps_texts:
                # Other views may depend on it.
                statement = statement.replace("CREATE", "CREATE OR REPLACE", 1)
            else:
                self._drop(piece)
        self._connection.execute(statement)

    def _drop(self, piece: Piece, with_dependants: bool = False) -> None:
        others = " CASCADE" if with_dependants and self._traits.has_schemas else ""
        # A migration may have dropped it meanwhile.
        self._connection.execute(f"{dropping(piece, has_server=self._traits.has_server, if_exists=True)}{others}")


def dropping(piece: Piece, *, has_server: bool, if_exists: bool = False) -> str:
    """The statement that drops it."""
    name = f"{MARK}.{piece.name}"
    if piece.kind == "trigger" and has_server:
        # There it belongs to its table, which has the schema.
        name = f"{piece.name} ON {MARK}.{_table_of(piece)}"
    return f"DROP {piece.kind.upper()} {'IF EXISTS ' * if_exists}{name}"


def _table_of(trigger: Piece) -> str:
    found = re.search(r'\bON (?:"[^"]+"\.)?(\w+)', trigger.body)
    assert found is not None
    return found[1]


def _own_place(connection: Connection) -> str:
    if not connection.traits.has_schemas:
        return "a database of its own (JOBRUNNER_DATABASE_URL; on PostgreSQL JOBRUNNER_SCHEMA is enough)"
    return "a schema of its own (JOBRUNNER_SCHEMA)" if connection.schema is None else "another JOBRUNNER_SCHEMA"


def _place(connection: Connection) -> str:
    """The schema of our tables, or the one in which they would be created."""
    schema: str | None = connection.schema or connection.execute("SELECT current_schema()").scalar_one()
    if schema is None:
        raise JobrunnerError("the search path names no schema in which tables can be created; set JOBRUNNER_SCHEMA")
    return schema


def _in_server(connection: Connection, names: Sequence[str]) -> Mapping[tuple[str, str], Found]:
    rows = connection.execute(_SERVER_OBJECTS, {"schema": _place(connection), "names": names})
    return {(row.kind, row.name): Found(row.kind, row.definition, frozenset(row.columns)) for row in rows}


def _in_file(connection: Connection) -> Mapping[tuple[str, str], Found]:
    found = {}
    for row in connection.execute(_FILE_OBJECTS).all():
        columns = _NO_COLUMNS
        if row.kind == "table":
            named = connection.execute("SELECT name FROM pragma_table_xinfo(:table)", {"table": row.name})
            columns = frozenset(named.scalars())
        found[row.kind, row.name] = Found(row.kind, row.definition, columns)
    return found
