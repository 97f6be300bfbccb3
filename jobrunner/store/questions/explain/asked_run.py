"""The run that is asked about, and the ways to say something of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions.explain import hosts as tick_hosts
from jobrunner.store.questions.explain.explanation import Explanation, Forecast, ago
from jobrunner.store.questions.explain.hosts import Hosts
from jobrunner.store.sql.statement import Row


@dataclass(frozen=True)
class Asked:
    """What all answers about a run are made from."""

    connection: Connection
    run: Row
    hosts: Hosts

    @property
    def at(self) -> datetime:
        """Now, by the clock of the database."""
        at: datetime = self.run.now
        return at

    @property
    def names(self) -> list[str]:
        """The names of its type: that of the run, and others if the type was renamed."""
        return self.hosts.names_of(self.run.job_type)

    def since(self, then: datetime | None) -> str:
        """The time since then, in words."""
        return "an unknown time" if then is None else ago((self.at - then).total_seconds())

    def say(
        self, reason: str, sentence: str, remedy: str | None = None, forecast: Forecast | None = None, /, **facts: Any
    ) -> Explanation:
        """An answer about the run. Facts that are None are left out."""
        run = self.run
        known = {
            "id": run.id,
            "job_type": run.job_type,
            "status": run.status,
            "attempts": run.attempts,
            "only_host": run.only_host,
        }
        known |= facts
        notes = (f"two machines tick under the name {name}: set JOBRUNNER_HOST on one" for name in self.hosts.twins())
        filled = {name: value for name, value in known.items() if value is not None}
        said = f"Run {run.id} {sentence}"
        return Explanation(f"run {run.id}", reason, said, filled, remedy, forecast, notes=tuple(notes))


def stopped(asked: Asked, sentence: str, **facts: Any) -> Explanation:
    """Nothing happens, because ticks have stopped."""
    facts |= tick_hosts.facts_of_last_tick(asked.hosts)
    sentence = f"{sentence} But ticks have stopped: {tick_hosts.last_tick(asked.hosts)}."
    return asked.say("ticks_stopped", sentence, "jobrunner tick", **facts)
