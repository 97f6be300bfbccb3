"""The statements of a tick on the caller's own connection, inside the transaction that is open on it.

The testing kit runs the life of a run there. Nothing here ends the caller's transaction.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

from jobrunner.settings import config
from jobrunner.store.callers.borrowed import SqlalchemyConnection, Transaction, connection_of_caller
from jobrunner.store.drivers.connection import NO_VALUES, Connection, Executor, Result
from jobrunner.store.drivers.waits import COMMAND, Waits
from jobrunner.store.sql.namespace import qualified
from jobrunner.store.sql.statement import Compiled, Statement, Values

T = TypeVar("T")
_PSYCOPG_PARAMETER = re.compile(r"%\((\w+)\)s")


class CallersTransaction(Connection):
    """A caller's connection for what is otherwise done on a connection of jobrunner's own.

    Only ``execute`` and ``savepoint`` serve here. The caller begins and ends the transaction, so the rest raises.
    """

    def __init__(self, executor: Executor) -> None:
        super().__init__(getattr(executor, "driver", None), Waits.of(COMMAND), Exception)
        self.database, self.schema = executor.database, executor.schema
        self._executor = executor
        self.engine = executor.connection if isinstance(executor, SqlalchemyConnection) else None

    def execute(self, statement: Statement, values: Values = NO_VALUES) -> Result:
        """Execute a statement; see ``Executor``. Errors are those of the caller's library."""
        if self.engine is not None and isinstance(statement, str):
            from sqlalchemy import text

            # Its parameters are written for psycopg, and this may be another driver.
            written = _PSYCOPG_PARAMETER.sub(r":\1", qualified(statement, self.schema))
            return self._executor.execute(text(written), values)
        return self._executor.execute(statement, values)

    def begin(self, *, writes: bool = True, is_snapshot: bool = False) -> None:
        raise NotImplementedError("the caller's transaction is open already")

    def sever(self) -> None:
        raise NotImplementedError("the connection is the caller's")

    def _run(self, known: Compiled, parameters: Values) -> Any:
        raise NotImplementedError("statements go through the caller's connection")

    def _is_gone(self, error: Exception) -> bool:
        return False

    def _commit(self) -> bool:
        raise NotImplementedError("the caller ends the transaction")

    def _rollback(self) -> None:
        raise NotImplementedError("the caller ends the transaction")


def is_open(transaction: Any) -> bool:
    """Whether a transaction of the caller is open; False only for a connection of Django in autocommit."""
    return not _is_django(transaction) or bool(transaction.in_atomic_block)


@contextmanager
def joined(transaction: Transaction) -> Iterator[CallersTransaction]:
    """The caller's transaction; on a connection of Django in autocommit, one for this block."""
    with nullcontext() if is_open(transaction) else _atomic(transaction):
        executor = _executor(transaction)
        found = CallersTransaction(executor)
        if getattr(_driver_of(executor), "in_transaction", None) is False:
            # Python's driver of SQLite begins no transaction before a statement that begins with WITH.
            found.execute("BEGIN")
        yield found


async def run_sync(connection: Any, work: Callable[[Any, Callable[[Any], Any]], T]) -> T:
    """Call ``work`` with the synchronous session or connection of an asynchronous one, and with what awaits in it."""
    from sqlalchemy.util import await_only

    found: T = await connection.run_sync(work, await_only)
    return found


def savepoint(transaction: Transaction) -> AbstractContextManager[Any]:
    """Undoes what the block has written if it raises, in the way of the caller's library."""
    given: Any = transaction
    if _is_django(given):
        atomic: AbstractContextManager[Any] = _atomic(given)
        return atomic
    if hasattr(given, "begin_nested"):
        nested: AbstractContextManager[Any] = given.begin_nested()
        return nested
    undone: AbstractContextManager[Any] = CallersTransaction(_executor(transaction)).savepoint()
    return undone


def _executor(transaction: Transaction) -> Executor:
    return connection_of_caller(transaction, config.for_enqueue(os.environ).schema)


def _is_django(transaction: Any) -> bool:
    return hasattr(transaction, "in_atomic_block")


def _atomic(connection: Any) -> Any:
    return sys.modules["django.db"].transaction.atomic(using=connection.alias)


def _driver_of(executor: Executor) -> Any:
    if isinstance(executor, SqlalchemyConnection):
        return executor.driver_connection
    return executor.driver  # type: ignore[attr-defined]
