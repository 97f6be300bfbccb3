"""Pings of a monitor, by the convention of healthchecks.io: that something begins, has succeeded or has failed.

They are sent by threads, one for each URL, so that a monitor that hangs holds up nobody, and each gets its pings in
their order. A ping is sent once; it is not worth a second try, because the monitor alarms when none comes.
"""

from __future__ import annotations

import queue
import sys
import threading
from datetime import timedelta
from typing import NamedTuple

from jobrunner import clock
from jobrunner.errors import ConfigurationError
from jobrunner.notify.receivers import Failed, NotSent, post
from jobrunner.settings.notify import Secret

MOST_BYTES = 10_000
"""A monitor keeps the first bytes of a body, so it gets the end of the output in as many."""
_MOST_WAITING = 100
_SWITCH_SECONDS = 0.0005
"""After Python's default of 5 ms the loop would wait too long for a thread that imports."""


class Ping(NamedTuple):
    """``kind`` is added to the URL: "" success, start, fail, log, or an exit status. ``run`` identifies the attempt."""

    kind: str = ""
    run: str | None = None
    error: str | None = None
    output: str | None = None

    def body(self) -> bytes:
        """The error, and as much of the end of the output as fits, without what looks like a secret."""
        from jobrunner.masking.shapes import without_secrets

        error = without_secrets(self.error or "").encode("utf-8", "replace")[: MOST_BYTES // 2]
        # Not cut before: the name of a secret may stand in what is cut off.
        output = without_secrets(self.output or "").encode("utf-8", "replace")
        room = MOST_BYTES - len(error) - 1
        # A character that was cut is left out.
        tail = output[-room:].decode("utf-8", "ignore").encode()
        return b"\n".join(each for each in (error, tail) if each)


def attempt_id(run_id: int, attempt: int) -> str:
    """The same UUID for the start and the end of an attempt, also in another process."""
    import uuid

    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"jobrunner:{run_id}:{attempt}"))


def send(url: Secret, ping: Ping, timeout: float) -> str | None:
    """Send a ping. Returns why it was not sent."""
    try:
        base, mark, query = url.read().partition("?")
        path = f"{base.rstrip('/')}/{ping.kind}" if ping.kind else base
        parts = [each for each in (query if mark else "", f"rid={ping.run}" if ping.run else "") if each]
        post(path + ("?" + "&".join(parts) if parts else ""), ping.body(), {"Content-Type": "text/plain"}, timeout)
    except (ConfigurationError, NotSent, Failed) as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - whatever it is: a ping ends nothing else
        return f"unexpected {type(error).__name__}"
    return None


class Pings:
    """Sends pings beside the loop. Main thread only, but for the threads that it starts."""

    def __init__(self, timeout: timedelta) -> None:
        self._timeout = timeout.total_seconds()
        self._lines: dict[Secret, _Line] = {}
        self._dropped = 0

    def send(self, url: Secret, ping: Ping) -> None:
        """Let a thread send it, after the earlier ones to this URL."""
        line = self._lines.get(url)
        if line is None:
            sys.setswitchinterval(_SWITCH_SECONDS)
            line = self._lines[url] = _Line(url, self._timeout)
        if line.waiting.qsize() >= _MOST_WAITING or not line.is_usable():
            self._dropped += 1
        else:
            line.waiting.put(ping)

    def close(self, ends_at: float) -> list[str]:
        """Wait for the threads until then. Returns what was not sent, and why."""
        for line in self._lines.values():
            line.waiting.put(None)
        for line in self._lines.values():
            if line.is_alive():
                line.join(max(0.0, ends_at - clock.elapsed()))
        problems = [f"{self._dropped} pings: too many wait"] if self._dropped else []
        for line in self._lines.values():
            problems += line.problems[:1] or ["no answer in time"] * line.is_alive()
        return problems


def send_alone(url: Secret, most: timedelta) -> None:
    """Send one ping of success, and wait for it for a limited time."""
    pings = Pings(most)
    pings.send(url, Ping())
    pings.close(clock.elapsed() + most.total_seconds())


class _Line(threading.Thread):
    def __init__(self, url: Secret, timeout: float) -> None:
        # The process may end while it still waits.
        super().__init__(name="jobrunner-ping", daemon=True)
        self.waiting: queue.SimpleQueue[Ping | None] = queue.SimpleQueue()
        self.problems: list[str] = []
        self._url = url
        self._ping_timeout = timeout
        self._is_usable = True

    def is_usable(self) -> bool:
        """Whether it takes pings. Starts the thread."""
        if self._is_usable and not self.is_alive():
            try:
                self.start()
            except RuntimeError:
                # The host can start no more threads.
                self._is_usable = False
        return self._is_usable

    def run(self) -> None:
        while (ping := self.waiting.get()) is not None:
            problem = send(self._url, ping, self._ping_timeout)
            if problem is not None:
                self.problems.append(problem)
