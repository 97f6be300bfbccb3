"""What each line of a crontab becomes: a job of ``jobrunner.toml``, a part of one, or a remark that says why not. Pure.

A job that worked under cron must work here: what cron gave it (its folder, its variables, an empty standard input, as
long as it takes, one attempt, beside its own last run) is written into each job, for a person to take away.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace

from jobrunner.crontab import words
from jobrunner.crontab.descriptions import descriptions
from jobrunner.crontab.names import name_jobs
from jobrunner.crontab.parse import Blank, Comment, Crontab, Entry, Unreadable, Variable
from jobrunner.crontab.takeover import Host, Job, Remark, Takeover
from jobrunner.errors import BadSchedule, ConfigurationError
from jobrunner.jobs import commands
from jobrunner.schedules.cron_fields import ours_in
from jobrunner.schedules.recurrence import Recurrence

_PATH = "/usr/bin:/bin"
_LIKE_BOURNES = frozenset(("sh", "bash", "dash", "ash", "ksh", "ksh93", "mksh", "zsh"))
_OWN_TEST = re.compile(r"(\[|test|command) [^;|]*&&")
_NOT_FOR_JOBS = frozenset(("CRON_TZ", "LOGNAME"))


def take_over(crontab: Crontab, host: Host) -> Takeover:
    """Say of every line what becomes of it."""
    said = descriptions(crontab)
    taking = _Taking(host)
    for line in crontab.lines:
        if isinstance(line, Variable):
            taking.variable(line)
        elif isinstance(line, Entry):
            taking.entry(line, said.texts.get(line.number))
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
        described=tuple(number for line in taken for number in said.lines.get(line, ())),
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
            _check_placeholders(job.command)
        except (BadSchedule, ConfigurationError) as error:
            self.refuse(line.number, str(error))
            return
        self.jobs.append(replace(job, description=description))
        self.remarks.append(Remark(line.number, why))

    def _job(self, line: Entry, recurrence: Recurrence) -> tuple[Job, str]:
        """The job, and why it is not a plain one."""
        command, stdin = words.without_input(line.command)
        command = command.rstrip(" \t")
        if not command.strip():
            raise ConfigurationError("there is no command in front of its %")
        home = said = self._variables.get("HOME", self._host.home)
        if not self._host.is_folder(home):
            # To cron that is nothing to stop for.
            home = "/"
        env = {"PATH": _PATH} | {n: value for n, value in self._variables.items() if n not in _NOT_FOR_JOBS}
        shell = env.get("SHELL", commands.SHELL)
        parts = words.take_apart(command)
        if isinstance(parts, words.Plain):
            cwd = posixpath.join(home, parts.folder or "")
            path = parts.env.get("PATH", env["PATH"])
            if posixpath.basename(shell) not in _LIKE_BOURNES:
                parts = f"SHELL, {shell}, which is no sh"
            elif self._host.lacks_interpreter(parts.words[0], path, cwd):
                parts = f"{parts.words[0]}, whose first line is no #!"
            elif braces := _would_be_filled_in(parts.words):
                parts = f"{braces}, which in a list is a placeholder"
        note = "; standard input is what followed the %" if stdin else ""
        if home != said:
            note += f'; in cwd = "/", since there is no home folder {said}'
        job = Job(line.number, recurrence.expression, recurrence.timezone, command, stdin, home, env)
        if isinstance(parts, words.Plain):
            return replace(job, command=parts.words, cwd=cwd.rstrip("/") or "/", env={**env, **parts.env}), note
        job, why = _in_shell(job, shell, parts)
        return job, why + note


def _in_shell(job: Job, shell: str, because: str) -> tuple[Job, str]:
    assert isinstance(job.command, str)
    hints = ""
    if _OWN_TEST.match(job.command):
        hints += "; where its test says no, that is an exit status of 1 and a failed run: better `if …; then …; fi`"
    if "&" in because.split():
        hints += "; what it leaves in the background ends with the run"
    if shell == commands.SHELL:
        return job, f": shell = true (because of {because}){hints}"
    return replace(job, command=(shell, "-c", job.command)), f": through {shell} (because of {because}){hints}"


def _would_be_filled_in(words: tuple[str, ...]) -> str | None:
    """A word such as awk's ``{print}``, which our own reader would take for a placeholder, and refuse."""
    for word in words:
        try:
            commands.check_argument(word)
        except ConfigurationError:
            return word
    return words[0] if words[0].startswith("{") else None


def _check_is_crons(schedule: str) -> None:
    if item := ours_in(schedule):
        # Debian's stops reading a field at the #, and refuses a file with the others.
        meant = f"reads {item} as {item.partition('#')[0]}, each week" if "#" in item else f"does not know {item}"
        raise BadSchedule(f"cron {meant}; write what is meant into jobrunner.toml, where {item} is what it says")


def _check_placeholders(command: tuple[str, ...] | str) -> None:
    texts = (command,) if isinstance(command, str) else command
    for text in texts:
        if found := commands.placeholders_in(text):
            raise ConfigurationError(f"{{{found[0]}}} would be filled in here; put the command into a script")


def _about(line: Variable) -> str:
    known = {
        "MAILTO": "no mail is sent; what a job prints is kept: jobrunner show. The jobs below still see the variable",
        "CRON_TZ": "the time zone of the jobs below (to Debian's cron it means nothing, to cronie it does)",
        "TZ": "in the environment of the jobs below; as under cron it moves no schedule",
        "LOGNAME": "left out; cron does not let it be set either",
        "RANDOM_DELAY": f'in the environment of the jobs below; to delay them write jitter = "{line.value}m" into each',
        "HOME": "the folder of the jobs below, and in their environment",
        "SHELL": "in the environment of the jobs below, and what those run through that need a shell",
    }
    text = known.get(line.name, "in the environment of the jobs below")
    if "$" in line.value:
        text += "; as under cron its $ stands for itself"
    return text
