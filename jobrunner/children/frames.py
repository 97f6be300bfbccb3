"""Frames between the parent and a child: a length, then JSON. Nothing in them is ever unpickled or evaluated."""

from __future__ import annotations

import json
import struct
from typing import Any

LARGEST_BYTES = 72 * 1024 * 1024
"""More than any payload or result may have. A longer frame is invalid."""

LONGEST_PREFETCHED_BYTES = 1 << 16
"""The longest message in a child's prefetch queue. Longer messages go through its channel."""

_LENGTH = struct.Struct("!I")

Frame = dict[str, Any]


class BrokenFrame(Exception):
    """The other side sent something that is not a frame."""


def _refuse(name: str) -> None:
    raise ValueError(name)


# Made once: json.dumps and json.loads make them anew for every call that has options.
_encoder = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_decoder = json.JSONDecoder(parse_constant=_refuse)


def encode_message(frame: Frame) -> bytes:
    """The bytes of a frame in a socket that separates messages. Lone surrogates are escaped; NaN raises ValueError."""
    return _encoder.encode(frame).encode("ascii")


def encode(frame: Frame) -> bytes:
    """The bytes of a frame in a stream: its length comes first."""
    body = encode_message(frame)
    return _LENGTH.pack(len(body)) + body


def decode(body: bytes) -> Frame:
    """The frame of a message. Raises BrokenFrame when it cannot be what ``encode_message`` made."""
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

    def feed(self, data: bytes) -> list[Frame]:
        """Add received bytes. Raises BrokenFrame when they cannot be what ``encode`` made.

        If complete frames came before the invalid bytes, this call returns them and the next call raises.
        """
        if self._broken is not None:
            raise self._broken
        self._bytes += data
        frames: list[Frame] = []
        try:
            while (frame := self._next()) is not None:
                frames.append(frame)
        except BrokenFrame as error:
            self._broken = error
            if not frames:
                raise
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
        return decode(body)
