"""Pings of schedules and of the tick: their monitors learn what begins and ends, and no run waits for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial

from jobrunner import clock
from jobrunner.errors import DatabaseUnavailable
from jobrunner.lifecycle import AttemptResult, Event
from jobrunner.log import Log
from jobrunner.model import ClaimedRun
from jobrunner.notify.pings import Ping, Pings, attempt_id
from jobrunner.settings.notify import Secret
from jobrunner.store import notices
from jobrunner.store.database import Database
from jobrunner.store.finalize import Ended

_KINDS = {Event.SUCCEED: "", Event.GIVE_UP: "fail", Event.FAIL: "log", Event.POSTPONE: "log"}
"""A failed try that is followed by another one must not alarm. What was released or cancelled says nothing."""


class Pinging:
    """The pings of one tick. ``urls`` are those of the schedules, by their names."""

    def __init__(self, database: Database, log: Log, urls: Mapping[str, Secret], most: timedelta) -> None:
        self._database = database
        self._log = log
        self._urls = urls
        self._most = most
        self._pings = Pings(most)
        self._of_definitions: dict[int | None, Secret] | None = None

    def begun(self, run: ClaimedRun) -> None:
        """An attempt begins."""
        if run.definition_id is not None and (url := self._of(run.definition_id)) is not None:
            self._pings.send(url, Ping("start", attempt_id(run.lease.run_id, run.attempt)))

    def ended(self, run: ClaimedRun, event: Event, result: AttemptResult | None) -> None:
        """An attempt has ended, and that is written."""
        url = None if run.definition_id is None or event not in _KINDS else self._of(run.definition_id)
        if url is not None:
            error, output = (None, None) if result is None else (result.error, result.output)
            kind = _KINDS[event]
            if kind == "fail" and result is not None and result.error_type == "exit_status":
                kind = (error or "").removeprefix("exit status ").partition(":")[0]
            self._pings.send(url, Ping(kind, attempt_id(run.lease.run_id, run.attempt), error, output))

    def recovered(self, ended: Sequence[Ended]) -> None:
        """Attempts of killed ticks have ended."""
        found = notices.definitions_of
        of_runs = self._database.read(partial(found, run_ids=[each.run_id for each in ended])) if ended else {}
        for each in ended:
            kind, url = _KINDS.get(each.decision.event), self._of(of_runs.get(each.run_id))
            if kind is not None and url is not None:
                self._pings.send(url, Ping(kind, attempt_id(each.run_id, each.attempt), each.decision.error))

    def tick_ended(self, url: Secret, problem: str | None) -> None:
        """The tick has ended, well or with a problem."""
        self._pings.send(url, Ping("" if problem is None else "fail", error=problem))

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
