"""The end of what somebody wrote: a flood of output must not fill the memory."""

from __future__ import annotations

TAIL_BYTES = 16 * 1024


class Tail:
    """Keeps the last 16 KiB, and counts all."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self.bytes_written = 0

    def add(self, data: bytes) -> None:
        """Take what was written."""
        self.bytes_written += len(data)
        self._kept += data
        del self._kept[: -2 * TAIL_BYTES]

    def text(self) -> str | None:
        """The tail; None: nothing was written since ``clear``."""
        return bytes(self._kept[-TAIL_BYTES:]).decode("utf-8", "replace") if self._kept else None

    def last_line(self) -> str:
        """The last line that is not blank, "" for none."""
        lines = (self.text() or "").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def clear(self) -> None:
        """Forget what was written; the count goes on."""
        self._kept.clear()
