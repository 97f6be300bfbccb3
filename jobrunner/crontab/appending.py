"""Adds imported jobs to a ``jobrunner.toml``: all of them or none. The present text of the file does not change."""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from jobrunner.crontab.import_records import Job, Takeover
from jobrunner.crontab.names import name_jobs
from jobrunner.errors import ConfigurationError, JobrunnerError
from jobrunner.settings import toml_file
from jobrunner.settings.toml_schedules import declarations
from jobrunner.settings.whole_file import draft_of, replace_file, synchronize_folder


def without_known(found: Takeover, path: Path) -> Takeover:
    """Remove the jobs that the file already has, and give the others names that are free in it."""
    if not path.exists():
        return found
    file = toml_file.read(path)
    present = [_content_in(file, name) for name in file.commands]
    known = [job for job in found.jobs if _content(job) in present]
    fresh = name_jobs([job for job in found.jobs if job not in known], {*file.commands, *file.schedules})
    before = {job.line: job.name for job in found.jobs}
    texts = {each.line: each.text for each in found.remarks}
    texts |= {job.line: f"{job.name}: already in {path}, not changed" for job in known}
    texts |= {job.line: job.name + texts[job.line].removeprefix(before[job.line]) for job in fresh}
    remarks = tuple(replace(each, text=texts[each.line]) for each in found.remarks)
    return replace(found, jobs=tuple(fresh), remarks=remarks, known=len(known))


def _content_in(file: toml_file.JobFile, name: str) -> tuple[object, ...]:
    command, schedule = file.commands[name], file.schedules.get(name)
    if schedule is None:
        return ()
    when = schedule.expression, schedule.options.get("timezone")
    return command.argv, command.stdin, command.cwd, dict(command.env), *when


def _content(job: Job) -> tuple[object, ...]:
    return job.argv, job.stdin, Path(job.cwd), dict(job.env), job.schedule, job.timezone


def append(path: Path, text: str, names: Collection[str]) -> None:
    """Append the text to the file. A new file can be read by its owner only.

    Raises JobrunnerError if the file already has one of the names. After any error the file is unchanged.
    """
    # Write the target of a symbolic link, and keep the link.
    path = path.resolve()
    old = b""
    if path.exists():
        present = toml_file.read(path)
        if taken := sorted(set(names) & (set(present.commands) | set(present.schedules))):
            raise JobrunnerError(
                f"{path} already has {', '.join(taken)}, so nothing was written; print the entries without --output,"
                " and give them other names"
            )
        old = path.read_bytes()
    gap = b"" if not old else b"\n" if old.endswith(b"\n") else b"\n\n"
    replace_file(path, old + gap + text.encode(), draft_of(path), check=_check)
    synchronize_folder(path.parent)


def _check(draft: Path) -> None:
    """Raise ConfigurationError unless it is a valid configuration."""
    try:
        declarations(draft, toml_file.read(draft).schedules, sys.maxsize)
    except ConfigurationError as error:
        raise ConfigurationError(str(error).replace(f"{draft}: ", "").replace(str(draft), "the new file")) from None
