"""A tick with very many runs in hand renews all their leases, and claims no more than it can hold."""

from datetime import timedelta
from pathlib import Path

import pytest

from harness import Database
from harness.database import numbers
from harness.invariants import insert_runs
from harness.tick_parts import tick_parts
from jobrunner.model import Lease, Owner, Policy

OWNER = Owner("here", "here:1:a")
LEASE = timedelta(minutes=1)
MOST_PARAMETERS = 65_535
AT_WORK = """
INSERT INTO job_runs (job_type, payload, status, priority, run_at, created_at, updated_at, claimed_at, started_at,
                      attempts, max_attempts, locked_by, host, lease_token, locked_until)
SELECT 'known', '{}', 'running', 0, at, at, at, at, at, 1, 5, 'here:1:a', 'here', 't', at
FROM (SELECT job_ticks.started_at AS at FROM job_ticks) AS ticks,
"""


@pytest.mark.promise("P2", "P6")
def test_all_leases_are_renewed_if_there_are_more_than_statement_parameters(database: Database) -> None:
    count = MOST_PARAMETERS + 1
    database.execute(
        "INSERT INTO job_ticks (host, worker, version, started_at) VALUES ('', '', '', ?)", [database.now()]
    )
    database.execute(f"{AT_WORK} ({numbers(database, count)}) AS numbers")
    leases = [Lease(row["id"], "t") for row in database.query("SELECT id FROM job_runs")]
    with tick_parts(database, heartbeat=timedelta(milliseconds=1)) as tick:
        beating = tick.heartbeat
        tick.take(leases)
        beating.start()
        database.wait_until("SELECT count(heartbeat_at) = ? AS beaten FROM job_runs", [count], 30)
        assert beating.news.empty()


def test_a_tick_claims_no_more_than_it_can_hold(database: Database, tmp_path: Path) -> None:
    insert_runs(database, 5, "known")
    with tick_parts(database) as tick:
        tick.take([Lease(number, "other") for number in range(10_000, 19_997)])
        counts = [len(tick.claim([Policy("known")], 5)) for _ in range(2)]
        assert counts == [3, 0]
