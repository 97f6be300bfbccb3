"""Starts `jobrunner loop`, and listens to what it tells a service manager."""

import contextlib
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness import Commands, wait_for
from harness.waiting import stretched

Process = subprocess.Popen[str]
READY = "READY=1"


class Manager:
    """A service manager, as systemd: what the process has told it through NOTIFY_SOCKET."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._messages: list[str] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(address.replace("@", "\0", 1))
        self._socket.setblocking(False)

    def messages(self) -> list[str]:
        """All messages so far."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self._messages.append(self._socket.recv(4096).decode())
        return self._messages

    def lines(self) -> list[str]:
        """All lines of them."""
        return "\n".join(self.messages()).splitlines()

    def wait_for(self, text: str, seconds: float = 30) -> None:
        """Until it was told so."""
        wait_for(lambda: any(text in line for line in self.lines()), seconds, lambda: f"{text} in {self.lines()}")

    def close(self) -> None:
        self._socket.close()


@contextmanager
def manager(address: str) -> Iterator[Manager]:
    """One that listens at this address."""
    listening = Manager(address)
    try:
        yield listening
    finally:
        listening.close()


def ready_file(jobrunner: Commands, number: int = 1) -> Path:
    """The file that exists while the loop is ready. Two loops at work have two files, because each removes its own."""
    return jobrunner.home / f"ready-{number}"


def start_loop(jobrunner: Commands, *args: object, every: str = "1s", number: int = 1, **env: str) -> Process:
    """A loop that logs into the file `log` of the application."""
    words = ["loop", "--every", every, "--ready-file", ready_file(jobrunner, number), *args]
    return jobrunner.start(*words, env={"JOBRUNNER_LOG": str(jobrunner.app.path("log")), **env})


def ready_loop(jobrunner: Commands, *args: object, every: str = "1s", number: int = 1, **env: str) -> Process:
    """The same, once it is ready."""
    loop = start_loop(jobrunner, *args, every=every, number=number, **env)
    file = ready_file(jobrunner, number)
    wait_for(lambda: file.exists() or loop.poll() is not None, 60, "the loop is ready")
    assert loop.poll() is None, loop.communicate()
    return loop


def stop_loop(jobrunner: Commands, loop: Process, number: signal.Signals = signal.SIGTERM, seconds: float = 60) -> str:
    """Stop it; it ends well and leaves no process. What it said on stderr."""
    loop.send_signal(number)
    return check_stopped(jobrunner, loop, seconds)


def check_stopped(jobrunner: Commands, loop: Process, seconds: float = 60) -> str:
    """It ends well and leaves no process. What it said on stderr."""
    out, err = loop.communicate(timeout=stretched(seconds))
    assert (loop.returncode, out) == (0, ""), err
    assert jobrunner.leftover_processes() == []
    assert not ready_file(jobrunner).exists()
    return err
