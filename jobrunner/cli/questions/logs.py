"""logs: what a run prints, also while it is at work."""

from __future__ import annotations

from functools import partial

import click

from jobrunner.cli import environment, following, render, session
from jobrunner.cli.parameters import Checked, job_id
from jobrunner.errors import NotFoundError
from jobrunner.lifecycle import FINISHED, Status
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions.runs import logs as store
from jobrunner.store.questions.runs.logs import LoggedAttempt, RunAtWork
from jobrunner.text import visible_block, whole_number

EVERY_SECONDS = 1.0
"""A run at work reports its output and its progress with its heartbeats, each few seconds."""
_GAP = "… (some output is missing here)"


@click.command()
@click.argument("run_id", metavar="JOB_ID", type=Checked(job_id))
@click.option("--follow", "-f", is_flag=True, help="Keep printing new output until the run has ended.")
@click.option(
    "--attempt",
    "sequence",
    type=Checked(partial(whole_number, least=1, most=1_000_000)),
    metavar="N",
    help="Only this attempt, counted as in `jobrunner show`, and only its output.",
)
def logs(run_id: int, follow: bool, sequence: int | None) -> None:
    """Print the output of a run's attempts, also of the running one.

    Of each attempt the last 16 KiB are kept. A running handler reports with its heartbeats, so its newest lines
    may be some seconds late.

    Example: jobrunner logs 17 --follow
    """
    database = session.open_database(environment.load())
    printer = Printer(run_id, sequence)
    for found in following.looks(database, printer.look, EVERY_SECONDS):
        if printer.show(found) or not follow:
            break
    if printer.has_found_nothing:
        raise NotFoundError(f"run {run_id} has no attempt {sequence}; it has had {found.last_sequence}")


class Printer:
    """Prints the output of each attempt once. ``wanted`` is the only attempt to print; None means each."""

    def __init__(self, run_id: int, wanted: int | None) -> None:
        self._run_id = run_id
        self._wanted = wanted
        self._ended = 0 if wanted is None else wanted - 1
        self._begun = 0
        self._shown = ""
        self._last_words = ""

    def look(self, connection: Connection) -> RunAtWork:
        """The run, with the attempts that have ended since the last look. Raises NotFoundError."""
        return run_at_work(connection, self._run_id, self._ended)

    def show(self, found: RunAtWork) -> bool:
        """Print what is new. Returns whether nothing can follow."""
        for attempt in found.ended:
            if self._wanted in (None, attempt.sequence):
                self._begin(attempt.sequence, f"on {attempt.host}, begun {render.instant(attempt.started_at)}")
                self._print(attempt.output or "")
                self._end(attempt)
        is_at_work = found.status == Status.RUNNING and found.started_at is not None
        at_work = found.last_sequence + 1 if is_at_work else 0
        if at_work and self._wanted in (None, at_work):
            self._begin(at_work, f"on {found.host}, begun {render.instant(found.started_at)}, at work")
            # A letter of several bytes may have been reported in part.
            self._print((found.output or "").strip("\ufffd"))
        self._say(_standing(found))
        return found.status in FINISHED or (self._wanted is not None and found.last_sequence >= self._wanted)

    @property
    def has_found_nothing(self) -> bool:
        """Whether the wanted attempt was not there."""
        return self._wanted is not None and self._begun == 0

    def _begin(self, sequence: int, words: str) -> None:
        if sequence != self._begun:
            self._begun, self._shown = sequence, ""
            self._say(f"attempt {sequence} {words}")

    def _end(self, attempt: LoggedAttempt) -> None:
        self._ended = attempt.sequence
        error = f": {attempt.error_type}: {attempt.error}" if attempt.error else ""
        when = render.instant(attempt.finished_at)
        self._say(f"attempt {attempt.sequence} {attempt.outcome} {when}{error}", is_wrong=bool(error))

    def _say(self, words: str, *, is_wrong: bool = False) -> None:
        if not words or words == self._last_words or self._wanted is not None:
            return
        if self._shown and not self._shown.endswith("\n"):
            click.echo()
            self._shown += "\n"
        render.line(f"== {words}", is_wrong=is_wrong, hanging=3)
        self._last_words = words

    def _print(self, output: str) -> None:
        new = fresh(self._shown, output)
        click.echo(visible_block(new), nl=False)
        self._shown = output


def _standing(found: RunAtWork) -> str:
    """What is to be said of a run that is not at work."""
    if found.status in FINISHED:
        # Without an attempt there is no other line that says why.
        why = f": {found.error_type}: {found.last_error}" if found.last_error and not found.last_sequence else ""
        return f"run {found.id} {found.status} {render.instant(found.finished_at)}{why}"
    if found.status != Status.RUNNING:
        return f"run {found.id} {found.status}, due {render.instant(found.run_at)}"
    return "" if found.started_at else f"run {found.id} claimed by {found.host}, not begun"


def run_at_work(connection: Connection, run_id: int, after: int = 0) -> RunAtWork:
    """The run, with its attempts after this one. Raises NotFoundError."""
    found = store.look(connection, run_id, after)
    if found is None:
        raise NotFoundError(f"there is no run {run_id}")
    return found


def fresh(shown: str, output: str) -> str:
    """What an output says that was not shown. Each is only the end of all output: the newer one begins later."""
    overlap = next(begin for begin in range(len(shown) + 1) if output.startswith(shown[begin:]))
    new = output[len(shown) - overlap :]
    return f"\n{_GAP}\n{new}" if shown and overlap == len(shown) and new else new
