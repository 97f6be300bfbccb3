"""What tests see of the statements that the store sends: before each of them, before a commit, and at an error."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from jobrunner.store.drivers.connection import Connection, DriverError
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.sql.statement import Compiled, Values

Listener = Callable[[Connection, str, Values], None]


@contextmanager
def before_statements(store: Store, listener: Listener) -> Iterator[None]:
    """Call ``listener`` with the connection, the text and the parameters of each statement of this store."""

    def send(original: Callable[..., Any], connection: Connection, known: Compiled, parameters: Values) -> Any:
        if connection is store._connection:
            listener(connection, known.text, parameters)
        return original(connection, known, parameters)

    with _around("_send", send):
        yield


@contextmanager
def before_commits(store: Store, act: Callable[[], None]) -> Iterator[None]:
    """Call ``act`` before each COMMIT of this store."""

    def commit(original: Callable[..., bool], connection: Connection) -> bool:
        if connection is store._connection:
            act()
        return original(connection)

    with _around("commit", commit):
        yield


@contextmanager
def noting_errors(noted: list[str]) -> Iterator[None]:
    """Note each error of a driver, whether or not it is retried."""

    def raised(original: Callable[..., DriverError], connection: Connection, error: Exception) -> DriverError:
        noted.append(str(error))
        return original(connection, error)

    with _around("raised", raised):
        yield


@contextmanager
def _around(name: str, method: Callable[..., Any]) -> Iterator[None]:
    original = getattr(Connection, name)
    setattr(Connection, name, lambda self, *arguments: method(original, self, *arguments))
    try:
        yield
    finally:
        setattr(Connection, name, original)
