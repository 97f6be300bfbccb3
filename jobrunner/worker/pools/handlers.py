"""The crew of plain handlers: children that run one at a time, each with a short line of runs that wait for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter

from jobrunner import clock
from jobrunner.children.frames import NOT_BEGUN, Frame
from jobrunner.children.protocol import Report
from jobrunner.children.python_child import ChildProcess
from jobrunner.children.supervisor import Said, StartFailed, Supervisor
from jobrunner.lifecycle import AttemptResult
from jobrunner.log import Log
from jobrunner.model import Capacity, ClaimedRun, Policy
from jobrunner.settings.config import Config
from jobrunner.worker.attempt import Attempt, run_frame
from jobrunner.worker.pools.pool import Crew
from jobrunner.worker.pools.prefetch import Given, Line
from jobrunner.worker.pools.throughput import AHEAD_SECONDS, Pace

_MOST_FAILED_STARTS = 2
_SLOW_FACTOR = 4
_UNACCOUNTED_SECONDS = 2.0
_LONGEST_WAIT_SECONDS = 0.25
_WORTH_MOVING_SECONDS = 0.02
_LONGEST_GATHERING_SECONDS = 0.04
_MOST_AT_A_TIME = 512
"""Runs in one claim: what a claim costs, whatever it finds, is as much as a hundred runs."""


_seconds = attrgetter("seconds")


class HandlerCrew(Crew):
    """As many children as the host has places. How far ahead they are given runs follows the measured pace."""

    def __init__(self, config: Config, supervisor: Supervisor, log: Log) -> None:
        super().__init__()
        self.failed_starts: list[str] = []
        self.has_learned = False
        self._config = config
        self._supervisor = supervisor
        self._log = log
        self._most_children = config.concurrency if config.imports else 0
        self._pace = Pace(strict=config.strict)
        self._lines: dict[ChildProcess, Line] = {}
        self._waiting: list[Given] = []
        self._dealt_at = 0.0

    # Children.

    def is_usable(self) -> bool:
        # One whose greeting has told of nothing to serve has nothing to wait for.
        return self.has_children() and not (self.has_learned and not self.policies)

    def has_children(self) -> bool:
        """Whether there is a child, or will be: one that is being killed counts, a fresh one takes its place."""
        return self._supervisor.children > 0

    def is_settled(self) -> bool:
        return not self._config.imports or bool(self._supervisor.idle or self.failed_starts)

    def growth(self) -> int:
        if self.has_failed() or (self._supervisor.starting and not self._supervisor.idle):
            return 0
        return max(0, self._most_children - self._supervisor.children)

    def grow(self, count: int) -> None:
        wanted = min(count, self._most_children - self._supervisor.children)
        while wanted > 0 and not self.has_failed():
            try:
                self._supervisor.spawn()
                wanted -= 1
            except OSError as error:
                # Out of processes, memory or descriptors: those that there are go on. With none it is tried once
                # more, and then told: a tick that silently does nothing would be taken for a healthy one.
                self.take_failure(StartFailed(f"starting a child failed: {error.strerror}"))
                if self._supervisor.children:
                    return

    def has_failed(self) -> bool:
        """Whether it was given up: no more children are started in this tick."""
        return len(self.failed_starts) >= _MOST_FAILED_STARTS

    def take_failure(self, failure: StartFailed) -> None:
        """A child never became ready."""
        self.failed_starts.append(failure.reason)
        self._log.error("child", result="not started", error=failure.reason)

    def allow_one_more(self) -> None:
        """Another crew keeps a child for itself."""
        self._most_children += 1

    def learn(self, policies: Sequence[Policy]) -> None:
        """The first greeting has told what there is."""
        self.has_learned = True
        super().learn(policies)

    # Taking runs.

    def busy(self) -> int:
        return len(self._lines)

    def room(self) -> Capacity:
        if self._waiting or not self.policies:
            return Capacity(0)
        length, idle = self._pace.line_length(), len(self._supervisor.idle)
        open_lines = self._open_lines()
        ahead = sum(max(0, length - 1 - len(line.waiting)) for line in open_lines)
        if not idle and 2 * ahead < (length - 1) * len(open_lines):
            # Nobody is hungry yet: rather one large claim in a moment than many small ones.
            ahead = 0
        # The rest in a moment: what waits is charged, and others could do it.
        return Capacity(idle, min(length, 1 + _MOST_AT_A_TIME // max(1, idle)), min(ahead, _MOST_AT_A_TIME))

    def most(self) -> Mapping[str, int]:
        children = len(self._open_lines()) + len(self._supervisor.idle)
        return {job_type: children * self._pace.most(job_type) for job_type in self.policies}

    def begin(self, run: ClaimedRun, begin_before: float) -> Attempt | AttemptResult | None:
        self._waiting.append(Given(run, begin_before, clock.elapsed()))
        return None

    def deal(self, places: int, ahead: int) -> list[Attempt]:
        self._call_back_the_stuck()
        if places > 0 and self._supervisor.idle and not self._waiting and self.look_at > clock.elapsed():
            self._call_back_the_longest()
        if not self._waiting:
            return []
        begun: list[Attempt] = []
        # The short ones first: a long one closes the line in which it waits.
        waiting = sorted(self._waiting, key=lambda given: not self._pace.is_short(given.run.job_type))
        self._waiting = []
        ahead -= sum(len(line.waiting) for line in self._lines.values())
        lines = self._open_lines()
        for given in waiting:
            if given.run.job_type not in self.policies:
                # It goes back: an idle child may be of other code than the one whose greeting told of it.
                self._waiting.append(given)
            elif places > 0 and self._supervisor.idle:
                places -= 1
                begun.append(self._give_to_idle(given))
                lines = self._open_lines()
            elif ahead > 0 and self._line_up(given, lines):
                ahead -= 1
            else:
                self._waiting.append(given)
        if len(self._waiting) < len(waiting):
            self._dealt_at = clock.elapsed()
        return begun

    def _give_to_idle(self, given: Given) -> Attempt:
        child = self._supervisor.acquire()
        attempt = self._attempt(given.run, child)
        is_in_line = self._send(given, child)
        is_closed = not (is_in_line and self._pace.is_short(given.run.job_type))
        self._lines[child] = Line(child, given, attempt, is_closed)
        return attempt

    def _send(self, given: Given, child: ChildProcess) -> bool:
        """Whether it went into the line, and not, as what is too long for that, through the channel."""
        frame = self._frame(given)
        is_in_line = child.prefetch(frame)
        if not is_in_line:
            child.send(frame)
        return is_in_line

    def _line_up(self, given: Given, lines: list[Line]) -> bool:
        """Whether one of these had room for it. A line that closes is taken out of them."""
        line = min(lines, key=_seconds, default=None)
        if line is None or line.seconds >= AHEAD_SECONDS or not line.child.prefetch(self._frame(given)):
            return False
        given.seconds = min(AHEAD_SECONDS, self._pace.expected_seconds(given.run.job_type))
        line.add(given)
        if not self._pace.is_short(given.run.job_type):
            line.is_closed = True
            lines.remove(line)
        return True

    def _frame(self, given: Given) -> Frame:
        return run_frame(
            given.run,
            self.known[given.run.job_type],
            result_limit=self._config.payload_limit,
            grace=self._config.grace,
            begin_before=given.begin_before,
            slot=self._supervisor.page.slot_of(given.run.lease),
        )

    def _attempt(self, run: ClaimedRun, child: ChildProcess, began_at: float | None = None) -> Attempt:
        return Attempt(run, self.known[run.job_type], child, began_at)

    def _open_lines(self) -> list[Line]:
        return [line for line in self._lines.values() if line.is_open()]

    # AttemptResult, and taking back.

    def is_over(self, attempt: Attempt, report: Report) -> Attempt | None:
        ended_at = clock.elapsed()
        if report.ended_at is not None:
            # A handler may forge it: no earlier and no later than it can have been.
            ended_at = min(max(report.ended_at, attempt.began_at), ended_at)
            self._pace.learn(attempt.run.job_type, ended_at - attempt.began_at)
        line = self._line_of(attempt)
        if line is None:
            return None
        if report.is_last:
            self._log.warning("child", result="replaced", error="two runs in a row found a connection closed")
        if attempt.stopping is not None or report.is_last:
            # It was sent signals, or takes no more: a fresh one takes its place, and what it started goes with it.
            self._call_back(line)
            del self._lines[line.child]
            line.child.kill()
            return None
        line.child.next_section()
        if not line.waiting:
            del self._lines[line.child]
            self._supervisor.release(line.child)
            return None
        line.attempt = self._attempt(line.advance().run, line.child, began_at=ended_at)
        return line.attempt

    def withdraw(self, run_id: int) -> list[Said]:
        for line in self._lines.values():
            if line.holds(run_id):
                never_begun = self._call_back(line)
                said = self._supervisor.listen(line.child)
                return (
                    [*said, Said(line.child, Report(line.first.run.lease.run_id, NOT_BEGUN))] if never_begun else said
                )
        return []

    def bury(self, attempts: Sequence[Attempt]) -> list[tuple[Attempt, AttemptResult]]:
        line = self._line_of(attempts[0])
        if line is None:
            return super().bury(attempts)
        del self._lines[line.child]
        if self._call_back(line):
            self._waiting.append(line.first)
            return []
        # Others than the first are missing only if it spoke nonsense before it died: nobody knows how far it came.
        unheard = [self._attempt(given.run, line.child) for given in line.waiting]
        return super().bury([*attempts, *unheard])

    def unwanted(self, *, all_of_them: bool = False, only: int | None = None) -> list[ClaimedRun]:
        if all_of_them:
            for line in self._lines.values():
                self._call_back_those_behind(line)
        latest = clock.elapsed() - _LONGEST_WAIT_SECONDS

        def is_unwanted(given: Given) -> bool:
            # While others of them are dealt out, its turn comes, too.
            waits_in_vain = max(given.since, self._dealt_at) <= latest
            is_retired = given.run.job_type not in self.policies
            return all_of_them or waits_in_vain or is_retired or given.run.lease.run_id == only

        unwanted = [given.run for given in self._waiting if is_unwanted(given)]
        if unwanted:
            self._waiting = [given for given in self._waiting if not is_unwanted(given)]
        return unwanted

    def has_waiting(self) -> bool:
        return bool(self._waiting)

    def next_step_at(self) -> float | None:
        steps = [self._stuck_at(line) for line in self._lines.values() if line.waiting]
        steps += [max(given.since, self._dealt_at) + _LONGEST_WAIT_SECONDS for given in self._waiting]
        return min(steps, default=None)

    def gathering_seconds(self) -> float:
        if self._supervisor.idle:
            return 0.0
        left = (line.seconds_left(self._pace.expected_seconds(line.first.run.job_type)) for line in self._open_lines())
        return min(_LONGEST_GATHERING_SECONDS, min(left, default=0.0) / 2)

    def _line_of(self, attempt: Attempt) -> Line | None:
        return next((line for line in self._lines.values() if line.attempt is attempt), None)

    def _stuck_at(self, line: Line) -> float:
        expected = self._pace.expected_seconds(line.attempt.run.job_type)
        return line.attempt.began_at + max(_LONGEST_WAIT_SECONDS, min(_SLOW_FACTOR * expected, 1.0))

    def _call_back_the_stuck(self) -> None:
        for line in self._lines.values():
            stuck_since = clock.elapsed() - self._stuck_at(line)
            if line.waiting and stuck_since >= 0:
                self._call_back_those_behind(line)
            # Asked after the call back: when a child took one of them, it had sent its report about the one before. A
            # claim may have taken long, and nobody has listened meanwhile.
            if line.waiting and stuck_since >= _UNACCOUNTED_SECONDS and not line.child.has_unheard():
                # A child takes one at a time. This one's handler has read what is not its own.
                line.child.kill()

    def _call_back_the_longest(self) -> None:
        """Nothing is due any more, and somebody is idle."""
        line = max(self._lines.values(), key=lambda each: each.seconds, default=None)
        if line is not None and line.seconds > _WORTH_MOVING_SECONDS:
            self._call_back_those_behind(line)

    def _call_back_those_behind(self, line: Line) -> None:
        if self._call_back(line):
            self._send(line.first, line.child)

    def _call_back(self, line: Line) -> bool:
        """Whether the child has not even begun the first. Those behind it wait for another."""
        behind, never_begun = line.recall()
        self._waiting += behind
        return never_begun
