"""A lease that cannot be renewed: the handler ends before it does."""

import contextlib
import os
import re
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from harness import App, Commands, PrivatePostgres, wait_for
from harness.invariants import assert_consistent, insert_runs, outcomes, wait_for_exit
from harness.outages import STUBBORN
from harness.processes import is_working
from harness.stops import log_lines
from harness.waiting import span, stretched

LEAST_CONNECT_SECONDS = 2
"""libpq waits so long for a server that accepts a connection and does not answer."""


def processes_of(postmaster: int) -> list[int]:
    """The server, and all that it started."""
    found = [postmaster]
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == postmaster:
                found.append(int(stat.parent.name))
    return found


def take_away(server: PrivatePostgres, how: str) -> None:
    if how == "stopped":
        server.stop()
        return
    assert server.postmaster_pid is not None
    for pid in processes_of(server.postmaster_pid):
        os.kill(pid, signal.SIGSTOP)


@pytest.mark.promise("P2", "P6")
@pytest.mark.parametrize("how", ["stopped", "frozen"])
def test_a_handler_ends_before_a_lease_that_cannot_be_renewed(
    private_postgres: PrivatePostgres, private_jobrunner: Commands, app: App, how: str
) -> None:
    app.add(STUBBORN)
    (run_id,) = insert_runs(private_postgres.database, 1, "stubborn")
    process = private_jobrunner.start("tick", env={"JOBRUNNER_LOG": str(app.path("log")), "JOBRUNNER_LEASE": span(5)})
    wait_for(app.trace, 20, "the handler's first line")
    (handler,) = [line.pid for line in app.trace()]
    take_away(private_postgres, how)
    wait_for(lambda: not is_working(handler), 20, "the end of the handler")
    gone_at = datetime.now(UTC)
    assert re.fullmatch(r"jobrunner: [^\n]*\n", wait_for_exit(process, 69, 40))
    gave_up, ended = (datetime.fromisoformat(log_lines(app, event)[-1]["at"]) for event in ("not finalized", "tick"))
    # Only to close its row, a tick asks a database again that it has given up.
    assert ended - gave_up < 2 * timedelta(seconds=stretched(LEAST_CONNECT_SECONDS))
    private_postgres.restart()
    database = private_postgres.database
    locked_until = database.value("SELECT locked_until FROM job_runs WHERE id = ?", [run_id])
    assert gone_at < locked_until
    assert private_jobrunner.leftover_processes() == []
    database.move_clock(timedelta(hours=1))
    private_jobrunner.tick()
    assert outcomes(database, run_id) == ["lease_expired"]
    assert_consistent(database)
