"""What must hold of the pauses that are in force: somebody has made each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobrunner.model import describe_pause
from jobrunner.store.verify.records import Pause
from jobrunner.text import iso_instant
from jobrunner.verify.promise import Facts, promise


@promise("P12", "pause", "find out who did it: jobrunner history --since 7d")
def pauses_recorded(pauses: Sequence[Pause], facts: Facts) -> Iterator[str]:
    """A pause that is in force, of everything, a type, a host or a schedule, has a row in the audit trail: by whom, and
    since when.
    """
    # Of one pause: more than one row may be from its instant.
    pause = pauses[0]
    if pause.paused_at >= facts.recorded_since and not any(map(_is_noted, pauses)):
        by = "" if pause.actor is None else f" by {pause.actor}"
        what = describe_pause(pause.kind, pause.name)
        yield f"{what} is paused since {iso_instant(pause.paused_at)}{by}, and no row says so"


def _is_noted(pause: Pause) -> bool:
    if pause.noted_at is None:
        return False
    # The row of a schedule has its id; that of anything else has its name.
    return pause.kind == "schedule" or (isinstance(pause.detail, dict) and pause.detail.get("name") == pause.name)
