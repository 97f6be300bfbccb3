"""The state machine of `test_state_machine.py`: what applications, people and owners do to runs, and time."""

from collections.abc import Collection
from datetime import datetime, timedelta
from functools import partial

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

import harness.hypothesis_profile  # noqa: F401 - loads the profile
from harness import Database
from harness.at_work import end_attempt
from harness.run_model import POLICIES, Held, People, Row, Rows, commits, ends_at, picks
from jobrunner.lifecycle import CLAIMABLE, FINISHED, AttemptResult, Event, Outcome, Status
from jobrunner.model import Lease, Owner
from jobrunner.store.queue import claims, enqueue, expiries, holding
from jobrunner.store.queue.claims import ClaimRequest
from jobrunner.store.queue.enqueue_sql import Enqueued, NewRun
from jobrunner.store.queue.finalize import Refusal

LEASE = timedelta(seconds=60)
PERMITS = 3
ENDS = [each for each in Outcome if each is not Outcome.LEASE_EXPIRED]
OWNERS = (Owner("north", "north:1:a"), Owner("north", "north:2:b"), Owner("south", "south:1:c"))

# Partials, because of a named tuple all fields would be drawn, also those that have a default.
requests = st.builds(
    partial(ClaimRequest),
    owner=st.sampled_from(OWNERS),
    token=st.just(""),
    policies=st.sampled_from([list(POLICIES.values()), [POLICIES["report"]]]),
    limit=st.integers(1, 3),
    permits=st.just(PERMITS),
    lease=st.just(LEASE),
    quarantined=st.sampled_from([False, False, False, True]),
)
endings_of_owners = st.builds(
    partial(AttemptResult),
    outcome=st.sampled_from(ENDS),
    error_type=st.just("E"),
    error=st.just("x\x00y\nz"),
    traceback=st.just("\ud800"),
    result=st.just([1]),
    wait=st.sampled_from([None, timedelta(0), timedelta(0), timedelta(minutes=5)]),
)


def chosen(claims: list[Held], pick: int) -> Held:
    return claims[pick % len(claims)]


