"""run: one run of a job type, now, with its output on the terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import timedelta
from functools import partial
from typing import Any

import click

from jobrunner import clock
from jobrunner.application.enqueueing import new_run
from jobrunner.cli import environment, following, options, render, session, streams, suggestions
from jobrunner.cli.options.run import run_options
from jobrunner.cli.parameters import read_payload
from jobrunner.cli.questions.logs import Printer
from jobrunner.errors import JobrunnerError, UsageError
from jobrunner.jobs.payload import parse_payload
from jobrunner.jobs.run_options import PRIORITY, checked
from jobrunner.lifecycle import CLAIMABLE, Status
from jobrunner.settings.config import Config
from jobrunner.store.changes import bulk, one_run
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database
from jobrunner.store.questions.runs import run_details
from jobrunner.store.questions.runs.logs import RunAtWork
from jobrunner.store.queue.enqueue import enqueue
from jobrunner.store.queue.enqueue_sql import Enqueued, NewRun
from jobrunner.store.queue.ticks import audit

_LOOK_SECONDS = 0.3
_TICK_AGAIN_SECONDS = 2.0


@click.command()
@click.argument("job_type", metavar="TYPE", shell_complete=suggestions.job_types)
@click.option("--payload", default="{}", metavar="JSON|@FILE|-", help="The arguments, a JSON object. [default: {}]")
@run_options(["timeout"])
@click.option("--debug", "is_debugged", is_flag=True, help="Call the handler in this process, with no time limit.")
@options.REASON
def run(job_type: str, payload: str, timeout: timedelta | str | None, is_debugged: bool) -> None:
    """Run a job type once, now, on this host, and show what it prints: to try it.

    It is a run like every other: it is in the database with its output and its end, limits and pauses apply to it, and
    this command runs a tick for it. It has one attempt and the highest priority. Ctrl-C cancels it; a second Ctrl-C
    ends this command at once, and leaves the run to the tick. The output comes with the heartbeats, so it may be some
    seconds late. If it fails, its traceback is shown.

    With --debug the handler is called in this process: breakpoint() stops there, on this terminal, and no timeout ends
    the run. Its output goes to the terminal only. Its lease is renewed meanwhile. If a limit or a pause does not
    let it begin, nothing is enqueued.

    Exit status 0: it has succeeded; 1: it is dead or cancelled; 130: Ctrl-C cancelled it.

    Example: jobrunner run greet --payload '{"name": "Ada"}'
    """
    if is_debugged and timeout is not None:
        raise UsageError("--debug has no time limit; leave out --timeout")
    if is_debugged and payload == "-":
        raise UsageError("--debug needs the standard input for the debugger; give the payload as text or as @FILE")
    config = environment.load()
    payload_read = parse_payload(read_payload(payload, config.payload_limit), config.payload_limit)
    options = {"priority": PRIORITY.most, "max_attempts": 1, "timeout": "none" if is_debugged else timeout}
    new = new_run(job_type, payload_read, config.payload_limit, checked(options), os.environ.get("TRACEPARENT"))
    if is_debugged:
        sys.exit(_debug(config, new))
    policy = session.policy_of(config, job_type, "run it on a host that has one", payload_read)
    database = session.open_database(config, creates=True)
    who = session.actor()

    def work(connection: Connection) -> Enqueued:
        enqueued = enqueue(connection, new, policy)
        if enqueued.id is not None:
            audit.write(connection, [audit.event(who, "run", None, {}, bulk.database_now(connection), enqueued.id)])
        return enqueued

    enqueued = database.write(work)
    if enqueued.id is None:
        raise JobrunnerError(f"dropped: as many runs of {job_type} wait as its max_waiting allows")
    sys.exit(_Running(database, enqueued.id, job_type).follow())


def _debug(config: Config, new: NewRun) -> int:
    from jobrunner.cli import debugging

    job = debugging.handler_of(config, new.job_type, parse_payload(new.payload, config.payload_limit))
    database = session.open_database(config, creates=True)
    run_id = debugging.run(config, database, job, new)
    printer = Printer(run_id, None)
    found = database.read(printer.look)
    printer.show(found)
    if found.status == Status.SUCCEEDED:
        return 0
    _show_traceback(database, run_id)
    return 1


def _show_traceback(database: Database, run_id: int) -> None:
    """Print the traceback of the last attempt, if it has one."""
    shown = database.read(partial(run_details.show, run_id=run_id))
    if shown is not None and shown.attempt_log and (text := shown.attempt_log[-1].traceback):
        render.block(text, indent="   ")


class _Running:
    """The run, and the ticks that this command starts for it, one at a time."""

    def __init__(self, database: Database, run_id: int, job_type: str) -> None:
        self._database = database
        self._run_id = run_id
        # One run and no other, and no listening: the rest is for cron's ticks.
        words = ("tick", "--type", job_type, "--batch", "1", "--linger", "0s")
        self._command = [sys.executable, "-P", "-m", "jobrunner", *words]
        self._tick: subprocess.Popen[str] | None = None
        self._tick_at = 0.0
        self._asked_to_stop = 0
        self._is_cancelled = False
        self._has_said_that_it_waits = False

    def follow(self) -> int:
        """Show the run until it has ended, and return the exit code."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._ask_to_stop)
        printer = Printer(self._run_id, None)
        try:
            for found in following.looks(self._database, printer.look, _LOOK_SECONDS):
                if printer.show(found):
                    break
                if self._asked_to_stop > 1:
                    streams.to_stderr(
                        f"jobrunner: not waiting; the run goes on: jobrunner logs {self._run_id} --follow"
                    )
                    return 130
                self._go_on(found)
        finally:
            self._end_tick()
        if found.status == Status.SUCCEEDED:
            return 0
        if found.status == Status.DEAD:
            _show_traceback(self._database, self._run_id)
        return 130 if self._is_cancelled and found.status == Status.CANCELLED else 1

    def _ask_to_stop(self, *_: Any) -> None:
        # Not an exception, which could come in the middle of a call to the database.
        self._asked_to_stop += 1

    def _go_on(self, found: RunAtWork) -> None:
        if self._asked_to_stop and not self._is_cancelled:
            self._is_cancelled = True
            self._database.write(partial(one_run.cancel, run_id=self._run_id, actor=session.actor()))
            streams.to_stderr("jobrunner: cancelling the run; press Ctrl-C again to stop waiting for it")
        if self._tick is not None and self._tick.poll() is not None:
            self._report(self._tick)
            self._tick = None
            if found.status in CLAIMABLE and not self._has_said_that_it_waits:
                self._has_said_that_it_waits = True
                render.line(f"== run {self._run_id} waits; to see for what: jobrunner show {self._run_id}", hanging=3)
        if self._tick is None and found.status in CLAIMABLE and clock.elapsed() >= self._tick_at:
            self._tick_at = clock.elapsed() + _TICK_AGAIN_SECONDS
            self._start_tick()

    def _start_tick(self) -> None:
        # A session of its own: Ctrl-C reaches only this process.
        null, pipe = subprocess.DEVNULL, subprocess.PIPE
        self._tick = subprocess.Popen(
            self._command, text=True, start_new_session=True, stdin=null, stdout=null, stderr=pipe
        )

    def _report(self, tick: subprocess.Popen[str]) -> None:
        if error := tick.communicate()[1].strip():
            streams.to_stderr(error)

    def _end_tick(self) -> None:
        """The run has ended, or goes on without anybody who watches: then this tick finishes it."""
        if self._tick is None or self._asked_to_stop > 1:
            return
        self._report(self._tick)
