"""What is known of a child that is not ready yet."""

from __future__ import annotations

from jobrunner.children.process import describe_exit
from jobrunner.children.python_child import ChildProcess
from jobrunner.text import one_line


class ChildStart:
    """``module`` is what the child imports now, ``error`` is why it will never be ready."""

    def __init__(self) -> None:
        self.module: str | None = None
        self.error: str | None = None

    def why_failed(self, child: ChildProcess) -> str:
        """Why the child, which has ended, was not ready before, as one line."""
        what = f"importing the handler module {self.module!r}" if self.module else "starting"
        why = self.error or f"the child {describe_exit(child.exit_status)}"
        # The error of a module may hold any characters. This text goes into a table, a log and a terminal.
        return one_line(f"{what} failed: {why}")
