"""The sessions of a simulated history on a server: which of them waits for a lock of which, as the server itself says.

Only one task goes on at a time, so a session that waits for a lock waits for one whose task is at a point. All that
frees a lock happens in a step. At its end each session that waited has its answer, or the server says that it waits for
another one still. So it does not depend on the speed of the server what happens next.
"""

from __future__ import annotations

import select
from typing import TYPE_CHECKING, Any

import psycopg

if TYPE_CHECKING:
    from simulator.scheduler import Scheduler, Task
    from simulator.servers import SimulatedServer

_ONE_MOMENT = 1
"""In milliseconds: how long an answer is waited for before the server is asked again."""
_AHEAD = """
WITH RECURSIVE ahead (pid, depth) AS (
  SELECT unnest(pg_blocking_pids(%(pid)s)), 1
  UNION SELECT unnest(pg_blocking_pids(pid)), 2 FROM ahead WHERE depth < 9
)
SELECT pid, depth FROM ahead
"""


def has_answer(socket: int, milliseconds: int) -> bool:
    """Whether the server has sent something, at the latest after so long."""
    poll = select.poll()
    poll.register(socket, select.POLLIN)
    return bool(poll.poll(milliseconds))


class Sessions:
    """All sessions of a history. One more connection, which no task has, asks the server about them."""

    def __init__(self, scheduler: Scheduler, url: str) -> None:
        self._scheduler = scheduler
        self._monitor: psycopg.Connection[Any] = psycopg.connect(url, autocommit=True, application_name="monitor")
        self._open: dict[int, SimulatedServer] = {}
        self._waiting: dict[SimulatedServer, Task] = {}

    def begun(self, session: SimulatedServer) -> None:
        """Somebody has connected."""
        self._open[session.pid] = session

    def blockers(self, session: SimulatedServer) -> list[SimulatedServer]:
        """The sessions for which this one waits. None for a wait that ends by itself, such as in a deadlock."""
        found = self._monitor.execute(_AHEAD, {"pid": session.pid}).fetchall()
        if any(pid == session.pid for pid, _ in found):
            return []
        # Not those of other tests, which hold locks of the whole server for a moment.
        return [self._open[pid] for pid, depth in found if depth == 1 and pid in self._open]

    def wait(self, session: SimulatedServer, seconds: float) -> None:
        """Let other tasks go on until the session has its answer, at most for so long."""
        self._waiting[session] = self._scheduler.task()
        try:
            self._scheduler.wait("waits for a lock", seconds)
        finally:
            self._waiting.pop(session, None)

    def waits(self, session: SimulatedServer) -> bool:
        """Whether it waits for a lock, or has its answer and has not gone on yet."""
        return session in self._waiting

    def settle(self) -> None:
        """Something may have freed a lock: see which of the sessions that wait have their answer."""
        has_changed = True
        while has_changed:
            has_changed = False
            for session in [each for each, task in self._waiting.items() if not task.was_woken]:
                if self._is_answered(session):
                    self._scheduler.wake(self._waiting[session])
                    has_changed = True

    def _is_answered(self, session: SimulatedServer) -> bool:
        while not has_answer(session.socket, 0):
            if self.blockers(session) and not has_answer(session.socket, 0):
                return False
            has_answer(session.socket, _ONE_MOMENT)
        return True

    def cancel(self, session: SimulatedServer) -> None:
        """End its statement, and wake its task."""
        self._monitor.execute("SELECT pg_cancel_backend(%s)", [session.pid])
        if session in self._waiting:
            self._scheduler.wake(self._waiting[session])

    def end(self, session: SimulatedServer, *, holds_nothing: bool) -> None:
        """End it. What it held is free then."""
        if self._open.pop(session.pid, None) is None:
            return
        self._waiting.pop(session, None)
        if not holds_nothing:
            self._monitor.execute("SELECT pg_terminate_backend(%s)", [session.pid])
            gone = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s"
            while self._monitor.execute(gone, [session.pid]).fetchone() != (0,):
                pass
            self.settle()

    def close(self) -> None:
        """Close all connections. People have some that are open when a history ends."""
        for session in self._open.values():
            session.driver.close()
        self._monitor.close()
