"""Alembic's entry: runs the migrations on the connection that `jobrunner migrate` hands over, or prints them."""

from alembic import context
from jobrunner.store.sql.versions import VERSION_TABLE


def run() -> None:
    """Online inside the open transaction of a connection; offline as SQL text."""
    settings = context.config.attributes
    is_offline = context.is_offline_mode()
    place = (
        {"dialect_name": settings["dialect_name"], "output_buffer": settings["output"], "literal_binds": True}
        if is_offline
        else {"connection": settings["connection"]}
    )
    context.configure(
        **place,
        version_table=VERSION_TABLE,
        version_table_schema=settings["schema"],
        transactional_ddl=True,
    )
    with context.begin_transaction():
        for statement in settings.get("beforehand", ()):
            context.execute(statement)
        context.run_migrations()
        if is_offline:
            for statement in settings["afterwards"](settings["output"].getvalue()):
                context.execute(statement)


run()
