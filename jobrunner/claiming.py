"""Claiming: takes due runs for this tick, and looks after claims whose COMMIT got no answer."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from jobrunner import clock
from jobrunner.config import Config
from jobrunner.heartbeat import Heartbeat
from jobrunner.log import Log
from jobrunner.model import ClaimedRun, Owner, Policy
from jobrunner.store import claims, ticks
from jobrunner.store.database import Connection, Database

_LOOK_AGAIN_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Claimed:
    """The runs of one claim. ``sent_at`` is when their leases began, on the clock of ``clock.elapsed``."""

    runs: list[ClaimedRun]
    sent_at: float


class Claimer:
    """The main thread's claims. Every method raises DatabaseUnavailable when the database is away."""

    def __init__(self, config: Config, owner: Owner, database: Database, heartbeat: Heartbeat, log: Log) -> None:
        self._config = config
        self._owner = owner
        self._database = database
        self._heartbeat = heartbeat
        self._log = log
        # The async types of this host, whoever claims them: their runs take no places.
        self.apart: frozenset[str] = frozenset()
        self._unanswered: set[str] = set()
        self._look_at = 0.0

    def take(self, policies: Sequence[Policy], limit: int, *, suspect: bool) -> Claimed:
        """Claim and start up to ``limit`` due runs of these types, as far as this host has places."""
        request = claims.ClaimRequest(
            owner=self._owner,
            token=secrets.token_hex(16),
            policies=policies,
            limit=limit,
            places=self._config.concurrency,
            lease=self._config.lease,
            apart=self.apart,
            suspect=suspect,
        )
        # Where writers starve each other, every write also renews the leases.
        held = self._heartbeat.held() if self._database.waits_unfairly else []

        def work(connection: Connection) -> list[ClaimedRun]:
            runs = claims.claim(connection, request)
            claims.renew(connection, held, self._config.lease)
            return runs

        sent_at = clock.elapsed()
        self._unanswered.add(request.token)
        runs = self._database.write(work)
        self._unanswered.remove(request.token)
        self._heartbeat.renewed(held, sent_at)
        if runs:
            self._database.reach("claim.committed")
        return Claimed(runs, sent_at)

    def count_due(self, policies: Sequence[Policy], limit: int) -> int:
        """How many runs of these types are due, counted up to ``limit``."""
        return self._database.read(partial(ticks.count_claimable, policies=policies, limit=limit))

    def is_suspect_due(self) -> bool:
        """Whether a run is due, of whatever type, that took its owner down twice in a row."""
        return self._database.read(ticks.is_suspect_due)

    def is_settled(self) -> bool:
        """Whether it is known what became of every claim."""
        return not self._unanswered

    def give_back_unanswered(self) -> int:
        """Undo claims whose COMMIT got no answer; how many runs that were.

        Such a COMMIT may be applied even much later, when a stopped server goes on. But until then it holds the
        places of its host: whoever gets them after it sees what became of it.
        """
        if not self._unanswered or clock.elapsed() < self._look_at:
            return 0
        self._look_at = clock.elapsed() + _LOOK_AGAIN_SECONDS

        def work(connection: Connection) -> int:
            claims.hold_places(connection, self._owner.host)
            return sum(claims.give_back(connection, token) for token in self._unanswered)

        runs = self._database.write(work)
        self._unanswered.clear()
        if runs:
            self._log.warning("released", result="unanswered claim given back", runs=runs)
        return runs
