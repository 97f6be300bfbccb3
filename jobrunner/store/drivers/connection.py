"""Executes statements on a connection of a driver, sqlite3 or psycopg, with no library in between."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from jobrunner.errors import UsageError
from jobrunner.store.drivers.waits import Waits
from jobrunner.store.sql.statement import Compiled, Row, Statement, Values, compiled
from jobrunner.store.sql.traits import TRAITS, Traits

if TYPE_CHECKING:
    from sqlalchemy import Connection as EngineConnection

RowMapping: TypeAlias = Mapping[str, Any]
NO_VALUES: Values = {}


class DriverError(Exception):
    """What a driver has raised, as ``orig``. ``is_gone``: its connection is closed or broken.

    ``statement`` is the text that was sent, without its parameters.
    """

    statement = ""

    def __init__(self, orig: Exception, *, is_gone: bool) -> None:
        super().__init__(f"({type(orig).__module__.partition('.')[0]}.{type(orig).__name__}) {orig}")
        self.orig = orig
        self.is_gone = is_gone

    def is_a(self, *names: str) -> bool:
        """Whether the driver's error has one of these names of the DB-API, such as IntegrityError."""
        return any(each.__name__ in names for each in type(self.orig).__mro__)


class Result:
    """What a statement has returned: all of its rows."""

    __slots__ = ("_rows", "rowcount")

    def __init__(self, rows: list[Row], rowcount: int) -> None:
        self._rows = rows
        self.rowcount = rowcount

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def all(self) -> list[Row]:
        """The rows."""
        return self._rows

    def first(self) -> Row | None:
        """The first row, if there is one."""
        return self._rows[0] if self._rows else None

    def one(self) -> Row:
        """The only row. It is an error of the code if there is not exactly one."""
        (row,) = self._rows
        return row

    def one_or_none(self) -> Row | None:
        """The only row, if there is one."""
        return self.one() if self._rows else None

    def scalars(self) -> list[Any]:
        """The first value of each row."""
        return [row[0] for row in self._rows]

    def scalar_one(self) -> Any:
        """The first value of the only row."""
        return self.one()[0]

    def scalar_one_or_none(self) -> Any:
        """The first value of the only row, or None."""
        return self.one()[0] if self._rows else None

    def mappings(self) -> list[RowMapping]:
        """The rows by the names of their columns."""
        return [row._asdict() for row in self._rows]


class Executor(ABC):
    """Executes statements on a connection to ``database``: sqlite or postgresql.

    ``schema`` is the schema of PostgreSQL that holds our tables. None: the server finds them by its search path.
    """

    database: str
    schema: str | None = None

    @property
    def traits(self) -> Traits:
        """What the database can do."""
        return TRAITS[self.database]

    @abstractmethod
    def execute(self, statement: Statement, values: Values = NO_VALUES) -> Result:
        """Execute a statement with these parameters, and read all of its rows."""


class AsyncExecutor(ABC):
    """Executes statements on a connection of an event loop."""

    database: str

    @abstractmethod
    async def execute(self, statement: Statement, values: Values) -> Result:
        """Execute a statement with these parameters, and read all of its rows."""


class DriverExecutor(Executor):
    """Executes statements on a connection of a driver."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def execute(self, statement: Statement, values: Values = NO_VALUES) -> Result:
        known = compiled(statement, self.database, self.schema)
        cursor = self._send(known, known.parameters(values))
        description = cursor.description
        if description is None:
            return Result([], cursor.rowcount)
        return Result(known.rows(self._fetch(cursor), description), cursor.rowcount)

    @abstractmethod
    def _send(self, known: Compiled, parameters: Values) -> Any:
        """A cursor that has executed this statement."""

    def _fetch(self, cursor: Any) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


class Holder(NamedTuple):
    """Who blocks a call, as text for an operator, and what ends it."""

    text: str
    remedy: str


class Wire(ABC):
    """One connection, from its first byte. Any thread may use it."""

    @abstractmethod
    def cancel(self) -> None:
        """Request the end of the current call. Returns soon, even if the server does not answer."""

    @abstractmethod
    def shut(self) -> None:
        """End the connection, which also ends every wait on it."""

    @abstractmethod
    def holder(self) -> Holder | None:
        """The session that blocks the current call. None means that it is not known."""


class Connection(DriverExecutor):
    """Our own connection, with its transactions. Its errors are DriverError. For one thread, but for ``wire``."""

    wire: Wire
    engine: EngineConnection | None = None
    """The connection of SQLAlchemy, if a caller has given one."""
    _refusal_of_writes = ""

    def __init__(self, driver: Any, waits: Waits, error_type: type[Exception]) -> None:
        super().__init__(driver)
        self.waits = waits
        self.error_type = error_type
        self._savepoints = 0

    @abstractmethod
    def begin(self, *, writes: bool = True, is_snapshot: bool = False) -> None:
        """Begin a transaction. In a snapshot all statements see the same rows, and none can write."""

    def refuse_writes(self) -> None:
        """Have the database refuse to write: a server in this transaction, a file on this connection."""
        self.execute(self._refusal_of_writes)

    def commit(self) -> bool:
        """Commit. False: it is applied, but perhaps no synchronous standby has it. Raises DriverError."""
        try:
            return self._commit()
        except self.error_type as error:
            raise self.raised(error) from error

    def commit_alone(self) -> None:
        """Have the COMMIT of this transaction wait for no standby, for what a promotion may undo without harm."""

    def write_marker(self) -> None:
        """Have this transaction write something, so that its COMMIT waits for a synchronous standby."""

    def rollback(self) -> None:
        """Roll the transaction back, as far as the connection can still be used."""
        with suppress(self.error_type):
            self._rollback()

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Undo what the block has written if it raises. The transaction goes on."""
        self._savepoints += 1
        name = f"jobrunner_{self._savepoints}"
        self.execute(f"SAVEPOINT {name}")
        try:
            yield
        except BaseException:
            with suppress(DriverError):
                self.execute(f"ROLLBACK TO SAVEPOINT {name}")
            raise
        self.execute(f"RELEASE SAVEPOINT {name}")

    def close(self) -> None:
        """Close the connection. It never fails."""
        with suppress(self.error_type):
            self.driver.close()

    @abstractmethod
    def sever(self) -> None:
        """Break the connection from its own thread, like a network failure. An open transaction is rolled back."""

    def raised(self, error: Exception) -> DriverError:
        """Our error for one of the driver."""
        return DriverError(error, is_gone=self._is_gone(error))

    def _send(self, known: Compiled, parameters: Values) -> Any:
        try:
            return self._run(known, parameters)
        except self.error_type as error:
            raised = self.raised(error)
            raised.statement = known.text
            raise raised from error
        except UnicodeEncodeError:
            # An argument of a command with a byte that is not UTF-8: Python keeps it as half a surrogate.
            raise UsageError("the text to search for is not UTF-8, so no row of the database has it") from None

    def _fetch(self, cursor: Any) -> list[tuple[Any, ...]]:
        try:
            return super()._fetch(cursor)
        except self.error_type as error:
            raise self.raised(error) from error

    @abstractmethod
    def _run(self, known: Compiled, parameters: Values) -> Any: ...

    @abstractmethod
    def _is_gone(self, error: Exception) -> bool: ...

    @abstractmethod
    def _commit(self) -> bool: ...

    @abstractmethod
    def _rollback(self) -> None: ...
