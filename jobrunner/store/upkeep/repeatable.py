"""All that the newest schema has, declared. Of it the tables hold rows; everything else can be made again.

Migrations create and change tables. Views, functions, triggers and indexes are made from this code after each
migration, and by each ``jobrunner migrate`` that finds them missing or different.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import resources
from typing import NamedTuple

from sqlalchemy import Index
from sqlalchemy.schema import CreateIndex

from jobrunner.store.drivers import notify
from jobrunner.store.schema import metadata
from jobrunner.store.sql import conditions
from jobrunner.store.sql.compiler import dialect_of
from jobrunner.store.sql.dialect import ddl, fair, parents
from jobrunner.store.sql.dialect.application_functions import application_statements
from jobrunner.store.sql.dialect.due import due_statements
from jobrunner.store.sql.dialect.enqueue_function import SCHEMA, enqueue_statements
from jobrunner.store.sql.dialect.server_functions import server_statements
from jobrunner.store.sql.namespace import MARK, qualified
from jobrunner.store.sql.versions import OLDEST_CODE_OF, SCHEMA_REVISION

_STALE = "(asked_at IS NULL OR asked_at <= {now} - {ten_minutes} OR asked_at > {now} + {ten_minutes})"
_PARTS = {
    "stale": _STALE,
    "unpaused": conditions.all_of(conditions.UNPAUSED),
    "waiting": conditions.CLAIM["waiting"],
    "due": conditions.CLAIM["due"],
    "behind_open_gate": "job_runs.job_type = job_open_gates.job_type AND job_runs.gate = job_open_gates.gate",
    "behind_gate": conditions.BEHIND_GATE,
    "gate_of_limits": conditions.GATE_OF_LIMITS,
    "known_gate": conditions.BEHIND_KNOWN_GATE.replace("{runs}", "gates"),
    "behind_parents": conditions.BEHIND_PARENTS.replace("{runs}", "looked"),
    "claimable": conditions.all_of(conditions.CLAIM),
    "claimable_by_host": conditions.all_of(conditions.CLAIM_OF_HOST),
    "expandable": conditions.all_of(conditions.EXPAND),
    "expandable_by_host": conditions.all_of(conditions.EXPAND_OF_HOST),
}
_CREATED = re.compile(
    rf'^CREATE (VIEW|FUNCTION|TRIGGER) (?:(?:"[\w-]+"|{SCHEMA})\.)?(\w+)(.*)', re.MULTILINE | re.DOTALL
)


PROGRAMS = ("function", "trigger", "view")
ALL_BUT_LONG = ("row", *PROGRAMS)
ALL_BUT_TABLES = ("index", *ALL_BUT_LONG)


class Piece(NamedTuple):
    """Something that the newest schema has. ``body`` is the part of its statement after the name.

    ``kind`` is table, index, view, function, trigger, or row: the first row of a table. A table has no statement: its
    migration creates it.
    """

    kind: str
    name: str
    statement: str = ""
    body: str = ""


def pieces(dialect_name: str, schema: str | None) -> list[Piece]:
    """The newest schema, in an order in which it can be created."""
    tables = metadata.sorted_tables
    oldest = OLDEST_CODE_OF[SCHEMA_REVISION]
    first_row = f"INSERT INTO {MARK}.job_state (id, oldest_code) VALUES (1, {oldest})"  # noqa: S608 - our own words
    return [
        *(Piece("table", table.name) for table in tables),
        Piece("row", "job_state", first_row),
        *(_index(each, dialect_name) for table in tables for each in sorted(table.indexes, key=_name_of)),
        *_created(programs(dialect_name, schema)),
    ]


def not_yet_in(script: str, dialect_name: str, schema: str | None) -> list[str]:
    """What the SQL of the migrations leaves to be made: the indexes that it does not name, and all programs."""
    new = [each for each in pieces(dialect_name, schema) if each.kind == "index" and f" {each.name} " not in script]
    return [*(qualified(each.statement, schema) for each in new), *programs(dialect_name, schema)]


def programs(dialect_name: str, schema: str | None) -> list[str]:
    """The statements that create the functions, triggers and views."""
    parts = ddl.ddl_words(dialect_name, schema)
    parts |= {name: part.format(**parts) for name, part in _PARTS.items()}
    script = (resources.files("jobrunner.store.schema") / "views.sql").read_text(encoding="utf-8")
    return [
        *ddl.clock_statements(dialect_name, schema),
        *notify.notify_statements(dialect_name, schema),
        *server_statements(dialect_name, schema),
        *application_statements(dialect_name, schema),
        *enqueue_statements(dialect_name, schema),
        *parents.note_end(dialect_name, schema),
        *fair.line_up(dialect_name, schema, parts["now"]),
        *(statement.strip().format(**parts) for statement in script.split(";\n") if statement.strip()),
        *due_statements(dialect_name, schema),
    ]


def _name_of(index: Index) -> str:
    return str(index.name)


def _index(index: Index, dialect_name: str) -> Piece:
    statement = str(CreateIndex(index).compile(dialect=dialect_of(dialect_name))).replace(" ON ", f" ON {MARK}.", 1)
    return Piece("index", _name_of(index), statement)


def _created(statements: Iterable[str]) -> list[Piece]:
    found = (_CREATED.search(statement) for statement in statements)
    return [Piece(each[1].lower(), each[2], _statement_of(each), each[3]) for each in found if each is not None]


def _statement_of(created: re.Match[str]) -> str:
    # A comment may stand before it. A DO block is needed as a whole.
    return created.string if created.string.startswith("DO ") else created[0]
