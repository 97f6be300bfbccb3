"""The heartbeat: a lease lasts as long as the database has granted, and a stalled tick does not renew its leases."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from harness import Database, PostgresDatabase, postgresql_only, wait_for
from harness.at_work import running
from harness.invariants import insert_runs, snapshot, statuses
from harness.locks import open_transaction
from harness.obstacles import commits_wait, sessions
from harness.statements import before_statements
from harness.tick_parts import tick_parts
from harness.waiting import stretched
from jobrunner import clock
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.log import Silence
from jobrunner.model import Policy
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.queue import claims, holding
from jobrunner.worker.finalizer import Finalizer
from jobrunner.worker.hand import News
from jobrunner.worker.heartbeat import FENCE_SHARE

MINUTE = timedelta(minutes=1)


@pytest.mark.promise("P6")
def test_leases_expire_while_the_main_loop_stalls_and_are_renewed_when_it_goes_on(database: Database) -> None:
    """A stuck parent must not keep its leases only because its heartbeat thread goes on."""
    lease = timedelta(seconds=stretched(1.2))
    beaten = "SELECT heartbeat_at IS NOT NULL AS beaten FROM job_runs"
    (held,) = running(database, 1, locked_until=database.now() + lease)
    with tick_parts(database, lease, heartbeat=lease / 10) as tick:
        beating = tick.heartbeat
        (run,) = tick.take([held])
        beating.start()
        wait_for(lambda: beating.note_step() or database.value(beaten), 20, "a beat")
        database.wait_until("SELECT count(*) FROM job_recoverable", (), 4, "the end of the lease")
        beating.note_step()
        database.wait_until("SELECT count(*) = 0 AS renewed FROM job_recoverable")
        wait_for(lambda: tick.hand.time_left(run) > 0, 5, "the owner learns it")
        assert beating.news.empty()


@pytest.mark.promise("P2")
def test_after_a_stall_the_main_loop_learns_first_which_leases_it_has_lost(database: Database) -> None:
    """It must learn that before it does anything else, because another tick may have the run by now."""
    held, lost = running(database, 2)
    database.execute("UPDATE job_runs SET lease_token = ? WHERE id = ?", ["n" * 32, lost.run_id])
    with tick_parts(database, 40 * MINUTE) as tick:
        beating = tick.heartbeat
        _, run = tick.take([held, lost])
        beating._step_at -= 11 * MINUTE.total_seconds()
        beating.start()
        beating.note_step()
        assert beating.news.get_nowait() == (News.LEASE_LOST, run)
        assert beating.news.empty()


@pytest.mark.promise("P2")
def test_a_stale_owner_renews_no_lease_of_another_owner_and_writes_no_report_of_its_run(database: Database) -> None:
    (stale,) = running(database, 1)
    database.execute("UPDATE job_runs SET lease_token = ?", ["n" * 32])
    before = snapshot(database, stale.run_id)
    with tick_parts(database, MINUTE) as tick:
        store = tick.store
        assert store.write(lambda each: holding.renew(each, [stale], MINUTE)) == holding.Renewal({}, set())
        store.write(lambda each: holding.report(each, {stale: {"output": "so"}}))
        assert store.write(lambda each: claims.return_unstarted(each, stale.token)).runs == 0
    assert snapshot(database, stale.run_id) == before


@contextmanager
def first_sent_at(store: Store) -> Iterator[Callable[[], float]]:
    """When its first statement in the block was sent, on the clock of the leases."""
    sent: list[float] = []
    with before_statements(store, lambda *_: sent.append(clock.elapsed())):
        yield lambda: sent[0]


@pytest.mark.promise("P2")
def test_the_age_of_a_lease_is_counted_from_before_its_claim_and_its_renewal_were_sent(database: Database) -> None:
    """Counted from the answer, a lease would be over in the database while its owner still believes in it."""
    (held,) = running(database, 1)
    insert_runs(database, 1, "known")
    with tick_parts(database, MINUTE) as tick:
        (beaten,) = tick.take([held], clock.elapsed() - 30)
        with first_sent_at(tick.heartbeat._database) as beat_sent_at:
            assert tick.heartbeat._try_to_beat([beaten])
        before = clock.elapsed() - 10
        assert before < beaten.renewed_at < beat_sent_at()
        with first_sent_at(tick.store) as claim_sent_at:
            (run,) = tick.claim([Policy("known")], 5)
        assert before < run.renewed_at < claim_sent_at()
        assert run.begin_before == run.renewed_at + FENCE_SHARE * MINUTE.total_seconds()


@pytest.mark.promise("P2")
def test_age_of_a_lease_renewed_by_a_claim_or_finalize_is_counted_from_before_it_was_sent(database: Database) -> None:
    """On SQLite, where a heartbeat could starve; on PostgreSQL neither of them renews anything."""
    held, ended = running(database, 2)
    with tick_parts(database, MINUTE) as tick:
        at_work, over = tick.take([held, ended])
        tick.work(over)
        tick.end(over, AttemptResult(Outcome.SUCCEEDED))

        def finalize() -> None:
            wait_for(tick.write, 5)

        for write in (finalize, lambda: tick.claim([Policy("known")], 5)):
            long_ago = at_work.renewed_at = clock.elapsed() - 30
            with first_sent_at(tick.store) as sent_at:
                write()
            if tick.store.waits_unfairly:
                assert long_ago < at_work.renewed_at < sent_at()
            else:
                assert at_work.renewed_at == long_ago


@pytest.mark.promise("P2", "P6")
def test_a_handler_is_stopped_at_three_quarters_of_a_lease_that_is_not_renewed_and_killed_before_its_end(
    database: Database,
) -> None:
    killed: list[str] = []
    shares = {"fresh": 0.7, "stopped": 0.8, "killed": 0.95}
    leases = dict(zip(shares, running(database, len(shares)), strict=True))
    with tick_parts(database, MINUTE) as tick:
        beating = tick.heartbeat
        for name, share in shares.items():
            (held,) = tick.take([leases[name]], clock.elapsed() - share * MINUTE.total_seconds())
            tick.work(held, lambda name=name: killed.append(name))
        for _ in range(2):
            beating._fence()
        news = [beating.news.get_nowait() for _ in range(beating.news.qsize())]
        posted = [(each, held.lease) for each, held in news]
        assert posted == [(News.UNRENEWED, leases["stopped"]), (News.UNRENEWED, leases["killed"])]
        assert set(killed) == {"killed"}


class Warnings(Silence):
    """Keeps what a part of a tick warns of."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def warning(self, event: str, **fields: object) -> None:
        self.told.append(fields["result"])


