"""Pings of schedules and of the tick: their monitors learn what begins and ends, and no run waits for them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from jobrunner import clock
from jobrunner.errors import DatabaseUnavailable
from jobrunner.lifecycle import AttemptResult, Event, Outcome
from jobrunner.log import Log
from jobrunner.model import ClaimedRun
from jobrunner.notify.pings import Ping, Pings, attempt_id
from jobrunner.settings.notify import Notify, Secret
from jobrunner.store.drivers.database import Database
from jobrunner.store.queue.finalize import Ended, Refusal
from jobrunner.store.queue.ticks import notices

_KINDS = {Event.SUCCEED: "", Event.GIVE_UP: "fail", Event.FAIL: "log", Event.POSTPONE: "log"}
"""A failed try that is followed by another one must not alarm. What was released or cancelled says nothing."""


class Pinging:
    """The pings of one tick."""

    def __init__(self, database: Database, log: Log, notify: Notify) -> None:
        self._database = database
        self._log = log
        self._urls = notify.pings()
        self._url_of_tick = notify.tick_ping
        self._most = notify.give_up_after
        self._redact = notify.redact
        self._pings = Pings(self._most)
        self._of_definitions: dict[int | None, Secret] | None = None

    def begun(self, run: ClaimedRun) -> None:
        """An attempt begins."""
        if run.definition_id is not None and (url := self._of(run.definition_id)) is not None:
            self._pings.send(url, Ping("start", attempt_id(run.lease.run_id, run.attempt)))

    def ended(
        self, run: ClaimedRun, answer: Ended | Refusal, result: AttemptResult | None, progress: Any, checkpoint: Any
    ) -> None:
        """A finalize has this answer. Nothing is told of a lost lease: recovery tells it.

        ``checkpoint`` None: this attempt has written none.
        """
        kind = _kind_of(answer, result)
        url = None if run.definition_id is None or kind is None else self._of(run.definition_id)
        if url is not None and kind is not None:
            said = (progress, run.checkpoint if checkpoint is None else checkpoint)
            error, output = (None, None) if result is None else self._without_secrets(run, result, said)
            self._pings.send(url, Ping(kind, attempt_id(run.lease.run_id, run.attempt), error, output))

    def _without_secrets(
        self, run: ClaimedRun, result: AttemptResult, said: tuple[Any, Any]
    ) -> tuple[str | None, str | None]:
        """The error and the output, without the secrets of what the run was given and has said, as in a notice."""
        from jobrunner.masking.secrets import Secrets
        from jobrunner.masking.values import Names
        from jobrunner.store.questions.runs.run_values import Values

        names, secrets = Names(self._redact), Secrets()
        names.learn(Values(run.payload, result.result, *said), secrets)
        error, output = (names.hide(each, secrets) for each in (result.error, result.output))
        return error, output

    def recovered(self, ended: Sequence[Ended]) -> None:
        """Attempts of killed ticks have ended."""
        found = notices.definitions_of
        of_runs = self._database.read(partial(found, run_ids=[each.run_id for each in ended])) if ended else {}
        for each in ended:
            kind, url = _KINDS.get(each.decision.event), self._of(of_runs.get(each.run_id))
            if kind is not None and url is not None:
                self._pings.send(url, Ping(kind, attempt_id(each.run_id, each.attempt), each.decision.error))

    def tick_ended(self, problem: Exception | None) -> None:
        """The tick has ended, well or with a problem."""
        if self._url_of_tick is not None:
            error = None if problem is None else str(problem)
            self._pings.send(self._url_of_tick, Ping("" if error is None else "fail", error=error))

    def close(self) -> None:
        """Wait for the pings for a limited time."""
        if problems := self._pings.close(clock.elapsed() + self._most.total_seconds()):
            self._log.warning("pings", result="not all sent", error=problems[0])

    def _of(self, definition_id: int | None) -> Secret | None:
        if self._of_definitions is None:
            try:
                ids = self._database.read(partial(notices.definitions_named, names=list(self._urls)))
            except DatabaseUnavailable:
                # The tick itself says so.
                return None
            self._of_definitions = {each: self._urls[name] for each, name in ids.items()}
        return self._of_definitions.get(definition_id)


def _kind_of(answer: Ended | Refusal, result: AttemptResult | None) -> str | None:
    """What is added to the URL. None: there is nothing to ping."""
    if isinstance(answer, Refusal):
        is_written = answer in (Refusal.COMMITTED, Refusal.ALREADY_APPLIED) and result is not None
        return "" if is_written and result is not None and result.outcome is Outcome.SUCCEEDED else None
    kind = _KINDS.get(answer.decision.event)
    if kind == "fail" and result is not None and result.error_type == "exit_status":
        return (result.error or "").removeprefix("exit status ").partition(":")[0]
    return kind
