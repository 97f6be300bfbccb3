"""retry, cancel, discard, reschedule, priority: for some runs by their ids, or for many by a filter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

import click

from jobrunner.application.enqueueing import check_run_at
from jobrunner.cli import environment, options, render, session, streams
from jobrunner.cli.selecting import ids_argument, selection_options
from jobrunner.cli.types import PRIORITY, Checked, parse_run_at
from jobrunner.durations import parse_duration
from jobrunner.errors import UsageError
from jobrunner.lifecycle import Status
from jobrunner.store import admin, bulk
from jobrunner.store.admin import Answer
from jobrunner.store.bulk import Batch, Change, Changing
from jobrunner.store.connection import Connection
from jobrunner.store.database import Database
from jobrunner.store.selection import Selection
from jobrunner.text import whole_number

_Command = TypeVar("_Command", bound=Callable[..., Any])
_ENDED = "it has ended; there is nothing to cancel"
_NOT_WAITING = {
    Status.RUNNING: "it is at work",
    **dict.fromkeys((Status.SUCCEEDED, Status.DEAD, Status.CANCELLED), "it has ended"),
}


@dataclass(frozen=True)
class _Many:
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


_OVER = click.option(
    "--over",
    type=Checked(parse_duration),
    metavar="DURATION",
    help="Spread the runs evenly over this time, so that they do not come all at once.",
)
_OPTIONS = (
    click.option(
        "--all", "everything", is_flag=True, help="Every run that this applies to. Needed if there is no filter."
    ),
    click.option(
        "--limit",
        type=Checked(partial(whole_number, least=1, most=10**9)),
        metavar="N",
        help="At most so many runs, those with the lowest ids.",
    ),
    click.option("--dry-run", "is_dry", is_flag=True, help="Count the runs, and change nothing."),
    click.option("--yes", "is_agreed", is_flag=True, help="Do not ask. Needed for a filter where nobody can be asked."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object with the counts."),
)


def _of_many(command: _Command) -> _Command:
    """Give a command ids, a filter and the options of a bulk change, as one argument ``many``."""

    def gather(**given: Any) -> Any:
        names = ("job_ids", "selection", "everything", "limit", "is_dry", "is_agreed", "as_json")
        many = _Many(**{name: given.pop(name) for name in names}, over=given.pop("over", None))
        if many.selection.is_empty and not many.job_ids and not many.everything:
            raise click.UsageError("no run is named; give each JOB_ID, a filter such as --type or --status, or --all")
        return command(many=many, **given)

    gather.__name__, gather.__doc__ = command.__name__, command.__doc__
    gather.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    decorated: Any = options.REASON(gather) if command.__name__ != "discard" else options.NEEDED_REASON(gather)
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    found: _Command = ids_argument(selection_options(decorated))
    return found


@click.command()
@_of_many
@_OVER
@click.option("--force", is_flag=True, help="Also retry runs that have succeeded.")
def retry(many: _Many, force: bool) -> None:
    """Queue failed, dead or cancelled runs again, due now, with at least one more attempt.

    Example: `jobrunner retry --status dead --type mail --since 2h --over 10m`
    """
    if not many.is_by_ids:
        _change_many(many, lambda _: bulk.retry(force=force), _spread_from_now)
        return
    hint = "; --force runs it again" if not force else ""
    refusals = {
        Status.QUEUED: "it is waiting already",
        Status.RUNNING: "it is at work; cancel it first",
        Status.SUCCEEDED: f"its work is done{hint}",
    }
    _change_each(many.job_ids, partial(admin.retry, actor=session.actor(), force=force), "queued again", refusals)


@click.command()
@_of_many
def cancel(many: _Many) -> None:
    """Cancel waiting runs, and stop running ones: SIGTERM within a heartbeat, SIGKILL after kill_after.

    Example: `jobrunner cancel --type report.send --status queued`
    """
    if not many.is_by_ids:
        _change_many(many, lambda _: bulk.cancel())
        return
    refusals = dict.fromkeys((Status.SUCCEEDED, Status.DEAD, Status.CANCELLED), _ENDED)
    _change_each(many.job_ids, partial(admin.cancel, actor=session.actor()), "cancelled", refusals)


@click.command()
@_of_many
def discard(many: _Many) -> None:
    """Give up waiting or cancelled runs: they become dead, with the reason as their error.

    Example: `jobrunner discard --status failed --error-like "no such table" --reason "the table is gone"`
    """
    who = session.actor()
    if not many.is_by_ids:
        _change_many(many, lambda _: bulk.discard(who.reason or ""))
        return
    ended = "it has ended already"
    refusals = {Status.RUNNING: "it is at work; cancel it first", Status.SUCCEEDED: ended, Status.DEAD: ended}
    _change_each(many.job_ids, partial(admin.discard, actor=who), "discarded", refusals)


@click.command()
@_of_many
@_OVER
@click.option(
    "--run-at",
    type=Checked(parse_run_at),
    required=True,
    metavar="TIME",
    help="The new earliest start: ISO 8601 with an offset, or +5m from now.",
)
def reschedule(many: _Many, run_at: datetime | timedelta) -> None:
    """Give waiting runs another time. Their start deadlines hold no longer.

    Example: `jobrunner reschedule --type report.send --run-at +2h --over 30m`
    """
    check_run_at(run_at)

    def begin(at: datetime) -> datetime:
        return at + run_at if isinstance(run_at, timedelta) else run_at

    if not many.is_by_ids:
        _change_many(many, lambda at: bulk.reschedule(begin(at), is_spread=many.over is not None), begin)
        return
    change = partial(admin.reschedule, actor=session.actor(), run_at=run_at)
    _change_each(many.job_ids, change, "rescheduled", _NOT_WAITING)


@click.command()
@click.argument("number", metavar="N", type=PRIORITY)
@_of_many
def priority(many: _Many, number: int) -> None:
    """Give waiting runs the priority N, -1000 to 1000. Each step counts like a minute of waiting.

    Example: `jobrunner priority 60 --type report.send`
    """
    if not many.is_by_ids:
        _change_many(many, lambda _: bulk.set_priority(number))
        return
    change = partial(admin.set_priority, actor=session.actor(), priority=number)
    _change_each(many.job_ids, change, f"priority {number}", _NOT_WAITING)


def _change_each(
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


# Many at once.


def _spread_from_now(at: datetime) -> datetime:
    return at


def _change_many(
    many: _Many, change_at: Callable[[datetime], Change], begin: Callable[[datetime], datetime] | None = None
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


def _agrees(many: _Many, change: Change, counted: Mapping[Status, int]) -> bool:
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


COMMANDS = (retry, cancel, discard, reschedule, priority)