def try_again(finalizer: Finalizer) -> None:
    before = finalizer.next_try_at() or 0
    wait_for(lambda: finalizer.work() or (finalizer.next_try_at() or 0) > before, 20, "a try")


@postgresql_only
def test_results_that_wait_for_a_beat_of_their_own_tick_are_written_after_it_without_a_word(
    database: PostgresDatabase,
) -> None:
    """The beat locks the rows of all runs at hand, and its COMMIT may take its time."""
    with tick_parts(database, MINUTE) as tick:
        warnings = tick.finalizer._log = Warnings()
        runs = tick.take(running(database, 128))
        for run in runs:
            tick.work(run)
        with commits_wait(database, "NEW.status = 'running'"):
            tick.heartbeat.start()
            tick.heartbeat._beat_now.set()
            wait_for(lambda: sessions(database, "query LIKE '%COMMIT%'"), 20, "the COMMIT of the beat")
            for run in runs:
                tick.end(run, AttemptResult(Outcome.SUCCEEDED))
            for _ in range(3):
                try_again(tick.finalizer)
            assert statuses(database) == {"running": 128}
        wait_for(tick.write, 20, "the results")
    assert statuses(database) == {"succeeded": 128}
    assert warnings.told == []


@postgresql_only
def test_results_that_wait_for_another_transaction_are_told(database: PostgresDatabase) -> None:
    with tick_parts(database, MINUTE) as tick:
        warnings = tick.finalizer._log = Warnings()
        lease, *_ = running(database, 1)
        (run,) = tick.take([lease])
        tick.work(run)
        with open_transaction(database, "SELECT id FROM job_runs WHERE id = ANY(%s) FOR UPDATE", [lease.run_id]):
            tick.end(run, AttemptResult(Outcome.SUCCEEDED))
            wait_for(lambda: tick.finalizer.work() or warnings.told, 20, "a word")
        wait_for(tick.write, 20, "the results")
    assert warnings.told == ["another transaction has locked its row; to be tried again"]
