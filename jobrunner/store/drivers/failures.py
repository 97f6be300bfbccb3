"""What an error of the database means: transient, connection lost, refused, or tables missing."""

from __future__ import annotations

import re

from jobrunner.store.drivers.connection import DriverError
from jobrunner.store.sql.versions import RUNNING_KEY

_TRANSIENT_STATES = ("40001", "40P01", "55P03", "57014")
CLOSED = "jobrunner: the rows of this database"
"""How the error begins that a closed database raises at each change: ``store.changes.closing``."""
_LOST_STATES = ("57P01", "57P02", "57P03", "57P05", "25P03", "25P04", "53300", "08")


def is_transient(error: DriverError) -> bool:
    """Whether the transaction was rolled back and should be retried: deadlock, lock timeout, BUSY, LOCKED and so on.

    A wait for SQLite's lock that the watchdog interrupted is also transient. So is a claim that failed because another
    run with the same concurrency key was claimed at the same time.
    """
    state = getattr(error.orig, "sqlstate", None)
    if state is not None:
        return state in _TRANSIENT_STATES or (state == "23505" and RUNNING_KEY in str(error.orig))
    return re.search(r"(database|table) is locked|^interrupted$", str(error.orig)) is not None


def is_lock_timeout(error: DriverError) -> bool:
    """Whether the statement has waited for another transaction's lock up to its limit."""
    return getattr(error.orig, "sqlstate", None) == "55P03"


def is_cancelled(error: DriverError) -> bool:
    """Whether the server has ended the statement because of a cancel request or its statement limit."""
    return getattr(error.orig, "sqlstate", None) == "57014"


def is_lost(error: DriverError) -> bool:
    """Whether the connection is lost, and with it the answer to the last statement."""
    state = getattr(error.orig, "sqlstate", None) or ""
    if state.startswith(_LOST_STATES) or error.is_gone:
        return True
    words = str(error.orig)
    return error.is_a("OperationalError") and (
        not state and re.search(r"connection|disk I/O|server closed|could not receive", words) is not None
    )


def is_refused(error: DriverError) -> bool:
    """Whether the server or the file refuses the work: no permission, read-only, full, damaged."""
    state = getattr(error.orig, "sqlstate", None)
    if state is not None:
        return state in ("42501", "25006") or state.startswith(("53", "58"))
    return re.search(r"readonly|is full|malformed|not a database|unable to open", str(error.orig)) is not None


def is_denied(error: BaseException) -> bool:
    """Whether the role lacks a right."""
    return getattr(error, "sqlstate", None) == "42501"


def is_damaged(error: BaseException) -> bool:
    """Whether SQLite has met something in the file that it cannot have written."""
    return "malformed" in str(error)


def is_missing_column(error: DriverError) -> bool:
    """Whether the statement failed because one of our tables has no such column."""
    words = str(error.orig)
    return getattr(error.orig, "sqlstate", None) == "42703" or "no such column" in words or "no column named" in words


def is_closed(error: DriverError) -> bool:
    """Whether the rows of the database are, or will be, in another one, so that it takes no change."""
    return CLOSED in str(error.orig)


def is_missing_schema(error: DriverError) -> bool:
    """Whether the statement failed because one of our tables does not exist."""
    state = getattr(error.orig, "sqlstate", None)
    words = str(error.orig)
    return state in ("42P01", "3F000") or (state == "42883" and "jobrunner_now" in words) or "no such table" in words
