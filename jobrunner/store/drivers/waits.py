"""How long we wait for a database: the limits of every call, in the client and in the server.

If the server does not answer, the client gives up first: it sends a cancel request and closes the socket. If another
session holds a lock, the server gives up first: the connection stays usable, and there is time to find that session.
The server's other two limits are for a lost client. They are sent with each BEGIN, so that they also work behind a
transaction pooler.
"""

from __future__ import annotations

from datetime import timedelta

from jobrunner.untyped import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Self

_LONGEST_LOCK_SECONDS = 5.0
_LONGEST_PAUSE_SECONDS = 15.0
_BULK_SECONDS = 120.0
_MIGRATION_LOCK_SECONDS = 2.0
_BUILD_SECONDS = 12 * 3600.0


class Waits(NamedTuple):
    """Limits in seconds: ``lock`` for a lock of the server, ``file`` for the lock of an SQLite file.

    ``call`` is for one transaction in the client, from the first byte of its connection to the answer to its COMMIT.
    """

    lock: float
    file: float
    call: float

    @classmethod
    def of(cls, patience: timedelta) -> Self:
        """``patience`` is the limit for the lock of an SQLite file. The other limits follow from it."""
        seconds = patience.total_seconds()
        return cls(lock=min(seconds, _LONGEST_LOCK_SECONDS), file=seconds, call=1.25 * seconds)

    @property
    def connect(self) -> int:
        """To open a connection, for each address of a host. libpq allows no less than two seconds."""
        return max(2, min(5, round(self.file)))

    @property
    def holder_query(self) -> float:
        """The age of a call at which we ask which session blocks it, before the server stops waiting for the lock."""
        return self.lock / 2

    @property
    def cancel(self) -> float:
        """For the server to accept a cancel request, before the socket is closed."""
        return min(1.0, self.call / 4)

    @property
    def idle(self) -> float:
        """The server's limit between two statements of a transaction."""
        return min(self.statement, _LONGEST_PAUSE_SECONDS)

    @property
    def statement(self) -> float:
        """The server's limit for one statement."""
        return 1.2 * self.call


def of_tick(lease: timedelta) -> timedelta:
    """The patience of a tick. No call takes longer than a quarter of the lease."""
    return lease / 5


def of_bulk(patience: timedelta) -> Waits:
    """For a command that may write many rows in one transaction, after the database has answered once."""
    waits = Waits.of(patience)
    return waits._replace(call=max(_BULK_SECONDS, waits.call))


def of_migration(patience: timedelta) -> Waits:
    """For a migration. Ticks wait behind it while it waits for a table: so not as long as they do, but repeatedly."""
    waits = of_bulk(patience)
    return waits._replace(lock=min(waits.lock, _MIGRATION_LOCK_SECONDS))


def of_build(waits: Waits) -> Waits:
    """For an index of a large table, while others write."""
    return waits._replace(call=_BUILD_SECONDS)


COMMAND = timedelta(seconds=8)
"""The patience of what an application asks for, and that of a command unless a setting says otherwise."""
PROBE = Waits(lock=1.5, file=0.1, call=3.0)
"""For the statement of an idle tick, which a full tick asks again, and for the question which session blocks a call."""
EXAMINATION = Waits(lock=1.0, file=1.0, call=5.0)
"""For the questions of ``doctor``: a database that answers later is one of its findings."""
