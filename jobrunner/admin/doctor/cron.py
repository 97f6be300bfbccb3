"""The crontab line that starts ticks, tried with cron's own environment."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobrunner.admin.doctor.checks import Check, ok, warning, wrong
from jobrunner.crontab import host
from jobrunner.crontab.ticking_lines import TickLine, call_of, tick_lines
from jobrunner.errors import JobrunnerError
from jobrunner.text import one_line

_PATH = "/usr/bin:/bin"
_TIMEOUT_SECONDS = 20.0
_ENV_FILE = "put its variables into an env file: jobrunner --env-file FILE crontab install"


@dataclass(frozen=True)
class Here:
    """What this command has found in its own environment, to compare with cron's."""

    database: str
    job_types: Sequence[str]


class Probe:
    """Calls the doctor of a crontab line in cron's environment, beside the other checks."""

    def __init__(self, line: TickLine) -> None:
        self.line = line
        self.problem: Check | None = None
        self._process: subprocess.Popen[bytes] | None = None
        call = call_of(line.command)
        if call is None:
            self.problem = warning(
                "cron line",
                f"{_place(line)}: only a shell can tell what it starts",
                f"see that {_place(line)} finds its settings, such as JOBRUNNER_DATABASE_URL",
            )
            return
        home = pwd.getpwuid(os.getuid())
        environment = {"PATH": _PATH, "SHELL": "/bin/sh", "HOME": home.pw_dir, "LOGNAME": home.pw_name}
        environment |= {**line.variables, **call.variables}
        words = [*call.program, "doctor", "--json", "--no-crontab", *call.paths]
        try:
            self._process = subprocess.Popen(
                ["/usr/bin/env", *words],
                env=environment,
                cwd=call.folder or home.pw_dir,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            self.problem = wrong(
                "cron line", f"{_place(line)}: it cannot start: {error}", f"correct the paths in {_place(line)}"
            )

    def compare(self, here: Here) -> list[Check]:
        """What the doctor under cron has found, and how it differs from what was found here."""
        if self._process is None:
            return [] if self.problem is None else [self.problem]
        try:
            stdout, stderr = self._process.communicate(timeout=_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            found = f"{_place(self.line)}: under cron the checks took more than {_TIMEOUT_SECONDS:g} s"
            return [warning("cron line", found, "see what the modules of JOBRUNNER_IMPORT import")]
        try:
            answer = json.loads(stdout)
            return [_compared(self.line, here, answer)]
        except (ValueError, KeyError, TypeError):
            return [self._not_answered(stderr)]

    def _not_answered(self, stderr: bytes) -> Check:
        assert self._process is not None
        place, said = _place(self.line), one_line(stderr.decode("utf-8", "replace"), 300)
        if self._process.returncode in (126, 127):
            found = f"{place}: cron does not find the program ({said})"
            return wrong("cron line", found, "write absolute paths: jobrunner crontab install")
        return wrong("cron line", f"{place}: with cron's environment it fails: {said}", _ENV_FILE)


def _compared(line: TickLine, here: Here, there: Mapping[str, Any]) -> Check:
    place = _place(line)
    if there["database"] != here.database:
        found = f"{place}: its ticks use another database, {there['database']}, not {here.database}"
        return wrong("cron line", found, f"{_ENV_FILE}; or name cron's database here")
    failed = [each for each in there["checks"] if each["verdict"] == "wrong" and each["name"] in _SUFFICES]
    if failed:
        found = f"{place}: with cron's environment: {failed[0]['name']}: {failed[0]['found']}"
        return wrong("cron line", one_line(found), failed[0]["remedy"])
    if missing := sorted(set(here.job_types) - set(there["job_types"])):
        found = f"{place}: its ticks cannot run {', '.join(missing)}, which this environment can"
        return wrong("cron line", one_line(found), _ENV_FILE)
    return ok("cron line", f"{place}: with cron's environment it uses this database and knows the same job types")


_SUFFICES = ("settings", "database", "schema", "handlers", "state folder", "files")
"""The checks that may end otherwise under cron than here."""


def lines(folder: Path = Path("/etc")) -> tuple[list[TickLine], list[Check]]:
    """The lines that start ticks, in the crontab of this user and in those of the system that can be read."""
    found: list[TickLine] = []
    checks = []
    try:
        # A container or a host with systemd's timers needs no cron.
        if shutil.which("crontab") is not None:
            found += tick_lines("crontab -l", host.read_crontab(), has_user=False)
    except JobrunnerError as error:
        checks.append(
            warning(
                "cron line", f"the crontab of this user was not looked at: {error}", "let this user read it: crontab -l"
            )
        )
    for path in (folder / "crontab", *sorted((folder / "cron.d").glob("*"))):
        try:
            found += tick_lines(str(path), path.read_bytes(), has_user=True)
        except OSError:
            continue
    return found, checks


def about(found: Sequence[TickLine], user: str, *, is_ticking: bool) -> Iterator[Check]:
    """What can be said of the lines without starting anything."""
    if not found:
        remedy = "jobrunner crontab install; or, where there is no cron, jobrunner loop as a service"
        if is_ticking:
            yield ok("cron line", "none here; something else starts the ticks of this host")
        else:
            yield wrong("cron line", "no crontab that this user may read starts a tick", remedy)
    for line in found:
        if line.user not in (None, user):
            remedy = f"sudo -u {line.user} -H jobrunner doctor"
            yield warning("cron line", f"{_place(line)} runs as {line.user}: not tried", remedy)
        if line.variables.get("MAILTO", "x").strip() == "":
            yield warning(
                "mail",
                f'{_place(line)} stands below MAILTO="", so cron mails the messages of a failing tick to nobody',
                "move the line above it: jobrunner crontab install; or watch: jobrunner health",
            )


def _place(line: TickLine) -> str:
    return f"{line.source}, line {line.number}"
