"""A proxy in front of a PostgreSQL server that stops answering while all connections stay open."""

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit, urlunsplit

READY = b"Z"


class Proxy:
    """Answers so many times, all connections together, and then no more; ``greets``: new ones may still log in.

    So does a pooler that was paused: it lets everybody in by itself.
    """

    def __init__(self, target: tuple[str, int], answers: int, *, greets: bool) -> None:
        self.is_silent = threading.Event()
        self._target = target
        self._left = answers
        self._greets = greets
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._sockets: list[socket.socket] = [self._listener]
        if answers == 0:
            self.is_silent.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Hang up, on both sides."""
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._sockets.append(client)
                if not self.is_silent.is_set() or self._greets:
                    server = socket.create_connection(self._target)
                    self._sockets.append(server)
                    for serve in (self._ask, self._answer):
                        threading.Thread(target=serve, args=(client, server), daemon=True).start()

    def _ask(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                server.sendall(data)
            if not self.is_silent.is_set():
                server.shutdown(socket.SHUT_RDWR)

    def _answer(self, client: socket.socket, server: socket.socket) -> None:
        """What the server says, message by message, as far as it may be heard."""
        buffer, is_new = b"", True
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                buffer += data
                while len(buffer) >= 5 and len(buffer) > (length := struct.unpack("!I", buffer[1:5])[0]):
                    message, buffer = buffer[: length + 1], buffer[length + 1 :]
                    if not self._may_pass(is_new):
                        continue
                    client.sendall(message)
                    if message[:1] == READY:
                        self._count(is_new)
                        is_new = False
            if not self.is_silent.is_set():
                client.shutdown(socket.SHUT_RDWR)

    def _may_pass(self, is_new: bool) -> bool:
        return not self.is_silent.is_set() or (is_new and self._greets)

    def _count(self, is_new: bool) -> None:
        with self._lock:
            self._left -= not (is_new and self._greets)
            if self._left <= 0:
                self.is_silent.set()


@contextlib.contextmanager
def silent_after(url: str, answers: int, *, greets: bool = False) -> Iterator[str]:
    """A URL that leads to the same database for so many answers."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    line = Proxy((parts.hostname, parts.port), answers, greets=greets)
    place = f"{parts.username}:{parts.password}@127.0.0.1:{line.port}"
    try:
        yield urlunsplit(parts._replace(netloc=place, query="sslmode=disable&gssencmode=disable"))
    finally:
        line.close()
