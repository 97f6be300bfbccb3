"""How the commands that act change runs: each by its id, or many in batches, after a count and a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import click

from jobrunner.cli import environment, known, render, session, streams
from jobrunner.errors import UsageError
from jobrunner.lifecycle import Status
from jobrunner.store import bulk
from jobrunner.store.admin import Answer
from jobrunner.store.bulk import Batch, Change, Changing
from jobrunner.store.connection import Connection
from jobrunner.store.database import Database
from jobrunner.store.selection import Selection


@dataclass(frozen=True)
class Many:
    """Which runs, and how. ``over``: their times are spread over this duration."""

    job_ids: tuple[int, ...]
    selection: Selection
    everything: bool
    limit: int | None
    is_dry: bool
    is_agreed: bool
    as_json: bool
    over: timedelta | None = None

    @property
    def is_by_ids(self) -> bool:
        """Whether only ids are given: then each run gets an answer of its own."""
        others = (self.everything, self.limit, self.is_dry, self.as_json, self.over)
        return bool(self.job_ids) and self.selection.is_empty and not any(others)


def change_each(
    job_ids: tuple[int, ...], change: Callable[..., Answer], done: str, refusals: Mapping[Status, str]
) -> None:
    """Change each run in its own transaction. If one id is refused, the others are changed, and the exit code is 1."""
    database = session.open_database(environment.load())
    all_done = True
    for run_id in dict.fromkeys(job_ids):
        answer = database.write(partial(change, run_id=run_id))
        if answer.applied:
            stopping = " requested; its handler is being stopped" if answer.requested else ""
            render.done(f"run {run_id}: {'cancellation' if answer.requested else done}{stopping}")
        elif answer.key_holder is not None:
            streams.to_stderr(
                f"jobrunner: run {run_id} is {answer.status}: its key is taken by run {answer.key_holder}; cancel that"
                " one first"
            )
        elif answer.status is None:
            streams.to_stderr(f"jobrunner: there is no run {run_id}")
        else:
            streams.to_stderr(f"jobrunner: run {run_id} is {answer.status}: {refusals[answer.status]}")
        all_done &= answer.applied
    if not all_done:
        raise click.exceptions.Exit(1)


def change_many(
    many: Many, change_at: Callable[[datetime], Change], begin: Callable[[datetime], datetime] | None = None
) -> None:
    """Count the runs, ask, and change them in batches.

    ``begin`` is the time of the first run. Exit code 1: some runs that were counted were not changed.
    """
    who = session.actor()
    database = session.open_database(environment.load(), for_many_rows=True)
    at = database.read(bulk.database_now)
    change, selection = change_at(at), bulk.fixed(replace(many.selection, ids=many.job_ids), at)
    _check_possible(change, selection)
    found = database.read(partial(bulk.matching, selection=selection, change=change, limit=many.limit))
    counted = Counter(found.values())
    if not _agrees(many, change, counted):
        if not found:
            known.suggest_type(many.selection.job_types, database.read(known.types_of))
        return
    times = _times(len(found), many.over, begin and begin(at))
    batches = [{"id": run_id, "run_at": time} for run_id, time in zip(found, times, strict=True)]
    detail = {} if many.over is None else {"over": many.over.total_seconds()}
    total = _run(database, Changing(change, selection, who, detail), batches)
    if many.as_json:
        render.done(render.json_line({"action": change.name, "matching": counted, **asdict(total), "dry_run": False}))
    else:
        render.done(f"{change.name}: {total.done} of {len(found)} runs changed")
        for count, why in (
            (total.locked, "locked by another transaction; the same command tries them again"),
            (total.changed_meanwhile, "no longer as the filter says"),
            (total.key_taken, "their key is taken by another run"),
        ):
            if count:
                streams.to_stderr(f"jobrunner: {count} not changed: {why}")
    if total.locked or total.key_taken:
        raise click.exceptions.Exit(1)


def _check_possible(change: Change, selection: Selection) -> None:
    """Refuse a filter of statuses to which this is never done, which would find nothing without a word."""
    wanted = [each.value for each in selection.statuses if each not in change.statuses]
    if wanted:
        possible = ", ".join(change.statuses)
        hint = "; --force retries runs that have succeeded" if wanted == [Status.SUCCEEDED] else ""
        raise UsageError(f"{change.name} is for runs that are {possible}, not {', '.join(wanted)}{hint}")


def _agrees(many: Many, change: Change, counted: Mapping[Status, int]) -> bool:
    """Whether to go on. If not, it has said why."""
    total = sum(counted.values())
    parts = ", ".join(f"{count} {status}" for status, count in counted.items())
    text = f"{change.name}: {total} {'run' if total == 1 else 'runs'}{f' ({parts})' if total else ''}"
    if many.is_dry or not total:
        if many.as_json:
            empty = asdict(Batch(0))
            click.echo(render.json_line({"action": change.name, "matching": counted, **empty, "dry_run": many.is_dry}))
        else:
            click.echo(f"{text}; nothing changed")
        return False
    if many.is_agreed:
        return True
    if not session.can_ask():
        raise UsageError(f"{text}; add --yes to do it, or --dry-run to count only")
    if not click.confirm(f"{text}. Go on?", err=True):
        raise click.exceptions.Exit(1)
    return True


def _times(count: int, over: timedelta | None, begin: datetime | None) -> Sequence[datetime | None]:
    """The times of so many runs, evenly spread from ``begin`` on. None: at once."""
    if over is None or begin is None:
        return [begin if begin is not None else None] * count
    return [begin + over * (index / count) for index in range(count)]


def _run(database: Database, change: Changing, runs: Sequence[Mapping[str, Any]]) -> Batch:
    total = Batch(0)
    with render.progress(len(runs), "runs changed") as advance:
        for begin in range(0, len(runs), bulk.BATCH):
            batch = runs[begin : begin + bulk.BATCH]

            def work(connection: Connection, batch: Sequence[Mapping[str, Any]] = batch) -> Batch:
                return change(connection, batch)

            done = database.write(work)
            database.hit("bulk.committed")
            advance(len(batch))
            total = Batch(*map(sum, zip(astuple(total), astuple(done), strict=True)))
    return total
