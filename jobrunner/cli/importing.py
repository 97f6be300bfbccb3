"""The import of schedules from another scheduler, and what both imports tell at their end."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from jobrunner.cli import environment, render, streams
from jobrunner.crontab import appending, host
from jobrunner.errors import UsageError
from jobrunner.settings.config import Config
from jobrunner.text import visible

SCHEDULERS = {
    "celery-beat": "from beat_schedule",
    "apscheduler": "from the scheduler",
    "django-crontab": "from CRONJOBS (then: manage.py crontab add)",
}
"""By their names on the command line: where their entries stand, which are to be removed after the import."""


def from_scheduler(scheduler: str, source: str, timezone: str | None, output: Path | None, env_file: str | None) -> int:
    """Import the schedules of an application, and return the exit status: 1 if some of them are refused."""
    from jobrunner.crontab.schedulers import child, convert
    from jobrunner.settings import toml_file

    config = environment.load()
    if source == "-":
        raise UsageError("the schedules of an application are in a module; give its name or its file, not -")
    zone = host.crons_timezone() if timezone is None and scheduler == "django-crontab" else timezone
    folder = config.app_dir or os.getcwd()
    entries = child.read(scheduler, source, folder, config.start_limit.total_seconds())
    found = convert.convert(scheduler, entries, zone)
    if output is not None and output.exists():
        found = convert.without_known(found, toml_file.read(output), str(output))
    text = convert.write(found.entries, visible(source), scheduler)
    if output is not None and found.entries:
        appending.append(output, text, [entry.name for entry in found.entries])
    elif found.entries:
        render.done(text.rstrip("\n"))
    for name, remark in found.remarks:
        streams.to_stderr(visible(f"{name}: {remark}"))
    streams.to_stderr(convert.counts(found))
    if found.entries:
        handlers = ", ".join(sorted({entry.job_type for entry in found.entries}))
        streams.to_stderr(f"each needs a handler, such as @job({found.entries[0].job_type!r}): {visible(handlers)}")
        streams.to_stderr(next_steps(config, output, env_file))
        streams.to_stderr(f"then remove the imported entries {SCHEDULERS[scheduler]}, or they run twice")
    return 1 if found.refused else 0


def next_steps(config: Config, output: Path | None, env_file: str | None) -> str:
    """The commands that put the entries to work, as they can be executed: with what cannot be known without them."""
    of_env_file = [] if env_file is None else ["--env-file", env_file]
    if output is None:
        file = Path(config.file or "jobrunner.toml")
        done = f"add these entries to {visible(str(file))}"
    else:
        file, done = output, f"written to {visible(str(output))}"
    named = [] if config.file is not None and _is_same(file, Path(config.file)) else ["--config", str(file)]
    following = shlex.join(["jobrunner", "apply", *of_env_file, *named])
    if not named:
        return f"{done}; next: {following}"
    ticking = shlex.join(["jobrunner", "crontab", "install", *of_env_file, *named])
    return f"{done}; next: {following}; the ticks need that file, too: {ticking}"


def _is_same(file: Path, other: Path) -> bool:
    return file.resolve() == other.resolve()
