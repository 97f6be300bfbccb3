"""Virtual handlers: what a run does is written in its payload, call by call.

A behaviour is ``[seconds, end]`` or ``[seconds, end, more]``; after the last one that is listed, the last one
again. What they do in the database they do with the real code: guarded effects, and the run's own transaction.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from jobrunner.children.messages import Report, StartRun
from jobrunner.effects.database import ChildDatabase
from jobrunner.effects.once import Call, EffectRun, Once, execute
from jobrunner.errors import DatabaseUnavailable, JobrunnerError
from jobrunner.jobs.effect import EffectInProgress, UncertainEffect
from jobrunner.jobs.outcomes import HandlerStopped
from jobrunner.model import Lease
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.steps import follow
from jobrunner.store.queue import finalize, holding

if TYPE_CHECKING:
    from simulator.children import VirtualChild
    from simulator.world import World

_OUTCOMES = {"ok": "succeeded", "fail": "failed", "discard": "discarded", "snooze": "snoozed"}
_SNOOZE_SECONDS = 3.0


class Handlers:
    """All virtual handlers of a history."""

    def __init__(self, world: World) -> None:
        self._world = world

    def run(self, child: VirtualChild, start: StartRun) -> Report:
        """Work on a run."""
        listed = start.payload["does"]
        ledger = self._world.ledger
        work = ledger.begins(child, start)
        self._world.begun(child)
        # Not by the number of the attempt, which a snooze does not raise.
        seconds, end, *more = listed[min(ledger.begun[start.run_id], len(listed)) - 1]
        kept = ledger.keeps(work) if seconds else None
        if kept is not None:
            child.keep(start, kept)
        try:
            report = self._work(child, start, seconds, end, more[0] if more else None)
            if kept == 1:
                # Again, so that it is to be written with the end. Not by later attempts, which would hide it if an
                # older one has overtaken them.
                child.keep(start, kept)
            ledger.reports(start, report)
            return report
        finally:
            if not child.process.is_dead:
                ledger.ends(work)

    def _work(self, child: VirtualChild, start: StartRun, seconds: float, end: str, more: str | None) -> Report:
        stopped = Report(start.run_id, "stopped", error_type="stopped", error="asked to stop")
        try:
            if child.wait(seconds, end == "stubborn"):
                return stopped
            if end == "crash":
                child.end(1)
            if more == "effect":
                self._effect(child, start)
            elif more == "own":
                self._own_transaction(child, start)
        except HandlerStopped:
            return stopped
        except (JobrunnerError, EffectInProgress, UncertainEffect) as error:
            return Report(start.run_id, "failed", error_type=type(error).__name__, error=str(error)[:100])
        wait = _SNOOZE_SECONDS if end == "snooze" else None
        outcome = _OUTCOMES.get(end, "succeeded")
        if outcome == "succeeded":
            return Report(start.run_id, outcome)
        return Report(start.run_id, outcome, wait_seconds=wait, error_type=end, error="as its payload says")

    def _access(self, child: VirtualChild) -> ChildDatabase:
        plan = child.plan
        return ChildDatabase(plan.database_url or "", plan.lease_seconds, plan.schema, plan.state_folder)

    def _effect(self, child: VirtualChild, start: StartRun) -> None:
        """Call another system once for the key of the run."""
        access = self._access(child)
        key = f"effect of {start.run_id}"
        run = EffectRun(Lease(start.run_id, start.token), start.job_type, start.attempt, 1000)

        def send() -> str:
            self._world.scheduler.point(f"calls for {key}")
            self._world.ledger.called(key)
            self._world.scheduler.point(f"has called for {key}")
            return "done"

        try:
            # Left uncertain, it stays so: the run then succeeds without another call.
            execute(Once(access, run).steps(Call(key, "skip"), send), nullcontext)
        finally:
            access.close()

    def _own_transaction(self, child: VirtualChild, start: StartRun) -> None:
        """End the run in a transaction that also writes a row of the application."""
        access, lease = self._access(child), Lease(start.run_id, start.token)

        def work(connection: Connection) -> bool:
            row = f"INSERT INTO simulated_work (run_id, token) VALUES ({start.run_id}, '{start.token}')"
            connection.execute(row)
            if not follow(connection, finalize.succeed_steps(connection.database, lease, None)):
                raise HandlerStopped("its lease was lost")
            return True

        self._world.ledger.own.add(lease)
        try:
            access.write(work)
        except DatabaseUnavailable:
            # As in the real code, only the row of the attempt says whether the COMMIT was applied.
            if lease not in access.confirm(lambda each: holding.ended_attempts(each, [lease])):
                raise
        finally:
            access.close()
