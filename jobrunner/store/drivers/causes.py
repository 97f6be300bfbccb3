"""Why a database cannot be used, in our own words, and what to do about it: a row for each cause.

The driver's text may quote the whole URL with the password. So it is only matched, and never shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from jobrunner.store.drivers.location import Location
from jobrunner.store.drivers.raw import raw_driver


class Cause(NamedTuple):
    """A reason and its remedy: a command, or a sentence that names what must be changed."""

    reason: str
    remedy: str


_URL = "JOBRUNNER_DATABASE_URL"
_LOCKED = "another process holds its lock"
_ELSE = Cause("the server did not accept the connection", "look into the log of the server")
# A pattern of the driver's text in lower case, the reason, the remedy. The first one that matches counts.
CAUSES: tuple[tuple[str, str, str], ...] = (
    (
        r"password authentication failed|no password supplied",
        "the user name or password was refused",
        f"set the right password of the role {{user}} in {_URL}, PGPASSWORD or ~/.pgpass",
    ),
    (
        r"permission denied|must be owner",
        "its user may not do that with jobrunner's tables",
        "let their owner give the role {user} its rights: docs/howto/operations.md, Roles",
    ),
    (
        r"role .* does not exist",
        "the user does not exist there",
        f"name another role in {_URL}, or CREATE ROLE {{user}}",
    ),
    (
        r"database .* does not exist",
        "the server has no database of that name",
        f"name another one in {_URL}, or CREATE DATABASE",
    ),
    (
        r"pg_hba",
        "the server's pg_hba.conf does not let this user and host in",
        "add a line for the role {user} and this host to pg_hba.conf on the server: SELECT pg_reload_conf()",
    ),
    (
        raw_driver.NONE_FREE,
        "the server has no free connection",
        "end sessions that pg_stat_activity shows as idle, or raise max_connections, or max_client_conn of a pooler",
    ),
    (r"starting up|shutting down|recovery", "the server is starting up or shutting down", "try again in a minute"),
    (
        r"refused",
        "nothing listens there (connection refused)",
        f"start the server, or name its host and port in {_URL}",
    ),
    (
        r"timeout|timed out",
        "it did not answer in time",
        "see what the server is at in pg_stat_activity, or wait longer: JOBRUNNER_PATIENCE",
    ),
    (
        r"resolve|name or service|nodename|no address",
        "the host name cannot be resolved",
        f"correct the host in {_URL}, or the name service of this host",
    ),
    (
        r"due to (idle|transaction)",
        "the server ended it, since its transaction stood still for too long",
        "see why this process stood still: suspended, or out of processor time",
    ),
    (r"no such file", "there is no such file or socket", f"start the server, or correct the path in {_URL}"),
    (
        r"unable to open",
        "it cannot be opened, or nothing can be written beside it (permissions, read-only, full)",
        "let this user write {file} and its folder",
    ),
    (r"malformed", "the file is damaged", "restore a backup: jobrunner restore BACKUP"),
    (
        r"not a database|file is encrypted",
        "the file is not an SQLite database",
        f"name another file in {_URL}, or restore a backup of this one: jobrunner restore BACKUP",
    ),
    (
        r"readonly|read-only",
        "it is read-only",
        "let this user write {file}, or use the URL of the primary server",
    ),
    (
        r"locked|busy|interrupted",
        _LOCKED,
        "find the process and end its transaction: lsof {file}",
    ),
    (r"ssl|certificate", "the TLS connection could not be made", f"correct sslmode and sslrootcert in {_URL}"),
    (r"unreachable|no route", "the network cannot reach it", f"correct the host in {_URL}, or the network"),
    (r"out of (shared )?memory", "the server has no memory left", "see what the server is at in pg_stat_activity"),
    (r"full|disk|no space left", "the disk is full or failing", "free space on the disk of {disk}"),
    (r"reset|closed the connection|terminat|eof", "the connection was closed", "look into the log of the server"),
    (r"invalid", "an option in the URL is not valid", f"correct the options of {_URL}"),
)
SLOW = "see what the server is at in pg_stat_activity, or wait longer: JOBRUNNER_PATIENCE"
"""The remedy for a server that does not answer."""


def cause(error: BaseException, location: Location) -> Cause:
    """Why a database cannot be used, and what to do."""
    found = _found(error)
    if location.file is not None and (of_file := _of_file(found, location.file)) is not None:
        return of_file
    names = {
        "user": str(location.options.get("user") or "of the URL"),
        "file": location.file or "the file",
        "disk": location.file or "the server",
    }
    return Cause(found.reason, found.remedy.format(**names))


def _found(error: BaseException) -> Cause:
    words = str(error).lower()
    return next((Cause(*row[1:]) for row in CAUSES if re.search(row[0], words)), _ELSE)


def _of_file(found: Cause, file: Path) -> Cause | None:
    """What can be seen of an SQLite file, where its error does not say it."""
    if file.is_dir():
        return Cause("it is a folder, and no file", f"name a file in {_URL}")
    if found.reason != _LOCKED:
        return None
    from jobrunner.store.drivers import file_locks

    writer = file_locks.writer(str(file))
    if writer is None:
        return None
    return Cause(f"{writer} holds the write lock of the file", f"let it end its transaction, or: kill {writer.pid}")


class Lacking(NamedTuple):
    """What a role may not do: with which table, schema or function of ours, and which rights it would need."""

    role: str
    kind: str
    name: str
    rights: tuple[str, ...]


def of_rights(lacking: Iterable[Lacking]) -> Cause | None:
    """The cause that names role, object and rights, and the statement that gives them."""
    each = next(iter(lacking), None)
    if each is None:
        return None
    rights = ", ".join(each.rights)
    return Cause(
        f"the role {each.role} may not {rights} on the {each.kind} {each.name}",
        f'its owner gives the right: GRANT {rights} ON {each.kind.upper()} {each.name} TO "{each.role}"',
    )
