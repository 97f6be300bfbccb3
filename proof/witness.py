"""The witness: a process that counts outside of the database, in a file of its own to which it only appends.

Whatever happens to the database, this file says which work was done, when, and by whom. A line has eight fields,
separated by tabs: nanoseconds of the monotonic clock, what happened, the token of the work, run, attempt, who, detail,
and the connection. The sender takes the time. When a connection ends, the witness adds a line ``gone``: its time is the
last at which the witness found it connected, so an interval that a kill has ended is never too long.
"""

import contextlib
import os
import select
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

LARGEST = 200_000


class Line(NamedTuple):
    """What somebody has told the witness. ``process`` is the connection."""

    at: int
    kind: str
    token: str
    run: int
    attempt: int
    who: str
    detail: str
    process: int


def main() -> None:
    """`python -m proof.witness SOCKET FILE`."""
    place, file = Path(sys.argv[1]), Path(sys.argv[2])
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener, file.open("ab", buffering=0) as book:
        listener.bind(str(place))
        listener.listen(512)
        place.chmod(0o777)
        _count(listener, book.fileno())


def _count(listener: socket.socket, book: int) -> None:
    poll = select.epoll()
    poll.register(listener.fileno(), select.EPOLLIN)
    open_ones: dict[int, socket.socket] = {}
    numbers: dict[int, int] = {}
    number = 0
    looked_at = time.monotonic_ns()
    while True:
        ready = poll.poll()
        now = time.monotonic_ns()
        lines: list[bytes] = []
        for descriptor, _ in ready:
            if descriptor == listener.fileno():
                connection, _ = listener.accept()
                number += 1
                open_ones[connection.fileno()], numbers[connection.fileno()] = connection, number
                poll.register(connection.fileno(), select.EPOLLIN)
                continue
            try:
                message = open_ones[descriptor].recv(LARGEST)
            except OSError:
                message = b""
            own = numbers[descriptor]
            if message:
                lines.append(b"%b\t%d\n" % (message, own))
                continue
            lines.append(b"%d\tgone\t\t0\t0\t\t\t%d\n" % (looked_at, own))
            poll.unregister(descriptor)
            open_ones.pop(descriptor).close()
        if lines:
            os.write(book, b"".join(lines))
        looked_at = now


def read(file: Path, offset: int) -> tuple[list[Line], int]:
    """The lines from this place of the file on, and the place after the last whole one."""
    with file.open("rb") as book:
        book.seek(offset)
        content = book.read()
    whole = content[: content.rfind(b"\n") + 1]
    return list(_lines(whole.decode())), offset + len(whole)


def _lines(content: str) -> Iterator[Line]:
    for each in content.splitlines():
        at, kind, token, run, attempt, who, detail, process = each.split("\t")
        # An application tells of many enqueues at once.
        for single in token.split(","):
            yield Line(int(at), kind, single, int(run or 0), int(attempt or 0), who, detail, int(process))


class Teller:
    """What an application tells the witness about its enqueues."""

    def __init__(self, place: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.connect(place)

    def tell(self, kind: str, tokens: list[str], run: int = 0, detail: str = "") -> None:
        """All of these tokens, in one message for each thousand."""
        for first in range(0, len(tokens), 1000):
            part = ",".join(tokens[first : first + 1000])
            self._socket.send(f"{time.monotonic_ns()}\t{kind}\t{part}\t{run}\t0\tapp\t{detail}".encode())

    def close(self) -> None:
        """Tell the witness nothing more."""
        with contextlib.suppress(OSError):
            self._socket.close()


if __name__ == "__main__":
    main()
