"""The heartbeat promises its tick no more time than the database has given, and none to a tick that is stuck."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from harness import Database, wait_for
from harness.at_work import OWNER, running
from harness.invariants import insert_runs, snapshot
from jobrunner import clock
from jobrunner.children.begun_page import BegunPage
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.log import Silence
from jobrunner.model import ClaimedRun, Policy
from jobrunner.settings.config import load
from jobrunner.store import claims, holding
from jobrunner.store.database import Database as Store
from jobrunner.store.location import locate
from jobrunner.store.waits import Waits, of_tick
from jobrunner.worker.claimer import Claimer
from jobrunner.worker.finalizer import Finalizer
from jobrunner.worker.heartbeat import Heartbeat, News
from jobrunner.worker.watchdog import Watchdog

MINUTE = timedelta(minutes=1)


@contextmanager
def heartbeat(database: Database, lease: timedelta) -> Iterator[tuple[Store, Watchdog, Heartbeat]]:
    """Of a tick with this lease, which is not started; nor is its watch."""
    store = Store(locate(database.url), patience=timedelta(seconds=10))
    watch = Watchdog(Waits.of(of_tick(lease)))
    beating = Heartbeat(store, watch, lease=lease, every=lease / 10, log=Silence(), wake=lambda: None)
    try:
        yield store, watch, beating
    finally:
        beating.close()
        store.close()


@pytest.mark.promise("P6")
def test_leases_end_while_the_main_loop_stands_still_and_are_renewed_when_it_turns_again(database: Database) -> None:
    """A parent that is stuck must not hold its runs for ever only since one of its threads is not."""
    lease = timedelta(seconds=1.2)
    beaten = "SELECT heartbeat_at IS NOT NULL AS beaten FROM job_runs"
    (held,) = running(database, 1, locked_until=database.now() + lease)
    with heartbeat(database, lease) as (_, _, beating):
        beating.hold([held], clock.elapsed())
        beating.start()
        wait_for(lambda: beating.turn() or database.value(beaten), 20, "a beat")
        database.wait_until("SELECT count(*) FROM job_recoverable", (), 4, "the end of the lease")
        beating.turn()
        database.wait_until("SELECT count(*) = 0 AS renewed FROM job_recoverable")
        wait_for(lambda: beating.time_left(held) > 0, 5, "the owner learns it")
        assert beating.news.empty()


@pytest.mark.promise("P2")
def test_after_a_stall_the_main_loop_learns_first_which_leases_it_has_lost(database: Database) -> None:
    """Before it does anything else: what its handlers have done meanwhile may be somebody else's to do."""
    held, lost = running(database, 2)
    database.execute("UPDATE job_runs SET lease_token = ? WHERE id = ?", ["n" * 32, lost.run_id])
    with heartbeat(database, 40 * MINUTE) as (_, _, beating):
        beating.hold([held, lost], clock.elapsed())
        beating._turned_at -= 11 * MINUTE.total_seconds()
        beating.start()
        beating.turn()
        assert beating.news.get_nowait() == (News.LEASE_LOST, lost)
        assert beating.news.empty()


@pytest.mark.promise("P2")
def test_a_stale_owner_prolongs_no_lease_of_another_one_and_says_nothing_of_its_run(database: Database) -> None:
    (stale,) = running(database, 1)
    database.execute("UPDATE job_runs SET lease_token = ?", ["n" * 32])
    before = snapshot(database, stale.run_id)
    with heartbeat(database, MINUTE) as (store, _, _):
        assert store.write(lambda each: holding.renew(each, [stale], MINUTE)) == holding.Renewal({}, set())
        store.write(lambda each: holding.report(each, {stale: {"output": "so"}}))
        assert store.write(lambda each: claims.give_back(each, stale.token)).runs == 0
        assert not store.write(lambda each: claims.start(each, stale))
    assert snapshot(database, stale.run_id) == before


def first_sent_at(store: Store) -> Callable[[], float]:
    """When its first statement from here on was sent, on the clock of the leases."""
    sent: list[float] = []
    event.listen(store._engine, "before_cursor_execute", lambda *_: sent.append(clock.elapsed()))
    return lambda: sent[0]


def counted_from(beating: Heartbeat, lease: Any) -> float:
    return beating._held[lease].renewed_at


@pytest.mark.promise("P2")
def test_the_age_of_a_lease_is_counted_from_before_its_claim_and_its_renewal_were_sent(
    database: Database, tmp_path: Path
) -> None:
    """Counted from the answer, a lease would be over in the database while its owner still believes in it."""
    (held,) = running(database, 1)
    insert_runs(database, 1, "known")
    config = load({"JOBRUNNER_DATABASE_URL": database.url, "HOME": str(tmp_path)})
    with heartbeat(database, MINUTE) as (store, _, beating):
        beating.hold([held], clock.elapsed() - 30)
        beat_sent_at = first_sent_at(beating._database)
        assert beating._try_to_beat([held])
        before = clock.elapsed() - 10
        assert before < counted_from(beating, held) < beat_sent_at()
        claim_sent_at = first_sent_at(store)
        claimed = Claimer(config, OWNER, store, beating, Silence(), BegunPage(None)).take([Policy("known")], 5, busy=0)
        (run,) = claimed.runs
        assert before < counted_from(beating, run.lease) == claimed.sent_at < claim_sent_at()


@pytest.mark.promise("P2")
def test_so_it_is_where_a_claim_or_a_finalize_renews_it_along_the_way(database: Database, tmp_path: Path) -> None:
    """On SQLite, where a heartbeat could starve; on PostgreSQL neither of them renews anything."""
    held, ended = running(database, 2)
    now = database.now()
    config = load({"JOBRUNNER_DATABASE_URL": database.url, "HOME": str(tmp_path)})
    with heartbeat(database, MINUTE) as (store, watch, beating):
        finalizer = Finalizer(config, OWNER, store, beating, Silence(), Counter(), watch, lambda: None)
        claimer = Claimer(config, OWNER, store, beating, Silence(), BegunPage(None))

        def finalize() -> None:
            finalizer.add(ClaimedRun(ended, "known", {}, 1, 3, None, now, None, now), AttemptResult(Outcome.SUCCEEDED))
            wait_for(lambda: finalizer.work() or finalizer.is_settled(), 5)

        for write in (finalize, lambda: claimer.take([Policy("known")], 5, busy=0)):
            long_ago = clock.elapsed() - 30
            beating.let_go(held)
            beating.hold([held, ended], long_ago)
            sent_at = first_sent_at(store)
            write()
            if store.waits_unfairly:
                assert long_ago < counted_from(beating, held) < sent_at()
            else:
                assert counted_from(beating, held) == long_ago


@pytest.mark.promise("P2", "P6")
def test_a_handler_is_told_at_three_quarters_of_a_lease_that_is_not_renewed_and_killed_just_before_its_end(
    database: Database,
) -> None:
    killed: list[str] = []
    shares = {"fresh": 0.7, "told": 0.8, "killed": 0.95}
    leases = dict(zip(shares, running(database, len(shares)), strict=True))
    with heartbeat(database, MINUTE) as (_, _, beating):
        for name, share in shares.items():
            beating.hold([leases[name]], clock.elapsed() - share * MINUTE.total_seconds())
            beating.begin(leases[name], lambda name=name: killed.append(name))
        for _ in range(2):
            beating._fence()
        told = [beating.news.get_nowait() for _ in range(beating.news.qsize())]
        assert told == [(News.UNRENEWED, leases["told"]), (News.UNRENEWED, leases["killed"])]
        assert set(killed) == {"killed"}
