"""Starts ticks, looks after them, and ends with them. It works as process 1 of a container, too."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial

from jobrunner import clock
from jobrunner.durations import format_duration
from jobrunner.errors import DatabaseUnavailable
from jobrunner.ticker.pace import Pace
from jobrunner.ticker.readiness import Readiness

_FIRST_PAUSE_SECONDS = 1.0
# A new path for Python's own modules, or a click.py in the current folder, would be imported instead of ours.
_TICK = ("-P", "-m", "jobrunner", "tick")


class Ticker:
    """Checks that a tick can work here; then starts one at each full minute, beside those that are still at work.

    ``words`` are the options of each tick, ``environ`` is its environment. ``say`` shows a line to the operator.
    """

    def __init__(
        self,
        words: Sequence[str],
        environ: Mapping[str, str],
        every: timedelta,
        readiness: Readiness,
        say: Callable[[str], object],
    ) -> None:
        self._words = words
        self._environ = environ
        self._every = every
        self._readiness = readiness
        self._say = say
        self._at_work: dict[int, Callable[[int], None]] = {}
        self._last_code = 0
        self._stops = 0
        self._stops_passed_on = 0
        self._woken, self._waking = os.pipe()

    def run(self) -> int:
        """Work until a signal asks to stop, and then until the last tick has ended. Returns the exit code."""
        self._note_signals()
        code = self._check()
        if code == 0 and not self._stops:
            self._be_ready()
            pace = Pace(self._every)
            while not self._stops:
                self._start(self._judge)
                pace.go_on()
                self._wait_while(pace.seconds_left)
        self._pass_on()
        while self._at_work:
            self._wait(None)
        return code

    def _check(self) -> int:
        """Wait until a tick can work here. Another code than 0: to try again is of no use."""
        pause = _FIRST_PAUSE_SECONDS
        while not self._stops:
            codes: list[int] = []
            self._start(codes.append, "--probe")
            while not codes:
                self._wait(None)
            if self._stops or codes[0] == 0:
                break
            if codes[0] > 0 and codes[0] != DatabaseUnavailable.exit_code:
                return codes[0]
            if codes[0] < 0:
                self._say(f"the check {_end(codes[0])}")
            again_at = clock.elapsed() + pause
            self._readiness.failing(f"the first check {_end(codes[0])}; trying again")
            self._wait_while(partial(_seconds_until, again_at))
            pause = min(2 * pause, self._every.total_seconds())
        return 0

    def _start(self, judge: Callable[[int], None], *more: str) -> None:
        # A process group of its own: Ctrl-C reaches only this process, which passes it on.
        actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
        ]
        if more:
            # What the check says of this host is no line of the log.
            actions.append((os.POSIX_SPAWN_DUP2, 2, 1))
        command = [sys.executable, *_TICK, *more, *self._words]
        try:
            pid = os.posix_spawn(sys.executable, command, self._environ, file_actions=actions, setpgroup=0)
        except OSError as error:
            # Too many processes, or no memory: a minute later there may be.
            self._say(f"cannot start a tick: {error.strerror}")
            judge(os.EX_OSERR)
        else:
            self._at_work[pid] = judge

    def _judge(self, code: int) -> None:
        if code == self._last_code or self._stops:
            return
        self._last_code = code
        if code:
            status = f"ticks fail: one {_end(code)}"
            self._say(status)
            self._readiness.failing(status)
        else:
            self._say("ticks do their work again")
            self._be_ready()

    def _be_ready(self) -> None:
        status = f"ready: a tick each {format_duration(self._every)}"
        self._readiness.ready(status)
        self._say(status)

    def _wait_while(self, seconds_left: Callable[[], float]) -> None:
        while not self._stops and (left := seconds_left()) > 0:
            self._wait(left)

    def _wait(self, seconds: float | None) -> None:
        """Wait until a process has ended, a signal has come or the time is over, and do what is to be done then."""
        beat = self._readiness.beat_seconds
        waits = [each for each in (seconds, beat) if each is not None]
        if select.select([self._woken], [], [], min(waits) if waits else None)[0]:
            os.read(self._woken, 4096)
        self._readiness.beat()
        self._reap()
        self._pass_on()

    def _reap(self) -> None:
        """Take the exit codes of all that has ended. Process 1 of a container gets what others have left, too."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if (judge := self._at_work.pop(pid, None)) is not None:
                judge(os.waitstatus_to_exitcode(status))

    def _pass_on(self) -> None:
        """Pass the stop on to the ticks: the second one ends their grace period at once."""
        if self._stops_passed_on == self._stops:
            return
        if not self._stops_passed_on:
            self._readiness.stopping()
            self._say(f"stopping; ticks at work: {len(self._at_work)}")
        self._stops_passed_on = self._stops
        for pid in self._at_work:
            os.kill(pid, signal.SIGTERM)

    def _note_signals(self) -> None:
        # Process 1 has no default actions: what it does not handle is lost.
        for descriptor in (self._woken, self._waking):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(self._waking, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        # nohup ignores it.
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            signal.signal(signal.SIGHUP, self._stop)

    def _stop(self, *_: object) -> None:
        self._stops += 1


def _seconds_until(at: float) -> float:
    return max(at - clock.elapsed(), 0.0)


def _end(code: int) -> str:
    return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
