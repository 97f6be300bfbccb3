"""What is known of a child that is not ready yet."""

from __future__ import annotations

from jobrunner import clock
from jobrunner.children.process import describe_exit
from jobrunner.children.python_child import ChildProcess
from jobrunner.text import one_line

_STACKS_SECONDS = 0.1
_LONGEST_STACKS_SECONDS = 1.0
"""How long a child whose module hangs has to write where it is."""
_LAST_LINES = 30
_LAST_CHARACTERS = 4_000
_LAST_WORDS = 200


class ChildStart:
    """``module`` is what the child imports now, ``error`` is why it will never be ready, with its ``traceback``.

    ``asked_at`` is when it was asked where it hangs.
    """

    def __init__(self, app_dir: str | None) -> None:
        self._app_dir = app_dir
        self.module: str | None = None
        self.error: str | None = None
        self.traceback: str | None = None
        self.asked_at: float | None = None

    def end_if_late(self, child: ChildProcess, limit_seconds: float) -> None:
        """After the limit ask the child where it hangs, and kill it when it has answered, or does not."""
        now = clock.elapsed()
        if now - child.spawned_at <= limit_seconds:
            return
        if self.error is None:
            self.error = f"it did not finish within {limit_seconds:g}s"
            self.asked_at = now
            child.ask_for_stacks()
        elif self.asked_at is not None and not child.is_being_killed:
            waited = now - self.asked_at
            if waited > _STACKS_SECONDS and (waited > _LONGEST_STACKS_SECONDS or child.stacks()):
                child.kill()

    def failure(self, child: ChildProcess) -> tuple[str, str | None]:
        """Why the child, which has ended, was not ready before, as one line; and the traceback or its last output.

        A module may write any characters, and secrets. Both go into a table, a log and a terminal.
        """
        from jobrunner.masking.shapes import without_secrets

        line, detail = self._failure(child)
        return without_secrets(line), None if detail is None else without_secrets(detail)

    def _failure(self, child: ChildProcess) -> tuple[str, str | None]:
        what = one_line(f"importing the handler module {self.module!r}" if self.module else "starting", 200)
        if self.error is not None and self.asked_at is None:
            return one_line(f"{what} failed: {self.error}", 1000), self.traceback
        from jobrunner.jobs import user_code

        stacks, output = child.stacks() or "", child.tail.text() or ""
        why = self.error or f"the child {describe_exit(child.exit_status)}"
        place = user_code.place_in_stacks(stacks, self._app_dir)
        words = one_line(child.tail.last_line(), _LAST_WORDS)
        if words and place is None:
            why = f"{why}; its last words: {words}"
        last = "\n".join(output.rstrip().split("\n")[-_LAST_LINES:])[-_LAST_CHARACTERS:]
        told = [stacks.strip(), f"its last output:\n{last}" if last.strip() else ""]
        return user_code.placed(f"{what} failed: {why}", place), "\n\n".join(filter(None, told)) or None
