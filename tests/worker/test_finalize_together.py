"""One statement finalizes many attempts, each with the same result as if it were written alone."""

import threading
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest

from harness import Database, sqlite_only
from harness.at_work import LEASE, OWNER, end_attempt, running
from harness.invariants import insert_runs, outcomes, snapshot, statuses
from harness.statements import noting_errors
from harness.tick_parts import tick_parts
from harness.waiting import stretched
from jobrunner import clock
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import Lease, Policy
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate
from jobrunner.store.queue import finalize, holding
from jobrunner.store.queue.finalize import Ended, Refusal
from jobrunner.worker import finalizer


class Undone(Exception):
    """This transaction is not kept."""


def finalize_together(store: Store, leases: Collection[Lease], ending: AttemptResult) -> list[Ended | Refusal]:
    return store.write(lambda connection: finalize.finalize_all(connection, OWNER, [(each, ending) for each in leases]))


@dataclass(frozen=True)
class Case:
    """One way to end, of a run with these columns, and what must be found afterwards; what is not named stays."""

    ending: AttemptResult
    found: dict[str, object]
    outcome: str
    columns: Callable[[Database], dict[str, object]] = lambda _: {}


def cancel_requested(database: Database) -> dict[str, object]:
    return {"cancel_requested_at": database.now()}


def quarantined(_: Database) -> dict[str, object]:
    return {"releases": 4, "lease_expiries": 2}


ERROR = {"error_type": "E", "error": "x\0y\ud800\n z", "traceback": "line 1\nline \0 2", "output": "said é😀"}
BLAMED = {"error_type": "E", "last_error": "x\ufffdy\ufffd z"}
HOUR = timedelta(hours=1)
CASES = {
    "succeeded": Case(
        AttemptResult(Outcome.SUCCEEDED, result={"n": [1, 2.5, None], "é": "😀"}, output="out"),
        {"status": "succeeded", "result": {"n": [1, 2.5, None], "é": "😀"}, "error_type": None, "last_error": None},
        "succeeded",
    ),
    "succeeded with nothing": Case(
        AttemptResult(Outcome.SUCCEEDED),
        {
            "status": "succeeded",
            "result": None,
            "error_type": None,
            "last_error": None,
            "releases": 0,
            "lease_expiries": 0,
        },
        "succeeded",
        quarantined,
    ),
    "succeeded, cancel requested": Case(
        AttemptResult(Outcome.SUCCEEDED, result=0),
        {"status": "succeeded", "result": 0, "error_type": None, "last_error": None},
        "succeeded",
        cancel_requested,
    ),
    "failed": Case(AttemptResult(Outcome.FAILED, wait=HOUR, **ERROR), {"status": "failed", **BLAMED}, "failed"),
    "crashed": Case(
        AttemptResult(Outcome.CRASHED, "crashed", "killed", exit_signal=9, wait=HOUR),
        {"status": "failed", "error_type": "crashed", "last_error": "killed", "releases": 0, "lease_expiries": 0},
        "crashed",
        quarantined,
    ),
    "failed for the last time": Case(
        AttemptResult(Outcome.TIMED_OUT, **ERROR),
        {"status": "dead", **BLAMED},
        "timed_out",
        lambda _: {"max_attempts": 1},
    ),
    "discarded": Case(AttemptResult(Outcome.DISCARDED, **ERROR), {"status": "dead", **BLAMED}, "discarded"),
    "cancelled": Case(AttemptResult(Outcome.FAILED, **ERROR), {"status": "cancelled"}, "cancelled", cancel_requested),
    "released": Case(
        AttemptResult(Outcome.RELEASED, "released", "stopped"),
        {"status": "queued", "attempts": 0, "releases": 5},
        "released",
        quarantined,
    ),
    "dropped": Case(AttemptResult(Outcome.DROPPED, **ERROR), {"status": "cancelled", **BLAMED}, "dropped"),
    "snoozed": Case(AttemptResult(Outcome.SNOOZED, wait=HOUR), {"status": "queued", "attempts": 0}, "snoozed"),
}
CLEARED = dict.fromkeys(("locked_by", "host", "locked_until", "lease_token", "heartbeat_at", "output"))


