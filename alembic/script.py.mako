"""${message}"""

from collections.abc import Iterable

from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}

# Plain SQL, which no later change of the code changes. ALTER a table here, so that programs of the release before work
# on (docs/howto/upgrade.md). Views, functions, triggers and indexes are made from the code after each migration.
# On SQLite an instant or JSON needs a check of its own here, and is_added in the declared column: see schema/base.py.
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
# To change the rows of a large table: SLICES = {"postgresql": [...], "sqlite": [...]}. After the migration each of these
# statements is executed again and again, in transactions of their own, until it changes no row. So each changes some
# thousand rows, and its condition leaves out those that are changed.


def upgrade() -> None:
    run(UP[op.get_context().dialect.name])


def downgrade() -> None:
    run(DOWN[op.get_context().dialect.name])


def run(statements: Iterable[str]) -> None:
    schema = op.get_context().version_table_schema
    for statement in statements:
        op.execute(statement.replace("{schema}", "" if schema is None else f'"{schema}".'))
