"""How checkpoints are written: under the lease, beside heartbeats and ends of the same runs, and none is lost."""

from datetime import timedelta
from typing import Any

import pytest

from harness import Database, PostgresDatabase, postgresql_only
from harness.at_work import LEASE, OWNER, running
from harness.handlers_rows import run_of
from harness.locks import open_transaction
from harness.statements import before_statements
from harness.tick_parts import TickParts, tick_parts
from jobrunner.jobs.payload_limits import CHECKPOINT_BYTES
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import Lease
from jobrunner.store.queue import expiries, finalize, holding
from jobrunner.store.queue.finalize import Ended, Refusal
from jobrunner.worker.abandon import abandon
from jobrunner.worker.hand import RunInHand

ENDS = {
    "succeeded": AttemptResult(Outcome.SUCCEEDED, result=[1]),
    "failed": AttemptResult(Outcome.FAILED, "E", "no", wait=timedelta(0)),
    "released": AttemptResult(Outcome.RELEASED, "released", "stopped"),
}
REFUSED = "a checkpoint that no database takes"
REFUSE = {
    "sqlite": """
        CREATE TRIGGER refuse BEFORE UPDATE ON job_runs WHEN NEW.checkpoint LIKE '%{text}%'
        BEGIN SELECT RAISE(ABORT, 'refused by a trigger'); END
    """,
    "postgresql": """
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'refused by a trigger'; END $$;
        CREATE TRIGGER refuse BEFORE UPDATE ON job_runs
        FOR EACH ROW WHEN (NEW.checkpoint::text LIKE '%{text}%') EXECUTE FUNCTION refuse()
    """,
}


def place(value: Any) -> dict[str, Any]:
    return {"value": value, "steps": {}}


def kept(database: Database, lease: Lease) -> Any:
    return run_of(database, lease.run_id)["checkpoint"]


def begun(tick: TickParts, lease: Lease, value: Any) -> RunInHand:
    """A run at work, whose child has sent this checkpoint."""
    (held,) = tick.take([lease])
    tick.work(held)
    held.checkpoint = place(value)
    return held


@pytest.mark.promise("P2")
def test_a_stale_owner_writes_no_checkpoint_by_its_beat_nor_by_the_end_of_its_attempt(database: Database) -> None:
    stale, mine = running(database, 2)
    database.execute(
        "UPDATE job_runs SET lease_token = ?, checkpoint = ? WHERE id = ?", ["n" * 32, place(7), stale.run_id]
    )
    with tick_parts(database) as tick:
        assert tick.store.write(lambda each: holding.keep(each, {stale: place(1), mine: place(2)})) == {mine}
        ends = [(stale, ENDS["failed"]), (mine, ENDS["failed"])]
        checkpoints = {stale: place(3), mine: place(4)}
        answers = tick.store.write(lambda each: finalize.finalize_all(each, OWNER, ends, checkpoints=checkpoints))
    assert answers[0] is Refusal.LEASE_LOST
    assert (kept(database, stale), kept(database, mine)) == (place(7), place(4))


@pytest.mark.parametrize("end", ENDS)
def test_no_attempt_ends_without_its_newest_checkpoint(end: str, database: Database) -> None:
    (lease,) = running(database, 1, checkpoint=place(0))
    with tick_parts(database) as tick:
        held = begun(tick, lease, 1)
        tick.heartbeat._try_to_beat([held])
        assert kept(database, lease) == place(1)
        held.checkpoint = place(2)
        tick.end(held, ENDS[end])
        tick.finalizer.work()
        assert len(tick.hand) == 0
    assert kept(database, lease) == place(2)


@pytest.mark.promise("P2")
def test_end_that_overtakes_a_beat_takes_the_checkpoint_with_it(database: Database) -> None:
    """The beat has taken what it is to write, and the end of the attempt comes before its statement."""
    (lease,) = running(database, 1)
    with tick_parts(database) as tick:
        held = begun(tick, lease, 1)
        taken = tick.hand.unwritten_checkpoints()
        tick.end(held, ENDS["failed"])
        tick.finalizer.work()
        assert kept(database, lease) == place(1)
        assert tick.store.write(lambda each: holding.keep(each, taken)) == set()


def test_newer_checkpoint_stays_to_be_written_while_a_beat_writes_an_older_one(database: Database) -> None:
    """Also one that Python takes for equal: 1 and true."""
    (lease,) = running(database, 1)
    with tick_parts(database) as tick:
        held = begun(tick, lease, 1)

        def newer(*_: object) -> None:
            held.checkpoint = place(True)

        with before_statements(tick.heartbeat._database, newer):
            tick.heartbeat._write_checkpoints()
        assert tick.hand.unwritten_checkpoints() == {lease: place(True)}
        tick.heartbeat._write_checkpoints()
        assert tick.hand.unwritten_checkpoints() == {}
    assert kept(database, lease)["value"] is True


