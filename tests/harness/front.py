"""What stands between clients and a server of PostgreSQL, and does with each client what a test wants."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import TypeAlias
from urllib.parse import urlsplit, urlunsplit

Carry: TypeAlias = Callable[[socket.socket, socket.socket], None]
Serve: TypeAlias = Callable[[socket.socket, tuple[str, int]], None]
"""Takes a client, and the address of the server."""


@contextlib.contextmanager
def in_front_of(url: str, serve: Serve) -> Iterator[str]:
    """A URL that leads to the same database through ``serve``, for the length of the block. A client has a thread."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    target = (parts.hostname, parts.port)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        clients: list[socket.socket] = []
        acceptor = threading.Thread(target=_accept, args=(listener, target, serve, clients))
        acceptor.start()
        place = f"{parts.username}:{parts.password}@127.0.0.1:{listener.getsockname()[1]}"
        try:
            yield urlunsplit(parts._replace(netloc=place, query="sslmode=disable&gssencmode=disable"))
        finally:
            # Closing alone does not end an accept that waits in another thread.
            hang_up(listener)
            hang_up(*clients)
            acceptor.join()


def _accept(listener: socket.socket, target: tuple[str, int], serve: Serve, clients: list[socket.socket]) -> None:
    served = []
    with contextlib.suppress(OSError):
        while True:
            client, _ = listener.accept()
            clients.append(client)
            served.append(threading.Thread(target=serve, args=(client, target)))
            served[-1].start()
    for each in served:
        each.join()


def forward(source: socket.socket, target: socket.socket) -> None:
    """Carry all bytes in this direction, until one of both hangs up."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    hang_up(source, target)


def connect(client: socket.socket, target: tuple[str, int], back: Carry = forward) -> None:
    """Serve a client by the server. ``back`` carries what the server answers, first that socket and then the client."""
    with client, socket.create_connection(target) as server:
        forwarding = threading.Thread(target=forward, args=(client, server))
        forwarding.start()
        back(server, client)
        forwarding.join()


def hang_up(*sockets: socket.socket) -> None:
    for each in sockets:
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
