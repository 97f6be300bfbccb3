"""The pool of commands: it starts one process for each run. Commands and handlers share the permits of the host."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from jobrunner import clock
from jobrunner.children.checkpoint_file import CheckpointFile
from jobrunner.children.messages import Report
from jobrunner.children.supervisor import Supervisor
from jobrunner.errors import BadPayload, PayloadMismatch
from jobrunner.jobs.commands import Command
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import Capacity
from jobrunner.names import CHECKPOINT_FILE
from jobrunner.settings.config import Config
from jobrunner.worker.hand import Hand, RunInHand
from jobrunner.worker.phase import Phase
from jobrunner.worker.pools.command_attempt import CommandAttempt, command_line
from jobrunner.worker.pools.pool import Pool, PoolCapacity, Steps

_LOOK_SHARE = 0.5
"""Of the time between two heartbeats: so what is read has not long to wait for the next one."""


class CommandPool(Pool):
    """``commands`` holds the commands whose types this tick may claim."""

    def __init__(self, hand: Hand, supervisor: Supervisor, config: Config, commands: Mapping[str, Command]) -> None:
        super().__init__(hand)
        self.types.learn([command.policy for command in commands.values()])
        self._supervisor = supervisor
        self._config = config
        self._commands = commands

    def capacity(self) -> PoolCapacity:
        if not self.types.policies:
            return PoolCapacity(Capacity(0), is_usable=False)
        return PoolCapacity(Capacity(self._config.concurrency - self._supervisor.commands))

    def start(self, permits: int, ahead: int) -> Steps:
        return [(held, self._begin(held)) for held in self._waiting()]

    def _begin(self, held: RunInHand) -> AttemptResult | None:
        """Start the command of a run; its result if it cannot be started."""
        run = held.run
        command = self._commands[run.job_type]
        try:
            place, problem = CheckpointFile(self._supervisor.checkpoint_folders, run.lease.run_id, run.checkpoint), None
        except OSError as error:
            place, problem = None, f"{CHECKPOINT_FILE} cannot be made: {error.strerror}"
        if problem is not None and run.checkpoint is not None:
            # It must not begin anew. The next attempt may find room for the file.
            return AttemptResult(Outcome.FAILED, error_type="not_started", error=problem)
        result = self._start(held, command, place)
        if problem is not None and held.started is not None:
            held.attempt.tail.add(f"jobrunner: {problem}\n".encode())
        if result is not None and place is not None:
            place.close()
        return result

    def _start(self, held: RunInHand, command: Command, place: CheckpointFile | None) -> AttemptResult | None:
        run = held.run
        try:
            line = command_line(command, run, os.environb, self._config.grace, held.begin_before, place)
        except PayloadMismatch as error:
            return AttemptResult(Outcome.INCOMPATIBLE, error_type="bad_payload", error=str(error))
        except BadPayload as error:
            return AttemptResult(Outcome.DISCARDED, error_type="bad_payload", error=str(error))
        self._supervisor.page.begun(run.lease)
        try:
            process = self._supervisor.start_command(line)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            said = f"no process can be started: {reason}"
            return AttemptResult(Outcome.FAILED, error_type="not_started", error=said)
        look_every = self._config.heartbeat.total_seconds() * _LOOK_SHARE
        held.started = CommandAttempt(run, command, process, place, look_every)
        self._hand.move(held, Phase.WORKING)
        self.took_at = clock.elapsed()
        return None

    def ended(self, held: RunInHand, report: Report) -> Steps:
        # A command has no channel to send one.
        return []

    def died(self, runs: Sequence[RunInHand]) -> Steps:
        ended: Steps = []
        for held in runs:
            result = held.attempt.died()
            if (checkpoint := held.attempt.new_checkpoint()) is not None:
                held.checkpoint = checkpoint
            ended.append((held, result))
        return ended
