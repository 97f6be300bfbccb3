"""Tokens: which runs a child may begin. The parent can recall those that the child has not taken.

A token is the sequence number of a run in its child. The tokens go through a pair of sockets of which the parent keeps
both ends. The child takes one token when it has sent the report of the run before; the parent recalls by reading the
rest. The kernel decides, so a run is either taken or has certainly not begun. In the other direction, the child rings:
its byte wakes the parent, which then reads the messages of the child.
"""

from __future__ import annotations

import socket
import struct
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

_TOKEN = struct.Struct("<I")
_READ_BYTES = 1 << 16
_MOST = 4096
"""More than any child has in its queue."""
_CALL, _RESTS = b"\0", b"\1"
"""The bytes of the bell: there is something to read; and the child rests, too."""


class BadToken(Exception):
    """A handler has read or written where only its child may."""


class Rung(NamedTuple):
    """What the bell has told. ``is_over``: the child can ring no more. ``rests``: it has ended all that it had."""

    is_over: bool = False
    rests: bool = False


class TokenQueue:
    """The parent's side. A token is never lost: one that the socket does not take is sent by a later ``flush``."""

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair()
        self._given: deque[tuple[int, bytes]] = deque(maxlen=_MOST)
        self._unsent = b""
        self.following = 0

    @property
    def descriptor(self) -> int:
        """The end for the child."""
        return self._theirs.fileno()

    @property
    def bell(self) -> int:
        """The descriptor for a selector: it is readable when the child has rung."""
        return self._ours.fileno()

    def give(self, run_ids: Sequence[int]) -> None:
        """Let the child begin these runs. ``following`` was the sequence number of the first one."""
        tokens = [_TOKEN.pack(number) for number in range(self.following, self.following + len(run_ids))]
        self._given.extend(zip(run_ids, tokens, strict=True))
        self.following += len(run_ids)
        self._unsent += b"".join(tokens)
        self.flush()

    def flush(self) -> None:
        """Send what is left."""
        with suppress(OSError):
            while self._unsent:
                self._unsent = self._unsent[self._ours.send(self._unsent, socket.MSG_DONTWAIT) :]

    def recall(self) -> list[int]:
        """Take back all tokens that the child has not taken; returns the ids of their runs.

        If a handler has read a part of a token, that run counts as taken.
        """
        unread = bytearray()
        with suppress(OSError):
            while data := self._theirs.recv(_READ_BYTES, socket.MSG_DONTWAIT):
                unread += data
        unread += self._unsent
        self._unsent = b""
        recalled = []
        # From the end, because the child takes them from the beginning.
        while self._given and unread.endswith(self._given[-1][1]):
            recalled.append(self._given.pop()[0])
            del unread[-_TOKEN.size :]
        self._given.clear()
        return recalled[::-1]

    def take_rung(self) -> Rung:
        """Take what the child has rung."""
        with suppress(BlockingIOError):
            rung = self._ours.recv(_READ_BYTES, socket.MSG_DONTWAIT)
            return Rung(is_over=not rung, rests=_RESTS in rung)
        return Rung()

    def close(self) -> None:
        self._ours.close()
        self._theirs.close()


class Tokens:
    """The child's side."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end

    def fileno(self) -> int:
        """The descriptor for a poll: it is readable when there is a token."""
        return self._socket.fileno()

    def take(self) -> int | None:
        """Take the next token. None means that there is none. Raises BadToken, or OSError if the socket is closed."""
        return self._read(0)

    def following(self) -> int | None:
        """The token that ``take`` would take now, if the parent does not recall it before. Raises as ``take`` does."""
        return self._read(socket.MSG_PEEK)

    def _read(self, flags: int) -> int | None:
        try:
            data = self._socket.recv(_TOKEN.size, socket.MSG_DONTWAIT | flags)
        except BlockingIOError:
            return None
        if len(data) != _TOKEN.size:
            raise BadToken
        number: int = _TOKEN.unpack(data)[0]
        return number

    def ring(self, *, rests: bool = False) -> None:
        """Wake the parent. If it has not heard many earlier bells yet, one more is not needed."""
        with suppress(BlockingIOError):
            self._socket.send(_RESTS if rests else _CALL, socket.MSG_DONTWAIT)
