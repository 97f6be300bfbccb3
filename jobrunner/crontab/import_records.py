"""The records of an import: the host, the jobs, and remarks about the lines. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from jobrunner.jobs import commands


@dataclass(frozen=True, slots=True)
class Host:
    """Where the jobs will run. ``timezone`` is cron's; ``is_folder`` says whether a path is a folder."""

    user: str
    home: str
    timezone: str
    is_folder: Callable[[str], bool] = lambda path: True


@dataclass(frozen=True, slots=True)
class Job:
    """One entry of the file. ``command`` is exactly the text that cron gives to the shell."""

    line: int
    schedule: str
    timezone: str
    command: str
    stdin: str
    cwd: str
    env: Mapping[str, str]
    shell: str = commands.SHELL
    description: str | None = None
    name: str = ""

    @property
    def argv(self) -> tuple[str, ...]:
        """The program that is started, and its arguments."""
        return (self.shell, "-c", self.command)


@dataclass(frozen=True, slots=True)
class Remark:
    """What an operator should know about a line."""

    line: int
    text: str
    is_refusal: bool = False


@dataclass(frozen=True, slots=True)
class Takeover:
    """The result of an import. ``remarks`` has one for each line in order, except comments and blank lines."""

    jobs: tuple[Job, ...]
    remarks: tuple[Remark, ...]
    comments: tuple[int, ...]
    described: tuple[int, ...]
    """The numbers of the comments that became descriptions; they are among ``comments``."""
    blank: int
    known: int = 0
    """The number of jobs that an earlier import has added."""

    @property
    def refused(self) -> list[Remark]:
        return [remark for remark in self.remarks if remark.is_refusal]
