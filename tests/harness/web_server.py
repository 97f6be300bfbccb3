"""`jobrunner web` as a running command, for tests."""

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from harness.commands import Commands


class Served:
    """A running server: its port, and the links that it has printed."""

    def __init__(self, printed: IO[str]) -> None:
        self._printed = printed
        self.lines = [printed.readline().rstrip("\n")]
        found = re.search(r":(\d+)/", self.lines[0])
        assert found, self.lines
        self.port = int(found[1])
        self._unused = list(self.lines)

    def link(self) -> str:
        """A link for one more browser."""
        if not self._unused:
            # Printed when the one before was used.
            self.lines.append(self._printed.readline().rstrip("\n"))
            return self.lines[-1]
        return self._unused.pop()


@contextmanager
def served(jobrunner: Commands, *words: str, logs: str = "") -> Iterator[Served]:
    """A server on a free port. Ctrl-C must end it, and it must say nothing but ``logs``, a pattern of lines."""
    process = jobrunner.start("web", "--port", "0", *words)
    assert process.stdout
    server = Served(process.stdout)
    try:
        yield server
    finally:
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=20)
        server.lines += stdout.splitlines()
    assert process.returncode == 130, stderr
    assert re.fullmatch(f"{logs}\njobrunner: interrupted\n", stderr), stderr
