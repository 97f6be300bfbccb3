"""What other tools on the same database must leave alone."""

from __future__ import annotations

from functools import cache

from jobrunner.store.schema import metadata
from jobrunner.store.sql.traits import TRAITS
from jobrunner.store.sql.versions import VERSION_TABLE


@cache
def our_names() -> frozenset[str]:
    """The names of our tables. Alembic does not look at views."""
    return frozenset([*metadata.tables, VERSION_TABLE])


def our_identities() -> list[str]:
    """The names of our tables whose ids a sequence of PostgreSQL gives."""
    return sorted(name for name, table in metadata.tables.items() if any(each.identity for each in table.columns))


def is_in_schema(schema: str, named: str | None) -> bool:
    """Whether a table that Alembic compares is in this schema. None is the default schema of its connection."""
    from alembic import context

    try:
        dialect = context.get_context().dialect
    except (NameError, AttributeError):
        # Not in an env.py, before or after one: the comparison was called by itself.
        return (named or "public") == schema
    # Without schemas our tables were made without the setting.
    return not TRAITS[dialect.name].has_schemas or (named or dialect.default_schema_name) == schema
