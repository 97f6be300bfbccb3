"""What a crontab becomes here, as records: its host, its jobs, and a remark for each other line. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from jobrunner.jobs import commands


@dataclass(frozen=True, slots=True)
class Host:
    """Where the jobs will run. ``timezone`` is cron's; ``lacks_interpreter``: whether only a shell can start a program.

    That is asked with the program, PATH and the folder: a script without a first line ``#!``. ``is_folder``: whether a
    path is one.
    """

    user: str
    home: str
    timezone: str
    lacks_interpreter: Callable[[str, str, str], bool]
    is_folder: Callable[[str], bool] = lambda path: True


@dataclass(frozen=True, slots=True)
class Job:
    """One entry of the file. ``command`` is a text where it needs a shell."""

    line: int
    schedule: str
    timezone: str
    command: tuple[str, ...] | str
    stdin: str
    cwd: str
    env: Mapping[str, str]
    description: str | None = None
    name: str = ""

    @property
    def argv(self) -> tuple[str, ...]:
        """What is started in the end."""
        return (commands.SHELL, "-c", self.command) if isinstance(self.command, str) else self.command


@dataclass(frozen=True, slots=True)
class Remark:
    """What a person should know about a line."""

    line: int
    text: str
    is_refusal: bool = False


@dataclass(frozen=True, slots=True)
class Takeover:
    """All that became of a crontab. ``remarks`` has one for each line but comments and blank ones, in order."""

    jobs: tuple[Job, ...]
    remarks: tuple[Remark, ...]
    comments: tuple[int, ...]
    described: tuple[int, ...]
    """The numbers of the comments that became descriptions; they are among ``comments``."""
    blank: int
    known: int = 0
    """So many of the lines are jobs that were taken over before."""

    @property
    def refused(self) -> list[Remark]:
        return [remark for remark in self.remarks if remark.is_refusal]
