"""Started in place of Python for each worker of xdist: has the starter fork the worker, and waits for its end.

As `python -I -S worker.py STARTER -u -c CODE`, with the streams on which xdist talks to the worker. To start a Python
for each worker, and to import everything there, was a third of what the tests of one file cost.
"""

import json
import os
import signal
import socket
import sys
from collections.abc import Iterable


def ask(
    channel: socket.socket, words: list[str], environment: dict[str, str], folder: str, streams: Iterable[int]
) -> tuple[socket.socket, int]:
    """Have the starter fork a process. Where its exit code will arrive, and its pid."""
    report, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    request = {"words": words, "environment": environment, "folder": folder}
    with theirs:
        socket.send_fds(channel, [json.dumps(request).encode()], [theirs.fileno(), *streams])
    return report, int(report.recv(100))


def main(starter: str, code: str) -> int:
    """The exit status of the worker."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as channel:
        channel.connect(starter)
        words = [sys.executable, "-c", code]
        report, pid = ask(channel, words, dict(os.environ), os.getcwd(), (0, 1, 2))
    # The worker has a session of its own, which Ctrl-C does not reach.
    signal.signal(signal.SIGINT, lambda number, _: os.kill(pid, number))
    # The worker alone holds them from here on: xdist notices its end when they are closed.
    os.close(0)
    os.close(1)
    # Nothing comes if the starter has ended: the worker ends with it.
    return abs(int(report.recv(100) or b"1"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[-1]))
