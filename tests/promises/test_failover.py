"""A synchronous standby stalls: what a COMMIT has left visible is no answer before a standby has it."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from psycopg.errors import InsufficientPrivilege

import jobrunner
from harness import Commands, wait_for
from harness.at_work import OWNER, running
from harness.effects import LostRun, OtherSide, close_all, effects_of
from harness.invariants import insert_runs
from harness.plan_calls import request
from harness.standby import Pair
from harness.waiting import span, stretched
from jobrunner.application import own_connections
from jobrunner.errors import CommitUnconfirmed, ConnectionLost, DatabaseUnavailable
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import Lease, Policy
from jobrunner.store.drivers.commits import CommitWarnings
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate
from jobrunner.store.drivers.waits import Waits
from jobrunner.store.queue import claims, enqueue, finalize
from jobrunner.store.queue.enqueue_sql import NewRun
from jobrunner.store.timetable import expansion
from jobrunner.worker.expansion import plan
from jobrunner.worker.watchdog import watching

Work = Callable[[Connection], object]
SHORT = Waits(lock=0.4, file=0.4, call=0.5)
LONG = Waits(lock=5, file=16, call=20)
DONE = AttemptResult(Outcome.SUCCEEDED)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as made:
        yield made


def store_of(pair: Pair, waits: Waits) -> Any:
    return closing(Store(locate(pair.url), patience=waits))


def outcome(pair: Pair) -> tuple[Work, str]:
    (lease,) = running(pair.database, 1)
    found = f"SELECT count(*) FROM job_attempts WHERE run_id = {lease.run_id}"
    return lambda each: finalize.finalize_all(each, OWNER, [(lease, DONE)]), found


def key(_: Pair) -> tuple[Work, str]:
    new = NewRun("echo", "{}", idempotency_key="once")
    return lambda each: enqueue.enqueue(each, new), "SELECT count(*) FROM job_keys"


def slot(pair: Pair) -> tuple[Work, str]:
    now = pair.database.now()
    pair.database.execute(
        "INSERT INTO job_definitions (name, job_type, payload, schedule, timezone, source, next_run_at, last_slot_at,"
        " created_at, updated_at) VALUES ('each', 'echo', '{}', '* * * * *', 'UTC', 'command', ?, ?, ?, ?)",
        [now - timedelta(minutes=1), now - timedelta(minutes=2), now, now],
    )
    found = "SELECT count(*) FROM job_runs WHERE definition_id IS NOT NULL"
    return lambda each: expansion.expand_many(each, 10, (), plan), found


@pytest.fixture
def without_right_to_mark(pair: Pair) -> None:
    """Somebody has taken from PUBLIC what each role may call by default."""
    revoke = """DO $$ DECLARE each text; BEGIN
      FOR each IN SELECT oid::regprocedure FROM pg_proc WHERE proname = 'pg_logical_emit_message' LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', each);
      END LOOP;
    END $$"""
    with pair.access.admin(pair.database.database) as admin:
        admin.execute(revoke)
    with pytest.raises(InsufficientPrivilege):
        pair.database.value("SELECT pg_logical_emit_message(true, 'x', 'y')")


@pytest.mark.promise("P3", "P4", "P14")
@pytest.mark.parametrize("made", [outcome, key, slot], ids=lambda each: each.__name__)
def test_row_whose_commit_was_cut_is_no_answer_until_a_standby_has_it(
    pair: Pair, made: Callable[[Pair], tuple[Work, str]]
) -> None:
    cut_and_confirm(pair, made)


@pytest.mark.promise("P4")
@pytest.mark.usefixtures("without_right_to_mark")
def test_row_whose_commit_was_cut_is_confirmed_though_the_role_may_not_write_messages_into_the_log(pair: Pair) -> None:
    cut_and_confirm(pair, key)


@pytest.mark.promise("P4")
@pytest.mark.usefixtures("without_right_to_mark")
def test_commit_whose_wait_was_cancelled_is_repeated_though_the_role_may_not_write_messages_into_the_log(
    pair: Pair, threads: ThreadPoolExecutor
) -> None:
    work, found = key(pair)
    with store_of(pair, LONG) as store:
        pair.stall()
        written = threads.submit(store.write, work)
        pair.cancel_waiting()
        assert waits_again(pair, written)
        pair.resume()
        written.result(stretched(20))
    assert pair.fail_over().value(found) == 1
    # Nothing is left of what made the COMMIT wait.
    assert pair.standby.value("SELECT count(*) FROM job_locks WHERE name LIKE 'marker%'") == 0


def cut_and_confirm(pair: Pair, made: Callable[[Pair], tuple[Work, str]]) -> None:
    work, found = made(pair)
    with store_of(pair, SHORT) as store, closing(store.second_connection()) as second, watching(store) as watchdog:
        watchdog.add(second)
        pair.stall()
        with pytest.raises(ConnectionLost):
            store.write(work)
        # The cancel request has made it visible. Then it is found again, which is not more, whoever of a tick finds it.
        pair.database.wait_until(f"SELECT ({found}) = 1")
        with pytest.raises(ConnectionLost):
            second.write(work)
        assert pair.standby.value(found) == 0
        pair.resume()

        def confirmed() -> bool:
            try:
                store.write(work)
            except ConnectionLost:
                return False
            return True

        wait_for(confirmed, 20, "an answer")
    assert pair.fail_over().value(found) == 1


@pytest.mark.promise("P7")
def test_claim_whose_wait_for_the_standby_was_cancelled_hands_out_no_run_before_a_standby_has_it(
    pair: Pair, threads: ThreadPoolExecutor
) -> None:
    """The server answers such a COMMIT with success and a warning: a run would begin that nobody has charged."""
    insert_runs(pair.database, 1, "echo")
    claim = request(policies=[Policy("echo")])
    with store_of(pair, LONG) as store:
        pair.stall()
        claimed = threads.submit(store.write, lambda each: claims.claim(each, claim))
        pair.cancel_waiting()
        assert waits_again(pair, claimed)
        assert pair.database.value("SELECT status FROM job_runs") == "running"
        pair.resume()
        assert len(claimed.result(stretched(20)).runs) == 1
    assert pair.fail_over().value("SELECT attempts FROM job_runs") == 1


def test_commit_whose_wait_was_cancelled_twice_is_reported_as_unconfirmed(
    pair: Pair, threads: ThreadPoolExecutor
) -> None:
    work, found = key(pair)
    with store_of(pair, LONG) as store:
        pair.stall()
        written = threads.submit(store.write, work)
        for _ in range(2):
            pair.cancel_waiting()
        with pytest.raises(CommitUnconfirmed, match="no synchronous standby has confirmed it"):
            written.result(stretched(20))
    assert pair.database.value(found) == 1
    assert pair.fail_over().value(found) == 0


@pytest.mark.promise("P4")
def test_key_that_another_process_has_left_without_a_standby_is_no_answer_to_an_enqueue(
    pair: Pair, jobrunner_on_pair: Commands
) -> None:
    """Its run is visible. The caller of the second enqueue would believe in a run that a promotion undoes."""
    work, found = key(pair)
    pair.stall()
    with store_of(pair, SHORT) as store, watching(store), pytest.raises(ConnectionLost):
        store.write(work)
    pair.database.wait_until(f"SELECT ({found}) = 1")
    again = ("enqueue", "echo", "--payload", "{}", "--key", "once")
    refused = jobrunner_on_pair(*again, env={"JOBRUNNER_PATIENCE": span(1)}, check=False)
    assert (refused.returncode, refused.stdout) == (69, "")
    pair.resume()
    assert jobrunner_on_pair(*again).stdout == "1\n"
    assert pair.fail_over().value(found) == 1


def test_enqueue_on_a_connection_of_our_own_gives_up_in_time_and_names_the_standby(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waited for as long as the standby stalled, and one of the four threads with it."""
    monkeypatch.setenv("JOBRUNNER_DATABASE_URL", pair.url)
    monkeypatch.setattr(own_connections.waits, "COMMAND", timedelta(seconds=0.8))
    try:
        asyncio.run(jobrunner.enqueue_async(None, "echo", {}))
        pair.stall()
        with pytest.raises(DatabaseUnavailable, match="synchronous standby"):
            asyncio.run(jobrunner.enqueue_async(None, "echo", {}))
        pair.resume()
        pair.wait_for_standby()
        asyncio.run(jobrunner.enqueue_async(None, "echo", {}))
    finally:
        own_connections.own_connections().close()
        own_connections._opened.clear()