def compared(database: Database, run_id: int, before: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """All that the tables say of a run but which one it is; instants as what they have to do with its end."""
    (run,), attempts = snapshot(database, run_id)
    ended_at, earlier = run["updated_at"], set(filter(is_instant, before.values()))
    for row in (run, *attempts):
        del row["id"]
        row.pop("run_id", None)
        for name, value in row.items():
            if is_instant(value):
                row[name] = "as before" if value in earlier else value - ended_at
    return run, attempts


def is_instant(value: object) -> bool:
    return isinstance(value, datetime)


def test_a_group_is_written_as_its_members_would_be_alone(store: Store, database: Database) -> None:
    """Every decision in one statement: each writes its own columns, and leaves alone what is not its to write."""
    together = {name: running(database, 1, **case.columns(database))[0] for name, case in CASES.items()}
    alone = {name: running(database, 1, **case.columns(database))[0] for name, case in CASES.items()}
    before, before_alone = (
        {name: snapshot(database, lease.run_id)[0][0] for name, lease in leases.items()} for leases in (together, alone)
    )
    ends = [(lease, CASES[name].ending) for name, lease in together.items()]
    answers = store.write(lambda connection: finalize.finalize_all(connection, OWNER, ends[::-1]))[::-1]
    for (name, lease), answer in zip(together.items(), answers, strict=True):
        case = CASES[name]
        store.write(lambda each, lease=alone[name], ending=case.ending: end_attempt(each, OWNER, lease, ending))
        as_one = compared(database, alone[name].run_id, before_alone[name])
        assert compared(database, lease.run_id, before[name]) == as_one, name
        (run,), attempts = snapshot(database, lease.run_id)
        assert isinstance(answer, Ended)
        assert (answer.run_id, answer.run_at) == (lease.run_id, run["run_at"])
        at = run["updated_at"]
        expected = before[name] | CLEARED | case.found | {"updated_at": at}
        if case.found["status"] in ("succeeded", "dead", "cancelled"):
            expected["finished_at"] = at
        if case.outcome in ("failed", "crashed", "timed_out", "discarded"):
            expected["failed_at"] = at
        if case.ending.wait is not None or case.outcome == "released":
            # The turn is that of run_at, since the priority is 0.
            expected["run_at"] = expected["turn_at"] = at + (case.ending.wait or timedelta(0))
        assert run == expected, name
        assert [row["outcome"] for row in attempts] == ([case.outcome] if case.outcome else []), name
        for row in attempts:
            assert (row["worker"], row["host"], row["lease_token"]) == (OWNER.name, OWNER.host, lease.token)
            assert (row["attempt"], row["started_at"], row["finished_at"]) == (1, before[name]["started_at"], at)
            assert row["exit_signal"] == case.ending.exit_signal
    failed = snapshot(database, together["failed"].run_id)[1][0]
    assert (failed["error"], failed["traceback"], failed["output"]) == (
        *("x\ufffdy\ufffd z", "line 1\nline \ufffd 2", "said é😀"),
    )


@pytest.mark.promise("P12")
def test_finalize_of_a_group_uses_the_claim_number_of_each_run(store: Store, database: Database) -> None:
    leases = running(database, 3)
    for turn in range(1, 4):
        finalize_together(store, leases[:turn], AttemptResult(Outcome.RELEASED))
        again = "status = 'running', locked_by = 'o', host = 'h', locked_until = ?, lease_token = ?, attempts = 1"
        database.execute(f"UPDATE job_runs SET {again}", [database.now(), f"{turn}" * 32])
        leases = [Lease(lease.run_id, f"{turn}" * 32) for lease in leases]
    rows = database.query("SELECT run_id, sequence FROM job_attempts ORDER BY run_id, sequence")
    assert Counter(row["run_id"] for row in rows) == {1: 3, 2: 2, 3: 1}
    assert [row["sequence"] for row in rows] == [1, 2, 3, 1, 2, 1]


@pytest.mark.promise("P2")
def test_finalize_of_a_group_skips_a_run_with_a_lost_lease_and_writes_the_others(
    store: Store, database: Database
) -> None:
    leases = running(database, 100)
    lost = leases[41]
    database.execute("UPDATE job_runs SET lease_token = ?, locked_by = 'new' WHERE id = ?", ["n" * 32, lost.run_id])
    before = snapshot(database, lost.run_id)
    answers = finalize_together(store, leases, AttemptResult(Outcome.SUCCEEDED))
    assert [index for index, answer in enumerate(answers) if not isinstance(answer, Ended)] == [41]
    assert answers[41] is Refusal.LEASE_LOST
    assert snapshot(database, lost.run_id) == before
    assert statuses(database) == {"succeeded": 99, "running": 1}


@pytest.mark.promise("P2", "P14")
def test_finalize_that_got_no_answer_is_recognized_as_applied_or_lost(store: Store, database: Database) -> None:
    leases = running(database, 5)
    finalize_together(store, leases[:3], AttemptResult(Outcome.FAILED, wait=timedelta(0)))
    database.execute("UPDATE job_attempts SET error_type = 'lease_expired' WHERE run_id = ?", [leases[2].run_id])
    ended = [snapshot(database, lease.run_id) for lease in leases[:3]]
    # One of them is named twice: a second end of one attempt must not be written.
    answers = finalize_together(store, [*leases, leases[4]], AttemptResult(Outcome.FAILED, wait=timedelta(0)))
    applied, lost = Refusal.ALREADY_APPLIED, Refusal.LEASE_LOST
    assert [answer if isinstance(answer, Refusal) else None for answer in answers] == [
        *(applied, applied, lost, None, None, applied)
    ]
    assert [snapshot(database, lease.run_id) for lease in leases[:3]] == ended
    assert [len(outcomes(database, lease.run_id)) for lease in leases] == [1] * 5


@pytest.mark.promise("P1", "P2")
def test_overlapping_groups_in_any_order_never_deadlock(database: Database) -> None:
    leases = running(database, 60)
    failures: list[str] = []

    def end(store: Store, chosen: list[Lease]) -> None:
        """Undone in the end, so that there is something to lock in the next round, too."""

        def work(connection: Connection) -> None:
            answers = finalize.finalize_all(
                connection, OWNER, [(each, AttemptResult(Outcome.SUCCEEDED)) for each in chosen]
            )
            assert all(isinstance(answer, Ended) or answer is Refusal.LOCKED for answer in answers)
            raise Undone

        with pytest.raises(Undone):
            store.write(work)

    def repeat(work: Callable[[Store], object]) -> None:
        store = Store(locate(database.url), patience=timedelta(seconds=20))
        for _ in range(40):
            work(store)
        store.close()

    works: list[Callable[[Store], object]] = [
        lambda store: end(store, leases[:50]),
        lambda store: end(store, leases[::-1]),
        lambda store: store.write(lambda connection: holding.renew(connection, leases[10:][::-1], LEASE)),
    ]
    threads = [threading.Thread(target=repeat, args=[work]) for work in works]
    with noting_errors(failures):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(stretched(60))
    assert failures == []


@sqlite_only
def test_finalize_also_renews_only_the_leases_that_are_due(store: Store, database: Database) -> None:
    fresh, stale = running(database, 2)
    eighth = LEASE.total_seconds() / 8
    with tick_parts(database) as tick:
        tick.take([fresh], clock.elapsed() - eighth / 2)
        (due,) = tick.take([stale], clock.elapsed() - eighth * 2)
        assert tick.hand.due() == [due]
        tick.hand.note_renewed([stale], clock.elapsed())
        assert tick.hand.due() == []


def test_results_that_take_longer_than_a_step_of_the_loop_are_left_to_the_next_one(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the loop would not read from its children, nor see a stop, until all is written."""
    insert_runs(database, 4, "known")
    with tick_parts(database) as tick:
        runs = tick.claim([Policy("known")], 4)
        for held in runs:
            tick.work(held)
            # Of this length each is a group of its own.
            tick.end(held, AttemptResult(Outcome.FAILED, error="no", traceback="x" * 900_000))
        with monkeypatch.context() as patched:
            patched.setattr(finalizer, "_SLICE_SECONDS", 0.0)
            tick.finalizer.work()
            assert len(tick.hand) == 4
        tick.finalizer.work()
        assert len(tick.hand) == 0
