"""Ticks of many hosts begin in the same second, and the server has no free connection for some of them."""

import pytest

from harness import Commands, Database, postgresql_only
from harness.full_server import refusing
from harness.handlers_rows import queue, status_of
from harness.idle_ticks import quiet_hour, tick, trails
from harness.waiting import span

pytestmark = postgresql_only


def test_idle_tick_without_a_free_connection_asks_again_and_stays_short(
    jobrunner: Commands, database: Database
) -> None:
    """A full tick imports ten times as much, and would make a crowd slower than it is."""
    quiet_hour(database)
    with refusing(database.url, 2) as url:
        done = tick(jobrunner, env={"JOBRUNNER_DATABASE_URL": url})
    assert (done.said, done.was_short) == ("", True)
    (trail,) = trails(database)
    assert (trail["counts"], trail["error"]) == ({}, None)


@pytest.mark.promise("P6")
def test_tick_with_work_and_without_a_free_connection_asks_again_and_does_the_work(
    jobrunner: Commands, database: Database
) -> None:
    run_id = queue(database, "append")
    with refusing(database.url, 2) as url:
        done = jobrunner.tick("--no-strict", env={"JOBRUNNER_DATABASE_URL": url})
    assert (done.stdout, done.stderr) == ("", "")
    assert status_of(database, run_id) == "succeeded"


def test_tick_that_never_gets_a_connection_ends_with_the_reason(jobrunner: Commands, database: Database) -> None:
    with refusing(database.url, 1000) as url:
        env = {"JOBRUNNER_DATABASE_URL": url, "JOBRUNNER_LEASE": span(5)}
        done = jobrunner.tick("--no-strict", env=env, check=False)
    assert done.returncode == 69
    assert "the server has no free connection; end sessions that pg_stat_activity shows as idle" in done.stderr
    assert len(done.stderr.splitlines()) == 1
