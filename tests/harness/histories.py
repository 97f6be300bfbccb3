"""Histories of limits and gates: two versions of the code, locks, crashes, pauses, people; and what a tick does.

A history is made step by step by the real functions of a tick on a test's database, without its processes.
"""

import json
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import uuid4

from harness.database import Database
from harness.handlers_rows import queue
from harness.limits import end
from harness.tick_parts import context_of
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import Actor, Lease, Limits, Owner, Policy, TickKind
from jobrunner.rates import parse_rate
from jobrunner.store.changes import one_run
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.steps import follow
from jobrunner.store.questions.explain.explanation import Explanation
from jobrunner.store.questions.explain.runs import explain_run
from jobrunner.store.queue import claims, dependants, enqueue, expiries
from jobrunner.store.queue.claims import ClaimRequest
from jobrunner.store.queue.enqueue_sql import NewRun
from jobrunner.store.queue.ticks import hosts, ticks
from jobrunner.store.queue.ticks.hosts import HostReport
from jobrunner.worker import housekeeping
from jobrunner.worker.backpressure import declare_limits
from jobrunner.worker.context import TickContext

TYPES = ("one", "two")
_HOURLY, _QUICK = parse_rate("rate", "1/h", 2), parse_rate("rate", "900/s", 5)
LIMITS: Mapping[str, Limits | None] = {
    "none": None,
    "one at a time": Limits(max_running=1),
    "three": Limits(max_running=3),
    "hourly": Limits(rate=_HOURLY),
    "quick": Limits(rate=_QUICK),
    "customer": Limits(concurrency_key=("customer",), max_running_per_key=1),
    "region": Limits(concurrency_key=("region",), max_running_per_key=2),
    "both": Limits(max_running=2, concurrency_key=("customer", "region"), max_running_per_key=1),
    "hourly of each": Limits(concurrency_key=("customer",), rate_per_key=_HOURLY),
    "quick of each": Limits(concurrency_key=("customer",), rate_per_key=_QUICK),
}
GATES = ("x", "all", "after", "customer [1]", "region [0]", "customer,region [1, 0]", '["a"]')
CHANGES = ("DELETE FROM job_gates", "UPDATE job_gates SET turn_at = NULL", "DELETE FROM job_limits")
_TABLES = (
    "job_runs",
    "job_limits",
    "job_gates",
    "job_parents",
    "job_pauses",
    "job_ticks",
    "job_attempts",
    "job_events",
)
_STEPS = ("deadlines", "dependants", "strays")
_LEASE, _PATIENCE_SECONDS = timedelta(minutes=9), 5.0


class _Crash(Exception):
    """The process of a tick has ended in the middle of a transaction."""