def test_asynchronous_promotion_frees_the_slots_keys_and_effects_of_the_last_moments_as_the_page_says(
    pair: Pair, tmp_path: Path
) -> None:
    """Effects only where nothing is noted: in a process without a folder for state."""
    other_side = OtherSide(tmp_path / "ledger")
    run = LostRun(pair.database)
    each_slot, _ = slot(pair)
    each_key, _ = key(pair)
    pair.set_synchronous("")

    def last_moments(url: str, lease: Lease) -> list[Any]:
        effects_of(url, lease).once("mail", other_side.send, "raise", "mail")
        with closing(Store(locate(url), patience=LONG)) as store:
            enqueued: Any = store.write(each_key)
            expanded: Any = store.write(each_slot)
        return [enqueued.created, [len(each.run_ids) for each in expanded.expanded]]

    pair.wait_for_standby()
    pair.stall()
    first = last_moments(pair.url, run.claim())
    promoted = pair.fail_over()
    assert first == last_moments(promoted.url, LostRun(promoted).claim()) == [True, [1]]
    assert other_side.calls() == {"mail": 2}
    close_all()


class Listed:
    """As psycopg2 keeps its notices."""

    def __init__(self) -> None:
        self.notices = ["NOTICE: of before"]


def test_commit_on_a_driver_whose_warnings_cannot_be_read_is_no_answer_by_itself() -> None:
    assert not CommitWarnings(object()).is_acknowledged()
    driver = Listed()
    warnings = CommitWarnings(driver)
    assert warnings.is_acknowledged()
    driver.notices.append("WARNING:  canceling wait for synchronous replication due to user request")
    assert not warnings.is_acknowledged()


def waits_again(pair: Pair, answer: "Future[Any]") -> bool:
    """Whether a second COMMIT waits for the standby, and nothing was answered."""
    wait_for(lambda: answer.done() or pair.waiting(), 20, "a second COMMIT, or an answer")
    return not answer.done()
