"""Questions on the caller's own connection. They write nothing, and leave its transaction as they have found it.

If a transaction is open, a question is a savepoint of it, to which it goes back at its end: so an error does not abort
the caller's transaction, and no setting of a question stays. If none is open, the question has one of its own, which
only reads, sees one instant, and is rolled back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Any, TypeVar

from jobrunner import clock
from jobrunner.errors import UsageError
from jobrunner.store.callers.borrowed import ASK, SqlalchemyConnection, Transaction, connection_below
from jobrunner.store.callers.callers_transaction import CallersTransaction
from jobrunner.store.callers.questions_refused import Raised, raised, refusal
from jobrunner.store.drivers.call_limit import limited
from jobrunner.store.drivers.connection import NO_VALUES, Executor, Result
from jobrunner.store.drivers.raw.sockets import HeldSocket
from jobrunner.store.sql.statement import Statement, Values

T = TypeVar("T")
_SAVEPOINT = "jobrunner_question"
_OLD_SECONDS = 30.0
_ONE_INSTANT = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
# Undone with the savepoint. A limit of the caller that is stricter stays. The others are those of our own connections:
# the driver can read only dates in ISO style, and no plan may read whole tables.
_SETTINGS = """
SELECT current_setting('transaction_isolation') AS isolation,
  CAST(extract(epoch FROM statement_timestamp() - transaction_timestamp()) AS float8) AS seconds,
  set_config('transaction_read_only', 'on', true) AS read_only, set_config('datestyle', 'ISO', true) AS dates,
  set_config('enable_seqscan', 'off', true) AS plans, set_config('jit', 'off', true) AS compiles,
  set_config('plan_cache_mode', 'force_custom_plan', true) AS keeps,
  (SELECT count(set_config(name, CASE WHEN CAST(setting AS bigint) BETWEEN 1 AND most THEN setting
    ELSE CAST(most AS text) END, true))
  FROM (SELECT 'statement_timeout' AS name, CAST(%(statement)s AS bigint) AS most
    UNION ALL SELECT 'lock_timeout', CAST(%(lock)s AS bigint)) AS limits JOIN pg_settings USING (name)) AS limits
