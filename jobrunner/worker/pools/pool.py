"""Crews: who serves which kind of job types, how many runs each has room for now, and how it begins one.

The drain claims for one crew after the other. A crew knows processes; it does not know the database.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence

from jobrunner import clock
from jobrunner.children.protocol import Report
from jobrunner.children.supervisor import Said, Supervisor
from jobrunner.errors import BadPayload, PayloadMismatch
from jobrunner.jobs.commands import Command
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import Capacity, ClaimedRun, Policy
from jobrunner.settings.config import Config
from jobrunner.worker.attempt import Attempt
from jobrunner.worker.pools.commands import CommandAttempt, command_line


class Crew(ABC):
    """``policies`` are those of the job types that it claims; empty while they are not known.

    ``known`` has also those of types that it claims no more, of which it may have runs in hand.
    """

    def __init__(self) -> None:
        self.policies: Mapping[str, Policy] = {}
        self.known: Mapping[str, Policy] = {}
        self.look_at = 0.0

    def learn(self, policies: Sequence[Policy]) -> None:
        """These are the job types that it serves."""
        self.policies = self.known = {policy.job_type: policy for policy in policies}

    def retire(self, job_types: Collection[str]) -> None:
        """Claim no more runs of these types, and begin none: they are another code's now."""
        self.policies = {name: policy for name, policy in self.policies.items() if name not in job_types}

    def look_soon(self) -> None:
        """Something has changed: there may be work again."""
        self.look_at = min(self.look_at, clock.elapsed())

    def look_again_in(self, seconds: float) -> None:
        """Nothing was due: do not ask before."""
        self.look_at = clock.elapsed() + seconds

    @abstractmethod
    def is_usable(self) -> bool:
        """Whether it may still begin runs in this tick."""

    @abstractmethod
    def is_settled(self) -> bool:
        """Whether there is nothing to wait for before it can begin a run, or no hope that it will."""

    @abstractmethod
    def room(self) -> Capacity:
        """How many runs it could take now."""

    def most(self) -> Mapping[str, int]:
        """The types of which it wants no more than so many."""
        return {}

    def busy(self) -> int:
        """How many of the host's places it uses."""
        return 0

    def growth(self) -> int:
        """By how many more it could grow."""
        return 0

    @abstractmethod
    def grow(self, count: int) -> None:
        """Start what is needed for so many more runs; they can begin in a later turn."""

    @abstractmethod
    def begin(self, run: ClaimedRun, begin_before: float) -> Attempt | AttemptResult | None:
        """Take a run. An AttemptResult: it could not begin, and that is how it ends. None: it waits for others.

        It is not begun after ``begin_before``, on the clock of ``clock.elapsed``.
        """

    def deal(self, places: int, ahead: int) -> list[Attempt]:
        """Give out the runs that wait; those at work by that.

        They use at most so many more of the host's places, and at most ``ahead`` are to wait behind others.
        """
        return []

    def is_over(self, attempt: Attempt, report: Report) -> Attempt | None:
        """The attempt was reported, and its process lives. Who is at work there now; None: nobody."""
        return None

    def withdraw(self, run_id: int) -> list[Said]:
        """See to it that nothing waits behind or in front of this run. What its child has said by then."""
        return []

    def unwanted(self, *, all_of_them: bool = False, only: int | None = None) -> list[ClaimedRun]:
        """Runs that no handler has seen, to be given back: those that have waited for too long, or all, or one."""
        return []

    def has_waiting(self) -> bool:
        """Whether it has runs that are with no child."""
        return False

    def next_step_at(self) -> float | None:
        """When something is to be done about those that wait; None: nothing is planned."""
        return None

    def gathering_seconds(self) -> float:
        """For how long reports may pile up without anybody being idle."""
        return 0.0

    def bury(self, attempts: Sequence[Attempt]) -> list[tuple[Attempt, AttemptResult]]:
        """Their process has died: how each of its attempts has ended."""
        return [(attempt, attempt.died()) for attempt in attempts]


class CommandCrew(Crew):
    """Commands: a process of its own for each run. They share the host's places with the handlers."""

    def __init__(self, config: Config, supervisor: Supervisor, commands: Mapping[str, Command]) -> None:
        super().__init__()
        self.learn([command.policy for command in commands.values()])
        self._config = config
        self._supervisor = supervisor
        self._commands = commands

    def is_usable(self) -> bool:
        return bool(self.policies)

    def is_settled(self) -> bool:
        return True

    def room(self) -> Capacity:
        return Capacity(self._config.concurrency - self.busy() if self.policies else 0)

    def busy(self) -> int:
        return self._supervisor.commands

    def grow(self, count: int) -> None:
        """Nothing waits for a command."""

    def begin(self, run: ClaimedRun, begin_before: float) -> Attempt | AttemptResult | None:
        command = self._commands[run.job_type]
        try:
            line = command_line(command, run, os.environb, self._config.grace, begin_before)
        except PayloadMismatch as error:
            return AttemptResult(Outcome.INCOMPATIBLE, error_type="bad_payload", error=str(error))
        except BadPayload as error:
            return AttemptResult(Outcome.DISCARDED, error_type="bad_payload", error=str(error))
        self._supervisor.page.begun(run.lease)
        try:
            process = self._supervisor.start_command(line)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            wait = command.policy.backoff.wait(run.attempt)
            return AttemptResult(
                Outcome.FAILED, error_type="not_started", error=f"no process can be started: {reason}", wait=wait
            )
        return CommandAttempt(run, command, process)
