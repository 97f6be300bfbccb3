"""The life of a run as a drawing: all moves of ``TRANSITIONS``, and those that the run has made."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from jobrunner.lifecycle import FINISHED, TRANSITIONS, Outcome, Status
from jobrunner.store.questions.runs.queries import Run

WIDTH, HEIGHT = 640, 196
_BOX_WIDTH, _BOX_HEIGHT = 120, 38
_PLACES = {
    Status.QUEUED: (5, 79),
    Status.RUNNING: (245, 10),
    Status.FAILED: (245, 148),
    Status.SUCCEEDED: (515, 5),
    Status.CANCELLED: (515, 79),
    Status.DEAD: (515, 153),
}
_HEAD, _HALF = 8, 4
_BACK = (Outcome.RELEASED, Outcome.SNOOZED)

Move = tuple[Status, Status]


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
    """A move as paths of SVG: its line and its head, by what it comes, and whether the run has made it."""

    line: str
    head: str
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
    moves: dict[Move, list[str]] = {}
    for transition in TRANSITIONS:
        for source in transition.sources:
            if source is not transition.target:
                moves.setdefault((source, transition.target), []).append(transition.event.value)
    lines = _lines(moves)
    arrows = [
        Arrow(*lines[source, target], f"{source} to {target}: {', '.join(events)}", (source, target) in made)
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


def _lines(moves: Collection[Move]) -> dict[Move, tuple[str, str]]:
    """The line and the head of each move. A line leaves and reaches a box at a place of its own, straight on."""
    ends = defaultdict[tuple[Status, bool], list[tuple[int, Move]]](list)
    for source, target in moves:
        (x1, y1), (x2, y2) = _PLACES[source], _PLACES[target]
        if x1 != x2:
            # By the height of the other end, so that lines do not cross where they begin.
            ends[source, x1 < x2].append((y2, (source, target)))
            ends[target, x2 < x1].append((y1, (source, target)))
    heights = {
        (side[0], move): _PLACES[side[0]][1] + _BOX_HEIGHT * (number + 1) / (len(listed) + 1)
        for side, listed in ends.items()
        for number, (_, move) in enumerate(sorted(listed))
    }
    return {move: _upright(*move) if move not in _aside(heights) else _across(move, heights) for move in moves}


def _aside(heights: Mapping[tuple[Status, Move], float]) -> set[Move]:
    return {move for _, move in heights}


def _across(move: Move, heights: Mapping[tuple[Status, Move], float]) -> tuple[str, str]:
    """A curve between two sides. A long one goes on straight past the boxes in the middle, and only then turns."""
    (x1, _), (x2, _) = (_PLACES[status] for status in move)
    to_right = x1 < x2
    begin, end = x1 + (_BOX_WIDTH if to_right else 0), x2 + (0 if to_right else _BOX_WIDTH)
    y1, y2 = (heights[status, move] for status in move)
    base = end - _HEAD if to_right else end + _HEAD
    is_long = abs(end - begin) > 2 * _BOX_WIDTH
    near, far = (0.68, 0.8) if is_long else (0.5, 0.5)
    if is_long and not to_right:
        near, far = 1 - far, 1 - near
    turn, back = begin + (base - begin) * near, begin + (base - begin) * far
    line = f"M{begin} {y1:.1f}C{turn:.1f} {y1:.1f} {back:.1f} {y2:.1f} {base} {y2:.1f}"
    return line, f"M{end} {y2:.1f}L{base} {y2 - _HALF:.1f}V{y2 + _HALF:.1f}Z"


def _upright(source: Status, target: Status) -> tuple[str, str]:
    """A straight line between two boxes above each other. There and back are apart."""
    (x, y1), (_, y2) = _PLACES[source], _PLACES[target]
    down = y1 < y2
    x += 48 if down else 72
    begin, end = (y1 + _BOX_HEIGHT, y2) if down else (y1, y2 + _BOX_HEIGHT)
    base = end - _HEAD if down else end + _HEAD
    return f"M{x} {begin}V{base}", f"M{x} {end}L{x - _HALF} {base}H{x + _HALF}Z"