class Runs(People):
    """Applications, people and owners, in time or late, and a clock that steps both ways."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.empty_the_tables()

    @initialize(keys=st.lists(st.none() | st.sampled_from("ab"), min_size=1, max_size=3))
    def begin(self, keys: list[str | None]) -> None:
        for key in keys:
            self.enqueue_one(NewRun("report", '{"n": 1}', idempotency_key=key))

    @rule(
        new=st.builds(
            partial(NewRun),
            job_type=st.sampled_from(["mail", "report", "strange"]),
            payload=st.just('{"n": 1}'),
            run_at=st.none() | st.just(timedelta(minutes=10)),
            priority=st.integers(-1, 1),
            idempotency_key=st.none() | st.sampled_from("ab"),
            max_attempts=st.none() | st.integers(1, 2),
        ),
        commits=commits,
    )
    @precondition(lambda self: len(self.enqueued) < 6)
    def enqueue(self, new: NewRun, commits: bool) -> None:
        if commits:
            self.enqueue_one(new)
        else:
            self.undo(lambda connection: enqueue.enqueue(connection, new))

    def enqueue_one(self, new: NewRun) -> None:
        answer = self.write(lambda connection: enqueue.enqueue(connection, new))
        key = None if new.idempotency_key is None else (new.job_type, new.idempotency_key)
        if key is not None and key in self.keys:
            assert answer == Enqueued(self.keys[key], created=False)
            self.expect()
            return
        assert answer.created
        assert answer.id > max(self.enqueued, default=0)
        self.enqueued.add(answer.id)
        if key is not None:
            self.keys[key] = answer.id
        row = self.expect([answer.id])[answer.id]
        assert (row["status"], row["attempts"]) == (Status.QUEUED, 0)

    # What owners do.

    @rule(request=requests, commits=commits)
    @precondition(lambda self: self.is_any_due())
    def claim(self, request: ClaimRequest, commits: bool) -> None:
        request = request._replace(token=self.new_token())
        if commits:
            self.claim_one(request)
        else:
            self.undo(lambda connection: claims.claim(connection, request))

    def claim_one(self, request: ClaimRequest) -> None:
        owner, token = request.owner, request.token
        types = [policy.job_type for policy in request.policies]
        before, at = self.seen.runs, self.at
        ids = [run.lease.run_id for run in self.write(lambda connection: claims.claim(connection, request)).runs]
        self.held += [Held(owner, Lease(run_id, token)) for run_id in ids]
        for run_id, row in self.expect(ids).items():
            old = before[run_id]
            assert (row["status"], row["lease_token"], row["locked_by"]) == (Status.RUNNING, token, owner.name)
            assert row["attempts"] == old["attempts"] + 1
            assert row["started_at"] is not None
            assert row["max_attempts"] == (old["max_attempts"] or POLICIES[row["job_type"]].max_attempts)
            assert row["cancel_requested_at"] is None, "a cancelled run was handed out"
        taken = [row for row in before.values() if row["host"] == owner.host and row["locked_until"] > at]
        assert (
            ids == self.due(before, types, request.quarantined, at)[: max(0, min(request.limit, PERMITS - len(taken)))]
        )

    def is_any_due(self) -> bool:
        types = list(POLICIES)
        return any(self.due(self.seen.runs, types, quarantined, self.at) for quarantined in (False, True))

    @staticmethod
    def due(rows: Rows, types: Collection[str], quarantined: bool, at: datetime) -> list[int]:
        """What a claim must find, most urgent first."""
        found = [
            row
            for row in rows.values()
            if row["status"] in CLAIMABLE and row["run_at"] <= at and row["job_type"] in types
        ]
        fits = [row for row in found if (row["lease_expiries"] >= 2) == quarantined]
        turns = {row["id"]: row["run_at"] - row["priority"] * timedelta(minutes=1) for row in fits}
        return [row["id"] for row in sorted(fits, key=lambda row: (turns[row["id"]], row["run_at"], row["id"]))]

    @rule(pick=picks, outcome=st.sampled_from([Outcome.FAILED, Outcome.CRASHED, Outcome.RELEASED, Outcome.SNOOZED]))
    @precondition(lambda self: self.claims(live=True))
    def fail(self, pick: int, outcome: Outcome) -> None:
        """Not for good, and to be tried again at once: the way to many attempts."""
        self.finalize_one(pick, AttemptResult(outcome, wait=timedelta(0)), commits=True)

    @rule(pick=picks, ending=endings_of_owners, commits=commits)
    @precondition(lambda self: self.claims(live=True))
    def finalize(self, pick: int, ending: AttemptResult, commits: bool) -> None:
        self.finalize_one(pick, ending, commits=commits)

    def finalize_one(self, pick: int, ending: AttemptResult, *, commits: bool) -> None:
        held = chosen(self.claims(live=True), pick)
        ending_write = partial(end_attempt, owner=held.owner, lease=held.lease, ending=ending)
        if not commits:
            self.undo(ending_write)
            return
        run_id = held.lease.run_id
        old = self.seen.runs[run_id]
        answer = self.write(ending_write)
        row = self.expect([run_id], attempts_of=[run_id])[run_id]
        assert (row["status"], row["attempts"]) == ends_at(old, ending.outcome)
        assert (answer.run_id, answer.decision.status, answer.run_at) == (run_id, row["status"], row["run_at"])
        assert row["status"] != Status.SUCCEEDED or row["result"] == [1]
        if answer.decision.event is Event.DROP:
            assert (row["error_type"], row["last_error"], row["failed_at"]) == ("E", "x\ufffdy z", old["failed_at"])

    @rule(pick=picks, ending=endings_of_owners)
    @precondition(lambda self: self.claims(live=False))
    def finalize_late(self, pick: int, ending: AttemptResult) -> None:
        """A stale owner changes nothing; only the owner that ended the attempt learns that it was applied."""
        held = chosen(self.claims(live=False), pick)
        own = [
            row["error_type"]
            for row in self.seen.attempts.values()
            if (row["run_id"], row["lease_token"]) == (held.lease.run_id, held.lease.token)
        ]
        answer = self.write(lambda connection: end_attempt(connection, held.owner, held.lease, ending))
        self.expect()
        was_applied = own and own != ["lease_expired"]
        assert answer is (Refusal.ALREADY_APPLIED if was_applied else Refusal.LEASE_LOST)

    @rule(pick=picks, live=st.sampled_from([True, True, False]), act=st.sampled_from(["renew", "report", "forget"]))
    @precondition(lambda self: self.held)
    def hold(self, pick: int, live: bool, act: str) -> None:
        held = chosen(self.claims(live=live) or self.held, pick)
        getattr(self, act)(held, self.row(held.lease))

    def renew(self, held: Held, old: Row | None) -> None:
        answer = self.write(lambda connection: holding.renew(connection, [held.lease], LEASE))
        assert answer.renewed == ({} if old is None else {held.lease: old["cancel_requested_at"] is not None})
        assert not answer.locked
        for row in self.expect([] if old is None else [held.lease.run_id]).values():
            assert old is not None
            assert {name for name in row if row[name] != old[name]} <= {"locked_until", "heartbeat_at"}

    def report(self, held: Held, old: Row | None) -> None:
        columns = {"progress": {"done": 1}, "output": "tail"}
        self.write(lambda connection: holding.report(connection, {held.lease: columns}))
        for row in self.expect([] if old is None else [held.lease.run_id]).values():
            assert {name: row[name] for name in columns} == columns

    def forget(self, held: Held, _: Row | None) -> None:
        """The owner crashes: only recovery can end this attempt."""
        self.held.remove(held)

    @rule(pick=picks, whole=st.booleans())
    @precondition(lambda self: self.claims(live=True))
    def return_unstarted(self, pick: int, whole: bool) -> None:
        """The claim as a whole, as if nothing of it had been handed out; or one run of it, that was never begun."""
        lease = chosen(self.claims(live=True), pick).lease
        old = {row["id"]: row for row in self.seen.runs.values() if row["lease_token"] == lease.token}
        if not whole:
            old = {lease.run_id: old[lease.run_id]}
        part = None if whole else [lease.run_id]
        given = self.write(lambda connection: claims.return_unstarted(connection, lease.token, part))
        assert (given.runs, given.locked) == (len(old), frozenset())
        for run_id, row in self.expect(old).items():
            uncharged = old[run_id]["attempts"] - 1
            status = Status.QUEUED if old[run_id]["cancel_requested_at"] is None else Status.CANCELLED
            assert (row["status"], row["attempts"], row["run_at"]) == (status, uncharged, old[run_id]["run_at"])

    # What time does.

    @precondition(lambda self: self.claims(live=True) or not self.is_any_due())
    @rule(seconds=st.sampled_from([31, 61, 61, 20 * 60, -30 * 60]), limit=st.sampled_from([1, 100, 100]))
    def pass_time(self, seconds: int, limit: int) -> None:
        self.set_clock(self.database.offset + timedelta(seconds=seconds))
        at = self.at
        held = [row for row in self.seen.runs.values() if row["status"] == Status.RUNNING]
        expired = [row for row in held if not at < row["locked_until"] <= at + timedelta(minutes=10)]
        # Of each host the oldest, one host after the other; the answer comes in the order of ids.
        expired = sorted(expired, key=lambda row: (row["host"], row["id"]))[:limit]
        expired.sort(key=lambda row: int(row["id"]))
        answer = self.write(lambda connection: expiries.recover(connection, limit))
        assert [each.run_id for each in answer] == [row["id"] for row in expired]
        ids = [row["id"] for row in expired]
        rows = self.expect(ids, attempts_of=ids)
        for old in expired:
            row = rows[old["id"]]
            assert (row["status"], row["attempts"]) == ends_at(old, Outcome.LEASE_EXPIRED)
            if row["status"] != Status.CANCELLED:
                assert (row["error_type"], row["lease_expiries"]) == ("lease_expired", old["lease_expiries"] + 1)

    def teardown(self) -> None:
        """Whatever happened: what is not finished can still be recovered, claimed and ended."""
        try:
            for _ in range(2):  # the second day is for what the first day's recovery made wait
                self.set_clock(self.database.offset + timedelta(days=1))
                self.write(lambda connection: expiries.recover(connection, 1000))
            for quarantined in (False, True):
                self.end_all(quarantined)
            left = self.look().runs
            assert {row["job_type"] for row in left.values() if row["status"] not in FINISHED} <= {"strange"}
            assert set(left) == self.enqueued
        finally:
            self.observer.close()

    def end_all(self, quarantined: bool) -> None:
        owner, policies = OWNERS[0], list(POLICIES.values())
        request = ClaimRequest(owner, self.new_token(), policies, 1000, 1000, LEASE, quarantined=quarantined)
        for run in self.write(lambda connection: claims.claim(connection, request)).runs:
            self.write(partial(end_attempt, owner=owner, lease=run.lease, ending=AttemptResult(Outcome.SUCCEEDED)))
