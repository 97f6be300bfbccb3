"""What an error of the database means: transient, connection lost, refused, or tables missing."""

from __future__ import annotations

import re

from jobrunner.store.connection import DriverError
from jobrunner.store.versions import RUNNING_KEY

_TRANSIENT_STATES = ("40001", "40P01", "55P03", "57014")
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


def is_damaged(error: BaseException) -> bool:
    """Whether SQLite has met something in the file that it cannot have written."""
    return "malformed" in str(error)


def is_missing_schema(error: DriverError) -> bool:
    """Whether the statement failed because one of our tables does not exist."""
    state = getattr(error.orig, "sqlstate", None)
    words = str(error.orig)
    return state in ("42P01", "3F000") or (state == "42883" and "jobrunner_now" in words) or "no such table" in words


def refusal_reason(error: BaseException) -> str:
    """Why a connection was refused, in our own words.

    The driver's text may quote the whole URL with the password. So it is only matched, and never shown.
    """
    words = str(error).lower()
    for pattern, reason in _REASONS:
        if re.search(pattern, words):
            return reason
    return "the server did not accept the connection"


_REASONS = (
    (r"password authentication failed|no password supplied", "the user name or password was refused"),
    (r"permission denied|must be owner", "its user may not do that with jobrunner's tables"),
    (r"role .* does not exist", "the user does not exist there"),
    (r"database .* does not exist", "the server has no database of that name"),
    (r"pg_hba", "the server's pg_hba.conf does not let this user and host in"),
    (r"too many (clients|connections)", "the server has no free connection"),
    (r"starting up|shutting down|recovery", "the server is starting up or shutting down"),
    (r"refused", "nothing listens there (connection refused)"),
    (r"timeout|timed out", "it did not answer in time"),
    (r"resolve|name or service|nodename|no address", "the host name cannot be resolved"),
    (r"due to (idle|transaction)", "the server ended it, since its transaction stood still for too long"),
    (r"no such file", "there is no such file or socket"),
    (r"unable to open", "it cannot be opened, or nothing can be written beside it (permissions, read-only, full)"),
    (r"malformed", "the file is damaged; restore a backup: jobrunner restore BACKUP"),
    (r"not a database|file is encrypted", "the file is not an SQLite database"),
    (r"readonly|read-only", "it is read-only"),
    (r"locked|busy|interrupted", "another process holds its lock"),
    (r"ssl|certificate", "the TLS connection could not be made"),
    (r"unreachable|no route", "the network cannot reach it"),
    (r"reset|closed the connection|terminat|eof", "the connection was closed"),
    (r"full|disk|no space left", "the disk is full or failing"),
    (r"invalid", "an option in the URL is not valid"),
)
