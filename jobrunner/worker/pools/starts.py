"""The starts of children: how many there may be, which of them failed, and when it was given up."""

from __future__ import annotations

from jobrunner.children.events import StartFailed
from jobrunner.children.supervisor import Supervisor
from jobrunner.log import Log
from jobrunner.settings.config import Config

_MOST_FAILED_STARTS = 2


class ChildStarts:
    """The children of a tick serve both plain and ``async def`` handlers, so both pools ask here.

    ``are_known``: the first handshake has told what handlers there are. ``failures`` are the reasons of failed starts.
    """

    def __init__(self, supervisor: Supervisor, config: Config, log: Log) -> None:
        self.are_known = False
        self.failures: list[str] = []
        self.most_children = config.concurrency if config.imports else 0
        self._supervisor = supervisor
        self._has_handlers = bool(config.imports)
        self._log = log

    def is_any(self) -> bool:
        """Whether there is a child, or will be: one that is being killed counts, a fresh one takes its place."""
        return self._supervisor.children > 0

    def is_settled(self) -> bool:
        """Whether there is a child that could take a run at once, or none is to be expected."""
        return not self._has_handlers or bool(self._supervisor.idle or self.failures)

    def growth(self) -> int:
        """By how many children there could be more."""
        if self.has_failed() or (self._supervisor.starting and not self._supervisor.idle):
            return 0
        return max(0, self.most_children - self._supervisor.children)

    def start(self, count: int) -> None:
        """Start so many more children, as far as there may be more; they are ready in a later step."""
        wanted = min(count, self.most_children - self._supervisor.children)
        while wanted > 0 and not self.has_failed():
            try:
                self._supervisor.spawn()
                wanted -= 1
            except OSError as error:
                # Out of processes, memory or descriptors: those that there are go on. With none it is tried once
                # more, and then told: a tick that silently does nothing would be taken for a healthy one.
                self.note_failure(StartFailed(f"starting a child failed: {error.strerror}"))
                if self._supervisor.children:
                    return

    def has_failed(self) -> bool:
        """Whether it was given up: no more children are started in this tick."""
        return len(self.failures) >= _MOST_FAILED_STARTS

    def note_failure(self, failure: StartFailed) -> None:
        """A child never became ready."""
        self.failures.append(failure.reason)
        self._log.error("child", result="not started", error=failure.reason)
