"""The judge: what the tables of a history must say when it has settled, beside what the ledger says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from harness import Database
from harness.invariants import ASKED, problems_of
from harness.judge import breaches_at
from jobrunner.model import Lease
from simulator.world import World

NONE = timedelta(0)


def unfinished(database: Database) -> list[int]:
    """The ids of the runs that have not ended."""
    found = database.query("SELECT id FROM job_runs WHERE status IN ('queued', 'running', 'failed') ORDER BY id")
    return [row["id"] for row in found]


def attempts(database: Database) -> int:
    """How many attempts have ended."""
    return int(database.query("SELECT count(*) AS n FROM job_attempts")[0]["n"])


def problem(world: World, database: Database, *, has_settled: bool) -> str | None:
    """The first promise that does not hold, or None. ``has_settled``: time enough has passed for all runs to end."""
    return next(_problems(world, database, has_settled=has_settled), None)


def _problems(world: World, database: Database, *, has_settled: bool) -> Iterator[str]:
    if has_settled and (left := unfinished(database)):
        (row,) = database.query("SELECT id, job_type, status, gate FROM job_runs WHERE id = ?", [left[0]])
        yield f"runs {left} never end, the first is {row}"
    yield from breaches_at(database.url, slack=NONE)
    yield from _inconsistent(database)
    attempts = database.query("SELECT run_id, lease_token, outcome FROM job_attempts ORDER BY id")
    yield from _of_attempts(world, attempts)
    yield from _of_effects(world, database)
    yield from _of_own_work(world, database, attempts)


def _inconsistent(database: Database) -> Iterator[str]:
    by_run: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in database.query("SELECT * FROM job_attempts ORDER BY run_id, sequence"):
        by_run[row["run_id"]].append(row)
    for run in database.query("SELECT * FROM job_runs ORDER BY id"):
        # What waited for a run that has failed is cancelled without a request.
        if broken := [rule for rule in problems_of(run, by_run[run["id"]]) if rule != ASKED]:
            ended = [f"{row['outcome']} ({row['lease_token'][:4]})" for row in by_run[run["id"]]]
            yield f"run {run['id']} is {run['status']} after {run['attempts']} attempts {ended}: not {broken}"


def _of_attempts(world: World, attempts: list[dict[str, Any]]) -> Iterator[str]:
    ledger = world.ledger
    recorded = {Lease(row["run_id"], row["lease_token"]): row["outcome"] for row in attempts}
    for lease in sorted(ledger.leases - recorded.keys()):
        yield f"a handler of run {lease.run_id} has begun, and no attempt says so"
    for lease in [lease for lease, outcome in recorded.items() if outcome == "succeeded"]:
        said = "succeeded" if lease in ledger.own else ledger.reported.get(lease, "succeeded")
        if said != "succeeded":
            yield f"run {lease.run_id} has succeeded, and its handler has reported {said}"
        if lease not in ledger.leases:
            yield f"run {lease.run_id} has succeeded, and no handler of that attempt has begun"


def _of_effects(world: World, database: Database) -> Iterator[str]:
    for row in database.query("SELECT key, state FROM job_effects ORDER BY key"):
        if row["state"] == "applied" and world.ledger.calls[row["key"]] != 1:
            yield f"the {row['key']} is applied, and was called {world.ledger.calls[row['key']]} times"


def _of_own_work(world: World, database: Database, attempts: list[dict[str, Any]]) -> Iterator[str]:
    succeeded = {(row["run_id"], row["lease_token"]) for row in attempts if row["outcome"] == "succeeded"}
    found = database.query("SELECT run_id, token FROM simulated_work")
    for row in found:
        if (row["run_id"], row["token"]) not in succeeded:
            yield f"the own transaction of run {row['run_id']} is applied, and its attempt has not succeeded"
