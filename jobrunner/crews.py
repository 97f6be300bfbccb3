"""Crews: who serves which kind of job types, how many runs each can begin now, and how it begins one.

The drain claims for one crew after the other. A crew knows processes; it does not know the database.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from jobrunner import clock
from jobrunner.attempt import Attempt
from jobrunner.command_attempt import CommandAttempt, command_line
from jobrunner.commands import Command
from jobrunner.config import Config
from jobrunner.errors import BadPayload
from jobrunner.execute.interpreter import ChildProcess
from jobrunner.execute.supervisor import StartFailed, Supervisor
from jobrunner.lifecycle import Ending, Outcome
from jobrunner.log import Log
from jobrunner.model import ClaimedRun, Policy

_MOST_FAILED_STARTS = 2


class Crew(ABC):
    """``policies`` are those of the job types that it serves; empty while they are not known."""

    def __init__(self) -> None:
        self.policies: Mapping[str, Policy] = {}
        self.look_at = 0.0

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
    def free(self) -> int:
        """How many runs it can begin at once."""

    def growth(self) -> int:
        """By how many more it could grow."""
        return 0

    @abstractmethod
    def grow(self, count: int) -> None:
        """Start what is needed for so many more runs; they can begin in a later turn."""

    @abstractmethod
    def begin(self, run: ClaimedRun) -> Attempt | Ending:
        """Start a run. An Ending: it could not begin, and that is how it ends."""

    @abstractmethod
    def is_over(self, attempt: Attempt) -> None:
        """The attempt was reported; its process lives."""

    def bury(self, attempts: Sequence[Attempt]) -> list[tuple[Attempt, Ending]]:
        """Their process has died: how each of its attempts has ended."""
        return [(attempt, attempt.died()) for attempt in attempts]


class HandlerCrew(Crew):
    """Children that run one handler at a time, as many as the host has places."""

    def __init__(self, config: Config, supervisor: Supervisor, log: Log) -> None:
        super().__init__()
        self.failed_starts: list[str] = []
        self.has_learned = False
        self._config = config
        self._supervisor = supervisor
        self._log = log
        self._most_children = config.concurrency if config.imports else 0

    def is_usable(self) -> bool:
        # One whose greeting has told of nothing to serve has nothing to wait for.
        return self.has_children() and not (self.has_learned and not self.policies)

    def has_children(self) -> bool:
        """Whether there is a child, or will be: one that is being killed counts, a fresh one takes its place."""
        return self._supervisor.children > 0

    def is_settled(self) -> bool:
        return not self._config.imports or bool(self._supervisor.idle or self.failed_starts)

    def free(self) -> int:
        return len(self._supervisor.idle)

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
        self.policies = {policy.job_type: policy for policy in policies}

    def begin(self, run: ClaimedRun) -> Attempt | Ending:
        child = self._supervisor.hire()
        attempt = Attempt(run, self.policies[run.job_type], child)
        attempt.hand_over(child, self._config.payload_limit, self._config.grace)
        return attempt

    def is_over(self, attempt: Attempt) -> None:
        assert isinstance(attempt.process, ChildProcess)
        if attempt.stopping is None:
            self._supervisor.take_back(attempt.process)
        else:
            # It was sent signals: a fresh one takes its place, and what it started goes with it.
            attempt.process.kill()


class CommandCrew(Crew):
    """Commands: a process of its own for each run. They share the host's places with the handlers."""

    def __init__(self, config: Config, supervisor: Supervisor, commands: Mapping[str, Command]) -> None:
        super().__init__()
        self.policies = {name: command.policy for name, command in commands.items()}
        self._config = config
        self._supervisor = supervisor
        self._commands = commands

    def is_usable(self) -> bool:
        return bool(self.policies)

    def is_settled(self) -> bool:
        return True

    def free(self) -> int:
        return self._config.concurrency - self._supervisor.commands if self.policies else 0

    def grow(self, count: int) -> None:
        """Nothing waits for a command."""

    def is_over(self, attempt: Attempt) -> None:
        """Nothing: a command does not report, it ends."""

    def begin(self, run: ClaimedRun) -> Attempt | Ending:
        command = self._commands[run.job_type]
        try:
            line = command_line(command, run, os.environb, self._config.grace)
        except BadPayload as error:
            return Ending(Outcome.DISCARDED, error_type="bad_payload", error=str(error))
        try:
            process = self._supervisor.start_command(line)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            wait = command.policy.backoff.wait(run.attempt)
            return Ending(
                Outcome.FAILED, error_type="not_started", error=f"no process can be started: {reason}", wait=wait
            )
        return CommandAttempt(run, command, process)
