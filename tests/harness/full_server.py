"""A PostgreSQL server that has no free connection at first: the first ones are refused, later ones reach the server."""

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit, urlunsplit

_REFUSAL = b"SFATAL\0VFATAL\0C53300\0Msorry, too many clients already\0\0"


@contextlib.contextmanager
def refusing(url: str, first: int) -> Iterator[str]:
    """A URL that leads to the same database, for the length of the block, once so many connections were refused."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    target = (parts.hostname, parts.port)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        acceptor = threading.Thread(target=_accept, args=(listener, target, first))
        acceptor.start()
        place = f"{parts.username}:{parts.password}@127.0.0.1:{listener.getsockname()[1]}"
        try:
            yield urlunsplit(parts._replace(netloc=place, query="sslmode=disable&gssencmode=disable"))
        finally:
            # Closing alone does not end an accept that waits in another thread.
            listener.shutdown(socket.SHUT_RDWR)
            acceptor.join()


def _accept(listener: socket.socket, target: tuple[str, int], first: int) -> None:
    served: list[threading.Thread] = []
    with contextlib.suppress(OSError):
        while True:
            client, _ = listener.accept()
            if first > 0:
                first -= 1
                _refuse(client)
            else:
                served.append(threading.Thread(target=_serve, args=(client, target)))
                served[-1].start()
    for each in served:
        each.join()


def _refuse(client: socket.socket) -> None:
    with client:
        client.recv(65536)  # the startup message, which is short
        client.sendall(b"E" + struct.pack("!I", 4 + len(_REFUSAL)) + _REFUSAL)


def _serve(client: socket.socket, target: tuple[str, int]) -> None:
    with client, socket.create_connection(target) as server:
        forwarding = threading.Thread(target=_forward, args=(client, server))
        forwarding.start()
        _forward(server, client)
        forwarding.join()


def _forward(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
