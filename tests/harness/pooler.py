"""A minimal transaction pooler: it changes the session's number, and drops notices."""

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit, urlunsplit

MADE_UP = 4_000_000
BACKEND_KEY, NOTICE = b"K", b"A"


@contextlib.contextmanager
def pooler(url: str) -> Iterator[str]:
    """A URL that leads to the same database through the pooler, for the length of the block."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    target = (parts.hostname, parts.port)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        clients: list[socket.socket] = []
        acceptor = threading.Thread(target=_accept, args=(listener, target, clients))
        acceptor.start()
        place = f"{parts.username}:{parts.password}@127.0.0.1:{listener.getsockname()[1]}"
        try:
            yield urlunsplit(parts._replace(netloc=place, query="sslmode=disable&gssencmode=disable"))
        finally:
            # Closing alone does not end an accept that waits in another thread.
            _hang_up(listener)
            _hang_up(*clients)
            acceptor.join()


def _accept(listener: socket.socket, target: tuple[str, int], clients: list[socket.socket]) -> None:
    served = []
    with contextlib.suppress(OSError):
        while True:
            client, _ = listener.accept()
            clients.append(client)
            served.append(threading.Thread(target=_serve, args=(client, target)))
            served[-1].start()
    for each in served:
        each.join()


def _serve(client: socket.socket, target: tuple[str, int]) -> None:
    with client, socket.create_connection(target) as server:
        forwarding = threading.Thread(target=_forward, args=(client, server))
        forwarding.start()
        _filter(server, client)
        forwarding.join()


def _forward(client: socket.socket, server: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := client.recv(65536):
            server.sendall(data)
    _hang_up(client, server)


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
    _hang_up(client, server)


def _hang_up(*sockets: socket.socket) -> None:
    for each in sockets:
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
