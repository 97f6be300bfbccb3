"""What the state machine of `test_state_machine.py` knows: how a step is made, what it may change, what people do.

After every step the whole tables are read and compared with what the step may have changed: a row that it does not name
must be the same to the last column, and what it names must have gone where the table of transitions says.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
from sqlalchemy import delete, select

import harness.hypothesis_profile  # noqa: F401 - loads the profile
from harness import Database
from jobrunner.lifecycle import FINISHED, TRANSITIONS, Outcome, Status
from jobrunner.model import Actor, Lease, Owner, Policy
from jobrunner.store.changes import one_run
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate
from jobrunner.store.schema import job_attempts, job_events, job_keys, job_runs
from jobrunner.store.sql.dialect.values import now

POLICIES = {"mail": Policy("mail", max_attempts=2), "report": Policy("report", max_attempts=3)}
ARROWS = {(source, each.target) for each in TRANSITIONS for source in each.sources}
LOCK = ("locked_by", "host", "locked_until", "lease_token", "heartbeat_at")
WORTH_ACTING_ON = [Status.RUNNING, Status.FAILED, Status.QUEUED, Status.DEAD, Status.CANCELLED, Status.SUCCEEDED]

picks = st.integers(0, 4)
commits = st.sampled_from([True, True, True, True, False])

Row = dict[str, Any]
Rows = dict[int, Row]


@dataclass(frozen=True)
class Held:
    """What an owner remembers of a claim, whether it is still true or not."""

    owner: Owner
    lease: Lease


@dataclass
class Tables:
    """Everything that a step may change."""

    runs: Rows = field(default_factory=dict)
    attempts: Rows = field(default_factory=dict)
    keys: list[Row] = field(default_factory=list)
    events: Rows = field(default_factory=dict)


class Undone(Exception):
    """The owner dies before it commits."""


def ends_at(row: Row, outcome: Outcome) -> tuple[Status, int]:
    """Status and charged attempts after this end, written independently of the code."""
    attempts: int = row["attempts"]
    if outcome is Outcome.SUCCEEDED:
        return Status.SUCCEEDED, attempts
    if row["cancel_requested_at"] is not None:
        return Status.CANCELLED, attempts
    if outcome is Outcome.DROPPED:
        return Status.CANCELLED, attempts
    if outcome is Outcome.SNOOZED or (outcome is Outcome.RELEASED and row["releases"] < 9):
        return Status.QUEUED, attempts - 1
    # As a caller ends it who says nothing of a grace for deploys.
    if outcome in (Outcome.DISCARDED, Outcome.INCOMPATIBLE) or attempts >= row["max_attempts"]:
        return Status.DEAD, attempts
    return Status.FAILED, attempts


class Observed(RuleBasedStateMachine):
    """A machine over one database. Its rules call `write`, then `expect`, which names what may have changed."""

    def __init__(self, database: Database) -> None:
        super().__init__()
        self.database = database
        self.observer = Store(locate(database.url), patience=timedelta(seconds=5))
        self.at = datetime.now(UTC)
        self.seen = Tables()
        self.enqueued: set[int] = set()
        self.retried: set[int] = set()
        self.keys: dict[tuple[str, str], int] = {}
        self.held: list[Held] = []
        self.tokens = count()

    # How a step is made and looked at.

    def write(self, work: Callable[[Connection], Any]) -> Any:
        store = Store(locate(self.database.url), patience=timedelta(seconds=5))
        try:
            return store.write(work)
        finally:
            store.close()

    def look(self) -> Tables:
        """All that the tables hold, and when that was."""

        def read(connection: Connection) -> Tables:
            def rows(table: Any) -> Rows:
                return {row["id"]: dict(row) for row in connection.execute(select(table)).mappings()}

            keys = [dict(row) for row in connection.execute(select(job_keys)).mappings()]
            self.at = connection.execute(select(now())).scalar_one()
            return Tables(rows(job_runs), rows(job_attempts), keys, rows(job_events))

        return self.observer.read(read)

    def new_token(self) -> str:
        """As a client makes it, before the claim."""
        return f"{next(self.tokens):032x}"

    def expect(
        self, changed: Collection[int] = (), *, attempts_of: Collection[int] = (), events_of: Collection[int] = ()
    ) -> Rows:
        """The only runs that may differ now, those with one new attempt, those with one new event; their rows."""
        before = self.seen
        after = self.seen = self.look()
        assert set(after.runs) == self.enqueued, "a run was lost or came from nowhere"
        for run_id, row in before.runs.items():
            if run_id not in changed:
                assert after.runs[run_id] == row, "a run changed that this call does not name"
        self.check_additions(before.attempts, after.attempts, attempts_of)
        self.check_additions(before.events, after.events, events_of)
        for run_id in set(changed) & set(before.runs):
            self.check_change(before.runs[run_id], after.runs[run_id])
        self.every_row_is_sound()
        self.attempts_are_numbered_in_order()
        self.a_key_has_one_run()
        return {run_id: after.runs[run_id] for run_id in changed}

    @staticmethod
    def check_additions(before: Rows, after: Rows, expected: Collection[int]) -> None:
        assert {key: after.get(key) for key in before} == before, "the trail was changed"
        added = sorted(after[key]["run_id"] for key in after.keys() - before.keys())
        assert added == sorted(expected)

    def check_change(self, old: Row, new: Row) -> None:
        assert old["status"] == new["status"] or (old["status"], new["status"]) in ARROWS
        if old["status"] in FINISHED and new["status"] not in FINISHED:
            assert new["id"] in self.retried, "a finished run left without a person"
        if old["status"] == Status.RUNNING and old["cancel_requested_at"] is not None:
            assert new["status"] in (Status.RUNNING, Status.CANCELLED, Status.SUCCEEDED)
        assert new["id"] == old["id"]
        assert (new["payload"], new["job_type"], new["created_at"]) == (
            old["payload"], old["job_type"], old["created_at"],
        )  # fmt: skip

    def some_run(self, pick: int) -> int:
        """A run's id; 0 is the one at work whose claim is the newest."""
        ids = sorted(self.enqueued, key=lambda run_id: self.interest(self.seen.runs[run_id]))
        return ids[pick % len(ids)]

    @staticmethod
    def interest(row: Row) -> tuple[int, int]:
        return WORTH_ACTING_ON.index(row["status"]), -row["id"]

    def claims(self, *, live: bool) -> list[Held]:
        """What owners hold, or only believe to hold; first what is most at odds with what others want of the run."""
        found = [held for held in reversed(self.held) if (self.row(held.lease) is not None) == live]
        return sorted(found, key=lambda held: not self.is_contended(self.seen.runs[held.lease.run_id], live))

    @staticmethod
    def is_contended(row: Row, live: bool) -> bool:
        """Cancelled under the owner's hands, or in the hands of the next owner."""
        return row["cancel_requested_at"] is not None if live else row["status"] == Status.RUNNING

    def row(self, lease: Lease) -> Row | None:
        """The run as long as it is held under this lease."""
        row = self.seen.runs[lease.run_id]
        return row if row["status"] == Status.RUNNING and row["lease_token"] == lease.token else None

    def empty_the_tables(self) -> None:
        def empty(connection: Connection) -> None:
            for table in (job_attempts, job_keys, job_events, job_runs):
                connection.execute(delete(table))

        self.write(empty)
        if self.database.offset:
            self.set_clock(timedelta(0))

    def set_clock(self, offset: timedelta) -> None:
        self.at += offset - self.database.offset
        self.database.set_clock_offset(offset)
        # A session goes on with the clock that it met.
        self.observer.close()

    # What is true at any time.

    def every_row_is_sound(self) -> None:
        for row in self.seen.runs.values():
            is_running = row["status"] == Status.RUNNING
            assert {row[name] is not None for name in LOCK} == {is_running}
            assert (row["finished_at"] is not None) == (row["status"] in FINISHED)
            assert row["attempts"] >= 0
            assert row["max_attempts"] is None or row["attempts"] <= row["max_attempts"]
            limit = POLICIES[row["job_type"]].max_attempts if row["job_type"] in POLICIES else 0
            assert row["id"] in self.retried or row["attempts"] <= max(limit, row["max_attempts"] or 0)

    def attempts_are_numbered_in_order(self) -> None:
        sequences: dict[int, list[int]] = {}
        tokens = [(row["run_id"], row["lease_token"]) for row in self.seen.attempts.values()]
        assert len(set(tokens)) == len(tokens)
        for _, row in sorted(self.seen.attempts.items()):
            sequences.setdefault(row["run_id"], []).append(row["sequence"])
        assert all(each == list(range(1, len(each) + 1)) for each in sequences.values())

    def a_key_has_one_run(self) -> None:
        kept = {(row["job_type"], row["idempotency_key"]): row["run_id"] for row in self.seen.keys}
        assert kept == self.keys
        keyed = [row["id"] for row in self.seen.runs.values() if row["idempotency_key"] is not None]
        assert sorted(self.keys.values()) == sorted(keyed)


