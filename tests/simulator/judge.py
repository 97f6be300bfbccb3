"""The judge: what the tables of a history must say when it has settled, beside what the ledger says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from harness import Database
from harness.invariants import ASKED, problems_of
from harness.judge import breaches_at
from jobrunner.lifecycle import Outcome
from jobrunner.model import Lease
from simulator.ledger import Violated, Work
from simulator.world import EPOCH, World

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


def ends_before_its_lease(world: World, database: Database, work: Work) -> None:
    """A handler ends before its lease does. Raises Violated. Call it when the work has just ended."""
    held = database.query(
        "SELECT locked_until FROM job_runs WHERE id = ? AND lease_token = ?", [work.run_id, work.lease.token]
    )
    now = world.database_now()
    if work.excused is None and held and held[0]["locked_until"].timestamp() < now:
        raise Violated(f"a handler was at work until {world.scheduler.now:.3f}, after its lease had ended: {work}")


def _problems(world: World, database: Database, *, has_settled: bool) -> Iterator[str]:
    if has_settled and (left := unfinished(database)):
        (row,) = database.query("SELECT id, job_type, status, gate FROM job_runs WHERE id = ?", [left[0]])
        yield f"runs {left} never end, the first is {row}"
    yield from breaches_at(database.url, slack=NONE)
    yield from _inconsistent(database)
    attempts = database.query("SELECT run_id, lease_token, outcome, finished_at FROM job_attempts ORDER BY id")
    yield from _of_attempts(world, attempts)
    yield from _of_recoveries(world, attempts)
    yield from _of_effects(world, database)
    yield from _of_own_work(world, database, attempts)
    yield from _of_checkpoints(world, database, attempts)
    yield from _of_set_limits(database)


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
    for lease in sorted(ledger.works.keys() - recorded.keys()):
        yield f"a handler of run {lease.run_id} has begun, and no attempt says so"
    for lease in [lease for lease, outcome in recorded.items() if outcome == "succeeded"]:
        said = "succeeded" if lease in ledger.own else ledger.reported.get(lease, "nothing")
        if lease not in ledger.works:
            yield f"run {lease.run_id} has succeeded, and no handler of that attempt has begun"
        elif said != "succeeded":
            yield f"run {lease.run_id} has succeeded, and its handler has reported {said}"


def _of_recoveries(world: World, attempts: list[dict[str, Any]]) -> Iterator[str]:
    """When a lease has expired and another tick says so, its handler is over, and never begins later."""
    for row in attempts:
        work = world.ledger.works.get(Lease(row["run_id"], row["lease_token"]))
        if work is None or row["outcome"] != Outcome.LEASE_EXPIRED:
            continue
        recovered_at = row["finished_at"].timestamp() - EPOCH
        if work.began_at > recovered_at:
            yield f"a handler has begun although its attempt was recovered at {recovered_at:.3f}: {work}"
        if work.excused is None and (work.ended_at is None or work.ended_at > recovered_at):
            yield f"a handler was at work when its attempt was recovered at {recovered_at:.3f}: {work}"


def _of_effects(world: World, database: Database) -> Iterator[str]:
    for row in database.query("SELECT key, state FROM job_effects ORDER BY key"):
        if row["state"] == "applied" and world.ledger.calls[row["key"]] != 1:
            yield f"the {row['key']} is applied, and was called {world.ledger.calls[row['key']]} times"


def _of_checkpoints(world: World, database: Database, attempts: list[dict[str, Any]]) -> Iterator[str]:
    """No attempt whose report was written ends without its checkpoint, and none takes the place of a newer one."""
    ledger = world.ledger
    least = dict(ledger.seen)
    for row in attempts:
        lease = Lease(row["run_id"], row["lease_token"])
        if row["outcome"] in ("succeeded", "failed", "discarded", "snoozed") and lease not in ledger.own:
            least[lease.run_id] = max(least.get(lease.run_id, 0), ledger.kept.get(lease, 0))
    for row in database.query("SELECT id, checkpoint FROM job_runs WHERE id IN (SELECT run_id FROM job_attempts)"):
        value = 0 if row["checkpoint"] is None else row["checkpoint"]["value"]
        if value < least.get(row["id"], 0):
            yield f"the checkpoint of run {row['id']} is {value}, and was {least[row['id']]}"


def _of_own_work(world: World, database: Database, attempts: list[dict[str, Any]]) -> Iterator[str]:
    succeeded = {(row["run_id"], row["lease_token"]) for row in attempts if row["outcome"] == "succeeded"}
    found = database.query("SELECT run_id, token FROM simulated_work")
    for row in found:
        if (row["run_id"], row["token"]) not in succeeded:
            yield f"the own transaction of run {row['run_id']} is applied, and its attempt has not succeeded"


class _Window(NamedTuple):
    """Since when somebody has limited a type to so many runs at work, and until when."""

    since: datetime
    until: datetime | None
    most: int


def _of_set_limits(database: Database) -> Iterator[str]:
    """No run begins beside as many as somebody has allowed at that instant."""
    windows = _windows(database)
    for job_type, of_type in windows.items():
        worked = database.query(
            "SELECT a.started_at, a.finished_at FROM job_attempts a JOIN job_runs r ON r.id = a.run_id"
            " WHERE r.job_type = ? UNION ALL SELECT started_at, NULL FROM job_runs"
            " WHERE job_type = ? AND status = 'running'",
            [job_type, job_type],
        )
        steps = [(row["started_at"], 1) for row in worked]
        steps += [(row["finished_at"], -1) for row in worked if row["finished_at"] is not None]
        count = 0
        for at, change in sorted(steps):
            count += change
            for window in of_type if change > 0 else ():
                if window.since < at and (window.until is None or at < window.until) and count > window.most:
                    yield f"{count} runs of {job_type} are at work at {at}, and {window.most} were allowed"


def _windows(database: Database) -> dict[str, list[_Window]]:
    found = defaultdict[str, list[_Window]](list)
    question = "SELECT at, action, detail FROM job_events WHERE action IN ('limit type', 'unlimit type') ORDER BY id"
    for row in database.query(question):
        detail, of_type = row["detail"], found[row["detail"]["name"]]
        if of_type and (of_type[-1].until is None or row["at"] < of_type[-1].until):
            of_type[-1] = of_type[-1]._replace(until=row["at"])
        # A claim that stalls is not waited for, and what it begins is not held back.
        if row["action"] == "limit type" and "under_way" not in detail:
            ends_at = detail["ends_at"] and datetime.fromisoformat(detail["ends_at"])
            of_type.append(_Window(row["at"], ends_at, detail["max_running"]))
    return found
