"""Sends what a run keeps for its next attempt, before its end."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

from jobrunner import clock
from jobrunner.children.messages import Checkpoint, FromChild
from jobrunner.errors import UsageError

_EVERY_SECONDS = 0.1
_LOCK = threading.RLock()
"""One for all runs of this process, because they share its channel."""
_Document: TypeAlias = Callable[[], Mapping[str, Any]]


class Checkpoints:
    """The newest of one run, sent ten times a second at most, unless it is asked at once. Any thread may call it.

    What is noted is sent without another call of the handler, which may work on for an hour, and then be killed.
    """

    __slots__ = ("_document", "_is_closed", "_pid", "_run_id", "_send", "_sent_at", "_timer")

    def __init__(self, run_id: int, send: Callable[[FromChild], None]) -> None:
        self._run_id = run_id
        self._send = send
        self._pid = os.getpid()
        self._document: _Document | None = None
        self._sent_at = 0.0
        self._timer: threading.Timer | None = None
        self._is_closed = False

    def note(self, document: _Document, at_once: bool) -> None:
        """Note that there is something new. Raises UsageError where it cannot be kept any more."""
        if os.getpid() != self._pid:
            # Two processes would write into one channel, in the midst of each other's frames.
            raise UsageError("ctx.checkpoint and ctx.step: call them in the handler's process, not in a copy of it")
        with _LOCK:
            if self._is_closed:
                raise UsageError("ctx.checkpoint and ctx.step: this attempt is over, so nothing is kept any more")
            self._document = document
            wait = self._sent_at + _EVERY_SECONDS - clock.elapsed()
            if at_once or wait <= 0 or not (self._timer or self._is_set(wait)):
                self._flush()

    def close(self) -> None:
        """Send what was not sent yet. From now on nothing is: the run may get another attempt in this process."""
        self._is_closed = True
        if self._sent_at:
            with _LOCK:
                if self._timer is not None:
                    self._timer.cancel()
                self._flush()

    def _is_set(self, wait: float) -> bool:
        timer = threading.Timer(wait, self._flush_later)
        timer.daemon = True
        try:
            timer.start()
        except RuntimeError:  # the host has no thread left
            return False
        self._timer = timer
        return True

    def _flush_later(self) -> None:
        # If the tick is gone, this process ends.
        with suppress(OSError), _LOCK:
            self._timer = None
            self._flush()

    def _flush(self) -> None:
        if self._document is not None:
            self._sent_at = clock.elapsed()
            self._send(Checkpoint(self._run_id, {**self._document()}))
            self._document = None
