"""On SQLite, which counts no rows but names the index that it searches, no statement scans the runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from harness import Database, sqlite_only
from harness.limits import declare
from harness.plan_calls import BUSY, IDLE, LIMITED, OLD, Call, claiming, idle_statement, words_of
from harness.plan_searches import ASKED, LOOK
from harness.plans import COLUMNS, Undone, fill_a_little, numbers
from harness.statements import before_statements
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate

FAIR = LIMITED[-1]
CALLS = IDLE | BUSY | OLD | LOOK | ASKED
# An index that holds only the rows in question may be read from end to end.
SMALL = (
    *("job_runs_claim", "job_runs_due", "job_runs_lease", "job_runs_quarantined", "job_runs_gated"),
    *("job_runs_failing", "job_runs_behind"),
)
GROWING = ("job_runs", "job_attempts", "job_events", "job_ticks", "job_keys")


@contextmanager
def opened(database: Database) -> Iterator[Store]:
    store = Store(locate(database.url), patience=timedelta(seconds=5))
    try:
        yield store
    finally:
        store.close()


def plans_of(store: Store, calls: dict[str, Call]) -> dict[str, list[str]]:
    plans: dict[str, list[str]] = {}

    def explain(connection: Any, statement: str, parameters: Any) -> None:
        rows = connection.driver.execute(f"EXPLAIN QUERY PLAN {statement}", parameters).fetchall()
        plans[name] += [row[3] for row in rows]

    def undo(connection: Any) -> None:
        work(connection)
        raise Undone

    with before_statements(store, explain):
        for name, work in calls.items():  # noqa: B007 - read by the two above
            plans[name] = []
            with pytest.raises(Undone):
                store.write(undo)
    return plans


@sqlite_only
@pytest.mark.parametrize("analyzed", [False, True], ids=["before-analyze", "after-analyze"])
def test_sqlite_searches_the_partial_indexes_and_never_scans_the_runs(database: Database, analyzed: bool) -> None:
    past = "unixepoch() * 1000000 - 86400000000 * 5"
    database.execute(
        f"INSERT INTO job_runs ({COLUMNS}, finished_at)"
        " WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 20000)"
        f" SELECT 'known', '{{}}', 'succeeded', 0, {past}, {past}, {past}, {past} FROM numbers"
    )
    if analyzed:
        database.execute("ANALYZE")
    fill_a_little(database)
    with opened(database) as store:
        plans = plans_of(store, CALLS | {"the idle statement": idle_statement(words_of(database.name))})
    for name, lines in plans.items():
        scans = [line for line in lines if line.startswith(tuple(f"SCAN {table}" for table in GROWING))]
        assert all(line.endswith(SMALL) for line in scans), (name, scans)
    used = {name: " ".join(lines) for name, lines in plans.items()}
    # Not past the runs that wait behind gates.
    assert used["claims.claim"].count("job_runs_claim (job_type=? AND gate=?)") == 1
    assert used["claims.claim a quarantined run"].count("job_runs_quarantined (job_type=? AND gate=?)") == 1
    assert used["ticks.count_claimable"].count("job_runs_claim (job_type=? AND gate=?)") == 1
    assert "job_runs_gated (job_type=? AND gate=?)" in used["claims.claim of limited types"]
    for name in ("enqueue.enqueue of a limited type", "backpressure.lock_and_count"):
        assert "job_runs_claim (job_type=?)" in used[name], (name, used[name])
    for name in ("ticks.is_anything_due", "the idle statement", "listen.look_ahead"):
        assert "job_runs_due (run_at<?)" in used[name], (name, used[name])
    for name in (
        "ticks.is_anything_due",
        "the idle statement",
        "expiries.recover",
        "expiries.expired_runs",
        "expiries.held_runs",
        "claims.claim",
    ):
        assert "job_runs_lease" in used[name], (name, used[name])
    for name in ("retention.prune succeeded", "retention.prune cancelled", "retention.prune dead"):
        assert "job_runs_finished (status=? AND finished_at" in used[name], (name, used[name])
    for name in (
        "holding.renew",
        "holding.keep",
        "holding.report",
        "finalize.finalize_all of one",
        "finalize.finalize_all",
        "one_run.cancel",
    ):
        assert "PRIMARY KEY" in used[name], (name, used[name])


@sqlite_only
def test_claim_of_a_fair_type_searches_the_runs_also_by_statistics_of_one_large_key(database: Database) -> None:
    """By these SQLite made an index of all runs in each claim, or read all of them."""
    at = "unixepoch() * 1000000"
    insert = f"INSERT INTO job_runs ({COLUMNS}) SELECT 'fair', ?, 'queued', 0, {at}, {at}, {at}"
    with opened(database) as store:
        declare(store, FAIR)
        database.execute(f"{insert} FROM ({numbers(database, 2000)}) AS numbered", ['{"customer": 7}'])
        database.execute("ANALYZE")
        database.execute(insert, ['{"customer": 8}'])
        (plan,) = plans_of(store, {"claim": claiming(policies=[FAIR])}).values()
    assert [line for line in plan if "AUTOMATIC" in line or line.startswith("SCAN job_runs")] == []
