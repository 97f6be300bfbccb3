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
        self._unanswered: dict[str, float] = {}
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
            suspect=suspect,
        )
        # Where writers starve each other, every write also renews the leases.
        held = self._heartbeat.held() if self._database.waits_unfairly else []

        def work(connection: Connection) -> list[ClaimedRun]:
            runs = claims.claim(connection, request)
            claims.renew(connection, held, self._config.lease)
            return runs

        sent_at = clock.elapsed()
        self._unanswered[request.token] = sent_at
        runs = self._database.write(work)
        del self._unanswered[request.token]
        self._heartbeat.renewed(held, sent_at)
        if runs:
            self._database.reach("claim.committed")
        return Claimed(runs, sent_at)

    def count_due(self, policies: Sequence[Policy], limit: int) -> int:
        """How many runs of these types are due, counted up to ``limit``."""
        return self._database.read(partial(ticks.count_claimable, policies=policies, limit=limit))

    def give_back_unanswered(self) -> int:
        """Undo claims whose COMMIT got no answer; how many runs that were.

        Such a COMMIT may be applied even much later, when a stopped server goes on: so each is looked for
        until its leases would be over anyway.
        """
        if not self._unanswered or clock.elapsed() < self._look_at:
            return 0
        self._look_at = clock.elapsed() + _LOOK_AGAIN_SECONDS
        given_back = 0
        for token, sent_at in list(self._unanswered.items()):
            runs = self._database.write(partial(claims.give_back, token=token))
            if runs:
                self._log.warning("released", result="unanswered claim given back", runs=runs)
            if runs or clock.elapsed() - sent_at > self._config.lease.total_seconds():
                del self._unanswered[token]
            given_back += runs
        return given_back
