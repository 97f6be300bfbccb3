"""Statements that read runs by their ids are planned once for each session of PostgreSQL."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import timedelta

from harness import PostgresDatabase, postgresql_only
from harness.at_work import LEASE, OWNER, running
from harness.pooler import pooler
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import Lease
from jobrunner.store.drivers.database import Connection, Database
from jobrunner.store.drivers.location import locate
from jobrunner.store.queue.finalize import Ended, finalize_all
from jobrunner.store.queue.holding import renew

pytestmark = postgresql_only
# After five executions the server decides whether one plan serves all further ones.
MORE_THAN_ITS_TRIALS = 8
SCANS = "SELECT seq_scan FROM pg_stat_xact_user_tables WHERE relname = 'job_runs'"


@contextmanager
def opened(url: str) -> Iterator[Database]:
    with closing(Database(locate(url), patience=timedelta(seconds=20))) as store:
        yield store


def finalize_each(store: Database, leases: Sequence[Lease], result: AttemptResult) -> int:
    """Renew and finalize the runs one by one. Returns how often all runs of the table were read for it."""

    def write(connection: Connection, lease: Lease) -> int:
        assert renew(connection, [lease], LEASE).renewed == {lease: False}
        (ended,) = finalize_all(connection, OWNER, [(lease, result)])
        assert isinstance(ended, Ended)
        scans: int = connection.execute(SCANS).scalar_one()
        return scans

    return sum(store.write(lambda connection, lease=lease: write(connection, lease)) for lease in leases)


def kept_plans(store: Database) -> list[int]:
    """How often the server has used a kept plan for each statement that is prepared in the session."""
    return store.read(
        lambda connection: connection.execute("SELECT generic_plans FROM pg_prepared_statements")
    ).scalars()


def test_a_kept_plan_finds_runs_by_their_ids_although_the_table_was_tiny_when_it_was_made(
    database: PostgresDatabase,
) -> None:
    successes, failures = running(database, MORE_THAN_ITS_TRIALS), running(database, MORE_THAN_ITS_TRIALS)
    database.execute("VACUUM ANALYZE job_runs")
    with opened(database.url) as store:
        assert finalize_each(store, successes, AttemptResult(Outcome.SUCCEEDED)) == 0
        assert finalize_each(store, failures, AttemptResult(Outcome.FAILED, error="no")) == 0
        # The renewal, the success, and the three statements of any other result.
        plans = kept_plans(store)
        assert len(plans) == 5
        assert min(plans) > 0


def test_nothing_is_prepared_behind_a_pooler(database: PostgresDatabase) -> None:
    """The next transaction may be in another session."""
    leases = running(database, MORE_THAN_ITS_TRIALS)
    with pooler(database.url) as url, opened(url) as store:
        finalize_each(store, leases, AttemptResult(Outcome.SUCCEEDED))
        assert kept_plans(store) == []
