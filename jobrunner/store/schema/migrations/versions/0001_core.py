"""The tables of the first release, with their indexes and first rows."""

from collections.abc import Iterable
from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None

# In an order in which they can be dropped.
TABLES = (
    *("notices", "effects", "totals", "tallies", "events", "hosts", "ticks", "attempts", "parents", "pauses", "gates"),
    *("limits", "types", "locks", "keys", "runs", "definitions", "state"),
)


def upgrade() -> None:
    script = Path(__file__).with_name(f"0001_core.{op.get_context().dialect.name}.sql").read_text(encoding="utf-8")
    run(script.split(";\n"))


def downgrade() -> None:
    run(f"DROP TABLE IF EXISTS {{schema}}job_{table}" for table in TABLES)


def run(statements: Iterable[str]) -> None:
    schema = op.get_context().version_table_schema
    for statement in statements:
        if statement.strip():
            op.execute(statement.replace("{schema}", "" if schema is None else f'"{schema}".'))
