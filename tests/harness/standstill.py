"""A process that stalls, at a failpoint or wherever it is, and special jobs for it."""

import os
import signal
import sqlite3
import subprocess
from contextlib import closing
from typing import Any

from harness import App, Database, SQLiteDatabase, wait_for
from harness.processes import has_unread, is_stopped

ASYNC = """
@job("asynchronous")
async def asynchronous(ctx: Context):
    leave_trace(ctx)
"""
COMMAND = """
[jobs.command]
command = ["/bin/sh", "-c", 'echo "$JOBRUNNER_RUN_ID $JOBRUNNER_ATTEMPT $$" >> "$TRACE_FILE"']
"""


def stopped_at(app: App) -> int:
    """The process that stands still at its fault point."""
    trace = app.path("faults")
    wait_for(trace.exists, 20, "the fault point")
    pid = int(wait_for(trace.read_text).split()[2])
    wait_for(lambda: is_stopped(pid), 20, "the process to stand still")
    return pid


def stop_between_transactions(process: "subprocess.Popen[Any]", database: Database) -> None:
    """Stop a tick that waits for its handlers; the other sessions of the database must be at rest.

    In the middle of a transaction it would keep others waiting, and the server would close its connection.
    """
    wait_for(lambda: _stands_still(process.pid, database), 20, "a moment without a transaction")


def _stands_still(pid: int, database: Database) -> bool:
    os.kill(pid, signal.SIGSTOP)
    # On a busy machine it goes on until it gets a processor, and the server has not read yet what it has sent.
    wait_for(lambda: is_stopped(pid), 20, "the process to stand still")
    if _is_free(pid, database):
        return True
    os.kill(pid, signal.SIGCONT)
    return False


def _is_free(pid: int, database: Database) -> bool:
    if isinstance(database, SQLiteDatabase):
        with closing(sqlite3.connect(database.path, timeout=0, isolation_level=None)) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return False
        return True
    busy = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle'"
    return not has_unread(pid) and not database.value(f"{busy} AND pid <> pg_backend_pid()")
