"""A Redis of our own, with its own default settings, on a socket in a folder: for the systems that need one."""

import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from processes import Failed

_START_SECONDS = 20


def program() -> str | None:
    """The server's program, if there is one."""
    return shutil.which("redis-server")


@contextlib.contextmanager
def running() -> Iterator[str]:
    """An empty one; its URL. It keeps what it saves in a folder that goes with it."""
    found = program()
    if found is None:
        raise Failed("there is no Redis")
    # Of short name: the path of a socket has at most 107 characters.
    folder = Path(tempfile.mkdtemp(prefix="bench-redis-"))
    path = folder / "redis.sock"
    command = [found, "--port", "0", "--unixsocket", str(path), "--dir", str(folder)]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        _wait(path)
        yield f"unix://{path}"
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _wait(path: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(path))
            return
        time.sleep(0.02)
    raise Failed(f"Redis did not start within {_START_SECONDS} s")