@dataclass
class World:
    """A database, and two hosts with code of their own: the names of ``LIMITS`` that each of their types has."""

    database: Database
    store: Store
    locker: Any
    code: dict[str, dict[str, str]] = field(default_factory=dict)
    held: dict[str, list[Lease]] = field(default_factory=dict)
    did: list[str] = field(default_factory=list)

    def begin(self, code: Sequence[str]) -> None:
        """Forget the history before. ``code``: the limits of each type on each host."""
        for table in _TABLES:
            self.database.execute(f"DELETE FROM {table}")
        names = iter(code)
        self.code = {host: {name: next(names) for name in TYPES} for host in ("old", "new")}
        self.held = {"old": [], "new": []}
        self.did = [str(self.code)]

    def do(self, step: Sequence[Any]) -> None:
        """One step of the history: its name, and what it is about."""
        name, *about = step
        self.did.append(f"{name} {about}")
        if name not in ("enqueue", "enqueue_some", "claim", "claim_declared", "declare", "lock"):
            # A person who writes by hand waits for a lock; these pass over locked rows.
            self.unlock()
        getattr(self, f"_{name}")(*about)

    def policies(self, host: str) -> list[Policy]:
        """The code of a host."""
        return [Policy(name, limits=LIMITS[self.code[host][name]], max_attempts=9) for name in TYPES]

    # The steps.

    def _enqueue(self, job_type: str, customer: int, region: int, priority: int, minutes: int, after: bool) -> None:
        payload = {"customer": customer, "region": region}
        if not after:
            run_at = self.database.now() + timedelta(minutes=minutes, seconds=-1)
            key = f"k{customer}" if minutes == -1 else None
            queue(self.database, job_type, payload, priority=priority, run_at=run_at, concurrency_key=key)
            return
        unfinished = "SELECT id FROM job_runs WHERE finished_at IS NULL ORDER BY id LIMIT 1"
        found = self.database.query(unfinished)
        self.unlock()

        def work(connection: Connection) -> None:
            made = enqueue.enqueue(connection, NewRun(job_type, json.dumps(payload), priority=priority))
            if made.id is not None and found:
                follow(connection, dependants.attach_steps(connection.database, made.id, [found[0]["id"]], "run"))

        self.store.write(work)

    def _enqueue_some(self, job_type: str, count: int) -> None:
        for number in range(count):
            queue(self.database, job_type, {"customer": number % 2, "region": number // 2})

    def _claim_declared(self, host: str, limit: int) -> None:
        self._declare(host)
        self._claim(host, limit, "")

    def _deploy(self, host: str, job_type: str, limits: str) -> None:
        self.code[host][job_type] = limits

    def _declare(self, host: str) -> None:
        declare_limits(self.context(host), self.policies(host))

    def _claim(self, host: str, limit: int, crash: str) -> None:
        owner = Owner(host, f"{host}:1:a")
        request = ClaimRequest(owner, uuid4().hex, self.policies(host), limit, 1000, _LEASE)

        def work(connection: Connection) -> list[Lease]:
            runs = claims.claim(connection, request).runs
            if crash == "before":
                raise _Crash
            return [run.lease for run in runs]

        with suppress(_Crash):
            leases = self.store.write(work)
            if crash == "after":
                # Another tick finds the leases expired, or this one returns what it has not begun.
                self.store.write(partial(claims.return_unstarted, token=request.token))
            else:
                self.held[host] += leases

    def _end(self, host: str, outcome: str) -> None:
        leases, self.held[host] = self.held[host], []
        end(self.store, leases, AttemptResult(Outcome(outcome), wait=timedelta(0)))

    def _expire(self, host: str) -> None:
        past = self.database.now() - timedelta(hours=1)
        self.database.execute(
            "UPDATE job_runs SET locked_until = ? WHERE host = ? AND status = 'running'", [past, host]
        )
        self.held[host] = []
        self.store.write(partial(expiries.recover, limit=100))

    def _pause(self, job_type: str) -> None:
        self._resume(job_type)
        at = self.database.now()
        statement = "INSERT INTO job_pauses (kind, name, actor, paused_at) VALUES ('type', ?, 'me', ?)"
        self.database.execute(statement, [job_type, at])

    def _resume(self, job_type: str) -> None:
        self.database.execute("DELETE FROM job_pauses WHERE name = ?", [job_type])

    def _lock(self, remainder: int) -> None:
        self.unlock()
        if self.locker is not None:
            self.locker.execute(
                "SELECT FROM job_runs WHERE id %% 2 = %s AND status IN ('queued', 'failed') FOR UPDATE", [remainder]
            )

    def _by_hand(self, gate: str, remainder: int) -> None:
        waiting = "UPDATE job_runs SET gate = ? WHERE status IN ('queued', 'failed') AND id % 2 = ?"
        self.database.execute(waiting, [gate, remainder])

    def _damage(self, statement: str) -> None:
        self.database.execute(statement)

    def _priority(self, priority: int) -> None:
        for row in self.database.query("SELECT id FROM job_runs WHERE status IN ('queued', 'failed') LIMIT 2"):
            change = partial(one_run.set_priority, run_id=row["id"], actor=Actor("me"), priority=priority)
            self.store.write(change)

    def _tick(self, host: str) -> None:
        self.tick(host, ends=False)

    # A tick.

    def unlock(self) -> None:
        """The other session ends its transaction."""
        if self.locker is not None:
            self.locker.rollback()

    def context(self, host: str) -> TickContext:
        """That of a tick on this host."""
        context = context_of(self.database, self.store, _LEASE)
        context.owner = Owner(host, f"{host}:1:a")
        return context

    def tick(self, host: str, *, ends: bool = True) -> set[int]:
        """The parts of a tick that change rows, if it has anything to do. Returns what it claimed.

        ``ends``: its runs end well.
        """
        self.note_tick(host)
        if not self.store.read(partial(ticks.is_anything_due, host=host)):
            return set()
        context = self.context(host)
        for name in _STEPS:
            housekeeping._STEPS[name](context)
        self.store.write(partial(expiries.recover, limit=100))
        declare_limits(context, self.policies(host))
        claimed: set[int] = set()
        while True:
            request = ClaimRequest(context.owner, uuid4().hex, self.policies(host), 100, 1000, _LEASE)
            answer = self.store.write(partial(claims.claim, request=request))
            claimed |= {run.lease.run_id for run in answer.runs}
            leases = [run.lease for run in answer.runs]
            if ends:
                end(self.store, leases)
            else:
                self.held[host] += leases
            if answer.opens_in is not None and answer.opens_in < _PATIENCE_SECONDS:
                # As a tick does whose budget lasts that long.
                threading.Event().wait(answer.opens_in)
            elif not answer.runs and not answer.may_be_more:
                return claimed

    def note_tick(self, host: str) -> None:
        """The row that it leaves, and what its host can run."""
        at = self.database.now()
        self.database.execute(
            "INSERT INTO job_ticks (host, worker, version, application, types, started_at, finished_at)"
            " VALUES (?, 'w', '1', '', '', ?, ?)",
            [host, at, at],
        )
        report = HostReport(TickKind(host, "", ""), tuple(self.policies(host)), {"concurrency": 1000}, "here", host)
        self.store.write(partial(hosts.write, report=report))

    # Afterwards.

    def left(self) -> list[Explanation]:
        """Why each run that is due waits."""
        due = "SELECT id FROM job_runs WHERE status IN ('queued', 'failed') AND run_at <= ?"
        found = [
            self.store.read(partial(explain_run, run_id=row["id"]))
            for row in self.database.query(due, [self.database.now()])
        ]
        return [each for each in found if each is not None]

    def is_confirmed(self, said: Explanation) -> bool:
        """Whether the rows that the claim looks at say the same as the reason."""
        confirm = _CONFIRMED.get(said.reason)
        if confirm is None:
            return False
        at = [self.database.now()] * confirm.count("?")
        return bool(self.database.value(confirm.format(id=said.facts["id"]), at))


_OF_TYPE = "FROM job_limits l JOIN job_runs r ON r.job_type = l.job_type WHERE r.id = {id}"
_AT_WORK = "SELECT count(*) FROM job_runs o WHERE o.job_type = r.job_type AND o.status = 'running' AND o.gate <> ''"
_CONFIRMED: Mapping[str, str] = {
    "paused": "SELECT count(*) AS n FROM job_pauses p JOIN job_runs r ON r.job_type = p.name WHERE r.id = {id}",
    "parents": (
        "SELECT count(*) AS n FROM job_parents p JOIN job_runs r ON r.id = p.parent_id"
        " WHERE p.run_id = {id} AND r.finished_at IS NULL"
    ),
    "key": (
        "SELECT count(*) AS n FROM job_runs o JOIN job_runs r ON r.concurrency_key = o.concurrency_key AND r.id <> o.id"
        " WHERE r.id = {id} AND o.finished_at IS NULL"
    ),
    "limit": f"SELECT count(*) AS n {_OF_TYPE} AND l.max_running <= ({_AT_WORK})",
    "key_limit": f"SELECT count(*) AS n {_OF_TYPE} AND l.max_running_per_key <= ({_AT_WORK} AND o.gate = r.gate)",
    "rate": f"SELECT count(*) AS n {_OF_TYPE} AND l.rate = '1/h' AND l.spent_until > ?",
    "key_rate": (
        f"SELECT count(*) AS n {_OF_TYPE} AND l.rate_per_key = '1/h'"
        " AND EXISTS (SELECT 1 FROM job_gates g WHERE g.job_type = r.job_type AND g.gate = r.gate"
        " AND g.spent_until > ?)"
    ),
}
