"""For an application whose migrations are made by Alembic or Flask-Migrate: keeps jobrunner's tables out of them.

In ``env.py``: ``context.configure(..., include_name=jobrunner.alembic.include_name)``. With Flask-Migrate:
``Migrate(app, db, include_name=jobrunner.alembic.include_name)``. Without it the next migration that Alembic writes
drops our tables, because no model of the application declares them (docs/howto/neighbours.md).
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from jobrunner.settings import config

__all__ = ["include_name"]


def include_name(name: str | None, type_: str, parent_names: Mapping[str, str | None]) -> bool:
    """Whether Alembic may compare what has this name: False for jobrunner's tables.

    If JOBRUNNER_SCHEMA is set, only those in that schema are ours. Otherwise they are ours in every schema, because
    nothing that is not compared is dropped.
    """
    if type_ != "table" or name is None:
        return True
    # Alembic has imported SQLAlchemy by now.
    from jobrunner.store.upkeep import neighbours

    if name not in neighbours.our_names():
        return True
    schema = config.for_enqueue(os.environ).schema
    return schema is not None and not neighbours.is_in_schema(schema, parent_names.get("schema_name"))
