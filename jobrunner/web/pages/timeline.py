"""What a run has done and does, for its page: its attempts as bars along the time, and how far the one at work is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from jobrunner.lifecycle import Outcome, Status
from jobrunner.store.questions.runs.run_details import Run
from jobrunner.store.questions.state import progress_in_words

MOST = 20
"""So many attempts are drawn, the newest."""
_THINNEST = 0.5
_LONGEST_FORECAST = 30 * 86400
ROW, TALL = 24, 12
_FAILED = (Outcome.FAILED, Outcome.DISCARDED, Outcome.TIMED_OUT, Outcome.CRASHED, Outcome.LEASE_EXPIRED)
ENDS: dict[str, str] = {
    Outcome.SUCCEEDED: "succeeded",
    Status.RUNNING: "running",
    **dict.fromkeys(_FAILED, "failed"),
}
"""The colour of an attempt, by its outcome. All others are neither good nor bad."""


@dataclass(frozen=True)
class Row:
    """One attempt: where its wait and its work begin and how wide they are, in percent, and how it ended."""

    number: int
    outcome: str
    waited: tuple[float, float] | None
    ran: tuple[float, float]
    wait: timedelta
    took: timedelta


@dataclass(frozen=True)
class Timeline:
    """The newest attempts, the oldest of them first, between two instants."""

    begin: datetime
    end: datetime
    rows: list[Row]


@dataclass(frozen=True)
class Progress:
    """How far the attempt at work is: in words, of 1 if that is known, and how long it takes at this speed."""

    words: str
    share: float | None
    left: timedelta | None


def timeline(run: Run, at: datetime) -> Timeline | None:
    """None: no attempt has begun."""
    spans = [(each.sequence, each.outcome, each.started_at, each.finished_at) for each in run.attempt_log]
    if run.status == Status.RUNNING and run.started_at is not None:
        spans.append((spans[-1][0] + 1 if spans else 1, "running", run.started_at, max(at, run.started_at)))
    if not spans:
        return None
    ends = [run.created_at, *(end for *_, end in spans)]
    cut = max(0, len(spans) - MOST)
    shown, waits_from = spans[cut:], ends[cut:]
    begin = min(waits_from[0], shown[0][2])
    end = max(begin + timedelta(milliseconds=1), *(each[3] for each in shown))
    rows = []
    for (number, outcome, started, ended), since in zip(shown, waits_from, strict=False):
        wait = max(timedelta(0), started - since)
        x = min(100 - _THINNEST, _share(started, begin, end))
        ran = (x, round(min(100 - x, max(_THINNEST, _share(ended, begin, end) - x)), 2))
        left = _share(since, begin, end)
        waited = (left, round(x - left, 2)) if x - left >= _THINNEST else None
        rows.append(Row(number, outcome, waited, ran, wait, ended - started))
    return Timeline(begin, end, rows)


def _share(instant: datetime, begin: datetime, end: datetime) -> float:
    return round(min(100.0, max(0.0, 100 * ((instant - begin) / (end - begin)))), 2)


def progress(run: Run, at: datetime) -> Progress | None:
    """None: its handler has reported nothing."""
    if (words := progress_in_words(run.progress)) is None:
        return None
    share = _of_one(run.progress)
    if share is None or run.status != Status.RUNNING or run.started_at is None or not 0 < share < 1:
        return Progress(words, share, None)
    seconds = (at - run.started_at).total_seconds() * (1 - share) / share
    return Progress(words, share, timedelta(seconds=round(seconds)) if 0 <= seconds < _LONGEST_FORECAST else None)


def _of_one(reported: object) -> float | None:
    """Anything may have been reported, also what a program that is none of ours has written."""
    done, total = (reported.get(name) for name in ("done", "total")) if isinstance(reported, dict) else (None, None)
    if isinstance(done, bool) or isinstance(total, bool):
        return None
    if not isinstance(done, int | float) or not isinstance(total, int | float) or not total > 0:
        return None
    try:
        return min(1.0, max(0.0, done / total))
    except (OverflowError, ValueError):
        return None
