"""A command's attempt: what it is given, and what its end means."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from jobrunner.children.command_child import CommandLine, CommandProcess
from jobrunner.children.inside.exec_command import LATE
from jobrunner.jobs.commands import Command
from jobrunner.jobs.payload import check_payload, encode_payload
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import ClaimedRun
from jobrunner.worker.attempt import STOP_SIGNALS, Attempt


def command_line(
    command: Command, run: ClaimedRun, environ: Mapping[bytes, bytes], grace: timedelta, begin_before: float
) -> CommandLine:
    """What to start for a run. Raises BadPayload: PayloadMismatch where it only does not fit the command."""
    # Once more: a row may have been changed by hand.
    payload = check_payload(run.payload, sys.maxsize)
    last_resort = 0.0 if run.timeout is None else (run.timeout + command.policy.kill_after + grace).total_seconds()
    return CommandLine(
        arguments=[argument.encode() for argument in command.arguments_for(run)],
        cwd=command.cwd,
        env=command.environment_for(run, environ),
        stdin=(encode_payload(payload) if command.stdin is None else command.stdin).encode(),
        alarm_seconds=last_resort,
        begin_before=begin_before,
    )


class CommandAttempt(Attempt):
    """A run in the hands of a command: it reports by its exit status."""

    def __init__(self, run: ClaimedRun, command: Command, process: CommandProcess) -> None:
        super().__init__(run, command.policy, process)
        self._command = command
        self._refusal = process.refusal

    def _send(self, step: str) -> None:
        # Asked once: a second SIGTERM in mid-flight makes many programs leave their work half undone.
        if step != "interrupt":
            super()._send(step)

    def _is_doubtful(self, ending: AttemptResult) -> bool:
        if ending.exit_signal is not None:
            return ending.exit_signal in STOP_SIGNALS
        # Those that clean up before they end say anything then; only what was declared to mean something else does.
        is_declared = self.process.exit_status in self._command.discard_codes
        return ending.outcome is not Outcome.SUCCEEDED and not is_declared

    def _crashed(self) -> AttemptResult:
        ending = super()._crashed()
        status = self.process.exit_status
        refusal = self._refusal()
        if refusal == LATE:
            return replace(ending, outcome=Outcome.RELEASED, error_type="released", error=refusal, wait=None)
        if refusal:
            return replace(ending, outcome=Outcome.FAILED, error_type="not_started", error=refusal)
        if status is None or status < 0:
            return replace(ending, error=(ending.error or "").replace("the handler's process", "the command"))
        outcome = self._command.meaning_of(status)
        if outcome is Outcome.SUCCEEDED:
            return replace(ending, outcome=outcome, error_type=None, error=None, wait=None)
        said = self.tail.last_line()
        told = f"exit status {status}: {said}" if said else f"exit status {status}"
        return replace(ending, outcome=outcome, error_type="exit_status", error=told)
