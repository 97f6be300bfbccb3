"""Messages between the parent and a child: a length, then JSON. Nothing in them is ever unpickled or evaluated."""

from __future__ import annotations

import json
import struct
from typing import Any

LARGEST_BYTES = 72 * 1024 * 1024
"""Above what any payload or result may be; more is a child that writes nonsense into its channel."""

_LENGTH = struct.Struct("!I")

Frame = dict[str, Any]


class BrokenFrame(Exception):
    """The other side sent something that is not a frame."""


def encode(frame: Frame) -> bytes:
    """The bytes of a frame. Lone surrogates survive as escapes; NaN is refused with ValueError."""
    body = json.dumps(frame, allow_nan=False, separators=(",", ":")).encode("ascii")
    return _LENGTH.pack(len(body)) + body


def _refuse(name: str) -> None:
    raise ValueError(name)


class Inbox:
    """Collects bytes and gives back the frames that are complete."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """Add what was received. Raises BrokenFrame when it cannot be what ``encode`` made."""
        self._bytes += data
        frames = []
        while (frame := self._next()) is not None:
            frames.append(frame)
        return frames

    def _next(self) -> Frame | None:
        if len(self._bytes) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._bytes)
        if length > LARGEST_BYTES:
            raise BrokenFrame("a frame larger than any message")
        end = _LENGTH.size + length
        if len(self._bytes) < end:
            return None
        body = bytes(self._bytes[_LENGTH.size : end])
        del self._bytes[:end]
        try:
            frame = json.loads(body, parse_constant=_refuse)
        except (ValueError, RecursionError):
            raise BrokenFrame("a frame that is not JSON") from None
        if not isinstance(frame, dict) or not isinstance(frame.get("kind"), str):
            raise BrokenFrame("a frame without a kind")
        return frame
