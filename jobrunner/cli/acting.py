"""retry, cancel, discard, reschedule, priority: for some runs by their ids, or for many by a filter."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

import click

from jobrunner.application.enqueueing import check_run_at
from jobrunner.cli import options, session
from jobrunner.cli.changing import Many, change_each, change_many
from jobrunner.cli.mending import mend, not_retried
from jobrunner.cli.parameters import PRIORITY, Checked, parse_run_at
from jobrunner.cli.selecting import ids_argument, selection_options
from jobrunner.durations import parse_duration
from jobrunner.lifecycle import Status
from jobrunner.store.changes import admin, bulk
from jobrunner.text import whole_number

_Command = TypeVar("_Command", bound=Callable[..., Any])
_ENDED = "it has ended; there is nothing to cancel"
_NOT_WAITING = {
    Status.RUNNING: "it is at work",
    **dict.fromkeys((Status.SUCCEEDED, Status.DEAD, Status.CANCELLED), "it has ended"),
}


_OVER = click.option(
    "--over",
    type=Checked(parse_duration),
    metavar="DURATION",
    help="Spread the runs evenly over this time, so that they do not start all at once.",
)
_OPTIONS = (
    click.option(
        "--all", "everything", is_flag=True, help="Every run that this applies to. Needed if there is no filter."
    ),
    click.option(
        "--limit",
        type=Checked(partial(whole_number, least=1, most=10**9)),
        metavar="N",
        help="At most this many runs: those with the lowest ids.",
    ),
    click.option("--dry-run", "is_dry", is_flag=True, help="Count the runs, and change nothing."),
    click.option("--yes", "is_agreed", is_flag=True, help="Do not ask. Needed for a filter where nobody can be asked."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object with the counts."),
)


def _of_many(command: _Command) -> _Command:
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


@click.command()
@_of_many
@_OVER
@click.option("--force", is_flag=True, help="Also retry runs that have succeeded.")
@click.option(
    "--payload",
    metavar="JSON|@FILE|-",
    help="Replace the payload of this one run, also while it waits for its first attempt.",
)
@click.option(
    "--allow-unknown",
    is_flag=True,
    help="Accept a --payload also if this host has no handler for the job type, or one that cannot take it.",
)
def retry(many: Many, force: bool, payload: str | None, allow_unknown: bool) -> None:
    """Queue failed, dead or cancelled runs again, due now, with at least one more attempt.

    --payload repairs one run whose payload is wrong. The audit trail says what was changed, without secrets.

    Example: `jobrunner retry --status dead --type mail --since 2h --over 10m`

    Example: `jobrunner retry 812 --payload '{"name": "Ada"}'`
    """
    if payload is not None:
        mend(many, payload, force=force, allow_unknown=allow_unknown)
        return
    if allow_unknown:
        raise click.UsageError("--allow-unknown belongs to --payload")
    if not many.is_by_ids:
        change_many(many, lambda _: bulk.retry(force=force), _spread_from_now)
        return
    change_each(
        many.job_ids, partial(admin.retry, actor=session.actor(), force=force), "queued again", not_retried(force)
    )


@click.command()
@_of_many
def cancel(many: Many) -> None:
    """Cancel waiting runs, and stop running ones: SIGTERM within a heartbeat, SIGKILL after kill_after.

    Example: `jobrunner cancel --type report.send --status queued`
    """
    if not many.is_by_ids:
        change_many(many, lambda _: bulk.cancel())
        return
    refusals = dict.fromkeys((Status.SUCCEEDED, Status.DEAD, Status.CANCELLED), _ENDED)
    change_each(many.job_ids, partial(admin.cancel, actor=session.actor()), "cancelled", refusals)


@click.command()
@_of_many
def discard(many: Many) -> None:
    """Give up waiting or cancelled runs: they become dead, with the reason as their error.

    Example: `jobrunner discard --status failed --error-like "no such table" --reason "the table is gone"`
    """
    who = session.actor()
    if not many.is_by_ids:
        change_many(many, lambda _: bulk.discard(who.reason or ""))
        return
    ended = "it has ended already"
    refusals = {Status.RUNNING: "it is at work; cancel it first", Status.SUCCEEDED: ended, Status.DEAD: ended}
    change_each(many.job_ids, partial(admin.discard, actor=who), "discarded", refusals)


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
def reschedule(many: Many, run_at: datetime | timedelta) -> None:
    """Give waiting runs another time. This removes their start deadlines.

    Example: `jobrunner reschedule --type report.send --run-at +2h --over 30m`
    """
    check_run_at(run_at)

    def begin(at: datetime) -> datetime:
        return at + run_at if isinstance(run_at, timedelta) else run_at

    if not many.is_by_ids:
        change_many(many, lambda at: bulk.reschedule(begin(at), is_spread=many.over is not None), begin)
        return
    change = partial(admin.reschedule, actor=session.actor(), run_at=run_at)
    change_each(many.job_ids, change, "rescheduled", _NOT_WAITING)


@click.command()
@click.argument("number", metavar="N", type=PRIORITY)
@_of_many
def priority(many: Many, number: int) -> None:
    """Give waiting runs the priority N, -1000 to 1000. Each step counts like a minute of waiting.

    Example: `jobrunner priority 60 --type report.send`
    """
    if not many.is_by_ids:
        change_many(many, lambda _: bulk.set_priority(number))
        return
    change = partial(admin.set_priority, actor=session.actor(), priority=number)
    change_each(many.job_ids, change, f"priority {number}", _NOT_WAITING)


def _spread_from_now(at: datetime) -> datetime:
    return at


COMMANDS = (retry, cancel, discard, reschedule, priority)