class People(Observed):
    """What applications and people do, and what it may change."""

    def undo(self, work: Callable[[Connection], Any]) -> None:
        """A call whose caller dies before the commit changes nothing."""

        def die(connection: Connection) -> None:
            work(connection)
            raise Undone

        with pytest.raises(Undone):
            self.write(die)
        self.expect()

    # What people do.

    @rule(pick=picks, act=st.sampled_from(["cancel", "cancel", "retry", "retry", "force", "discard", "miss"]))
    def act(self, pick: int, act: str) -> None:
        getattr(self, act)(self.some_run(pick))

    def cancel(self, run_id: int) -> None:
        old = self.seen.runs[run_id]
        answer = self.write(lambda connection: one_run.cancel(connection, run_id, Actor("someone")))
        assert (answer.status, answer.applied) == (old["status"], old["status"] not in FINISHED)
        if not answer.applied:
            self.expect()
        elif old["status"] == Status.RUNNING:
            is_first = [run_id] if old["cancel_requested_at"] is None else []
            row = self.expect(is_first, events_of=is_first).get(run_id, old)
            assert answer.requested
            assert row["cancel_requested_at"] is not None
            assert row["lease_token"] == old["lease_token"]
        else:
            assert self.expect([run_id], events_of=[run_id])[run_id]["status"] == Status.CANCELLED

    def retry(self, run_id: int, *, force: bool = False) -> None:
        old = self.seen.runs[run_id]
        answer = self.write(lambda connection: one_run.retry(connection, run_id, Actor("someone"), force=force))
        can = old["status"] in (Status.FAILED, Status.DEAD, Status.CANCELLED)
        assert answer.applied == (can or (force and old["status"] == Status.SUCCEEDED))
        if not answer.applied:
            self.expect()
            return
        self.retried.add(run_id)
        row = self.expect([run_id], events_of=[run_id])[run_id]
        assert (row["status"], row["attempts"]) == (Status.QUEUED, old["attempts"])
        assert row["cancel_requested_at"] is None
        assert row["max_attempts"] is None or row["max_attempts"] >= max(row["attempts"] + 1, old["max_attempts"])

    def force(self, run_id: int) -> None:
        self.retry(run_id, force=True)

    def discard(self, run_id: int) -> None:
        old = self.seen.runs[run_id]
        answer = self.write(lambda connection: one_run.discard(connection, run_id, Actor("someone", "no\x00use")))
        assert answer.applied == (old["status"] in (Status.QUEUED, Status.FAILED, Status.CANCELLED))
        named = [run_id] if answer.applied else []
        for row in self.expect(named, events_of=named).values():
            assert (row["status"], row["last_error"]) == (Status.DEAD, "no\ufffduse")

    def miss(self, run_id: int) -> None:
        for act in (one_run.cancel, one_run.retry):
            answer = self.write(partial(act, run_id=run_id + 10**9, actor=Actor("someone")))
            assert (answer.status, answer.applied) == (None, False)
        self.expect()
