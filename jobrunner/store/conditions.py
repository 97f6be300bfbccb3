"""The conditions of the partial indexes of runs. A statement that says one in the same words is served by that index.

They hold literals, not bound parameters: with a parameter the planner cannot know that the index serves.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import text

from jobrunner.lifecycle import CLAIMABLE, QUARANTINE_AFTER_EXPIRIES, UNFINISHED, Status


def listed(statuses: Iterable[Status]) -> str:
    """The statuses as SQL has them in a list."""
    return ", ".join(f"'{status}'" for status in statuses)


ANY_RELEASES = text("releases >= 0")
"""True of every run: the word by which a statement is given the index of what is due."""
IS_CLAIMABLE = text(f"status IN ({listed(CLAIMABLE)})")
IS_COUNTABLE = text(f"{IS_CLAIMABLE} AND {ANY_RELEASES}")
IS_SUSPECT = text(f"{IS_CLAIMABLE} AND lease_expiries >= {QUARANTINE_AFTER_EXPIRIES}")
IS_UNFINISHED = text(f"status IN ({listed(UNFINISHED)})")
OF_DEFINITION = text(f"{IS_UNFINISHED} AND definition_id IS NOT NULL")
OF_KEY = text(f"{IS_UNFINISHED} AND concurrency_key IS NOT NULL")
# Only a running row has a lease_token: said so where no other index is to serve.
AT_WORK_WITH_KEY = text("lease_token IS NOT NULL AND concurrency_key IS NOT NULL")
HAS_DEADLINE = text("finished_at IS NULL AND lease_token IS NULL AND start_deadline_at IS NOT NULL")
IS_SLOT = text("scheduled_for IS NOT NULL AND (origin IS NULL OR origin <> 'again')")
