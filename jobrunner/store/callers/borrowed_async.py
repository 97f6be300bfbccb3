"""The caller's own connection of an event loop: of psycopg, asyncpg, aiosqlite, or SQLAlchemy's asyncio.

Connections and sessions of SQLAlchemy's asyncio have ``run_sync``, which leads to ``callers``.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar, Union

from jobrunner.errors import UsageError
from jobrunner.store.callers.borrowed import ENQUEUE, Purpose, connection_of_caller, is_of, name_of, unscoped
from jobrunner.store.callers.unfit_schema import noting_unfit_schema
from jobrunner.store.drivers.connection import AsyncExecutor, Executor, Result
from jobrunner.store.drivers.steps import Steps, follow, follow_async
from jobrunner.store.sql import values_as_texts
from jobrunner.store.sql.plain_cursors import execute_psycopg_async, has_converters, plain_texts
from jobrunner.store.sql.statement import Compiled, Statement, Values, compiled
from jobrunner.store.sql.traits import TRAITS

if TYPE_CHECKING:
    import aiosqlite
    import psycopg
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_scoped_session

T = TypeVar("T")
Sent: TypeAlias = tuple[Sequence[Any], Sequence[Any]]
"""The rows of a statement, and the driver's description of their columns, if the statement does not declare them."""


class AsyncpgConnection(Protocol):
    """A connection of asyncpg, or one that its pool has lent."""

    def is_in_transaction(self) -> bool:
        """Whether a transaction is open."""

    async def fetch(self, query: str, *args: Any) -> list[Any]:
        """The rows of a query."""


# Two strings: pyright takes one that goes over two lines for any type.
AsyncTransaction: TypeAlias = Union[
    "AsyncConnection | AsyncSession | async_scoped_session[Any]",
    "psycopg.AsyncConnection[Any] | AsyncpgConnection | aiosqlite.Connection",
]
"""The asynchronous connection or session of the application, with its open transaction."""


async def follow_on(transaction: AsyncTransaction, schema: str | None, work: Callable[[str], Steps[T]]) -> T:
    """Execute the steps that ``work`` makes for the database, on the caller's connection. Raises as the next one."""
    given: Any = unscoped(transaction)
    if hasattr(given, "run_sync"):
        # The library itself makes its connection one without await.
        done: T = await given.run_sync(lambda each: _follow(connection_of_caller(each, schema), work))
        return done
    caller = await async_connection_of_caller(given, schema)
    return await follow_async(caller, work(caller.database))


def _follow(caller: Executor, work: Callable[[str], Steps[T]]) -> T:
    return follow(caller, work(caller.database))


async def async_connection_of_caller(transaction: AsyncTransaction, schema: str | None) -> AsyncExecutor:
    """The connection for the statements. The caller begins and ends its transaction.

    ``schema`` holds our tables if it is a connection to PostgreSQL; None: the server finds them by its search path.
    Errors are the driver's own. Raises UsageError if no transaction is open on it and none will be opened
    (autocommit), and for anything that is not such a connection.
    """
    connection = async_connection_below(transaction, schema, ENQUEUE)
    if not await connection.begins_by_itself():
        raise UsageError(
            "no transaction is open on this connection, which is in autocommit mode; enqueue inside one"
            " (connection.transaction() in asyncpg and psycopg, BEGIN in aiosqlite)"
        )
    return connection


def async_connection_below(transaction: AsyncTransaction, schema: str | None, purpose: Purpose) -> DriverOfLoop:
    """The same, whether or not a transaction is open. It takes none of SQLAlchemy's, which have ``run_sync``."""
    given: Any = transaction
    of_driver: type = type(given)
    kind = _kind_of(of_driver)
    if kind is None:
        raise UsageError(
            f"cannot {purpose.verb} through {name_of(given)} with await; give the AsyncConnection or AsyncSession of"
            " SQLAlchemy, or the connection of psycopg, asyncpg or aiosqlite that your transaction is open on;"
            f" {purpose.verb} without await takes the others"
        )
    return kind(given, schema)


