"""What a change answers an agent with: after its first call, and after its second."""

from __future__ import annotations

from dataclasses import dataclass

from jobrunner.admin.bulk import Changed


@dataclass(frozen=True)
class RunsChanged(Changed):
    """What became of many runs, or would. ``matching`` maps the statuses of those that were counted to numbers of runs.

    ``runs`` are their ids. ``confirm`` is for the second call. ``next_step`` says what to do now.
    """

    runs: list[int]
    confirm: str | None
    next_step: str


@dataclass(frozen=True)
class TypeChanged:
    """What is paused or limited now, or would be: ``said`` are the lines of the command.

    ``confirm`` is for the second call. ``next_step`` says what to do now.
    """

    said: list[str]
    dry_run: bool
    confirm: str | None
    next_step: str
