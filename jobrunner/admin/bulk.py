"""One change to many runs: count them first, then change them in batches. For the commands and for the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta
from typing import Any

from jobrunner.errors import UsageError
from jobrunner.lifecycle import Status
from jobrunner.model import Actor
from jobrunner.store.changes import bulk
from jobrunner.store.changes.bulk import Batch, Changing
from jobrunner.store.changes.run_changes import Change
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions.selection import Selection
from jobrunner.text import picked

ChangeAt = Callable[[datetime], Change]


@dataclass(frozen=True)
class Changed:
    """What became of many runs. ``matching`` maps the statuses of those that were counted to numbers of runs.

    ``done`` were changed. The others were locked by another transaction, were no longer as the filter says, or had a
    key that another run has taken.
    """

    action: str
    matching: dict[str, int]
    done: int
    locked: int
    changed_meanwhile: int
    key_taken: int
    dry_run: bool


@dataclass(frozen=True)
class Counted:
    """The runs that a change applies to, by their ids, at an instant of the database's clock."""

    at: datetime
    change: Change
    selection: Selection
    runs: Mapping[int, Status]

    @property
    def by_status(self) -> Counter[str]:
        """How many runs have each status."""
        return Counter(self.runs.values())

    def changed(self, done: Batch | None) -> Changed:
        """The answer after all batches together, or, if nothing was done, to the question how many there are."""
        return picked(Changed, done or Batch(0), action=self.change.name, matching=self.by_status, dry_run=done is None)

    def __str__(self) -> str:
        total = len(self.runs)
        parts = ", ".join(f"{count} {status}" for status, count in self.by_status.items())
        return f"{self.change.name}: {total} {'run' if total == 1 else 'runs'}{f' ({parts})' if total else ''}"


def count(connection: Connection, selection: Selection, change_at: ChangeAt, limit: int | None) -> Counted:
    """Find the runs. Raises UsageError for statuses to which this is never done. Expects a read transaction."""
    at = bulk.database_now(connection)
    change, fixed = change_at(at), bulk.fixed(selection, at)
    _check_possible(change, fixed)
    return Counted(at, change, fixed, bulk.matching(connection, fixed, change, limit))


def _check_possible(change: Change, selection: Selection) -> None:
    """Refuse a filter of statuses to which this is never done, which would find nothing without a word."""
    wanted = [each.value for each in selection.statuses if each not in change.statuses]
    if wanted:
        possible = ", ".join(change.statuses)
        hint = "; --force retries runs that have succeeded" if wanted == [Status.SUCCEEDED] else ""
        raise UsageError(f"{change.name} is for runs that are {possible}, not {', '.join(wanted)}{hint}")


def batches(counted: Counted, over: timedelta | None, begin: datetime | None) -> Iterable[Sequence[Mapping[str, Any]]]:
    """The runs with their times, some hundreds at once. ``over``: the times are spread evenly from ``begin`` on."""
    runs = list(zip(counted.runs, _times(len(counted.runs), over, begin), strict=True))
    for first in range(0, len(runs), bulk.BATCH):
        yield [{"id": run_id, "run_at": time} for run_id, time in runs[first : first + bulk.BATCH]]


def changing(counted: Counted, actor: Actor, over: timedelta | None) -> Changing:
    """What changes a batch in a write transaction, and leaves a row in the audit trail."""
    detail = {} if over is None else {"over": over.total_seconds()}
    return Changing(counted.change, counted.selection, actor, detail)


def total(done: Iterable[Batch]) -> Batch:
    """All batches together."""
    return Batch(*map(sum, zip(*map(astuple, [Batch(0), *done]), strict=True)))


def refusals(done: Batch) -> list[str]:
    """Why some runs that were counted were not changed."""
    reasons = (
        (done.locked, "locked by another transaction; the same command tries them again"),
        (done.changed_meanwhile, "no longer matched by the filter"),
        (done.key_taken, "their key is taken by another run"),
    )
    return [f"{number} not changed: {why}" for number, why in reasons if number]


def _times(number: int, over: timedelta | None, begin: datetime | None) -> Sequence[datetime | None]:
    if over is None or begin is None:
        return [begin] * number
    return [begin + over * (index / number) for index in range(number)]
