"""Jobs as text for ``jobrunner.toml``. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from jobrunner.crontab.takeover import Job
from jobrunner.jobs import commands
from jobrunner.text import visible

_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_HEAD = """\
# From {source}
# As under cron: as long as it takes, one attempt, beside its own last run, nothing made up for, and an empty standard
# input. Take timeout, max_attempts, overlap, misfire or stdin away to have jobrunner's own ways.
"""


def write(jobs: Sequence[Job], source: str) -> str:
    """The entries, each below a comment with the line that it comes from."""
    return "\n".join([_HEAD.format(source=source), *map(_table, jobs)])


def _table(job: Job) -> str:
    is_usual = job.shell == commands.SHELL
    pairs = {
        "description": None if job.description is None else quoted(job.description),
        "schedule": quoted(job.schedule),
        "timezone": quoted(job.timezone),
        "shell": "true" if is_usual else None,
        "command": quoted(job.command) if is_usual else f"[{', '.join(map(quoted, job.argv))}]",
        "stdin": quoted(job.stdin),
        "cwd": quoted(job.cwd),
        "env": "{ " + ", ".join(f"{_key(name)} = {quoted(value)}" for name, value in job.env.items()) + " }",
        "timeout": '"none"',
        "max_attempts": "1",
        "misfire": '"skip"',
        "overlap": '"allow"',
    }
    lines = [f"{key} = {value}" for key, value in pairs.items() if value is not None]
    return "\n".join([f"# line {job.line}", f"[jobs.{_key(job.name)}]", *lines, ""])


def quoted(text: str) -> str:
    """A TOML string: as it is, where that is easier to read."""
    if ('"' in text or "\\" in text) and "'" not in text and visible(text) == text:
        return f"'{text}'"
    # What acts on a terminal, or hides from who reads it there, stands as an escape.
    return "".join(
        each if visible(each) == each else f"\\u{ord(each):04x}" for each in json.dumps(text, ensure_ascii=False)
    )


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else quoted(name)
