"""Compares a database's schema with this code's, and changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database
from jobrunner.store.sql.versions import SCHEMA_REVISION
from jobrunner.store.upkeep.check import check_schema
from jobrunner.store.upkeep.repair import Inventory
from jobrunner.store.upkeep.repeatable import Piece


class _Compared(Exception):
    """Ends the transaction without a commit."""


def drift(database: Database) -> Sequence[Piece]:
    """What is missing or different, but for the tables, with the statements that create it.

    Raises JobrunnerError if a table is missing, or if a name of ours is used by something else.
    """
    found: list[Piece] = []

    def compare(connection: Connection) -> None:
        if check_schema(connection) > SCHEMA_REVISION:
            # What a newer program has made is no damage.
            return
        inventory = Inventory(connection, database.location.label)
        inventory.check_names()
        inventory.check_is_complete()
        found[:] = inventory.wrong()

    if not database.location.has_server:
        database.read(compare)
        return found

    def compare_on_server(connection: Connection) -> None:
        compare(connection)
        # To compare a view, a temporary one is created, and here it goes.
        raise _Compared

    with suppress(_Compared):
        database.read(compare_on_server)
    return found
