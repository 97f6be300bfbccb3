"""The idle tick, which may come 1440 times a day: done without click and SQLAlchemy.

It understands only a simple command line, and prints nothing. If there is anything to do or to report, or anything is
unclear, the answer is no, and the full command starts from the beginning (docs/adr/0013-idle-tick.md).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from jobrunner.untyped import TYPE_CHECKING

if TYPE_CHECKING:
    from jobrunner.settings.config import Config
    from jobrunner.worker.processes import TickProcesses

_PATHS = ("--env-file", "--config", "--log")
# Less than five minutes, because no tick comes at the very second.
_METRICS_STAY_SECONDS = 280.0

_is_due: Config | None = None
"""The settings of the tick if the database has said that something is due."""
_processes: TickProcesses | None = None


def start_first_child() -> None:
    """Start a child if something is due: it takes as long to get ready as the imports of the full tick."""
    global _processes  # noqa: PLW0603 - a process has one tick
    if _is_due is not None:
        from jobrunner.worker.processes import TickProcesses

        _processes = TickProcesses(_is_due)
        _processes.start_first()


def settings_if_due() -> Config | None:
    """The settings of a tick that has something to do. None: the database has not said so, or it is not known."""
    return _is_due


def take_processes() -> TickProcesses | None:
    """The processes of this tick, if there are any yet."""
    global _processes
    taken, _processes = _processes, None
    return taken


def was_idle(words: Sequence[str]) -> bool:
    """Whether the command line asks for a tick, and it had nothing to do. Its row and its log line are written."""
    given = _parse(words)
    if given is None or "_JOBRUNNER_COMPLETE" in os.environ or sys.stderr.isatty():
        return False
    try:
        return _tick(given)
    except Exception:  # noqa: BLE001 - the full command meets the same error and reports it
        return False


def _is_tick_abandoned(folder: str) -> bool:
    """Whether a tick of this host was killed: then its runs must be ended or returned, and its processes killed."""
    from jobrunner.settings.state_folder import TICK_NOTES, TICK_PAGES, files_in

    if files_in(folder, *TICK_PAGES):
        from jobrunner.children import begun_page

        if begun_page.is_any_abandoned(folder):
            return True
    if not files_in(folder, *TICK_NOTES):
        return False
    # A process that a handler has forked may hold the page, or there is none.
    from jobrunner.children import process_groups

    return bool(process_groups.killed_ticks([folder]))


def _is_file_changed(folders: Sequence[str], url: str, config: Config) -> bool:
    """Whether something else than ticks has written an SQLite file, which may be damaged since."""
    from jobrunner.settings import state_folder
    from jobrunner.store.drivers.raw import raw_driver

    file = raw_driver.file_of(url)
    if file is None or not state_folder.is_changed(folders, url, config.schema, config.host, file):
        return False
    return os.stat(file).st_size <= raw_driver.MOST_BYTES_CHECKED


def _is_old(metrics: str) -> bool:
    """Whether an idle tick should write the metrics, every five minutes. To import what does it doubles its work."""
    from jobrunner import clock

    try:
        age = clock.utc_now().timestamp() - os.stat(metrics).st_mtime
    except OSError:
        return True
    return not 0 <= age < _METRICS_STAY_SECONDS


def _parse(words: Sequence[str]) -> dict[str, str] | None:
    if not words or words[0] != "tick":
        return None
    given = {}
    known = (*_PATHS, *_settings())
    left = iter(words[1:])
    for word in left:
        name, is_joined, value = word.partition("=")
        if name not in known or name in given:
            return None
        given[name] = value if is_joined else next(left, "")
    return given if all(value and not value.startswith("-") for value in given.values()) else None


def _settings() -> list[str]:
    """The options of a tick that are settings."""
    from jobrunner.settings.config import SETTINGS

    return [f"--{name}" for name, row in SETTINGS.items() if row.metavar]


def _label(url: str, schema: str | None) -> str:
    from jobrunner.store.drivers.location import locate

    return locate(url, schema).label


def _tick(given: dict[str, str]) -> bool:
    global _is_due  # noqa: PLW0603 - a process has one tick
    import jobrunner
    from jobrunner import clock, failpoints, names

    if failpoints.are_wanted():
        return False
    from jobrunner.cli import environment
    from jobrunner.settings import state_folder
    from jobrunner.settings.config import application_of
    from jobrunner.store.queue.ticks import idle

    settings = {name.lstrip("-"): given.get(name) for name in _settings()}
    environment.add_env_file(given.get("--env-file"))
    if "--config" in given:
        environment.name_config(given["--config"])
    config = environment.load({**settings, "log": given.get("--log")})
    if config.spread:
        from jobrunner.cli import spread

        spread.wait(config)
    folders = state_folder.for_state(config.state_dir)
    if config.linger or any(map(_is_tick_abandoned, folders)):
        return False
    log = None
    if config.log is not None:
        from jobrunner.log import open_log

        log = open_log(config.log, on_stderr=False, level=config.log_level)
    began_at = clock.elapsed()
    url, worker = environment.database_url(config), names.worker(config.host, os.urandom(4).hex())
    application, version = application_of(config), jobrunner.__version__
    is_checked = _is_file_changed(folders, url, config)
    answer = idle.was_idle(
        url, config.schema, config.host, worker, version, application, config.notify, is_checked=is_checked
    )
    if not answer:
        _is_due = config if answer is False else None
        return False
    state_folder.note_tick(folders, url, config.schema, config.host, lambda: _label(url, config.schema))
    if log is not None:
        log.info("tick", result="done", seconds=round(clock.elapsed() - began_at, 3))
    if config.metrics_file is not None and _is_old(config.metrics_file):
        from jobrunner.worker import metrics

        metrics.write_after_idle_tick(config, log)
    if config.notify is not None and config.notify.tick_ping is not None:
        from jobrunner.notify import pings

        # The tick is done, whatever becomes of its ping: the monitor alarms when none comes.
        pings.send_alone(config.notify.tick_ping, config.notify.give_up_after)
    return True
