"""What each line of a crontab becomes: a job of ``jobrunner.toml``, a part of one, or a remark that says why not. Pure.

A job that worked under cron must work here: what cron gave it (its folder, its variables, an empty standard input, as
long as it takes, one attempt, beside its own last run) is written into each job, for a person to take away.
"""

from __future__ import annotations

import re
from dataclasses import replace

from jobrunner.crontab.descriptions import descriptions
from jobrunner.crontab.names import name_jobs
from jobrunner.crontab.parse import Blank, Comment, Crontab, Entry, Unreadable, Variable, without_input
from jobrunner.crontab.takeover import Host, Job, Remark, Takeover
from jobrunner.errors import BadSchedule, ConfigurationError
from jobrunner.jobs import commands
from jobrunner.schedules.cron_fields import ours_in
from jobrunner.schedules.recurrence import Recurrence

_PATH = "/usr/bin:/bin"
_HINTS = (
    (
        re.compile(r"^(\[|test|command) [^;|]*&&"),
        "where its test says no, that is an exit status of 1 and a failed run: better `if …; then …; fi`",
    ),
    (re.compile(r"(?<!&)&[ \t]*$"), "what it leaves in the background ends with the run"),
)
_NOT_FOR_JOBS = frozenset(("CRON_TZ", "LOGNAME"))


def take_over(crontab: Crontab, host: Host) -> Takeover:
    """Say of every line what becomes of it."""
    said = descriptions(crontab)
    taking = _Taking(host)
    for line in crontab.lines:
        if isinstance(line, Variable):
            taking.variable(line)
        elif isinstance(line, Entry):
            taking.entry(line, said[line.number][0] if line.number in said else None)
        elif isinstance(line, Unreadable):
            taking.refuse(line.number, line.reason)
    jobs = name_jobs(taking.jobs)
    taken = {job.line: job.name for job in jobs}
    remarks = [
        replace(each, text=f"{taken[each.line]}{each.text}") if each.line in taken else each for each in taking.remarks
    ]
    return Takeover(
        jobs=tuple(jobs),
        remarks=tuple(remarks),
        comments=tuple(line.number for line in crontab.lines if isinstance(line, Comment)),
        described=tuple(number for line in taken if line in said for number in said[line][1]),
        blank=sum(isinstance(line, Blank) for line in crontab.lines),
    )


class _Taking:
    """Goes down the lines, with the variables that hold from there on."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._variables: dict[str, str] = {}
        self.jobs: list[Job] = []
        self.remarks: list[Remark] = []

    def refuse(self, line: int, reason: str) -> None:
        self.remarks.append(Remark(line, f"not taken over: {reason}", is_refusal=True))

    def variable(self, line: Variable) -> None:
        self._variables[line.name] = line.value
        self.remarks.append(Remark(line.number, f"{line.name}: {_about(line)}"))

    def entry(self, line: Entry, description: str | None) -> None:
        if line.user not in (None, self._host.user):
            self.refuse(
                line.number,
                f"it runs as {line.user}, and a job here runs as the user of the tick, {self._host.user}; import it for"
                f" a tick of that user's: --user {line.user}",
            )
            return
        try:
            recurrence = Recurrence.parse(line.schedule, self._variables.get("CRON_TZ", self._host.timezone))
            _check_is_crons(line.schedule)
            job, why = self._job(line, recurrence)
        except (BadSchedule, ConfigurationError) as error:
            self.refuse(line.number, str(error))
            return
        self.jobs.append(replace(job, description=description))
        self.remarks.append(Remark(line.number, why))

    def _job(self, line: Entry, recurrence: Recurrence) -> tuple[Job, str]:
        """The job, and what a person should know about it: with the very text that cron gives to its shell."""
        command, stdin = without_input(line.command)
        if not command.strip():
            raise ConfigurationError("there is no command in front of its %")
        home = said = self._variables.get("HOME", self._host.home)
        if not self._host.is_folder(home):
            # To cron that is nothing to stop for.
            home = "/"
        env = {"PATH": _PATH} | {n: value for n, value in self._variables.items() if n not in _NOT_FOR_JOBS}
        shell = env.get("SHELL", commands.SHELL)
        _check_placeholders(command, shell)
        notes = [note for pattern, note in _HINTS if pattern.search(command)]
        if shell != commands.SHELL:
            notes.append(f"through {shell}")
        if stdin:
            notes.append("standard input is what followed the %")
        if home != said:
            notes.append(f'in cwd = "/", since there is no home folder {said}')
        job = Job(line.number, recurrence.expression, recurrence.timezone, command, stdin, home, env, shell)
        return job, "".join(f"; {note}" for note in notes)


def _check_is_crons(schedule: str) -> None:
    if item := ours_in(schedule):
        # Debian's stops reading a field at the #, and refuses a file with the others.
        meant = f"reads {item} as {item.partition('#')[0]}, each week" if "#" in item else f"does not know {item}"
        raise BadSchedule(f"cron {meant}; write what is meant into jobrunner.toml, where {item} is what it says")


def _check_placeholders(command: str, shell: str) -> None:
    if found := commands.placeholders_in(command):
        raise ConfigurationError(f"{{{found[0]}}} would be filled in here; put the command into a script")
    if shell != commands.SHELL:
        # It becomes an argument of a list.
        commands.check_argument(command)


def _about(line: Variable) -> str:
    known = {
        "MAILTO": "no mail is sent; what a job prints is kept: jobrunner show. The jobs below still see the variable",
        "CRON_TZ": "the time zone of the jobs below (to Debian's cron it means nothing, to cronie it does)",
        "TZ": "in the environment of the jobs below; as under cron it moves no schedule",
        "LOGNAME": "left out; cron does not let it be set either",
        "RANDOM_DELAY": f'in the environment of the jobs below; to delay them write jitter = "{line.value}m" into each',
        "HOME": "the folder of the jobs below, and in their environment",
        "SHELL": "in the environment of the jobs below, and what they run through",
    }
    text = known.get(line.name, "in the environment of the jobs below")
    if "$" in line.value:
        text += "; as under cron its $ stands for itself"
    return text
