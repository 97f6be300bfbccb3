"""Which right a role of PostgreSQL lacks, after a statement was refused for it."""

from __future__ import annotations

import re

from jobrunner.store.drivers.causes import Cause, Lacking, of_rights
from jobrunner.store.drivers.connection import Connection, DriverError
from jobrunner.store.sql.statement import Row
from jobrunner.store.sql.versions import VERSION_TABLE

# The server says in its own language what was refused. Only the names in it are used.
_LACKING = """
SELECT current_user::text AS role, CASE WHEN relkind = 'S' THEN 'sequence' ELSE 'table' END AS kind,
  quote_ident(nspname) || '.' || quote_ident(relname) AS name, relname::text AS plain,
  array_to_string(ARRAY(SELECT each FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS each
    WHERE NOT has_table_privilege(pg_class.oid, each) AND (each = 'SELECT' OR relkind = 'r')
      AND NOT CASE WHEN each = 'DELETE' THEN false ELSE has_any_column_privilege(pg_class.oid, each) END),
    ' ') AS rights
FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname = coalesce(CAST(%(schema)s AS text), current_schema()) AND relkind IN ('r', 'v')
  AND relname = ANY(CAST(%(names)s AS text[]))
UNION ALL
SELECT current_user::text, 'schema', quote_ident(nspname), nspname::text, 'USAGE'
FROM pg_namespace WHERE nspname = ANY(CAST(%(names)s AS text[])) AND NOT has_schema_privilege(oid, 'USAGE')
UNION ALL
SELECT current_user::text, 'function', oid::regprocedure::text, proname::text, 'EXECUTE'
FROM pg_proc WHERE proname = ANY(CAST(%(names)s AS text[])) AND NOT has_function_privilege(oid, 'EXECUTE')
"""

# A schema of the search path in which our role may look nothing up: the server says that the tables do not exist.
_HIDDEN = """
SELECT current_user::text AS role, quote_ident(nspname) AS name
FROM pg_namespace JOIN pg_class ON relnamespace = pg_namespace.oid AND relname = CAST(%(table)s AS text)
WHERE NOT has_schema_privilege(pg_namespace.oid, 'USAGE')
  AND (nspname = CAST(%(schema)s AS text) OR CAST(%(schema)s AS text) IS NULL
  AND nspname = ANY(string_to_array(replace(replace(current_setting('search_path'), ' ', ''), '"', ''), ',')))
"""


def hidden(connection: Connection) -> Cause | None:
    """The schema whose tables are there, and which our role may not use. Ends every transaction."""
    if connection.database == "sqlite":
        return None
    found = ask_alone(connection, _HIDDEN, table=VERSION_TABLE)
    return of_rights(Lacking(row.role, "schema", row.name, ("USAGE",)) for row in found)


def lacking(connection: Connection, error: BaseException, statement: str) -> Cause | None:
    """The right that was missing, by the names in the error and the words of the statement.

    None: it cannot be found out. It ends every transaction.
    """
    names = re.findall(r"\w+", str(error).splitlines()[0])
    found = ask_alone(connection, _LACKING, names=names)
    # Only the rights that the statement may need: a role that only looks may lack others on purpose.
    needed = {*re.findall(r"SELECT|INSERT|UPDATE|DELETE", statement), "USAGE", "EXECUTE"}
    rights = [(row, tuple(each for each in row.rights.split() if each in needed)) for row in found]
    return of_rights(Lacking(row.role, row.kind, row.name, lacks) for row, lacks in rights if lacks)


def ask_alone(connection: Connection, question: str, **values: object) -> list[Row]:
    """The rows, in a transaction of its own that ends every other one; none if it cannot be asked."""
    try:
        connection.begin(writes=False)
        return connection.execute(question, {"schema": connection.schema, **values}).all()
    except DriverError:
        return []
    finally:
        connection.rollback()
