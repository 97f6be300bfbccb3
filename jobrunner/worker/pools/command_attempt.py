"""An attempt of a command: what the command gets, and what its exit means."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from jobrunner import clock
from jobrunner.children.checkpoint_file import CheckpointFile
from jobrunner.children.command_child import CommandLine, CommandProcess
from jobrunner.children.inside.exec_command import LATE
from jobrunner.errors import BadPayload
from jobrunner.jobs.commands import Command
from jobrunner.jobs.payload import check_payload, encode_payload
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import ClaimedRun
from jobrunner.names import CHECKPOINT_FILE
from jobrunner.worker.attempt import STOP_SIGNALS, Attempt


def command_line(
    command: Command,
    run: ClaimedRun,
    environ: Mapping[bytes, bytes],
    grace: timedelta,
    begin_before: float,
    checkpoint_file: CheckpointFile | None = None,
) -> CommandLine:
    """What to start for a run. Raises BadPayload, and PayloadMismatch if another version of the command may fit."""
    # The payload is checked again, because somebody may have changed the row.
    payload = check_payload(run.payload, sys.maxsize)
    last_resort = 0.0 if run.timeout is None else (run.timeout + command.policy.kill_after + grace).total_seconds()
    return CommandLine(
        arguments=[argument.encode() for argument in command.arguments_for(run)],
        cwd=command.cwd,
        env=command.environment_for(run, environ, None if checkpoint_file is None else bytes(checkpoint_file.path)),
        stdin=(encode_payload(payload) if command.stdin is None else command.stdin).encode(),
        alarm_seconds=last_resort,
        begin_before=begin_before,
    )


class CommandAttempt(Attempt):
    """A run that a command works on. The exit status of the command is its report.

    ``place`` is the file by which it keeps a place to go on from, None: it has none. It is read this often.
    """

    def __init__(
        self,
        run: ClaimedRun,
        command: Command,
        process: CommandProcess,
        place: CheckpointFile | None = None,
        every_seconds: float = 1.0,
    ) -> None:
        super().__init__(run, command.policy, process)
        self._command = command
        self._refusal = process.refusal
        self._place = place
        self._every_seconds = every_seconds
        self._look_at = self.began_at + every_seconds
        self._newest: dict[str, Any] | None = None

    def new_checkpoint(self) -> dict[str, Any] | None:
        if clock.elapsed() >= self._look_at:
            self._look_at = clock.elapsed() + self._every_seconds
            self._read_checkpoint(is_last=False)
        found, self._newest = self._newest, None
        return found

    def _read_checkpoint(self, *, is_last: bool) -> None:
        if self._place is None:
            return
        try:
            newest = self._place.newest(is_last=is_last)
        except BadPayload as error:
            before = "" if (self.tail.text() or "\n").endswith("\n") else "\n"
            self.tail.add(f"{before}jobrunner: the file of {CHECKPOINT_FILE} was not kept: {error}\n".encode())
        else:
            self._newest = self._newest if newest is None else newest
        if is_last:
            self._place.close()

    def _send(self, step: str) -> None:
        # One SIGTERM only: a second one makes many programs stop in the middle of their cleanup.
        if step != "interrupt":
            super()._send(step)

    def _is_doubtful(self, ending: AttemptResult) -> bool:
        if ending.exit_signal is not None:
            return ending.exit_signal in STOP_SIGNALS
        # A program that cleans up after SIGTERM may exit with any status. Only a declared status is certain.
        is_declared = self.process.exit_status in self._command.discard_codes
        return ending.outcome is not Outcome.SUCCEEDED and not is_declared

    def _crashed(self) -> AttemptResult:
        last_line = self.tail.last_line()
        self._read_checkpoint(is_last=True)
        ending = super()._crashed()
        status = self.process.exit_status
        refusal = self._refusal()
        if refusal:
            # It is the launcher that has ended.
            ending = ending._replace(peak_memory_bytes=None, processor_seconds=None)
        if refusal == LATE:
            return ending._replace(outcome=Outcome.RELEASED, error_type="released", error=refusal)
        if refusal:
            return ending._replace(outcome=Outcome.FAILED, error_type="not_started", error=refusal)
        if status is None or status < 0:
            return ending._replace(error=(ending.error or "").replace("the handler's process", "the command"))
        outcome = self._command.meaning_of(status)
        if outcome is Outcome.SUCCEEDED:
            return ending._replace(outcome=outcome, error_type=None, error=None)
        error = f"exit status {status}: {last_line}" if last_line else f"exit status {status}"
        return ending._replace(outcome=outcome, error_type="exit_status", error=error)
