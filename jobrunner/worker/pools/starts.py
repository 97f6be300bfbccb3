"""Starting children: how many a tick may have, which starts failed, and when the tick stops trying."""

from __future__ import annotations

from jobrunner.children.events import StartFailed
from jobrunner.children.supervisor import Supervisor
from jobrunner.log import Log
from jobrunner.settings.config import Config

_MOST_FAILED_STARTS = 2


class ChildStarts:
    """Starts the children of a tick. They run plain and ``async def`` handlers, so both pools share this object.

    ``are_known`` is true after the first handshake, which lists the handlers. ``failures`` are the failed
    starts. ``seconds`` is how long the first start took until its handshake was read.
    """

    def __init__(self, supervisor: Supervisor, config: Config, log: Log) -> None:
        self.are_known = False
        self.seconds = 0.0
        self.failures: list[StartFailed] = []
        self.most_children = config.concurrency if config.imports else 0
        self._supervisor = supervisor
        self._has_handlers = bool(config.imports)
        self._log = log

    def is_any(self) -> bool:
        """Whether there is a child, or will be one. A child that is being killed counts: a new one replaces it."""
        return self._supervisor.children > 0

    @property
    def under_way(self) -> int:
        """How many children have been started that are not ready yet."""
        return self._supervisor.starting

    def is_settled(self) -> bool:
        """Whether a child could take a run at once, or no child will become ready."""
        return not self._has_handlers or bool(self._supervisor.idle or self.failures)

    def growth(self) -> int:
        """How many more children may be started."""
        if self.has_failed() or (self._supervisor.starting and not self._supervisor.idle):
            return 0
        return max(0, self.most_children - self._supervisor.children)

    def start(self, count: int) -> None:
        """Start up to ``count`` more children, within the limit. They become ready in a later step."""
        wanted = min(count, self.most_children - self._supervisor.children)
        while wanted > 0 and not self.has_failed():
            before = self._supervisor.children
            try:
                self._supervisor.spawn(wanted)
                return
            except OSError as error:
                # The host has no processes, memory or descriptors left. The tick goes on with the children that it has.
                # Without any child it tries once more and then fails: a tick that does nothing must not look healthy.
                wanted -= self._supervisor.children - before
                self.note_failure(StartFailed(f"starting a child failed: {error.strerror}"))
                if self._supervisor.children:
                    return

    def has_failed(self) -> bool:
        """Whether so many starts have failed that this tick starts no more children."""
        return len(self.failures) >= _MOST_FAILED_STARTS

    def note_failure(self, failure: StartFailed) -> None:
        """Log and remember that a child did not become ready."""
        # The next try most often fails in the same way, and who reads along has seen the traceback.
        is_new = failure.detail is not None and (not self.failures or failure.detail != self.failures[-1].detail)
        self.failures.append(failure)
        detail = {"traceback": failure.detail} if is_new else {}
        self._log.error("child", result="not started", error=failure.reason, **detail)
