"""Who asks for a page, and what they may do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verb(StrEnum):
    """What a route does. ``core`` compares it with the verbs of the visitor, and nothing else decides."""

    LOOK = "look"
    RETRY = "retry"
    PAYLOAD = "payload"
    CANCEL = "cancel"
    DISCARD = "discard"
    RESCHEDULE = "reschedule"
    PRIORITY = "priority"
    PAUSE = "pause"
    RESUME = "resume"
    TRIGGER = "trigger"
    BACKFILL = "backfill"
    SETTLE = "settle"


EVERYTHING = frozenset(Verb)
READ_ONLY = frozenset({Verb.LOOK})


@dataclass(frozen=True)
class Visitor:
    """Somebody whom the application, or ``jobrunner web``, has signed in. ``name`` is for the audit trail."""

    name: str
    verbs: frozenset[Verb] = EVERYTHING
