"""Runs a command in a process of its own, and kills it (SIGKILL) before its statement number N reaches the database.

`python killed_at_statement.py N WORDS...`: 0 kills nothing; the last line on stderr is how many statements there were.
"""

import os
import signal
import sqlite3
import sys
from contextlib import suppress

import psycopg

LIMIT = int(sys.argv[1])
count = 0


def before_a_statement() -> None:
    global count  # noqa: PLW0603 - one process, one count
    count += 1
    if count == LIMIT:
        os.kill(os.getpid(), signal.SIGKILL)


def counting(name: str, owner: type) -> None:
    original = getattr(owner, name)

    def counted(*args: object, **options: object) -> object:
        before_a_statement()
        return original(*args, **options)

    setattr(owner, name, counted)


class CountingConnection(sqlite3.Connection):
    """Every statement passes here or through a cursor of this connection."""

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        self.set_trace_callback(lambda _: before_a_statement())


def main() -> None:
    connect = sqlite3.connect
    sqlite3.connect = lambda *args, **options: connect(*args, **{"factory": CountingConnection, **options})
    counting("execute", psycopg.Cursor)
    counting("commit", psycopg.Connection)
    from jobrunner.cli.program import cli

    with suppress(SystemExit):
        cli.main(sys.argv[2:], prog_name="jobrunner")
    print(count, file=sys.stderr)


if __name__ == "__main__":
    main()
