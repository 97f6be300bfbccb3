"""Which tick alone claims on its host: such a tick knows what is at work there, and does not count it for each claim.

On PostgreSQL the count passes over all runs that were at work since the oldest open transaction has begun. Every claim
locks the row of its host's permits. So a tick that counted once, found nothing of others, and wrote its name there, is
still alone for as long as its name stands there: every other tick takes it away with its own claim. A tick of another
version may not know that. So the name does not count while one may be at work (``claims.held_by_type``).
"""

from __future__ import annotations

from jobrunner.model import Owner
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.sql.statement import Prepared


def name_of(host: str) -> str:
    """The row of ``job_locks`` that a claim of the host locks. It is stored: ticks of other versions lock the same."""
    return f"places of {host}"


def note(connection: Connection, owner: Owner, sole_owner: str | None, *, is_alone: bool) -> bool:
    """Note, after a count, whether this tick is the sole owner; whether it is. ``sole_owner``: who was.

    ``is_alone``: it would like to be, and nothing of others is at work. It does not become it in place of another tick
    at once: two that claim in turns would write the row with each claim. Expects the lock on the row.
    """
    new = owner.name if is_alone and sole_owner in (None, owner.name) else None
    if new != sole_owner:
        connection.execute(Prepared("locks.note_sole_owner"), {"row_name": name_of(owner.host), "owner": new})
    return new is not None
