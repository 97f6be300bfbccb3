"""A PostgreSQL server that has no free connection at first: the first ones are refused, later ones reach the server."""

import socket
import struct
from contextlib import AbstractContextManager
from itertools import count

from harness.front import connect, in_front_of

_REFUSAL = b"SFATAL\0VFATAL\0C53300\0Msorry, too many clients already\0\0"


def refusing(url: str, first: int) -> AbstractContextManager[str]:
    """A URL that leads to the same database, for the length of the block, once so many connections were refused."""
    number = count()

    def serve(client: socket.socket, target: tuple[str, int]) -> None:
        if next(number) < first:
            _refuse(client)
        else:
            connect(client, target)

    return in_front_of(url, serve)


def _refuse(client: socket.socket) -> None:
    with client:
        client.recv(65536)  # the startup message, which is short
        client.sendall(b"E" + struct.pack("!I", 4 + len(_REFUSAL)) + _REFUSAL)
