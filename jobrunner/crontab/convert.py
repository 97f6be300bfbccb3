"""Converts each line of a crontab: to a job of ``jobrunner.toml``, a part of one, or a remark with the reason. Pure.

A job that worked under cron must work here. So each job states what cron gave it: folder, variables, an empty standard
input, no time limit, one attempt, and runs that may overlap. Somebody can remove these later.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from jobrunner.crontab.descriptions import descriptions
from jobrunner.crontab.import_records import Host, Job, Remark, Takeover
from jobrunner.crontab.names import name_jobs
from jobrunner.crontab.parse import Blank, Comment, Crontab, Entry, Unreadable, Variable, without_input
from jobrunner.errors import BadSchedule, ConfigurationError
from jobrunner.jobs import commands
from jobrunner.schedules.cron_fields import extension_in
from jobrunner.schedules.recurrence import Recurrence

_PATH = "/usr/bin:/bin"
_HINTS = (
    (
        re.compile(r"^(\[|test|command) [^;|]*&&"),
        "if its test is false, the exit status is 1 and the run fails; better write `if …; then …; fi`",
    ),
)
_NOT_SYNTAX = re.compile(r"""\\.|'[^']*'|"(?:[^"\\]|\\.)*"|(?:^|(?<=[\s;]))#.*""", re.DOTALL)
"""What a shell takes for text, or for a comment."""
_IN_BACKGROUND = re.compile(r"(?<![&<>|])&(?![&>\d-])")
_ENDS_IN_BACKGROUND = re.compile(rf"{_IN_BACKGROUND.pattern}[ \t;)}}]*$")
_NOT_FOR_JOBS = frozenset(("CRON_TZ", "LOGNAME"))


def take_over(crontab: Crontab, host: Host, progress: Callable[[int], None] = lambda _: None) -> Takeover:
    """Convert every line of the crontab. ``progress`` is called with how many more lines are done."""
    described = descriptions(crontab)
    converter = _Converter(host)
    for line in crontab.lines:
        if isinstance(line, Variable):
            converter.variable(line)
        elif isinstance(line, Entry):
            converter.entry(line, described[line.number][0] if line.number in described else None)
        elif isinstance(line, Unreadable):
            converter.refuse(line.number, line.reason)
        progress(1)
    jobs = name_jobs(converter.jobs)
    names = {job.line: job.name for job in jobs}
    remarks = [replace(each, text=f"{names.get(each.line, '')}{each.text}") for each in converter.remarks]
    return Takeover(
        jobs=tuple(jobs),
        remarks=tuple(remarks),
        comments=tuple(line.number for line in crontab.lines if isinstance(line, Comment)),
        described=tuple(number for line in names if line in described for number in described[line][1]),
        blank=sum(isinstance(line, Blank) for line in crontab.lines),
    )


class _Converter:
    """Converts line by line, and keeps the variables for the lines below."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._variables: dict[str, str] = {}
        self.jobs: list[Job] = []
        self.remarks: list[Remark] = []

    def refuse(self, line: int, reason: str) -> None:
        self.remarks.append(Remark(line, f"not imported: {reason}", is_refusal=True))

    def variable(self, line: Variable) -> None:
        self._variables[line.name] = line.value
        self.remarks.append(Remark(line.number, f"{line.name}: {_about(line)}"))

    def entry(self, line: Entry, description: str | None) -> None:
        if line.user not in (None, self._host.user):
            self.refuse(
                line.number,
                f"it runs as {line.user}, but a job runs as the user of the tick, {self._host.user}; import it for a"
                f" tick of that user: --user {line.user}",
            )
            return
        try:
            recurrence = Recurrence.parse(line.schedule, self._variables.get("CRON_TZ", self._host.timezone))
            _check_known_to_cron(line.schedule)
            job, why = self._job(line, recurrence)
        except (BadSchedule, ConfigurationError) as error:
            self.refuse(line.number, str(error))
            return
        self.jobs.append(replace(job, description=description))
        self.remarks.append(Remark(line.number, why))

    def _job(self, line: Entry, recurrence: Recurrence) -> tuple[Job, str]:
        """The job, with exactly the text that cron gives to the shell, and notes for an operator."""
        command, stdin = without_input(line.command)
        if not command.strip():
            raise ConfigurationError("there is no command before its %")
        home = wanted = self._variables.get("HOME", self._host.home)
        if not self._host.is_folder(home):
            # Cron runs the job in this case, too.
            home = "/"
        env = {"PATH": _PATH} | {n: value for n, value in self._variables.items() if n not in _NOT_FOR_JOBS}
        shell = env.get("SHELL", commands.SHELL)
        _check_placeholders(command, shell)
        notes = [note for pattern, note in _HINTS if pattern.search(command)]
        notes += _notes_on_background(command)
        if shell != commands.SHELL:
            notes.append(f"run by {shell}")
        if stdin:
            notes.append("its standard input is the text after the %")
        if home != wanted:
            notes.append(f'with cwd = "/", because there is no home folder {wanted}')
        job = Job(line.number, recurrence.expression, recurrence.timezone, command, stdin, home, env, shell)
        return job, "".join(f"; {note}" for note in notes)


def _check_known_to_cron(schedule: str) -> None:
    if item := extension_in(schedule):
        # Debian's cron stops reading a field at the #, and refuses a file with another extension.
        reading = f"reads {item} as {item.partition('#')[0]}, each week" if "#" in item else f"does not know {item}"
        raise BadSchedule(f"cron {reading}, but jobrunner.toml knows it; write the schedule that you mean there")


def _check_placeholders(command: str, shell: str) -> None:
    if found := commands.placeholders_in(command):
        raise ConfigurationError(f"{{{found[0]}}} would be replaced as a placeholder; put the command into a script")
    if shell != commands.SHELL:
        # The command becomes one argument of a list.
        commands.check_argument(command)


def _notes_on_background(command: str) -> list[str]:
    """Raise ConfigurationError for a command that only starts something, which would end at once with its run."""
    syntax = _NOT_SYNTAX.sub(lambda found: "" if found[0].startswith("#") else "_", command)
    if _ENDS_IN_BACKGROUND.search(syntax):
        raise ConfigurationError(
            "it leaves its work in the background, which ends with the run; remove the & at its end, since a run may"
            " take as long as it needs"
        )
    is_left = _IN_BACKGROUND.search(syntax) and not re.search(r"\bwait\b", syntax)
    return ["a process that it leaves in the background ends with the run"] if is_left else []


def _about(line: Variable) -> str:
    known = {
        "MAILTO": "no mail is sent; jobrunner show prints the output of a job. The jobs below still get the variable",
        "CRON_TZ": "the time zone of the jobs below (cronie uses it, Debian's cron ignores it)",
        "TZ": "in the environment of the jobs below; as under cron it changes no schedule",
        "LOGNAME": "left out; cron does not allow to set it either",
        "RANDOM_DELAY": f'in the environment of the jobs below; to delay them write jitter = "{line.value}m" into each',
        "HOME": "in the environment of the jobs below, and their folder",
        "SHELL": "in the environment of the jobs below, and the shell that runs them",
    }
    text = known.get(line.name, "in the environment of the jobs below")
    if "$" in line.value:
        text += "; as under cron its $ is not expanded"
    return text
