"""The options and the course of a command that changes runs: each by its id, or many by a filter, in batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

import click

from jobrunner.admin import bulk
from jobrunner.admin.bulk import ChangeAt, Changed, Counted
from jobrunner.cli import environment, options, render, session, streams, suggestions
from jobrunner.cli.answers import answers
from jobrunner.cli.caller import caller
from jobrunner.cli.options.selection import ids_argument, selection_options
from jobrunner.cli.options.shared import of_limit
from jobrunner.cli.parameters import Checked
from jobrunner.durations import parse_duration
from jobrunner.errors import UsageError
from jobrunner.lifecycle import Status
from jobrunner.model import Actor
from jobrunner.store.changes.bulk import Batch
from jobrunner.store.changes.one_run import Answer
from jobrunner.store.drivers.database import Database
from jobrunner.store.questions.selection import Selection

_Command = TypeVar("_Command", bound=Callable[..., Any])
NOT_WAITING = {
    Status.RUNNING: "it is at work",
    **dict.fromkeys((Status.SUCCEEDED, Status.DEAD, Status.CANCELLED), "it has ended"),
}
OVER = click.option(
    "--over",
    type=Checked(parse_duration),
    metavar="DURATION",
    help="Spread the runs evenly over this time, so that they do not start all at once.",
)
_OPTIONS = (
    click.option(
        "--all",
        "everything",
        is_flag=True,
        help="All runs that this command can change. Required if there is no filter.",
    ),
    of_limit("At most this many runs: those with the lowest ids.", None, most=10**9),
    click.option("--dry-run", "is_dry", is_flag=True, help="Count the runs, and change nothing."),
    click.option(
        "--yes",
        "is_agreed",
        is_flag=True,
        help="Do not ask for confirmation. Required with a filter if there is no terminal.",
    ),
    answers(Changed, " with the counts"),
)


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


def of_many(command: _Command) -> _Command:
    """Give a command ids, a filter and the options of a bulk change, as one argument ``many``."""

    def gather(**given: Any) -> Any:
        names = ("job_ids", "selection", "everything", "limit", "is_dry", "is_agreed", "as_json")
        many = Many(**{name: given.pop(name) for name in names}, over=given.pop("over", None))
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


def change_each(
    job_ids: tuple[int, ...],
    change: Callable[..., Answer],
    done: str,
    refusals: Mapping[Status, str],
    *,
    quietly: bool = False,
) -> None:
    """Change each run in its own transaction. If one id is refused, the others are changed, and the exit code is 1.

    ``quietly``: the caller says what was done.
    """
    database = session.open_database(environment.load())
    all_done = True
    for run_id in dict.fromkeys(job_ids):
        answer = database.write(partial(change, run_id=run_id))
        if answer.applied and quietly:
            continue
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


def change_many(many: Many, change_at: ChangeAt, begin: Callable[[datetime], datetime] | None = None) -> None:
    """Count the runs, ask, and change them in batches.

    ``begin`` is the time of the first run. Exit code 1: some runs that were counted were not changed.
    """
    who = session.actor()
    database = session.open_database(environment.load(), for_many_rows=True)
    selection = replace(many.selection, ids=many.job_ids)
    counted = database.read(partial(bulk.count, selection=selection, change_at=change_at, limit=many.limit))
    if (asks := caller()) is not None:
        asks.counted = counted
    if not _agrees(many, counted):
        if not counted.runs:
            suggestions.suggest_type(many.selection.job_types, database.read(suggestions.types_of))
        return
    name, found = counted.change.name, len(counted.runs)
    total = _run(database, counted, many.over, who, begin and begin(counted.at))
    if many.as_json:
        render.echo_json_line(counted.changed(total), is_done=True)
    else:
        render.done(f"{name}: {total.done} of {found} runs changed")
        for refusal in bulk.refusals(total):
            streams.to_stderr(f"jobrunner: {refusal}")
    if total.locked or total.key_taken:
        raise click.exceptions.Exit(1)


def _agrees(many: Many, counted: Counted) -> bool:
    """Whether to go on. If not, it has said why."""
    if many.is_dry or not counted.runs:
        if many.as_json:
            nothing = counted.changed(None if many.is_dry else Batch(0))
            render.echo_json_line(nothing)
        else:
            click.echo(f"{counted}; nothing changed")
        return False
    if many.is_agreed:
        return True
    if not session.can_ask():
        raise UsageError(f"{counted}; add --yes to do it, or --dry-run to count only")
    if not click.confirm(f"{counted}. Go on?", err=True):
        raise click.exceptions.Exit(1)
    return True


def _run(database: Database, counted: Counted, over: timedelta | None, who: Actor, begin: datetime | None) -> Batch:
    change, done = bulk.changing(counted, who, over), list[Batch]()
    with render.progress(len(counted.runs), "runs changed") as advance:
        for batch in bulk.batches(counted, over, begin):
            done.append(database.write(partial(change, batch=batch)))
            database.hit("bulk.committed")
            advance(len(batch))
    return bulk.total(done)
