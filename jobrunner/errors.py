"""The errors of jobrunner. Each message says what the operator should do, and each class has its exit code.

Expected refusals (a lost lease, a slot or key that is already used) are return values, not errors.
"""

from __future__ import annotations

from collections.abc import Sequence


class JobrunnerError(Exception):
    """What jobrunner refuses or cannot do. The message is one line without secrets."""

    exit_code = 1


class InternalError(JobrunnerError):
    """An unexpected error: a bug of jobrunner."""

    exit_code = 70


class NotFoundError(JobrunnerError):
    """There is no row with that id or name."""


class UsageError(JobrunnerError):
    """The request itself is wrong. Nothing was written."""

    exit_code = 2


class WrongOption(UsageError):
    """An option of a job type or of a run has a value that it cannot have. ``reason`` says what it must be.

    With ``option`` alone that is the whole message, and the option is not known: so an error can be made anew.
    """

    def __init__(self, option: str, reason: str | None = None) -> None:
        named = f"{option} {reason}" if reason and reason.startswith(_VERBS) else f"{option}: {reason}"
        super().__init__(option if reason is None else named)
        self.option = option
        self.reason = option if reason is None else reason


_VERBS = ("must ", "needs ", "is ", "has ", "holds ")


class BadPayload(UsageError):
    """The payload is not a JSON object that both databases can store."""


class PayloadMismatch(BadPayload):
    """The payload does not fit this handler or command. It may fit another version of the code."""


class BadSchedule(UsageError):
    """The cron expression or the time zone cannot be used."""


class QueueFull(JobrunnerError):
    """As many runs of the type wait as its ``max_waiting`` allows. Nothing was inserted."""


class KeyTaken(JobrunnerError):
    """The idempotency key is taken by the run ``run_id``, and the caller wants no other answer. Nothing was written."""

    def __init__(self, message: str, run_id: int) -> None:
        super().__init__(message)
        self.run_id = run_id


class LimitHeld(JobrunnerError):
    """Another transaction has enqueued a run of a type with a limit, and has not ended yet."""


class _OfDefinitions(JobrunnerError):
    def __init__(self, message: str, definition_ids: Sequence[int]) -> None:
        super().__init__(message)
        self.definition_ids = definition_ids


class RowRefused(_OfDefinitions):
    """The database refuses what one of these definitions asks for. The transaction wrote nothing."""


class RowHeld(_OfDefinitions):
    """Another transaction has locked a row that slots of these definitions need. Our transaction wrote nothing."""


class TransactionTooLong(JobrunnerError):
    """A handler's own transaction held the lock of an SQLite file for too long. It was rolled back."""


class UnknownJobType(UsageError):
    """This host has no handler for the job type."""


class HandlerNotCalled(JobrunnerError):
    """A function that runs around the runs ended without its ``yield``."""


class DatabaseUnavailable(JobrunnerError):
    """The database cannot be reached, or its connection was lost. ``found`` says why, and ``remedy`` what to do."""

    exit_code = 69

    def __init__(self, found: str, remedy: str | None = None) -> None:
        super().__init__(found if remedy is None else f"{found}; {remedy}")
        self.found = found
        self.remedy = remedy


class DatabaseDamaged(DatabaseUnavailable):
    """The SQLite file holds something that no SQLite has written there."""


class ConnectionLost(DatabaseUnavailable):
    """An open connection was lost. It is unknown whether the last COMMIT was applied."""


class CommitUnconfirmed(ConnectionLost):
    """The last COMMIT was applied, but perhaps no synchronous standby has it, so a promotion may undo it."""


class DatabaseHeld(DatabaseUnavailable):
    """Another session holds a needed lock for too long. Nothing was written."""


class ConfigurationError(JobrunnerError):
    """A setting is wrong or missing."""

    exit_code = 78


class UnknownVariable(ConfigurationError):
    """A variable of the environment has our prefix and is not a setting."""

    def __init__(self, message: str, variable: str) -> None:
        super().__init__(message)
        self.variable = variable


class SchemaMismatch(ConfigurationError):
    """This code cannot work with the database's schema."""


class DatabaseMoved(SchemaMismatch):
    """The rows of the database were moved to another one, or a move is not done yet."""


class HandlersNotAsked(JobrunnerError):
    """Something asks whose question must not import the handler modules, which is code of the user."""


class HandlersUnavailable(ConfigurationError):
    """The handler modules could not be imported by a child process. ``detail``: the traceback, in several lines."""

    def __init__(self, message: str, detail: str | None = None) -> None:
        super().__init__(message)
        self.detail = detail
