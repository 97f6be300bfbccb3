"""Jobs as text for ``jobrunner.toml``. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from jobrunner.crontab.import_records import Job
from jobrunner.jobs import commands
from jobrunner.text import visible

_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_HEAD = """\
# From {source}
# As under cron: no time limit, one attempt, runs may overlap, missed slots get no run, standard input is empty.
# Remove timeout, max_attempts, overlap, misfire or stdin to get jobrunner's defaults.
"""


def write(jobs: Sequence[Job], source: str, *, every_host: bool = False) -> str:
    """The entries, each after a comment with the number of its line. ``every_host``: each host runs each slot."""
    return "\n".join([_HEAD.format(source=source), *(_table(each, every_host) for each in jobs)])


def _table(job: Job, every_host: bool) -> str:
    is_usual = job.shell == commands.SHELL
    pairs = {
        "description": None if job.description is None else quoted(job.description),
        "schedule": quoted(job.schedule),
        "timezone": quoted(job.timezone),
        "shell": "true" if is_usual else None,
        "command": quoted(job.command) if is_usual else f"[{', '.join(map(quoted, job.argv))}]",
        "stdin": quoted(job.stdin),
        "cwd": quoted(job.cwd),
        "env": "{ " + ", ".join(f"{key(name)} = {quoted(value)}" for name, value in job.env.items()) + " }",
        "timeout": '"none"',
        "max_attempts": "1",
        "misfire": '"skip"',
        "overlap": '"allow"',
        "on": '"every-host"' if every_host else None,
    }
    lines = [f"{key} = {value}" for key, value in pairs.items() if value is not None]
    return "\n".join([f"# line {job.line}", f"[jobs.{key(job.name)}]", *lines, ""])


def quoted(text: str) -> str:
    """A TOML string; a literal one if that is easier to read."""
    if ('"' in text or "\\" in text) and "'" not in text and visible(text) == text:
        return f"'{text}'"
    # A character that acts on a terminal or is invisible is escaped.
    return "".join(
        each if visible(each) == each else f"\\u{ord(each):04x}" for each in json.dumps(text, ensure_ascii=False)
    )


def key(name: str) -> str:
    """A key of TOML, in quotes if it needs them."""
    return name if _BARE.fullmatch(name) else quoted(name)
