"""Attending: the runs that this tick has in hand, from the claim to the finalizer: dealt out, heard, stopped, ended."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from jobrunner import clock
from jobrunner.children.begun_page import BegunPage
from jobrunner.children.frames import NOT_BEGUN
from jobrunner.children.process import Process
from jobrunner.children.protocol import Progress, Report
from jobrunner.children.supervisor import Said
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.log import Log
from jobrunner.model import ClaimedRun, Lease
from jobrunner.settings.config import Config
from jobrunner.store.database import Database
from jobrunner.worker.attempt import Attempt, Why
from jobrunner.worker.claimer import Claimed, Claimer
from jobrunner.worker.finalizer import MOST_UNWRITTEN, Finalizer
from jobrunner.worker.heartbeat import FENCE_SHARE, Heartbeat, News
from jobrunner.worker.pools.pools import Staff
from jobrunner.worker.run_log import log_claimed
from jobrunner.worker.stop_signals import StopRequest

_UNREADABLE = AttemptResult(
    Outcome.FAILED,
    error_type="unreadable",
    error="its payload could not be read in a quarter of the lease, or not at all; see the log of the tick",
)
_UNTOLD_SECONDS = 0.3
"""Who tells all processes of a service to stop has told the tick, too, within so long."""


class Attendant:
    """``attempts`` are those at work, by the id of their run. Main thread only."""

    def __init__(
        self,
        config: Config,
        database: Database,
        staff: Staff,
        claimer: Claimer,
        heartbeat: Heartbeat,
        finalizer: Finalizer,
        log: Log,
        counts: Counter[str],
        stop: StopRequest,
        page: BegunPage,
    ) -> None:
        self.attempts: dict[int, Attempt] = {}
        self._config = config
        self._database = database
        self._staff = staff
        self._claimer = claimer
        self._heartbeat = heartbeat
        self._finalizer = finalizer
        self._log = log
        self._counts = counts
        self._told = stop
        self._page = page
        # Attempts that may have ended because their service is being stopped; and until when that may show.
        self._in_doubt: list[tuple[Attempt, AttemptResult, float]] = []
        # How many of the host's places this tick may use, as the last claim has found.
        self._places = 0

    # Beginning.

    def take(self, claimed: Claimed) -> None:
        """Runs were claimed: give them to their crews."""
        self._places = self._staff.busy() + claimed.places
        begin_before = claimed.sent_at + FENCE_SHARE * self._config.lease.total_seconds()
        for run in claimed.runs:
            self._counts["claimed"] += 1
            if clock.elapsed() > begin_before:
                # This host has stood still since: by now the run may be somebody else's.
                self._give_back([run])
                continue
            begun = self._staff.crew_of(run.job_type).begin(run, begin_before)
            if isinstance(begun, Attempt):
                self._watch(begun)
            elif begun is not None:
                self._end_unbegun(run, begun)
        for run in claimed.unreadable:
            self._counts["claimed"] += 1
            self._end_unbegun(run, _UNREADABLE)
        self.deal()

    def _end_unbegun(self, run: ClaimedRun, ending: AttemptResult) -> None:
        log_claimed(self._log, run)
        self._heartbeat.is_over(run.lease)
        self._page.forget(run.lease)
        self._finalizer.add(run, ending)

    def deal(self, *, take_back: bool = False) -> None:
        """Give out the runs that wait; what finds no place soon goes back, or with ``take_back`` whatever waits."""
        is_closed = take_back or self._finalizer.is_behind()
        ahead = 0 if is_closed else MOST_UNWRITTEN - self._finalizer.unwritten()
        for crew in self._staff:
            for attempt in crew.deal(0 if is_closed else self._places - self._staff.busy(), ahead):
                self._watch(attempt)
            self._give_back(crew.unwanted(all_of_them=take_back))

    def _watch(self, attempt: Attempt) -> None:
        log_claimed(self._log, attempt.run)
        self._heartbeat.begin(attempt.run.lease, attempt.process.kill)
        self.attempts[attempt.run.lease.run_id] = attempt
        self._database.hit("attempt.handed_over")

    def _give_back(self, runs: list[ClaimedRun]) -> None:
        self._claimer.unwant(runs)
        self._counts["claimed"] -= len(runs)

    # Watching.

    def advance(self) -> None:
        """Do what is due by now: stop who is out of time, go on with stopping, have new output written."""
        for attempt in list(self.attempts.values()):
            if attempt.stopping is None and attempt.is_overdue():
                self.stop(attempt, Why.TIMEOUT)
            attempt.advance()
            if attempt.has_new_output():
                self._heartbeat.report(attempt.run.lease, output=attempt.tail.text())

    def next_steps(self) -> list[float]:
        """When ``advance`` and ``deal`` have something to do."""
        steps = [attempt.next_step_at() for attempt in self.attempts.values()]
        steps += [crew.next_step_at() for crew in self._staff]
        steps += [until for _, _, until in self._in_doubt]
        return [step for step in steps if step is not None]

    def hear_news(self) -> None:
        """Act on what the heartbeat has heard of the leases."""
        while not self._heartbeat.news.empty():
            news, lease = self._heartbeat.news.get()
            attempt = self.attempts.get(lease.run_id) or self._withdrawn(lease)
            if attempt is None or attempt.run.lease != lease:
                continue
            if news is News.CANCEL_REQUESTED:
                self.stop(attempt, Why.CANCEL)
            elif news is News.UNRENEWED:
                left = self._config.lease * (1 - FENCE_SHARE) / 2
                self.stop(attempt, Why.UNRENEWED, within=min(left, attempt.policy.kill_after))
            elif self.stop(attempt, Why.LEASE_LOST, within=timedelta(0)):
                self._say("lease lost", attempt, result="nothing written")

    def stop_all(self, why: Why) -> None:
        """Begin to stop whoever is at work."""
        for attempt in list(self.attempts.values()):
            self.stop(attempt, why)

    def stop(self, attempt: Attempt, why: Why, within: timedelta | None = None) -> bool:
        """Begin to stop a handler, and nobody else: its child has nothing to go on with. False: there is no need."""
        if attempt.stopping is None:
            self._withdraw(attempt.run.lease.run_id)
        is_at_work = self.attempts.get(attempt.run.lease.run_id) is attempt
        return is_at_work and attempt.stop(why, within)

    def _withdrawn(self, lease: Lease) -> Attempt | None:
        """Somebody wants a run that was not at work: it is at work by now, or goes back."""
        self._withdraw(lease.run_id)
        self._give_back(self._staff.handlers.unwanted(only=lease.run_id))
        return self.attempts.get(lease.run_id)

    def _withdraw(self, run_id: int) -> None:
        for crew in self._staff:
            for said in crew.withdraw(run_id):
                self.hear(said)

    # AttemptResult.

    def hear(self, said: Said) -> None:
        """A child has said something about a run."""
        message = said.message
        attempt = self.attempts.get(message.run_id)
        if attempt is None or attempt.process is not said.child:
            return
        if isinstance(message, Progress):
            self._heartbeat.report(attempt.run.lease, progress=message.progress)
        elif isinstance(message, Report):
            del self.attempts[attempt.run.lease.run_id]
            self._take_report(attempt, message)
        else:
            attempt.hear(message)

    def bury(self, process: Process) -> None:
        """A process has ended without a report, as commands do and children should not."""
        attempts = [each for each in self.attempts.values() if each.process is process]
        crew = self._staff.crew_of(attempts[0].run.job_type) if attempts else None
        for attempt in attempts:
            del self.attempts[attempt.run.lease.run_id]
        self._staff.look_soon()
        for attempt, ending in crew.bury(attempts) if crew else ():
            self._end(attempt, ending)
        process.close()

    def _take_report(self, attempt: Attempt, report: Report) -> None:
        if report.outcome == NOT_BEGUN:
            self._give_back([attempt.run])
        else:
            self._end(attempt, attempt.reported(report))
        crew = self._staff.crew_of(attempt.run.job_type)
        if next_one := crew.is_over(attempt, report):
            self._watch(next_one)

    def is_settled(self) -> bool:
        """Whether it is known what each end means."""
        return not self._in_doubt

    def begun(self) -> list[Lease]:
        """Those of the runs whose handlers are at work, or have ended without anybody knowing yet what that means."""
        return [attempt.run.lease for attempt in (*self.attempts.values(), *(doubt[0] for doubt in self._in_doubt))]

    def settle(self) -> None:
        """Decide what was in doubt, as far as that is known by now."""
        in_doubt, self._in_doubt = self._in_doubt, []
        for attempt, ending, until in in_doubt:
            if self._told.at is not None:
                self._conclude(attempt, attempt.stopped_with_its_tick(ending))
            elif clock.elapsed() >= until:
                self._conclude(attempt, ending)
            else:
                self._in_doubt.append((attempt, ending, until))

    def _end(self, attempt: Attempt, ending: AttemptResult) -> None:
        self._database.hit("attempt.ended")
        self._heartbeat.is_over(attempt.run.lease)
        self._page.forget(attempt.run.lease)
        self._staff.look_soon()
        if attempt.was_told:
            # A service manager tells all processes of a service: whether it does, the tick may hear a moment later.
            self._in_doubt.append((attempt, ending, clock.elapsed() + _UNTOLD_SECONDS))
            self.settle()
        else:
            self._conclude(attempt, ending)

    def _conclude(self, attempt: Attempt, ending: AttemptResult) -> None:
        lease = attempt.run.lease
        if attempt.stopping is Why.LEASE_LOST:
            self._heartbeat.let_go(lease)
            self._counts["lost"] += 1
            return
        if attempt.stopping in (Why.SHUTDOWN, Why.UNRENEWED):
            self._say("stopped", attempt, result=ending.outcome.value, error=ending.error)
        self._finalizer.add(attempt.run, ending)

    def _say(self, event: str, attempt: Attempt, **fields: object) -> None:
        run = attempt.run
        self._log.warning(event, run_id=run.lease.run_id, job_type=run.job_type, attempt=run.attempt, **fields)
