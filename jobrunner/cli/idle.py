"""The tick that has nothing to do, 1440 times a day: done without click, SQLAlchemy or structlog.

Only the plainest command line is understood here, and nothing is ever said: where there is anything to do, to tell or
to doubt, the answer is no, and the command itself begins from the start (docs/adr/0013-idle-tick.md).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_PATHS = ("--env-file", "--config", "--log-file")
_SETTINGS = ("--budget", "--grace", "--concurrency", "--batch")


def was_idle(words: Sequence[str]) -> bool:
    """Whether the command line means a tick, and that had nothing to do; its trail and its line in the log stand."""
    given = _understood(words)
    if given is None or "_JOBRUNNER_COMPLETE" in os.environ or sys.stderr.isatty():
        return False
    try:
        return _tick(given)
    except Exception:  # noqa: BLE001 - whatever it is, the command meets it again and tells
        return False


def _is_tick_abandoned(folder: Path) -> bool:
    """Whether a tick of this host was killed: what it held and had not begun is to be given back."""
    if not any(folder.glob("tick-*.page")):
        return False
    from jobrunner.children import begun_page

    return begun_page.is_any_abandoned(folder)


def _understood(words: Sequence[str]) -> dict[str, str] | None:
    if not words or words[0] != "tick":
        return None
    given = {}
    left = iter(words[1:])
    for word in left:
        name, is_joined, value = word.partition("=")
        if name not in (*_PATHS, *_SETTINGS) or name in given:
            return None
        given[name] = value if is_joined else next(left, "")
    return given if all(value and not value.startswith("-") for value in given.values()) else None


def _tick(given: dict[str, str]) -> bool:
    from pathlib import Path

    import jobrunner
    from jobrunner import clock, failpoints, names

    if failpoints.are_wanted():
        return False
    from jobrunner.cli import environment
    from jobrunner.settings import state_folder
    from jobrunner.store import idle

    paths = {name: Path(given[name]) for name in _PATHS if name in given}
    settings = {name.lstrip("-"): given.get(name) for name in _SETTINGS}
    environment.add_env_file(paths.get("--env-file"))
    if "--config" in paths:
        environment.name_config(paths["--config"])
    config = environment.load({**settings, "log": paths.get("--log-file")})
    if config.linger or any(map(_is_tick_abandoned, state_folder.for_state(config.state_dir))):
        return False
    log = None
    if config.log is not None:
        from jobrunner.log import PlainLog

        log = PlainLog(config.log)
    began_at = clock.elapsed()
    url, worker = environment.database_url(config), names.worker(config.host, os.urandom(4).hex())
    if not idle.was_idle(url, config.host, worker, jobrunner.__version__):
        return False
    if log is not None:
        log.info("tick", result="done", seconds=round(clock.elapsed() - began_at, 3))
    return True
