"""What an error of a question on the caller's connection means: whether it is ours to explain, or the library's own."""

from __future__ import annotations

from jobrunner.errors import ConnectionLost, DatabaseHeld, DatabaseUnavailable
from jobrunner.store.callers.callers_transaction import CallersTransaction
from jobrunner.store.drivers import causes, failures, rights, schema_fit
from jobrunner.store.drivers.connection import DriverError
from jobrunner.store.drivers.location import Location

OF_THIS_CONNECTION = "of this connection"
_DRIVERS = ("sqlite3", "psycopg", "psycopg2", "asyncpg")


class Raised(DriverError):
    """An error of the caller's library, as ``library``, which may have wrapped that of the driver."""

    def __init__(self, orig: Exception, library: Exception) -> None:
        super().__init__(orig, is_gone=isinstance(orig, OSError))
        self.library = library


def raised(error: Exception) -> Raised | None:
    """Our error for one of the library. None: it is no error of a database."""
    of_driver = getattr(error, "orig", None)
    if type(error).__module__ == "django.db.utils":
        of_driver = error.__cause__
    if isinstance(of_driver, Exception):
        return Raised(of_driver, error)
    is_of_driver = type(error).__module__.partition(".")[0] in _DRIVERS or isinstance(error, OSError)
    return Raised(error, error) if is_of_driver or hasattr(error, "sqlstate") else None


def refusal(question: CallersTransaction, error: Raised, *, is_cut: bool) -> Exception:
    """What is raised for it. The question may ask further; afterwards it is where it has begun."""
    cannot = f"cannot use the database {OF_THIS_CONNECTION}"
    if is_cut:
        return DatabaseUnavailable(f"{cannot}: no answer for {question.waits.call:g} s", causes.SLOW)
    if failures.is_missing_schema(error) or failures.is_missing_column(error):
        return _of_schema(question, error)
    if failures.is_lock_timeout(error):
        return DatabaseHeld(
            f"{cannot}: another session holds a lock that is needed", "find it in pg_locks, and let it end"
        )
    if failures.is_cancelled(error):
        return DatabaseUnavailable(f"{cannot}: the server has ended a statement that took too long", causes.SLOW)
    if failures.is_denied(error.orig):
        found = rights.lacking(question, error.orig, "SELECT") or causes.cause(error.orig, _location(question))
        return DatabaseUnavailable(f"{cannot}: {found.reason}", found.remedy)
    if failures.is_lost(error):
        found = causes.cause(error.orig, _location(question))
        return ConnectionLost(f"lost the connection to the database {OF_THIS_CONNECTION}: {found.reason}", found.remedy)
    return error.library


def _of_schema(question: CallersTransaction, error: Raised) -> Exception:
    found = schema_fit.refusal(question, OF_THIS_CONNECTION)
    if found is not None:
        return found
    if not failures.is_missing_schema(error):
        return error.library
    if (cause := rights.hidden(question)) is not None:
        return DatabaseUnavailable(f"cannot use the database {OF_THIS_CONNECTION}: {cause.reason}", cause.remedy)
    may_be_elsewhere = question.traits.has_schemas and question.schema is None
    return schema_fit.no_tables(OF_THIS_CONNECTION, may_be_elsewhere=may_be_elsewhere)


def _location(question: CallersTransaction) -> Location:
    return Location(None, OF_THIS_CONNECTION, {}, question.schema)
