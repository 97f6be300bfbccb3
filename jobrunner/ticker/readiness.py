"""Says whether ticks do their work: to systemd (sd_notify), and by a file for whatever looks at files."""

from __future__ import annotations

import os
import socket
from collections.abc import MutableMapping
from contextlib import suppress

from jobrunner import clock
from jobrunner.errors import ConfigurationError

_SEND_SECONDS = 1.0


class Readiness:
    """What the service manager knows of this process.

    It takes the variables of the service manager out of ``environ``: they are not for the programs that handlers start.
    ``file`` exists while ticks do their work.
    """

    def __init__(self, environ: MutableMapping[str, str], file: str | None) -> None:
        self._socket = environ.pop("NOTIFY_SOCKET", "")
        self.beat_seconds = _beat_seconds(environ.pop("WATCHDOG_USEC", ""), environ.pop("WATCHDOG_PID", ""))
        self._beat_at = clock.elapsed()
        self._file = file
        if file is not None:
            _remove_old(file)

    def ready(self, status: str) -> None:
        """Ticks do their work."""
        self._send(f"READY=1\nSTATUS={status}")
        if self._file is not None:
            # A full disk is no reason to end: the probe fails, and the next change tries again.
            with suppress(OSError), open(self._file, "a"):
                pass

    def failing(self, status: str) -> None:
        """Ticks cannot do their work. A service manager has no word for that but the status."""
        self._send(f"STATUS={status}")
        self._remove()

    def stopping(self) -> None:
        """No tick will be started any more."""
        self._send("STOPPING=1\nSTATUS=waiting for the last ticks")
        self._remove()

    def beat(self) -> None:
        """Show the watchdog of systemd that this process turns, as often as it wants."""
        if self.beat_seconds is not None and clock.elapsed() - self._beat_at >= self.beat_seconds:
            self._beat_at = clock.elapsed()
            self._send("WATCHDOG=1")

    def _remove(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                os.unlink(self._file)

    def _send(self, text: str) -> None:
        if self._socket[:1] not in ("/", "@"):
            return
        # A name that begins with @ is no file: the kernel has it beside the file system.
        address = self._socket.replace("@", "\0", 1) if self._socket.startswith("@") else self._socket
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.settimeout(_SEND_SECONDS)
            sender.sendto(text.encode(), address)


def _beat_seconds(interval_microseconds: str, pid: str) -> float | None:
    """Half of what the watchdog waits for. None: it does not watch this process."""
    if not interval_microseconds.isdecimal() or pid not in ("", str(os.getpid())):
        return None
    return int(interval_microseconds) / 1_000_000 / 2 or None


def _remove_old(file: str) -> None:
    """Remove what a killed process has left. Nothing that somebody has written is removed."""
    try:
        if os.path.getsize(file):
            raise ConfigurationError(f"the ready file {file} is not empty; name a file that may be removed")
        os.unlink(file)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise ConfigurationError(f"cannot remove the old ready file {file}: {error.strerror}") from None
    if not os.access(os.path.dirname(os.path.abspath(file)), os.W_OK | os.X_OK):
        raise ConfigurationError(f"cannot write the ready file {file}: its folder is missing, or read-only")
