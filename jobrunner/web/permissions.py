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
    LIMIT = "limit"
    UNLIMIT = "unlimit"
    TRIGGER = "trigger"
    BACKFILL = "backfill"
    SETTLE = "settle"


WORDS = {
    Verb.RETRY: "Retry",
    Verb.PAYLOAD: "Replace the payload",
    Verb.CANCEL: "Cancel",
    Verb.DISCARD: "Discard",
    Verb.RESCHEDULE: "Change the time",
    Verb.PRIORITY: "Change the priority",
    Verb.PAUSE: "Pause",
    Verb.RESUME: "Resume",
    Verb.LIMIT: "Limit",
    Verb.UNLIMIT: "Take back",
    Verb.TRIGGER: "Run it now",
    Verb.BACKFILL: "Fill in past slots",
    Verb.SETTLE: "Settle",
}
"""What stands on the button of a verb."""
EVERYTHING = frozenset(Verb)
READ_ONLY = frozenset({Verb.LOOK})


@dataclass(frozen=True)
class Visitor:
    """Somebody whom the application, or ``jobrunner web``, has signed in. ``name`` is for the audit trail."""

    name: str
    verbs: frozenset[Verb] = EVERYTHING
