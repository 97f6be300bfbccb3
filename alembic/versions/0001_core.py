"""The core: definitions, runs, keys, attempts, ticks, events, and what is due."""

import re
from pathlib import Path

from alembic import context, op
from jobrunner.store.drivers import notify
from jobrunner.store.sql import conditions
from jobrunner.store.sql.dialect import ddl, parents
from jobrunner.store.sql.dialect.application_functions import application_removal, application_statements
from jobrunner.store.sql.dialect.enqueue_function import enqueue_removal, enqueue_statements
from jobrunner.store.sql.dialect.gates import gate_removal, gate_statements
from jobrunner.store.sql.namespace import qualifier

revision = "0001"
down_revision = None

STALE = "(asked_at IS NULL OR asked_at <= {now} - {ten_minutes} OR asked_at > {now} + {ten_minutes})"
PARTS = {
    "stale": STALE,
    "unpaused": conditions.all_of(conditions.UNPAUSED),
    "waiting": conditions.CLAIM["waiting"],
    "behind_gate": conditions.BEHIND_GATE,
    "gate_of_limits": conditions.GATE_OF_LIMITS,
    "known_gate": conditions.BEHIND_KNOWN_GATE.replace("{runs}", "gates"),
    "behind_parents": conditions.BEHIND_PARENTS.replace("{runs}", "looked"),
    "claimable": conditions.all_of(conditions.CLAIM),
    "expandable": conditions.all_of(conditions.EXPAND),
}

NAMES = (
    "notices",
    "effects",
    "totals",
    "tallies",
    "events",
    "hosts",
    "ticks",
    "attempts",
    "parents",
    "pauses",
    "gates",
    "limits",
    "types",
    "locks",
    "keys",
    "runs",
    "definitions",
    "state",
)
VIEW_NAMES = (
    "stuck",
    "dead",
    "due",
    "overdue",
    "recoverable",
    "expandable",
    "stray_dependants",
    "stray_gates",
    "waited_gates",
    "open_gates",
    "open_limits",
    "gated",
    "claimable",
)


def upgrade() -> None:
    for statement in statements(op.get_context().dialect.name, context.config.attributes["schema"]):
        op.execute(statement)


def statements(dialect_name: str, schema: str | None) -> list[str]:
    """All that creates the schema, in order. ``jobrunner migrate`` also repairs with them what is missing."""
    words = ddl.ddl_words(dialect_name, schema)
    parts = dict(words)
    for name, part in PARTS.items():
        parts[name] = part.format(**parts)
    return [
        *_split(_checked(_script("runs") + _script("trail"), dialect_name), words),
        *ddl.clock_statements(dialect_name, schema),
        *notify.notify_statements(dialect_name, schema),
        *application_statements(dialect_name, schema),
        *enqueue_statements(dialect_name, schema),
        *parents.note_end(dialect_name, schema),
        *_split(_script("views"), parts),
        *gate_statements(dialect_name, schema),
    ]


def _script(name: str) -> str:
    """SQL with ``{words}`` for what differs from database to database."""
    return Path(__file__).with_name(f"0001_core_{name}.sql").read_text(encoding="utf-8")


def _checked(script: str, dialect_name: str) -> str:
    """With what the types of the columns do not say: each table takes only rows that Python can read."""
    # STRICT tables of SQLite know no lengths.
    script = re.sub(r"VARCHAR\(\d+\)", "TEXT", script) if dialect_name == "sqlite" else script

    def add(table: re.Match[str]) -> str:
        name, columns, storage = table.groups()
        instants, json_columns = (
            re.findall(rf"^  (\w+) {{{kind}}}", columns, re.MULTILINE) for kind in ("time", "json")
        )
        if not instants:
            return table[0]
        condition = ddl.readable(dialect_name, instants, json_columns)
        return (
            f"CREATE TABLE {{schema}}{name} ({columns},\n  CONSTRAINT {name}_readable CHECK ({condition})\n){storage};"
        )

    return re.sub(r"CREATE TABLE {schema}(\w+) \((.*?)\n\)(\{\w+\});", add, script, flags=re.DOTALL)


def downgrade() -> None:
    name, schema = op.get_context().dialect.name, context.config.attributes["schema"]
    before = qualifier(schema)
    for statement in gate_removal(name, schema):
        op.execute(statement)
    for view in VIEW_NAMES:
        op.execute(f"DROP VIEW IF EXISTS {before}job_{view}")
    for statement in (*enqueue_removal(name, schema), *ddl.clock_removal(name, schema)):
        op.execute(statement)
    for table in NAMES:
        op.execute(f"DROP TABLE IF EXISTS {before}job_{table}")
    after = (notify.notify_removal, parents.note_end_removal, application_removal)
    for statement in (each for removal in after for each in removal(name, schema)):
        op.execute(statement)


def _split(script: str, words: dict[str, str]) -> list[str]:
    return [statement.strip().format(**words) for statement in script.split(";\n") if statement.strip()]
