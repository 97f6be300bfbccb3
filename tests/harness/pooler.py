"""A minimal transaction pooler: it changes the session's number, and drops notices."""

import contextlib
import socket
import struct
from contextlib import AbstractContextManager
from functools import partial

from harness.front import connect, hang_up, in_front_of

MADE_UP = 4_000_000
BACKEND_KEY, NOTICE = b"K", b"A"


def pooler(url: str) -> AbstractContextManager[str]:
    """A URL that leads to the same database through the pooler, for the length of the block."""
    return in_front_of(url, partial(connect, back=_filter))


def _filter(server: socket.socket, client: socket.socket) -> None:
    buffer = b""
    with contextlib.suppress(OSError):
        while data := server.recv(65536):
            buffer += data
            while len(buffer) >= 5 and len(buffer) > (length := struct.unpack("!I", buffer[1:5])[0]):
                message, buffer = buffer[: length + 1], buffer[length + 1 :]
                if message[:1] == BACKEND_KEY:
                    message = message[:5] + struct.pack("!I", MADE_UP) + message[9:]
                if message[:1] != NOTICE:
                    client.sendall(message)
    hang_up(server, client)
