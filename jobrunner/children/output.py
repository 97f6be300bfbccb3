"""Keeps only the end of an output, so that a flood of output does not fill the memory."""

from __future__ import annotations

from collections import deque

TAIL_BYTES = 16 * 1024


class Tail:
    """Keeps the last 16 KiB, and counts all bytes."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self.bytes_written = 0

    def add(self, data: bytes) -> None:
        """Add output."""
        self.bytes_written += len(data)
        self._kept += data
        del self._kept[: -2 * TAIL_BYTES]

    def text(self) -> str | None:
        """The tail. None means that nothing was written since ``clear``."""
        return bytes(self._kept[-TAIL_BYTES:]).decode("utf-8", "replace") if self._kept else None

    def last_line(self) -> str:
        """The last line that is not blank, or "" if there is none."""
        lines = (self.text() or "").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def clear(self) -> None:
        """Drop the tail and keep the count."""
        self._kept.clear()


class Sections:
    """Separates the outputs of one run after another in the same process. A mark follows the output of each run."""

    def __init__(self, mark: bytes) -> None:
        self._mark = mark
        self._cut = b""
        self._tails = deque([Tail()])

    @property
    def first(self) -> Tail:
        """The output of the run at work."""
        return self._tails[0]

    def add(self, data: bytes) -> None:
        """Add output. A mark may arrive in two parts."""
        *ended, rest = (self._cut + data).split(self._mark)
        for section in ended:
            if section:
                self._tails[-1].add(section)
            self._tails.append(Tail())
        cut = _beginning_at_the_end(rest, self._mark)
        self._tails[-1].add(rest[: len(rest) - cut])
        self._cut = rest[len(rest) - cut :]

    def next_section(self) -> None:
        """Go on to the next run, because the run at work has ended. Its mark is missing if it redirected its output."""
        self._tails.popleft()
        if not self._tails:
            self._tails.append(Tail())


def _beginning_at_the_end(data: bytes, mark: bytes) -> int:
    """How many bytes of the beginning of the mark are at the end of the data."""
    start = data.rfind(mark[:1], max(0, len(data) - len(mark) + 1))
    return len(data) - start if start >= 0 and mark.startswith(data[start:]) else 0
