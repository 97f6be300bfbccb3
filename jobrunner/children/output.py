"""The end of what somebody wrote: a flood of output must not fill the memory."""

from __future__ import annotations

from collections import deque

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


class Sections:
    """The output of one run after another in the same process, told apart by a mark after each."""

    def __init__(self, mark: bytes) -> None:
        self._mark = mark
        self._cut = b""
        self._tails = deque([Tail()])

    @property
    def first(self) -> Tail:
        """What belongs to the run at work."""
        return self._tails[0]

    def add(self, data: bytes) -> None:
        """Take what was written; a mark may come in two parts."""
        *ended, rest = (self._cut + data).split(self._mark)
        for chapter in ended:
            self._tails[-1].add(chapter)
            self._tails.append(Tail())
        cut = _beginning_at_the_end(rest, self._mark)
        self._tails[-1].add(rest[: len(rest) - cut])
        self._cut = rest[len(rest) - cut :]

    def turn(self) -> None:
        """The run at work has ended. Where its mark did not come, as all that is written goes elsewhere, begin anew."""
        self._tails.popleft()
        if not self._tails:
            self._tails.append(Tail())


def _beginning_at_the_end(data: bytes, mark: bytes) -> int:
    """With how many bytes of the mark the data ends."""
    start = data.rfind(mark[:1], max(0, len(data) - len(mark) + 1))
    return len(data) - start if start >= 0 and mark.startswith(data[start:]) else 0
