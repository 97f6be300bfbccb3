"""The life of a run as a drawing: all moves of ``TRANSITIONS``, and those that the run has made."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from jobrunner.lifecycle import FINISHED, TRANSITIONS, Outcome, Status
from jobrunner.store.queries import Run

WIDTH, HEIGHT = 640, 190
_BOX_WIDTH, _BOX_HEIGHT = 120, 38
_PLACES = {
    Status.QUEUED: (5, 76),
    Status.RUNNING: (245, 20),
    Status.FAILED: (245, 132),
    Status.SUCCEEDED: (515, 5),
    Status.CANCELLED: (515, 76),
    Status.DEAD: (515, 147),
}
_BACK = (Outcome.RELEASED, Outcome.SNOOZED)


@dataclass(frozen=True)
class Box:
    """A status: its place, since when the run has or had it, and whether it ever did."""

    status: str
    x: int
    y: int
    at: datetime | None
    is_lit: bool


@dataclass(frozen=True)
class Arrow:
    """A move: from where to where, by what, and whether the run has made it."""

    x1: int
    y1: int
    x2: int
    y2: int
    title: str
    is_lit: bool


@dataclass(frozen=True)
class Drawing:
    """All of it, and the way in words for those who cannot see it."""

    boxes: list[Box]
    arrows: list[Arrow]
    words: str


def drawing(run: Run) -> Drawing:
    """The drawing of one run. A move that a person made between two attempts is not known, and not lit."""
    way = _way(run)
    made = set(pairwise(way))
    at = _instants(run)
    boxes = [
        Box(status.value, *place, at.get(status) if status in way else None, status in way)
        for status, place in _PLACES.items()
    ]
    moves: dict[tuple[Status, Status], list[str]] = {}
    for transition in TRANSITIONS:
        for source in transition.sources:
            if source is not transition.target:
                moves.setdefault((source, transition.target), []).append(transition.event.value)
    arrows = [
        Arrow(*_ends(source, target), f"{source} to {target}: {', '.join(events)}", (source, target) in made)
        for (source, target), events in moves.items()
    ]
    # The lit ones last, above the others.
    return Drawing(boxes, sorted(arrows, key=lambda arrow: arrow.is_lit), ", then ".join(way))


def _way(run: Run) -> list[Status]:
    way, now = [Status.QUEUED], Status(run.status)
    for number, attempt in enumerate(run.attempt_log, 1):
        way.append(Status.RUNNING)
        is_last = number == len(run.attempt_log)
        if is_last and now is not Status.RUNNING:
            way.append(now)
        else:
            way.append(Status.QUEUED if attempt.outcome in _BACK else Status.FAILED)
    return way if way[-1] is now else [*way, now]


def _instants(run: Run) -> dict[Status, datetime | None]:
    began = [each.started_at for each in run.attempt_log]
    ended = dict.fromkeys(FINISHED, run.finished_at)
    started_at = run.started_at or max(began, default=None)
    return {Status.QUEUED: run.created_at, Status.RUNNING: started_at, Status.FAILED: run.failed_at, **ended}


def _ends(source: Status, target: Status) -> tuple[int, int, int, int]:
    """From the side of a box to the side of another. There and back are a little apart."""
    (x1, y1), (x2, y2) = _PLACES[source], _PLACES[target]
    middle = _BOX_HEIGHT // 2
    if x1 == x2:
        apart = 45 if y1 < y2 else 75
        down = y1 < y2
        return x1 + apart, y1 + (_BOX_HEIGHT if down else 0), x2 + apart, y2 + (0 if down else _BOX_HEIGHT)
    right = x1 < x2
    shift = -6 if right else 6
    return (
        x1 + (_BOX_WIDTH if right else 0),
        y1 + middle + shift,
        x2 + (0 if right else _BOX_WIDTH),
        y2 + middle + shift,
    )
