"""How long a database is waited for: the limits of every call of ours, on both sides of the wire.

The client gives up first where nobody answers: it sends a cancel request and closes the socket. The server gives up
first where somebody else holds a lock: the connection stays of use, and there is time to ask who it is. Its other two
limits are for a client that is gone; they are sent with each BEGIN, so that they hold behind a transaction pooler, too.
"""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

_LONGEST_LOCK_SECONDS = 5.0
_LONGEST_PAUSE_SECONDS = 15.0


class Waits(NamedTuple):
    """Seconds. ``lock`` and ``file``: for a lock of the server, and for that of an SQLite file. ``call``: one
    transaction, from the first byte of its connection to the answer to its COMMIT, as the client sees it.
    """

    lock: float
    file: float
    call: float

    @classmethod
    def of(cls, patience: timedelta) -> Waits:
        """``patience`` is how long an SQLite file's lock is waited for; all else goes by it."""
        seconds = patience.total_seconds()
        return cls(lock=min(seconds, _LONGEST_LOCK_SECONDS), file=seconds, call=1.25 * seconds)

    @property
    def connect(self) -> int:
        """Until a connection stands, for each address of a host; libpq knows no less than two seconds."""
        return max(2, min(5, round(self.file)))

    @property
    def who(self) -> float:
        """Into a call, when it is asked who holds it up: before the server gives up waiting for a lock."""
        return self.lock / 2

    @property
    def cancel(self) -> float:
        """For the server to take a cancel request, before the socket is closed."""
        return min(1.0, self.call / 4)

    @property
    def idle(self) -> float:
        """On the server, between two statements of a transaction."""
        return min(self.statement, _LONGEST_PAUSE_SECONDS)

    @property
    def statement(self) -> float:
        """On the server, for one statement."""
        return 1.2 * self.call


def of_tick(lease: timedelta) -> timedelta:
    """The patience of a tick: no call takes longer than a quarter of the lease."""
    return lease / 5


COMMAND = timedelta(seconds=8)
"""The patience of a person's command."""
BULK = Waits.of(COMMAND)._replace(call=120.0)
"""Of a command that may write many rows in one transaction, once the database has answered it."""
MIGRATION = BULK._replace(lock=10.0)
"""As that; and another migrator, which is waited for, takes its time, too."""
PROBE = Waits(lock=1.5, file=0.1, call=3.0)
"""Of the idle tick's one question, after which the full tick asks again, and of the question who holds a call up."""
