"""What each database can do. Only the language (``store/sql``) and the drivers know a database by its name."""

from __future__ import annotations

from typing import NamedTuple


class Traits(NamedTuple):
    """What the database of a connection can do, where it makes a difference to those who use it."""

    has_server: bool
    """It has sessions, standbys, settings and a clock of its own. Otherwise it is a file of this host."""
    has_one_writer: bool
    """A transaction that writes keeps all others from writing. Otherwise each locks rows."""
    has_schemas: bool
    has_functions: bool
    """Several statements can be one call to the database: functions of ours, and writes within WITH."""
    has_lateral: bool
    """A part of a join can name the parts before it, with a LIMIT of its own for each of their rows."""
    keeps_dead_entries: bool
    """An index also has the rows as they were, for as long as any transaction can see them so."""
    keeps_texts: bool
    """A view is kept in the words that created it. Otherwise the database writes its text anew."""


TRAITS = {
    "sqlite": Traits(
        has_server=False,
        has_one_writer=True,
        has_schemas=False,
        has_functions=False,
        has_lateral=False,
        keeps_dead_entries=False,
        keeps_texts=True,
    ),
    "postgresql": Traits(
        has_server=True,
        has_one_writer=False,
        has_schemas=True,
        has_functions=True,
        has_lateral=True,
        keeps_dead_entries=True,
        keeps_texts=False,
    ),
}
"""By the name that SQLAlchemy has for the database."""
EACH_DATABASE = [(name,) for name in TRAITS]
"""The variants of a statement that is another one on each database."""


def databases(**traits: bool) -> list[str]:
    """The databases with these traits."""
    return [name for name, each in TRAITS.items() if all(getattr(each, trait) == has for trait, has in traits.items())]
