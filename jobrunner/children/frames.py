"""Frames between the parent and a child: a length, then JSON. Nothing in them is ever unpickled or evaluated."""

from __future__ import annotations

import json
import struct
from typing import Any

LARGEST_BYTES = 72 * 1024 * 1024
"""More than any payload or result may have. A longer frame is invalid."""

_LENGTH = struct.Struct("!I")

Frame = dict[str, Any]


class BrokenFrame(Exception):
    """The other side sent something that is not a frame."""


def _refuse(name: str) -> None:
    raise ValueError(name)


# Made once: json.dumps and json.loads make them anew for every call that has options.
_encoder = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_decoder = json.JSONDecoder(parse_constant=_refuse)


def encode(frame: Frame) -> bytes:
    """The bytes of a frame: its length comes first. Lone surrogates are escaped; NaN raises ValueError."""
    return framed(_encoder.encode(frame).encode("ascii"))


def framed(body: bytes) -> bytes:
    """The bytes of a frame whose JSON is there already."""
    return _LENGTH.pack(len(body)) + body


def _decode(body: bytes | bytearray) -> Frame:
    try:
        text = body.decode("ascii")
        # Not decode(): it also looks for white space around the JSON and takes twice as long.
        frame, end = _decoder.raw_decode(text)
        if end != len(text):
            raise BrokenFrame("a frame that is not JSON")
    except (ValueError, RecursionError):
        raise BrokenFrame("a frame that is not JSON") from None
    if not isinstance(frame, dict) or not isinstance(frame.get("kind"), str):
        raise BrokenFrame("a frame without a kind")
    return frame


class Inbox:
    """Collects bytes and returns the frames that are complete."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._broken: BrokenFrame | None = None

    @property
    def is_broken(self) -> bool:
        """Whether the next ``feed`` will raise."""
        return self._broken is not None

    @property
    def is_amid_frame(self) -> bool:
        """Whether the rest of a frame is still to come."""
        return bool(self._bytes)

    def feed(self, data: bytes) -> list[Frame]:
        """Add received bytes. Raises BrokenFrame when they cannot be what ``encode`` made.

        If complete frames came before the invalid bytes, this call returns them and the next call raises.
        """
        if self._broken is not None:
            raise self._broken
        self._bytes += data
        frames: list[Frame] = []
        taken = 0
        try:
            while (end := self._end_of_frame(taken)) is not None:
                frames.append(_decode(self._bytes[taken + _LENGTH.size : end]))
                taken = end
        except BrokenFrame as error:
            self._broken = error
            if not frames:
                raise
        # Once for all frames: each time the rest is moved.
        del self._bytes[:taken]
        return frames

    def _end_of_frame(self, start: int) -> int | None:
        if len(self._bytes) < start + _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._bytes, start)
        if length > LARGEST_BYTES:
            raise BrokenFrame("a frame larger than any message")
        end: int = start + _LENGTH.size + length
        return end if len(self._bytes) >= end else None
