"""dev: ticks for a developer at a terminal, without cron."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from jobrunner import clock
from jobrunner.admin.doctor.handlers import why_none
from jobrunner.cli import environment, garbage, session
from jobrunner.errors import DatabaseUnavailable, HandlersUnavailable
from jobrunner.settings.config import Config
from jobrunner.store.drivers.database import Database
from jobrunner.store.questions import feed
from jobrunner.store.questions.feed import Seen
from jobrunner.store.sql.statement import Row
from jobrunner.text import one_line, visible, visible_block

_EVERY_SECONDS = 1.0
_LOOK_SECONDS = 0.1
_MOST_TICKS = 10
_GRACE_SECONDS = 1
_LONGEST_STOP_SECONDS = 15
_WATCHED = (".py", ".toml")
_SKIPPED = {"__pycache__", "node_modules", "site-packages"}


@click.command()
@click.argument("modules", metavar="[MODULE]...", nargs=-1)
@click.option("--once", "is_once", is_flag=True, help="One tick, for what is due now; then end.")
def dev(modules: tuple[str, ...], is_once: bool) -> None:
    """Tick every second, and print what happens, until Ctrl-C: for a developer, without cron.

    Each tick imports the code anew. When a .py or .toml file of the application changes, the running ticks are stopped,
    and their runs begin again with the new code. MODULE: modules that hold handlers, in the current folder, in place
    of JOBRUNNER_IMPORT and JOBRUNNER_APP_DIR.

    With --once it works on what is due now, prints what became of it, and ends with the exit status of that tick.

    Example: jobrunner dev app.jobs
    """
    if modules:
        os.environ["JOBRUNNER_IMPORT"] = ",".join(modules)
        os.environ.setdefault("JOBRUNNER_APP_DIR", os.getcwd())
    config = environment.load()
    database = session.open_database(config, creates=True)
    known = _known(config)
    # It looks before it says so: what is enqueued from then on is new.
    dev = _Dev(config, database)
    _say("ready", f"{database.location.label}: {known}; {'one tick' if is_once else 'Ctrl-C ends it'}")
    if is_once:
        click.get_current_context().exit(dev.run_once())
    dev.run()


def _known(config: Config) -> str:
    try:
        policies = session.policies(config)
    except HandlersUnavailable as error:
        return str(error)
    return ", ".join(policy.job_type for policy in policies) or "; ".join(why_none(config.imports))


class _Dev:
    def __init__(self, config: Config, database: Database) -> None:
        self._config = config
        self._database = database
        self._ticks: list[subprocess.Popen[str]] = []
        self._last_error = ""
        self._asked_to_stop = 0
        self._seen: Seen = database.read(feed.begin)

    def run_once(self) -> int:
        """One tick; its exit status. A signal stops it."""
        self._begin()
        self._start()
        (tick,) = self._ticks
        while tick.poll() is None and not self._asked_to_stop:
            self._show()
            clock.sleep(_LOOK_SECONDS)
        self._stop()
        self._show()
        return 130 if self._asked_to_stop else tick.returncode

    def _begin(self) -> None:
        garbage.collect()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._ask_to_stop)

    def run(self) -> None:
        """Work until a signal asks to stop."""
        self._begin()
        folder = Path(self._config.app_dir or Path.cwd())
        files = _files(folder)
        next_at = 0.0
        while not self._asked_to_stop:
            if clock.elapsed() >= next_at:
                next_at = clock.elapsed() + _EVERY_SECONDS
                before, files = files, _files(folder)
                if changed := sorted({path for path, _ in before.items() ^ files.items()}):
                    self._stop()
                    _say("reloaded", f"{Path(changed[0]).relative_to(folder)}: {_known(self._config)}")
                self._start()
            self._reap()
            self._show()
            clock.sleep(_LOOK_SECONDS)
        self._stop()
        self._show()
        _say("stopped", "")

    def _ask_to_stop(self, *_: Any) -> None:
        # Not an exception, which could come in the middle of a call to the database.
        self._asked_to_stop += 1

    def _start(self) -> None:
        if len(self._ticks) < _MOST_TICKS:
            # A session of its own: Ctrl-C reaches only this process, which stops the ticks one by one.
            command = [sys.executable, "-P", "-m", "jobrunner", "tick", "--grace", f"{_GRACE_SECONDS}s"]
            null, pipe = subprocess.DEVNULL, subprocess.PIPE
            self._ticks.append(
                subprocess.Popen(command, text=True, start_new_session=True, stdin=null, stdout=null, stderr=pipe)
            )

    def _reap(self) -> None:
        for tick in [each for each in self._ticks if each.poll() is not None]:
            self._ticks.remove(tick)
            error = tick.communicate()[1].strip()
            # The same problem would come each second.
            if error and error != self._last_error:
                _say("problem", error.removeprefix("jobrunner: "))
            self._last_error = error

    def _stop(self) -> None:
        """Stop the ticks: their handlers have some seconds to end, and their runs go back into the queue."""
        for tick in self._ticks:
            tick.terminate()
        ends_at = clock.elapsed() + _LONGEST_STOP_SECONDS
        while any(tick.poll() is None for tick in self._ticks):
            if clock.elapsed() > ends_at or self._asked_to_stop > 1:
                for tick in self._ticks:
                    # Its children end with it.
                    tick.kill()
            clock.sleep(_LOOK_SECONDS)
        self._reap()

    def _show(self) -> None:
        try:
            self._seen, runs, attempts = self._database.read(lambda connection: feed.look(connection, self._seen))
        except DatabaseUnavailable as error:
            if str(error) != self._last_error:
                _say("problem", str(error))
            self._last_error = str(error)
            return
        lines = [(row.created_at, *_of_run(row)) for row in runs]
        lines += [(row.finished_at, *_of_attempt(row)) for row in attempts]
        for at, word, text, block in sorted(lines, key=lambda line: line[0]):
            _say(word, text, at)
            for line in block.splitlines():
                click.echo(f"    {visible_block(line)}")


def _of_run(row: Row) -> tuple[str, str, str]:
    due = "" if row.run_at <= row.created_at else f", due {_clock(row.run_at)}"
    return "queued", f"run {row.id} {row.job_type} {one_line(str(row.payload), 200)}{due}", ""


def _of_attempt(row: Row) -> tuple[str, str, str]:
    seconds = (row.finished_at - row.started_at).total_seconds()
    text = f"run {row.run_id} {row.job_type}, attempt {row.attempt}, {seconds:.2f} s"
    if row.error:
        text += f": {row.error_type}: {one_line(row.error)}"
    if row.status in ("queued", "failed"):
        text += f"; again at {_clock(row.run_at)}"
    block = "\n".join(filter(None, (row.output, row.traceback)))
    return row.status if row.status == "dead" else row.outcome, text, block


def _files(folder: Path) -> dict[str, float]:
    """When each file of the application was last changed."""
    return dict(_each_file(folder))


def _each_file(folder: Path) -> Iterator[tuple[str, float]]:
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in _SKIPPED and not _is_apart(Path(place, name))]
        for name in files:
            if name.endswith(_WATCHED):
                path = os.path.join(place, name)
                with suppress(OSError):
                    yield path, os.stat(path).st_mtime


def _is_apart(folder: Path) -> bool:
    """Whether a folder is hidden, or an environment of Python."""
    return folder.name.startswith(".") or (folder / "pyvenv.cfg").exists()


def _clock(instant: datetime) -> str:
    return instant.astimezone(UTC).strftime("%H:%M:%SZ")


def _say(word: str, text: str, at: datetime | None = None) -> None:
    stamp = "         " if at is None else _clock(at)
    click.echo(f"{stamp}  {word:9}  {visible(text)}".rstrip())
