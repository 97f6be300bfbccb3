"""Adds imported jobs to a ``jobrunner.toml``, all of them or none, without touching what stands in it."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from jobrunner.crontab.names import name_jobs
from jobrunner.crontab.takeover import Job, Takeover
from jobrunner.errors import ConfigurationError, JobrunnerError
from jobrunner.settings import toml_file
from jobrunner.settings.toml_schedules import declarations


def beside(found: Takeover, path: Path) -> Takeover:
    """Without the jobs that the file has already, and the others under names that are free in it."""
    if not path.exists():
        return found
    file = toml_file.read(path)
    there = [_likeness(name, file) for name in file.commands]
    known = [job for job in found.jobs if _likeness_of(job) in there]
    fresh = name_jobs([job for job in found.jobs if job not in known], {*file.commands, *file.schedules})
    before = {job.line: job.name for job in found.jobs}
    told = {job.line: f"{job.name}: in {path} already, and left as it is" for job in known}
    remarks = {each.line: each for each in found.remarks}
    for job in fresh:
        told[job.line] = job.name + remarks[job.line].text.removeprefix(before[job.line])
    said = [replace(each, text=told.get(each.line, each.text)) for each in found.remarks]
    return replace(found, jobs=tuple(fresh), remarks=tuple(said), known=len(known))


def _likeness(name: str, file: toml_file.JobFile) -> tuple[object, ...]:
    command, schedule = file.commands[name], file.schedules.get(name)
    if schedule is None:
        return ()
    when = schedule.expression, schedule.options.get("timezone")
    return command.argv, command.stdin, command.cwd, dict(command.env), *when


def _likeness_of(job: Job) -> tuple[object, ...]:
    return job.argv, job.stdin, Path(job.cwd), dict(job.env), job.schedule, job.timezone


def append(path: Path, text: str, names: Collection[str]) -> None:
    """Put the text at the file's end; the file is made where there is none, for its owner alone.

    Raises JobrunnerError where the file has one of the names already; then, and on every other error, it is as it was.
    """
    # What a link names is written, and the link stays.
    path = path.resolve()
    old = b""
    if path.exists():
        there = toml_file.read(path)
        if taken := sorted(set(names) & (set(there.commands) | set(there.schedules))):
            raise JobrunnerError(
                f"{path} has {', '.join(taken)} already, so nothing was written; print the entries without --output,"
                " and give them other names"
            )
        old = path.read_bytes()
    gap = b"" if not old else b"\n" if old.endswith(b"\n") else b"\n\n"
    draft = _drafted(old + gap + text.encode(), path.parent)
    try:
        if old:
            found = path.stat()
            draft.chmod(found.st_mode & 0o7777)
            with suppress(PermissionError):
                os.chown(draft, found.st_uid, found.st_gid)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _drafted(data: bytes, folder: Path) -> Path:
    """A file in the folder that is known to be readable as a configuration."""
    descriptor, name = tempfile.mkstemp(prefix=".jobrunner-import-", suffix=".toml", dir=folder)
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        declarations(draft, toml_file.read(draft).schedules, sys.maxsize)
    except ConfigurationError as error:
        draft.unlink()
        raise ConfigurationError(str(error).replace(f"{draft}: ", "").replace(str(draft), "the new file")) from None
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return draft
