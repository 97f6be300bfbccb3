"""watch: how far a run is, until it has ended."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import click

from jobrunner.cli import environment, following, render, session
from jobrunner.cli.parameters import Checked, job_id
from jobrunner.cli.questions.logs import EVERY_SECONDS, run_at_work
from jobrunner.durations import format_duration
from jobrunner.lifecycle import FINISHED, Status
from jobrunner.store.questions.runs.logs import RunAtWork


@click.command()
@click.argument("run_id", metavar="JOB_ID", type=Checked(job_id))
def watch(run_id: int) -> None:
    """Watch a run until it has ended: its status, and the progress that its handler reports.

    Exit status 0: it has succeeded. Exit status 1: it is dead or cancelled.

    Example: jobrunner watch 17 && jobrunner logs 17
    """
    database = session.open_database(environment.load())
    with render.changing_line() as show:
        for found in following.looks(database, partial(run_at_work, run_id=run_id), EVERY_SECONDS):
            done, total, message = _progress(found.progress)
            show(f"run {found.id} {found.job_type}: {_doing(found)}", done, total, message)
            if found.status in FINISHED:
                break
    if found.last_error and found.status != Status.SUCCEEDED:
        render.line(f"{found.error_type}: {found.last_error}", is_wrong=True)
    if found.status != Status.SUCCEEDED:
        raise click.exceptions.Exit(1)


def _doing(found: RunAtWork) -> str:
    if found.status in FINISHED:
        return f"{found.status} {render.instant(found.finished_at)}"
    if found.status == Status.RUNNING:
        since = found.started_at or found.at
        # Elsewhere than on a terminal a line is printed for each change, and time alone is none.
        seconds = timedelta(seconds=round(max(0, (found.at - since).total_seconds())))
        when = f"for {format_duration(seconds)}" if render.on_terminal() else f"since {render.instant(since)}"
        return f"running on {found.host} {when}"
    return f"{found.status}, due {render.instant(found.run_at)}"


def _progress(progress: object) -> tuple[float, float | None, str]:
    """How much is done, of how much, and the handler's words. A handler may report any value."""
    found = progress if isinstance(progress, dict) else {}
    done, total, message = found.get("done"), found.get("total"), str(found.get("message") or "")
    if isinstance(done, int | float) and isinstance(total, int | float) and 0 <= done <= total < 1e15 and total:
        return done, total, message
    return 0, None, message
