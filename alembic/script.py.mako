"""${message}"""

from collections.abc import Iterable

from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}

# Plain SQL, which no later change of the code changes. ALTER a table here; views, functions, triggers and indexes are
# made from the code after each migration (docs/howto/…). An old program works beside it: see the policy there.
UP = {
    "postgresql": [
        "ALTER TABLE {schema}job_runs ADD COLUMN ...",
    ],
    "sqlite": [
        "ALTER TABLE job_runs ADD COLUMN ...",
    ],
}
DOWN = {
    "postgresql": ["ALTER TABLE {schema}job_runs DROP COLUMN ..."],
    "sqlite": ["ALTER TABLE job_runs DROP COLUMN ..."],
}


def upgrade() -> None:
    run(UP[op.get_context().dialect.name])


def downgrade() -> None:
    run(DOWN[op.get_context().dialect.name])


def run(statements: Iterable[str]) -> None:
    schema = op.get_context().version_table_schema
    for statement in statements:
        op.execute(statement.replace("{schema}", "" if schema is None else f'"{schema}".'))
