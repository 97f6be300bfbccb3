"""A handler's own connection that is lost fails at most two runs; the others get a new child."""

import pytest

from harness import App, Commands, Database
from harness.handlers_rows import queue, status_of
from harness.invariants import assert_consistent
from jobrunner.children.inside.reports import shows_closed_connection
from jobrunner.children.messages import Report

HANDLERS = """
import sqlite3

kept = sqlite3.connect(":memory:")


@job("ask", max_attempts=1)
def ask(ctx: Context, act: str = "ask"):
    leave_trace(ctx)
    if act == "cut":
        kept.close()
    elif act == "ask":
        kept.execute("SELECT 1")
"""


@pytest.mark.promise("P7")
def test_child_with_a_closed_connection_fails_two_runs_and_a_new_child_does_the_others(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(HANDLERS)
    before = [queue(database, "ask", priority=9) for _ in range(10)]
    queue(database, "ask", {"act": "cut"}, priority=8)
    # One failure alone proves nothing: the next run may do without that connection.
    alone = queue(database, "ask", priority=7)
    between = queue(database, "ask", {"act": "nothing"}, priority=6)
    after = [queue(database, "ask") for _ in range(30)]
    done = jobrunner.tick(env={"JOBRUNNER_CONCURRENCY": "1"})
    assert (done.stdout, done.stderr) == ("", "")
    assert [status_of(database, each) for each in (*before, between)] == ["succeeded"] * 11
    assert [status_of(database, each) for each in (alone, *after)] == ["dead"] * 3 + ["succeeded"] * 28
    pids = {line.run_id: line.pid for line in app.trace()}
    assert len(app.trace()) == len(pids) == 43
    assert len({pids[each] for each in (*before, alone, *after[:2])}) == 1
    assert len({pids[each] for each in after[2:]} - {pids[alone]}) == 1
    assert_consistent(database)


@pytest.mark.parametrize(
    "error",
    [
        "the connection is closed",
        "connection already closed",
        "(psycopg.OperationalError) server closed the connection unexpectedly",
        "terminating connection due to administrator command",
        "This Connection is closed",
        "Cannot operate on a closed database.",
        "(2006, 'MySQL server has gone away')",
        "(2013, 'Lost connection to MySQL server during query')",
    ],
)
def test_error_messages_of_drivers_about_a_closed_connection_are_recognized(error: str) -> None:
    assert shows_closed_connection(Report(1, "failed", error=error))
    assert not shows_closed_connection(Report(1, "failed", error="the shop is closed"))
