"""A place to go on from for each run, what each attempt has cost, and where all rows were moved to.

It expands: older programs leave them empty.
"""

from collections.abc import Iterable

from alembic import op

revision = "0002"
down_revision = "0001"

READABLE = "CONSTRAINT job_runs_checkpoint_readable CHECK ((checkpoint IS NULL OR json_valid(checkpoint)))"
UP = {
    "postgresql": [
        "ALTER TABLE {schema}job_runs ADD COLUMN checkpoint JSONB",
        "ALTER TABLE {schema}job_attempts ADD COLUMN peak_memory_bytes BIGINT",
        "ALTER TABLE {schema}job_attempts ADD COLUMN processor_seconds DOUBLE PRECISION",
        "ALTER TABLE {schema}job_state ADD COLUMN moved TEXT",
    ],
    "sqlite": [
        f"ALTER TABLE job_runs ADD COLUMN checkpoint TEXT {READABLE}",
        "ALTER TABLE job_attempts ADD COLUMN peak_memory_bytes INTEGER",
        "ALTER TABLE job_attempts ADD COLUMN processor_seconds REAL",
        "ALTER TABLE job_state ADD COLUMN moved TEXT",
    ],
}
DOWN = {
    "postgresql": [
        "ALTER TABLE {schema}job_state DROP COLUMN moved",
        "ALTER TABLE {schema}job_attempts DROP COLUMN processor_seconds",
        "ALTER TABLE {schema}job_attempts DROP COLUMN peak_memory_bytes",
        "ALTER TABLE {schema}job_runs DROP COLUMN checkpoint",
    ],
    "sqlite": [
        "ALTER TABLE job_state DROP COLUMN moved",
        "ALTER TABLE job_attempts DROP COLUMN processor_seconds",
        "ALTER TABLE job_attempts DROP COLUMN peak_memory_bytes",
        "ALTER TABLE job_runs DROP COLUMN checkpoint",
    ],
}


def upgrade() -> None:
    run(UP[op.get_context().dialect.name])


def downgrade() -> None:
    run(DOWN[op.get_context().dialect.name])


def run(statements: Iterable[str]) -> None:
    schema = op.get_context().version_table_schema
    for statement in statements:
        op.execute(statement.replace("{schema}", "" if schema is None else f'"{schema}".'))