@pytest.mark.promise("P2", "P6", on="postgresql")
@postgresql_only
def test_locked_row_keeps_its_checkpoint_and_its_end_for_later(database: PostgresDatabase) -> None:
    locked, free = running(database, 2)
    with tick_parts(database) as tick:
        runs = [begun(tick, lease, lease.run_id) for lease in (locked, free)]
        with open_transaction(database, "UPDATE job_runs SET priority = 5 WHERE id = ANY(%s)", [locked.run_id]):
            tick.heartbeat._write_checkpoints()
            assert tick.hand.unwritten_checkpoints() == {locked: place(locked.run_id)}
            for held in runs:
                tick.end(held, ENDS["failed"])
            tick.finalizer.work()
            assert (kept(database, locked), run_of(database, locked.run_id)["status"]) == (None, "running")
        runs[0].write = None
        tick.finalizer.work()
    assert [run_of(database, each.run_id)["status"] for each in (locked, free)] == ["failed", "failed"]
    assert (kept(database, locked), kept(database, free)) == (place(locked.run_id), place(free.run_id))


@pytest.mark.promise("P2", on="postgresql")
@postgresql_only
def test_row_that_is_free_again_a_moment_later_does_not_end_without_its_checkpoint(database: PostgresDatabase) -> None:
    """It is locked when the checkpoint is to be written, and free when the attempt is to end."""
    (lease,) = running(database, 1)
    ends = [(lease, ENDS["succeeded"])]
    with (
        tick_parts(database) as tick,
        open_transaction(database, "UPDATE job_runs SET priority = 5 WHERE id = ANY(%s)", [lease.run_id]) as session,
    ):

        def free(_: object, text: str, __: object) -> None:
            if "checkpoint=" not in text.replace(" ", "") and session.info.transaction_status:
                session.execute("COMMIT")

        with before_statements(tick.store, free):
            work = tick.store.write(
                lambda each: finalize.finalize_all(each, OWNER, ends, checkpoints={lease: place(1)})
            )
        assert work == [Refusal.LOCKED]
        assert run_of(database, lease.run_id)["status"] == "running"
        (ended,) = tick.store.write(
            lambda each: finalize.finalize_all(each, OWNER, ends, checkpoints={lease: place(1)})
        )
        assert isinstance(ended, Ended)
        session.execute("BEGIN")
    assert kept(database, lease) == place(1)


def test_result_that_cannot_be_written_does_not_take_the_checkpoint_with_it(database: Database) -> None:
    (lease,) = running(database, 1)
    with tick_parts(database) as tick:
        held = begun(tick, lease, 5)
        # No driver takes it, as a value that only one database can hold.
        tick.end(held, ENDS["failed"]._replace(exit_signal="none"))  # type: ignore[arg-type]
        tick.finalizer.work()
        assert len(tick.hand) == 0
    assert (run_of(database, lease.run_id)["status"], kept(database, lease)) == ("running", place(5))


def test_checkpoint_that_cannot_be_written_does_not_keep_the_end_of_its_attempt(database: Database) -> None:
    database.execute(REFUSE[database.name].format(text=REFUSED))
    poison, other = running(database, 2, checkpoint=place(0))
    with tick_parts(database) as tick:
        for lease, value in ((poison, REFUSED), (other, 1)):
            tick.end(begun(tick, lease, value), ENDS["failed"])
        for _ in range(9):
            tick.finalizer.work()
        assert len(tick.hand) == 0
    assert [run_of(database, each.run_id)["status"] for each in (poison, other)] == ["failed", "failed"]
    assert (kept(database, poison), kept(database, other)) == (place(0), place(1))


def test_tick_that_breaks_down_returns_its_runs_with_their_checkpoints(database: Database) -> None:
    leases = running(database, 3)
    with tick_parts(database) as tick:
        begun(tick, leases[0], 1)
        ended = begun(tick, leases[1], 2)
        tick.end(ended, ENDS["succeeded"])
        none = begun(tick, leases[2], 3)
        none.checkpoint = None
        abandon(tick.context, tick.hand, tick.finalizer)
    rows = [run_of(database, each.run_id) for each in leases]
    assert [(row["status"], row["checkpoint"]) for row in rows] == [
        ("queued", place(1)),
        ("succeeded", place(2)),
        ("queued", None),
    ]


def test_recovery_of_a_dead_owner_leaves_the_checkpoint(database: Database) -> None:
    (lease,) = running(database, 1, checkpoint=place(1), locked_until=database.now() - LEASE)
    with tick_parts(database) as tick:
        tick.store.write(lambda each: expiries.recover(each, 9))
    assert (run_of(database, lease.run_id)["status"], kept(database, lease)) == ("failed", place(1))


def test_what_a_handler_has_forged_is_dropped_and_not_tried_for_ever(database: Database) -> None:
    (lease,) = running(database, 1)
    wrong: list[Any] = [[1], {"value": "\0", "steps": {}}, place("x" * CHECKPOINT_BYTES), place({1, 2})]
    with tick_parts(database) as tick:
        for each in wrong:
            assert tick.store.write(lambda to, each=each: holding.keep(to, {lease: each})) == {lease}
    assert kept(database, lease) is None


def test_many_large_checkpoints_are_written_in_several_transactions(database: Database) -> None:
    leases = running(database, 40)
    sent = {lease: place("x" * 60_000) for lease in leases}
    assert [len(group) for group in holding.groups_of(sent)] == [16, 16, 8]
    assert list(holding.groups_of({})) == []
    with tick_parts(database) as tick:
        for lease in leases:
            begun(tick, lease, "x" * 60_000)
        tick.heartbeat._write_checkpoints()
        assert tick.hand.unwritten_checkpoints() == {}
    assert all(kept(database, lease) == sent[lease] for lease in leases)