""".strip()


def ask(transaction: Transaction, schema: str | None, work: Callable[[Question], T]) -> T:
    """What ``work`` reads on this connection; see ``connection_of_caller``. It may be in autocommit mode.

    Raises UsageError for what is no connection, SchemaMismatch for a database without our tables or with others, and
    DatabaseUnavailable if the role may not read them, or no answer comes. Other errors are those of the library.
    """
    executor = connection_below(transaction, schema, ASK)
    if isinstance(executor, SqlalchemyConnection):
        executor.refuse_pipeline(ASK)
    return Question(executor, executor.driver_connection).answer(work)


class Question(CallersTransaction):
    """The connection for one question. Its errors are ``Raised``, which have the library's.

    ``begin`` and ``rollback`` are for what is asked about an error: it begins where the question has begun.
    """

    def __init__(self, executor: Executor, driver: Any, roll_back: Callable[[], None] | None = None) -> None:
        super().__init__(executor)
        self.driver = driver
        self._roll_driver_back: Any = roll_back or getattr(driver, "rollback", None)
        self._is_cut = False
        self._since: float | None = None
        self._below = executor
        # What ``_end`` has to end: SQLAlchemy's own transaction, ours, that of the driver, the savepoint.
        self._has_begun_engine = False
        self._is_ours = False
        self._is_of_driver = False
        self._has_savepoint = False

    def answer(self, work: Callable[[Question], T]) -> T:
        """What ``work`` reads. Raises as ``ask``."""
        with limited(self) if self._hold() else nullcontext():
            try:
                return self._explained(lambda: self._answer(work))
            finally:
                self._let_go()

    def _answer(self, work: Callable[[Question], T]) -> T:
        try:
            self._begin()
            # Before the end, because afterwards nothing more can be asked about an error.
            found = self._explained(lambda: work(self))
        except BaseException:
            with suppress(Exception):
                self._end()
            raise
        self._end()
        return found

    def _explained(self, act: Callable[[], T]) -> T:
        try:
            return act()
        except Raised as error:
            library, why = error.library, refusal(self, error, is_cut=self._is_cut)
        if why is library:
            # As the library has raised it, with its own cause.
            raise why
        raise why from library

    def execute(self, statement: Statement, values: Values = NO_VALUES) -> Result:
        """Execute a statement; see ``Executor``."""
        self._since = clock.elapsed()
        try:
            return super().execute(statement, values)
        except Exception as error:
            found = raised(error)
            if found is None:
                raise
            raise found from error
        finally:
            self._since = None

    # How it begins and ends

    def _begin(self) -> None:
        """Begin the question. What has been begun is noted for ``_end``, also if the next step fails."""
        engine, is_open = self.engine, _is_open(self.driver)
        if engine is not None and not is_open and not engine.in_transaction():
            # An application may send BEGIN itself when SQLAlchemy begins.
            engine.begin()
            self._has_begun_engine = True
            is_open = _is_open(self.driver)
        if not is_open and not self._begins_by_itself():
            self.execute(f"BEGIN {_ONE_INSTANT}" if self.traits.has_server else "BEGIN")
            self._is_ours = True
        elif not is_open and (engine is None or self._has_begun_engine):
            self._is_of_driver = engine is None
            self.execute(f"SET TRANSACTION {_ONE_INSTANT}")
        if self.traits.has_server:
            self.execute(f"SAVEPOINT {_SAVEPOINT}")
            self._has_savepoint = True
            self._set_limits(is_open=is_open)

    def _set_limits(self, *, is_open: bool) -> None:
        limits = {"statement": round(self.waits.file * 1000), "lock": round(self.waits.lock * 1000)}
        found = self.execute(_SETTINGS, limits).one()
        if is_open and not found.isolation.startswith("read ") and found.seconds > _OLD_SECONDS:
            raise UsageError(
                f"the transaction that is open on this connection sees the database as it was when it began,"
                f" {found.seconds:.0f} s ago ({found.isolation}), and an answer would be as old; ask at its beginning,"
                " or on another connection"
            )

    def _end(self) -> None:
        """Leave the connection as it was."""
        if self._is_ours:
            self.execute("ROLLBACK")
        elif self._is_of_driver:
            self._roll_driver_back()
        elif self._has_savepoint and not self._has_begun_engine:
            self.rollback()
            self.execute(f"RELEASE SAVEPOINT {_SAVEPOINT}")
        if self._has_begun_engine and self.engine is not None:
            self.engine.rollback()

    def _begins_by_itself(self) -> bool:
        """Whether the driver begins a transaction before the next statement, whatever it is."""
        if not self.traits.has_server:
            return False
        driver: Any = self.driver if self.engine is None else self.engine.connection.dbapi_connection
        return not getattr(driver, "autocommit", True)

    def begin(self, *, writes: bool = True, is_snapshot: bool = False) -> None:
        """Go back to where the question has begun."""
        self.rollback()

    def rollback(self) -> None:
        """Go back to where the question has begun. On SQLite an error leaves the transaction as it was."""
        if self._has_savepoint:
            with suppress(Raised):
                self.execute(f"ROLLBACK TO SAVEPOINT {_SAVEPOINT}")

    # What another thread may call: see ``limited``

    def stuck_for(self) -> float:
        """How long the current statement has been without its answer."""
        since = self._since
        return 0.0 if since is None else clock.elapsed() - since

    def find_holder(self) -> None:
        """Nothing: a question waits for no row."""

    def cut(self) -> None:
        """End a connection whose server has been silent for longer than a statement may take there."""
        if self._since is not None:
            self._is_cut = True
            self._shut()

    def _hold(self) -> bool:
        """Find what ends the connection. Returns whether there is something."""
        self._shut: Callable[[], Any]
        self._socket: HeldSocket | None = None
        if not self.traits.has_server:
            return False
        if hasattr(self.driver, "terminate"):
            loop, terminate = self._loop(), self.driver.terminate
            self._shut = lambda: loop.call_soon_threadsafe(terminate)
            return True
        with suppress(Exception):
            # None without a connection that is open: then the next statement says so.
            self._socket = HeldSocket(self.driver.fileno())
            self._shut = self._socket.shut_down
        return self._socket is not None

    def _loop(self) -> asyncio.AbstractEventLoop:
        return getattr(self._below, "loop", None) or asyncio.get_running_loop()

    def _let_go(self) -> None:
        if self._socket is not None:
            self._socket.close()


def _is_open(driver: Any) -> bool:
    """Whether a transaction is open on a connection of a driver. It is, if the driver does not tell."""
    if hasattr(driver, "is_in_transaction"):
        return bool(driver.is_in_transaction())
    if hasattr(driver, "in_transaction"):
        return bool(driver.in_transaction)
    info = getattr(driver, "info", None)
    return info is None or bool(info.transaction_status)
