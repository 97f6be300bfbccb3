"""status: everything at a glance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import MAXYEAR, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

import click

from jobrunner.cli import environment, following, render, session, startup
from jobrunner.cli.answers import answers
from jobrunner.durations import format_duration
from jobrunner.errors import HandlersUnavailable, UsageError
from jobrunner.text import picked

if TYPE_CHECKING:
    from jobrunner.admin.finding import Finding
    from jobrunner.admin.status import Status
    from jobrunner.model import Policy
    from jobrunner.store.drivers.connection import Connection
    from jobrunner.store.questions.definitions import ListedDefinition
    from jobrunner.store.questions.overview import DeadRun, FailingRun, RunningLimit, State

_EVERY_SECONDS = 2.0


@click.command()
@answers("jobrunner.admin.status:Status")
@click.option("--watch", is_flag=True, help="Show it again every two seconds, in the same place, until Ctrl-C.")
def status(as_json: bool, watch: bool) -> None:
    """Show what is wrong, then what is due, running, failing and dead, the schedules, and the last tick of each host.

    What is wrong is what `jobrunner health` finds. The exit status is 0 all the same.

    Example: jobrunner status --watch
    """
    if watch and (as_json or not render.on_terminal()):
        raise UsageError("--watch is for a terminal; for a program there is status --json, called again and again")
    config = environment.load()
    with session.asking_policies(config) as policies:
        # The child that is asked needs as long to start as all of this, and there are two processors.
        from jobrunner.admin.findings import findings
        from jobrunner.admin.status import Status
        from jobrunner.store.questions import overview

        database = session.open_database(config)
        known, problem = _known_types(policies)
    state_problem = startup.problem_of_state(config)

    of_host = {"database": database.location.label, "handlers_problem": problem, "state_problem": state_problem}

    def look(connection: Connection) -> tuple[State, list[Finding]]:
        state = overview.status(connection, known, tick_age=config.health.tick_age)
        return state, findings(connection, config, state_problem, startup.killed_here(config))

    for number, (found, wrong) in enumerate(following.looks(database, look, _EVERY_SECONDS)):
        answer = picked(Status, found, **of_host, findings=wrong)
        show = partial(_show, answer)
        if watch:
            render.redraw(show, is_first=number == 0)
            continue
        if as_json:
            render.echo_json(answer)
        else:
            show()
        break


def _show(found: Status) -> None:
    from jobrunner.admin.finding import Severity

    # The database first: it may be another one than is meant.
    render.line(f"database   {found.database}", hanging=11)
    for each in found.findings or []:
        is_wrong = each.severity is Severity.CRITICAL
        render.line(f"{each.severity.upper():10} {each}", is_wrong=is_wrong, hanging=11)
    counts = (f"{name} {count}{'+' * (name in found.runs_at_least)}" for name, count in found.runs.items())
    render.line("runs       " + "  ".join(counts), hanging=11)
    oldest = found.oldest_due_seconds
    since = "" if oldest is None else f", the oldest for {format_duration(timedelta(seconds=oldest))}"
    render.line(f"due now    {found.due}{'+' * found.due_at_least}{since}", hanging=11)
    if found.oldest_due is not None:
        render.line(f"{'':11}{found.oldest_due['sentence']}", hanging=11)
    if found.handlers_problem:
        render.line(f"handlers   {found.handlers_problem}", is_wrong=True, hanging=11)
    for title, headings, rows in _tables(found):
        if rows:
            click.echo(f"\n{title}")
            render.table(headings, rows)


def _known_types(policies: Callable[[], list[Policy]]) -> tuple[list[str] | None, str | None]:
    # The status must work with broken handlers, because then an operator needs it.
    try:
        return [policy.job_type for policy in policies()], None
    except HandlersUnavailable as error:
        return None, str(error)


_Table = tuple[str, tuple[str, ...], list[tuple[object, ...]]]


def _tables(found: State) -> Iterator[_Table]:
    """Each table: its title, its headings, and its rows."""
    from jobrunner.cli.questions import pauses

    yield "paused (jobrunner resume)", pauses.HEADINGS, pauses.rows(found.pauses)
    yield (
        "running",
        ("ID", "TYPE", "HOST", "SINCE", "LAST BEAT", "ATTEMPT", "PROGRESS"),
        [
            (
                *(run.id, run.job_type, run.host, _ago(found.at, run.started_at), _ago(found.at, run.heartbeat_at)),
                *(f"{run.attempt} of {run.max_attempts}", _progress(run.progress)),
            )
            for run in found.running
        ],
    )
    yield (
        "failing",
        ("ID", "TYPE", "ATTEMPTS", "NEXT TRY", "ERROR"),
        [
            (run.id, run.job_type, f"{run.attempts} of {run.max_attempts}", run.next_try_at, _error(run))
            for run in found.failing
        ],
    )
    yield (
        "dead",
        ("ID", "TYPE", "ATTEMPTS", "SINCE", "ERROR"),
        [(run.id, run.job_type, run.attempts, run.finished_at, _error(run)) for run in found.dead],
    )
    yield "schedules", SCHEDULES, [schedule_cells(each) for each in found.schedules]
    yield (
        "waiting, but unknown on this host",
        ("TYPE", "RUNS", "OLDEST"),
        [(each.job_type, each.waiting, each.oldest_run_at) for each in found.unknown_types],
    )
    yield (
        "limited",
        ("TYPE", "WAITING", "MOST", "WHEN FULL", "DROPPED", "LAST DROPPED"),
        [
            (each.job_type, each.waiting, each.max_waiting, each.when_full, each.dropped, each.dropped_at)
            for each in found.limits
        ],
    )
    yield (
        f"uncertain effects: {found.uncertain} (jobrunner effects list)",
        ("KEY", "RUN", "TYPE", "ATTEMPT", "SINCE"),
        [(each.key, each.run_id, each.job_type, each.attempt, each.intended_at) for each in found.uncertain_effects],
    )
    yield (
        "limited on all hosts together",
        ("TYPE", "RUNNING", "WAITING", "LIMITS", "RATE OPENS"),
        [(each.job_type, each.running, each.waiting, _limits(each), each.opens_at) for each in found.running_limits],
    )
    yield (
        "notifications that were not sent (docs/howto/notifications.md)",
        ("AT", "EVENT", "OF", "RUNS", "RECEIVER", "OUTCOME", "ERROR"),
        [
            (each.at, each.event, each.schedule or each.job_type, each.runs, each.receiver, each.outcome, each.error)
            for each in found.unsent_notices
        ],
    )
    yield (
        "last tick per host",
        ("HOST", "STARTED", "ENDED", "DONE", "ERROR"),
        [
            (tick.host, tick.started_at, tick.finished_at or "at work, or killed", _done(tick.counts), tick.error)
            for tick in found.ticks
        ],
    )


def _limits(each: RunningLimit) -> str:
    of_type = [f"{name} {value}" for name in ("max_running", "rate") if (value := getattr(each, name)) is not None]
    of_key = [f"{each.max_running_per_key} running"] if each.max_running_per_key is not None else []
    of_key += [each.rate_per_key] if each.rate_per_key is not None else []
    return ", ".join(of_type + [f"{' and '.join(of_key)} per {each.concurrency_key}"] * bool(of_key))


SCHEDULES = ("NAME", "TYPE", "SCHEDULE", "TIME ZONE", "NEXT SLOT", "PROBLEM")


def schedule_cells(each: ListedDefinition) -> tuple[object, ...]:
    """The cells of a definition below the headings ``SCHEDULES``."""
    slot = next_slot(each.next_run_at, each.paused_at, each.removed_at)
    return each.name, each.job_type, each.schedule, each.timezone, slot, each.problem


def next_slot(at: datetime | None, paused_at: datetime | None, removed_at: datetime | None = None) -> str:
    """When a definition has its next slot, or why it has none."""
    if removed_at is not None:
        return "removed"
    if paused_at is not None:
        return "paused"
    # This year means that no slot will ever come.
    return "never again" if at is not None and at.year == MAXYEAR else render.instant(at)


def _error(run: FailingRun | DeadRun) -> str:
    return f"{run.error_type}: {run.last_error}"


def _ago(at: datetime, then: datetime | None) -> str:
    return "-" if then is None else f"{format_duration(max(at - then, timedelta(0)))} ago"


def _done(counts: object) -> str:
    if not isinstance(counts, dict):
        return "nothing" if counts is None else str(counts)[:40]
    # In the order of the steps of a tick, because the database keeps no order.
    known = {name: index for index, name in enumerate(_COUNTED)}
    names = sorted(counts, key=lambda name: (known.get(name, len(known)), name))
    return " ".join(f"{name} {counts[name]}" for name in names) or "nothing"


_COUNTED = (
    "recovered", "expanded", "skipped", "pruned", "kept", "claimed", "succeeded", "failed", "postponed", "dead",
    "cancelled",
)  # fmt: skip


def _progress(progress: object) -> str:
    if not isinstance(progress, dict):
        return "-" if progress is None else str(progress)[:40]
    total = "" if progress.get("total") is None else f"/{_number(progress['total'])}"
    return f"{_number(progress.get('done', 0))}{total} {progress.get('message', '')}".strip()


def _number(value: object) -> str:
    # A handler may report any value. To show it must not fail.
    if not isinstance(value, int | float):
        return str(value)[:40]
    try:
        return f"{value:g}"
    except OverflowError:
        return f"{Decimal(value):.6g}"
