"""A history by the real code in which every promise holds: what applications, ticks and people do to runs."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import uuid4

from harness.database import Database
from harness.tallying import count_all
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import Actor, Lease, Limits, Owner, Policy
from jobrunner.store.changes import one_run, settlement
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.steps import follow
from jobrunner.store.queue import claims, dependants, effects, enqueue, expiries, finalize, pauses
from jobrunner.store.queue.claims import ClaimRequest
from jobrunner.store.queue.enqueue_sql import NewRun
from jobrunner.store.queue.pauses import Kind

OWNER, PERSON = Owner("here", "here:1:a"), Actor("ada@here", "because")
SUCCEEDED, FAILED = AttemptResult(Outcome.SUCCEEDED), AttemptResult(Outcome.FAILED, wait=timedelta(0))
LIMITS = {"limited": Limits(max_running=1)}
HOUR, _MINUTE = timedelta(hours=1), timedelta(minutes=1)


class Scene:
    """What applications, ticks and people do to runs, by the real functions, on a test's database."""

    def __init__(self, database: Database, store: Store) -> None:
        self.database, self.store = database, store
        self.tick(self.database.now() - 3 * HOUR)

    def tick(self, at: Any) -> None:
        """The row of a tick that has done all its work."""
        self.database.execute(
            "INSERT INTO job_ticks (host, worker, version, started_at, finished_at, ended_by)"
            " VALUES ('here', 'w', '0.2.0', ?, ?, 'empty')",
            [at, at],
        )

    def enqueue(self, job_type: str = "plain", **options: Any) -> int:
        new = NewRun(job_type, "{}", **options)
        return self.store.write(lambda connection: enqueue.enqueue(connection, new)).id or 0

    def claim(self, run_id: int, job_type: str = "plain") -> Lease:
        """The lease of this run; the others of its type are claimed and returned."""
        policy = Policy(job_type, limits=LIMITS.get(job_type))
        request = ClaimRequest(OWNER, uuid4().hex, [policy], 100, 1000, 5 * _MINUTE)
        found = [run.lease for run in self.store.write(partial(claims.claim, request=request)).runs]
        others = [lease.run_id for lease in found if lease.run_id != run_id]
        self.store.write(partial(claims.return_unstarted, token=request.token, run_ids=others))
        return next(lease for lease in found if lease.run_id == run_id)

    def end(self, lease: Lease, result: AttemptResult = SUCCEEDED) -> None:
        self.store.write(partial(finalize.finalize_all, owner=OWNER, ends=[(lease, result)]))

    def run(self, *ends: AttemptResult, job_type: str = "plain", **options: Any) -> int:
        """A run with these attempts."""
        run_id = self.enqueue(job_type, **options)
        for result in ends:
            self.end(self.claim(run_id, job_type), result)
        return run_id

    def change(self, change: Callable[..., Any], run_id: int) -> None:
        """What a person does to a run."""
        assert self.store.write(partial(change, run_id=run_id, actor=PERSON)).applied

    def effect(self, key: str) -> int:
        """The run of an effect that was applied, perhaps: nobody knows."""
        lease = self.claim(self.enqueue())
        assert self.store.write(partial(effects.intend, lease=lease, key=key, call="c"))
        self.end(lease, FAILED)
        return lease.run_id

    def child(self) -> int:
        """A run that waits for another one."""
        parent = self.enqueue("parent")

        def work(connection: Connection) -> int:
            child = enqueue.enqueue(connection, NewRun("child", "{}")).id or 0
            follow(connection, dependants.attach_steps(connection.database, child, [parent], "run"))
            return child

        return self.store.write(work)

    def pause(self, kind: Kind, name: str) -> None:
        """A person pauses a type, a host or everything."""
        assert self.store.write(partial(pauses.pause, kind=kind, name=name, actor=PERSON)) is None

    def set(self, table: str, where: str, **values: object) -> None:
        """Write into a row by hand."""
        given = ", ".join(f"{name} = ?" for name in values)
        assert self.database.execute(f"UPDATE job_{table} SET {given} WHERE {where}", values.values())


def make_history(scene: Scene) -> None:
    """Whatever a run may go through, and what people do."""
    scene.run(SUCCEEDED, idempotency_key="once")
    scene.run(FAILED, FAILED, SUCCEEDED)
    for outcome in Outcome:
        scene.run(AttemptResult(outcome, wait=timedelta(0)))
    dead = scene.run(FAILED, max_attempts=1)
    scene.change(one_run.retry, dead)
    scene.end(scene.claim(dead))
    scene.change(partial(one_run.retry, force=True), dead)
    for change in (one_run.cancel, one_run.discard):
        scene.change(change, scene.enqueue())
    retried = scene.enqueue()
    scene.change(one_run.cancel, retried)
    scene.change(one_run.retry, retried)
    lost = scene.claim(scene.enqueue())
    scene.set("runs", f"id = {lost.run_id}", locked_until=scene.database.now() - HOUR)
    scene.store.write(partial(expiries.recover, limit=10))
    scene.effect("known")
    scene.store.write(partial(settlement.settle, key="known", actor=PERSON, applied=True))
    scene.child()
    for kind in ("type", "host"):
        scene.pause(kind, "nobody's")
    scene.claim(scene.enqueue())
    count_all(scene.database, scene.store)
