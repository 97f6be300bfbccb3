"""Connections to a server of PostgreSQL whose every statement is a point of the scheduler.

The statements and the server are real; so are its locks, and the wait for them. While a session waits, its task lets
others go on: the driver asks for the answer without waiting for it. The server's own limits of time are off. Those
for a lock and for a transaction in which nothing is done are here, in simulated time. A suspended task meets its limit
for a lock only when it goes on.
"""

from __future__ import annotations

import re
import select
from collections.abc import Callable, Generator, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

from psycopg import errors, pq

from jobrunner.store.drivers.connection import Connection, DriverError, Result, Wire
from jobrunner.store.drivers.notify import Notifier, _NoNotifications, open_notifier
from jobrunner.store.drivers.postgresql import ServerConnection
from jobrunner.store.drivers.waits import Waits
from jobrunner.store.sql.statement import Compiled, Prepared, Statement, Values
from simulator.files import Fault
from simulator.ledger import Violated
from simulator.sessions import Sessions, has_answer

if TYPE_CHECKING:
    from simulator.world import World

CLOCK = """
CREATE OR REPLACE FUNCTION jobrunner_now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT CASE coalesce(current_setting('jobrunner.simulated_now', true), '') WHEN '' THEN statement_timestamp()
    ELSE to_timestamp(current_setting('jobrunner.simulated_now', true)::float8) END
$$
"""
"""Is the clock in the place of ours. Without the setting it is the real one, for those who look at a history."""
_SERVER_LIMIT = re.compile(rb"(SET LOCAL (?:lock|statement|idle_in_transaction_session)_timeout) = \d+")
_LOCK_LIMIT = re.compile(r"SET LOCAL lock_timeout = (\d+)")
_OLDEST = "pg_snapshot_xmin(pg_current_snapshot())"
_OLDEST_HERE = """(
  SELECT coalesce(min(backend_xid::text::bigint), pg_current_xact_id()::text::bigint)
  FROM pg_stat_activity WHERE datname = current_database()
)"""
"""The oldest transaction under way in this database. The snapshot also knows those of other tests."""
_SOON = 3
"""In milliseconds: an answer that takes longer may wait for a lock."""


class SimulatedServerWire(Wire):
    """Ends the wait of a task on its session, as the watchdog of its tick asks."""

    session: int | None = None

    def __init__(self, connection: SimulatedServer) -> None:
        self._connection = connection

    def cancel(self) -> None:
        self._connection.interrupt()

    def shut(self) -> None:
        self._connection.interrupt()

    def holder(self) -> None:
        return None


