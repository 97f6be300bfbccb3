"""The error tree. Each message tells the operator what to do; each class knows its exit code.

Expected refusals (lease lost, slot already taken, key already used) are return values, not errors.
"""

from __future__ import annotations

from collections.abc import Sequence


class JobrunnerError(Exception):
    """Whatever jobrunner itself refuses or cannot do. The message is one line and safe to show."""

    exit_code = 1


class InternalError(JobrunnerError):
    """Something went wrong that nobody has thought of: a fault of jobrunner's own."""

    exit_code = 70


class NotFoundError(JobrunnerError):
    """No row of that id or name."""


class UsageError(JobrunnerError):
    """The request itself is wrong: nothing was written."""

    exit_code = 2


class BadPayload(UsageError):
    """The payload is not something that both databases can hold and every handler can read."""


class PayloadMismatch(BadPayload):
    """The payload does not fit this handler or command. Another version of it may be made for it."""


class BadSchedule(UsageError):
    """The cron expression or the time zone cannot be used."""


class QueueFull(JobrunnerError):
    """As many runs of the type wait as its ``max_waiting`` allows: nothing was inserted."""


class LimitHeld(JobrunnerError):
    """Another transaction has enqueued a run of a type with a limit, and takes its time to end."""


class _OfDefinitions(JobrunnerError):
    def __init__(self, message: str, definition_ids: Sequence[int]) -> None:
        super().__init__(message)
        self.definition_ids = definition_ids


class RowRefused(_OfDefinitions):
    """The database does not take what one of these definitions asks for: nothing of the transaction was written."""


class RowHeld(_OfDefinitions):
    """Somebody else holds a row that new slots of these definitions need: nothing of the transaction was written."""


class UnknownJobType(UsageError):
    """No handler of that name on this host."""


class DatabaseUnavailable(JobrunnerError):
    """The database cannot be reached, or was lost on the way."""

    exit_code = 69


class ConnectionLost(DatabaseUnavailable):
    """An open connection died. Whether the last COMMIT was applied is unknown."""


class DatabaseHeld(DatabaseUnavailable):
    """Somebody else holds a lock on what is needed, and does not let go. Nothing was written."""


class ConfigurationError(JobrunnerError):
    """A setting is wrong or missing."""

    exit_code = 78


class SchemaMismatch(ConfigurationError):
    """The database's schema and this code do not serve each other."""


class HandlersUnavailable(ConfigurationError):
    """The handler modules could not be imported by a child process."""