class DriverOfLoop(AsyncExecutor):
    """A connection of a driver for event loops."""

    names: ClassVar[tuple[str, ...]]
    """The classes of the driver's connections, each after its module."""

    def __init__(self, driver: Any, schema: str | None) -> None:
        self.driver = driver
        self.schema = schema if TRAITS[self.database].has_schemas else None

    @abstractmethod
    async def begins_by_itself(self) -> bool:
        """Whether a transaction is open, or the driver opens one before it writes."""

    async def execute(self, statement: Statement, values: Values) -> Result:
        known = compiled(statement, self.database, self.schema)
        with noting_unfit_schema():
            found, description = await self._send(known, known.parameters(values))
        return Result(known.rows(found, description) if found else [], -1)

    @abstractmethod
    async def _send(self, statement: Compiled, parameters: Values) -> Sent: ...


class _Psycopg(DriverOfLoop):
    database = "postgresql"
    names = ("psycopg.AsyncConnection",)

    async def begins_by_itself(self) -> bool:
        idle = 0  # psycopg.pq.TransactionStatus.IDLE
        return not self.driver.autocommit or self.driver.info.transaction_status != idle

    async def _send(self, statement: Compiled, parameters: Values) -> Sent:
        cursor = await execute_psycopg_async(self.driver, statement.text, parameters)
        if cursor.description is None:
            return [], ()
        return await cursor.fetchall(), cursor.description


class _Asyncpg(DriverOfLoop):
    database = "postgresql"
    # A pool lends the second one.
    names = ("asyncpg.Connection", "asyncpg.pool.PoolConnectionProxy")

    async def begins_by_itself(self) -> bool:
        return bool(self.driver.is_in_transaction())

    async def _send(self, statement: Compiled, parameters: Values) -> Sent:
        text, names = statement.as_texts
        rows = await self.driver.fetch(text, *[values_as_texts.sent(parameters[name]) for name in names])
        if statement.declares_columns:
            return [values_as_texts.read(row[0], statement.instants, statement.documents) for row in rows], ()
        return values_as_texts.read_by_name([row[0] for row in rows])


class _Aiosqlite(DriverOfLoop):
    database = "sqlite"
    names = ("aiosqlite.Connection",)

    async def begins_by_itself(self) -> bool:
        if self.driver.in_transaction:
            return True
        mode = await autocommit_of_file(self.driver)
        return self.driver.isolation_level is not None if mode is None else not mode

    async def _send(self, statement: Compiled, parameters: Values) -> Sent:
        text = statement.undeclared if has_converters() else statement.text
        if self.driver.row_factory is None and self.driver.text_factory is str and statement.declares_columns:
            # One call to the connection's thread, where a cursor takes three.
            rows: list[Any] = await self.driver.execute_fetchall(text, parameters)
            return rows, ()

        def send() -> Sent:
            connection = self.driver._conn  # noqa: SLF001
            cursor = connection.cursor()
            cursor.row_factory = None
            with plain_texts(connection):
                return cursor.execute(text, parameters).fetchall(), cursor.description or ()

        # In one call to that thread, too, so that no other coroutine meets the changed text factory.
        answer: Sent = await self.driver._execute(send)  # noqa: SLF001
        return answer


async def autocommit_of_file(connection: aiosqlite.Connection) -> bool | None:
    """The autocommit mode of Python 3.12. None: the connection has the older way, by its ``isolation_level``."""
    if sys.version_info >= (3, 12):
        # Only the connection's own thread may read it.
        mode = await connection._execute(getattr, connection._conn, "autocommit")  # noqa: SLF001
        if isinstance(mode, bool):
            return mode
    return None


@lru_cache(maxsize=64)
def _kind_of(given: type) -> type[DriverOfLoop] | None:
    kinds: tuple[type[DriverOfLoop], ...] = (_Psycopg, _Asyncpg, _Aiosqlite)
    return next((kind for kind in kinds if is_of(given, *kind.names)), None)