class SimulatedServer(ServerConnection):
    """A connection of one task. ``world`` is set by the history, for all of them."""

    world: World

    def __init__(self, options: Mapping[str, Any], waits: Waits, schema: str | None) -> None:
        world = self.world
        if world.sessions is None:
            world.sessions = Sessions(world.scheduler, world.url)
        if world.point("connect", self) is not None or world.is_cut_off():
            raise DriverError(errors.OperationalError("connection refused"), is_gone=True)
        super().__init__(options, waits, schema)
        self._sessions: Sessions = world.sessions
        self.wire = SimulatedServerWire(self)  # type: ignore[assignment]  # what is asked of it is the same
        self.pid = self.driver.pgconn.backend_pid
        self.socket = self.driver.pgconn.socket
        self.idle_since = world.scheduler.now
        self._what = ""
        self._lock_seconds = waits.lock
        self._hanging: Any = None
        # Why the server was asked to end the statement: its wait for a lock was too long, or the watchdog's.
        self._is_cancelled = self._was_too_long = False
        self._begin = _SERVER_LIMIT.sub(rb"\1 = 0", self._begin)
        self._begin_snapshot = _SERVER_LIMIT.sub(rb"\1 = 0", self._begin_snapshot)
        self.driver.wait = self._wait
        self._sessions.begun(self)
        world.process().at_death.append(self.end)

    def begin(self, *, writes: bool = True, is_snapshot: bool = False) -> None:
        self._lock_seconds = self.waits.lock
        self._is_cancelled = self._was_too_long = False
        super().begin(writes=writes, is_snapshot=is_snapshot)
        self.idle_since = self.world.scheduler.now

    def execute(self, statement: Statement, values: Values = {}) -> Result:  # noqa: B006 - as the method that it calls
        self._what = statement.name if isinstance(statement, Prepared) else str(statement).split("\n")[0][:40]
        if isinstance(statement, str) and (limit := _LOCK_LIMIT.fullmatch(statement)):
            self._lock_seconds = int(limit[1]) / 1000
            statement = "SET LOCAL lock_timeout = 0"
        return super().execute(statement, values)

    def _run(self, known: Compiled, parameters: Mapping[str, Any]) -> Any:
        fault = self._point(self._what)
        if _OLDEST in known.text:
            known = copy(known)
            known.text = known.text.replace(_OLDEST, _OLDEST_HERE)
        cursor = self._answered(lambda: super(SimulatedServer, self)._run(known, parameters))
        if fault is Fault.ANSWER_LOST:
            self._break()
        return cursor

    def _commit(self) -> bool:
        fault = self._point("COMMIT")
        done = self._answered(super()._commit)
        if fault is Fault.ANSWER_LOST:
            self._break()
        return bool(done)

    def _rollback(self) -> None:
        self._answered(super()._rollback)

    def _answered(self, call: Callable[[], Any]) -> Any:
        try:
            self._set_clock()
            return call()
        except errors.QueryCanceled:
            if self._was_too_long:
                raise errors.LockNotAvailable("canceling statement due to lock timeout") from None
            raise
        except errors.DeadlockDetected as error:
            # The code tries again, so nobody would see it. Two of our transactions must never need each other's locks.
            raise Violated(f"a deadlock at {self._what}") from error
        finally:
            self.idle_since = self.world.scheduler.now
            # An error frees locks, too, and so does the end of a savepoint.
            self._sessions.settle()

    def _set_clock(self) -> None:
        # In a transaction that has failed the server refuses this, as all the rest.
        self.driver.pgconn.exec_(b"SET jobrunner.simulated_now = '%.6f'" % self.world.database_now())

    def _in_transaction(self) -> bool:
        return bool(self.driver.pgconn.transaction_status == pq.TransactionStatus.INTRANS)

    # The wait for an answer.

    def _wait(self, answer: Generator[Any, Any, Any], interval: float = 0.0) -> Any:
        try:
            state = next(answer)
            while True:
                state = answer.send(self._when_ready(state))
        except StopIteration as end:
            return end.value

    def _when_ready(self, state: int) -> int:
        """Wait until one can read (1), write (2) or both."""
        poll = select.poll()
        poll.register(self.socket, (select.POLLIN if state & 1 else 0) | (select.POLLOUT if state & 2 else 0))
        lock_ends_at = self.world.scheduler.now + self._lock_seconds
        while not (found := poll.poll(_SOON)):
            if not self._is_cancelled and (blockers := self._sessions.blockers(self)):
                self._wait_for_lock(blockers, lock_ends_at)
        ((_, events),) = found
        return (state & 2 if events & select.POLLOUT else 0) | (state & 1 if events & ~select.POLLOUT else 0)

    def _wait_for_lock(self, blockers: list[SimulatedServer], ends_at: float) -> None:
        now = self.world.scheduler.now
        first = min([ends_at, *(each.idle_ends_at() for each in blockers)])
        self._sessions.wait(self, first - now)
        now = self.world.scheduler.now
        if has_answer(self.socket, 0):
            return
        for each in blockers:
            if each.idle_ends_at() <= now:
                each.end()
        if now >= ends_at and not has_answer(self.socket, 0):
            self._is_cancelled = self._was_too_long = True
            self._sessions.cancel(self)

    def idle_ends_at(self) -> float:
        """When the server ends this session because nothing is done in its transaction."""
        return float("inf") if self._sessions.waits(self) else self.idle_since + self.waits.idle

    # What ends it.

    def _point(self, what: str) -> Fault | None:
        fault: Fault | None = self.world.point(what, self)
        if fault is Fault.LOST or self.world.is_cut_off():
            self._break()
        if self._in_transaction() and self.idle_ends_at() <= self.world.scheduler.now:
            self._break()
        if fault is Fault.HANGS:
            self._hang()
        return fault

    def _hang(self) -> None:
        self._hanging = self.world.scheduler.task()
        self.world.scheduler.wait("hangs", self.world.longest_hang, self)
        self._hanging = None
        self._break()

    def _break(self) -> None:
        """Break the connection, as a lost network does; on the other side the transaction is rolled back."""
        self.end()
        raise errors.OperationalError("the connection is lost")

    def end(self) -> None:
        """End the session on both sides, and wait until the server has freed its locks."""
        holds_nothing = self.driver.pgconn.transaction_status == pq.TransactionStatus.IDLE
        self.driver.close()
        self._sessions.end(self, holds_nothing=holds_nothing)

    def interrupt(self) -> None:
        """End the wait of its task."""
        if self._hanging is not None:
            self.world.scheduler.wake(self._hanging)
        elif self._sessions.waits(self) and not self._is_cancelled:
            self._is_cancelled = True
            self._sessions.cancel(self)

    def sever(self) -> None:
        self.end()

    def close(self) -> None:
        self.end()


def notifier_of(connection: Connection) -> Notifier:
    """In the place of ``open_notifier``: when a server's notification arrives, no scheduler decides."""
    return _NoNotifications(connection) if isinstance(connection, SimulatedServer) else open_notifier(connection)
