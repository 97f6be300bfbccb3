"""Alembic's entry: runs the migrations on the connection that `jobrunner migrate` hands over."""

from alembic import context
from jobrunner.store.schema import metadata
from jobrunner.store.sql.versions import VERSION_TABLE


def run() -> None:
    """Online on the given connection, inside its open transaction; offline as SQL text."""
    settings = context.config.attributes
    if context.is_offline_mode():
        context.configure(
            dialect_name=settings["dialect_name"],
            output_buffer=settings["output"],
            version_table=VERSION_TABLE,
            version_table_schema=settings["schema"],
            literal_binds=True,
            transactional_ddl=True,
        )
    else:
        context.configure(
            connection=settings["connection"],
            version_table=VERSION_TABLE,
            version_table_schema=settings["schema"],
            target_metadata=metadata,
            transactional_ddl=True,
        )
    with context.begin_transaction():
        context.run_migrations()


run()
