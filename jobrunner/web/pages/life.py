"""The life of a run, for the drawing of all moves in ``life.html``: those that the run has made."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from jobrunner.lifecycle import FINISHED, Outcome, Status
from jobrunner.store.questions.runs.run_details import Run

_BACK = (Outcome.RELEASED, Outcome.SNOOZED)


@dataclass(frozen=True)
class Life:
    """The statuses that the run has had, its moves ("queued to running"), and since when it has or had a status."""

    way: list[Status]
    moves: set[str]
    at: dict[Status, datetime]

    @property
    def words(self) -> str:
        """The way in words, for those who cannot see the drawing."""
        return ", then ".join(self.way)


def life_of(run: Run) -> Life:
    """The life of one run. A move that somebody made between two attempts is not known."""
    way = _way(run)
    moves = {f"{source} to {target}" for source, target in pairwise(way)}
    return Life(way, moves, {status: at for status, at in _instants(run).items() if at is not None and status in way})


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
