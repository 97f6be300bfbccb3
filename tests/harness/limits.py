"""Claims as ticks of many hosts send them, and what the attempts say afterwards."""

import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from harness.database import Database, Row
from harness.plan_calls import request
from jobrunner import clock
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import Lease, Owner, Policy, TickKind
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.queue import backpressure, claims, declared_limits, finalize
from jobrunner.store.queue.claims import Claim
from jobrunner.store.queue.ticks import hosts

DONE = AttemptResult(Outcome.SUCCEEDED)


def claim_of(store: Store, host: str, *policies: Policy, limit: int = 10) -> Claim:
    """One claim of a tick on this host."""
    asked = request(owner=Owner(host, f"{host}:1:a"), token=host.ljust(32, "x"), policies=policies, limit=limit)
    return store.write(lambda connection: claims.claim(connection, asked))


def claim_all(store: Store, host: str, *policies: Policy, limit: int = 10) -> list[Lease]:
    """As a tick does: again while there may be more."""
    found: list[Lease] = []
    while True:
        claim = claim_of(store, host, *policies, limit=limit)
        found += [run.lease for run in claim.runs]
        if not claim.may_be_more and len(claim.runs) < limit:
            return found


def end(store: Store, leases: Sequence[Lease], result: AttemptResult = DONE) -> None:
    """End these attempts."""
    owner, ends = Owner("a", "a:1:a"), [(each, result) for each in leases]
    store.write(lambda connection: finalize.finalize_all(connection, owner, ends))


def end_all(store: Store, database: Database, result: AttemptResult = DONE) -> None:
    """End all attempts that are at work."""
    end(store, at_work(database), result)


def at_work(database: Database) -> list[Lease]:
    """The leases of all running runs."""
    rows = database.query("SELECT id, lease_token FROM job_runs WHERE status = 'running' ORDER BY id")
    return [Lease(row["id"], row["lease_token"]) for row in rows]


def declare(store: Store, policy: Policy) -> None:
    """As a tick does whose code has these limits."""
    while store.write(lambda connection: declared_limits.declare(connection, policy)):
        pass
    if differing := store.read(lambda connection: backpressure.changed_limits(connection, [policy])):
        store.write(lambda connection: backpressure.declare(connection, differing))


def report(store: Store, *policies: Policy) -> None:
    """As the tick of a host does that has this code."""
    kind = TickKind("a", "", "")
    told = hosts.HostReport(kind, policies, {"concurrency": 4}, "here", "boot")
    store.write(partial(hosts.write, report=told))


def at_once(stores: Sequence[Store], work: Callable[[Store, str], None]) -> None:
    """Let all of them work at the same time, each as a host of its own."""
    threads = [threading.Thread(target=work, args=(store, f"h{number}")) for number, store in enumerate(stores)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def drain(
    store: Store, host: str, policies: Sequence[Policy], seconds: float, is_done: Callable[[], bool] = lambda: False
) -> None:
    """Claim and end for so long, waiting as a tick does for the instant at which a rate opens."""
    ends_at = clock.elapsed() + seconds
    while (began_at := clock.elapsed()) < ends_at and not is_done():
        claim = claim_of(store, host, *policies, limit=5)
        end(store, [run.lease for run in claim.runs])
        if not claim.runs and not claim.may_be_more:
            pause = 0.02 if claim.opens_in is None else claim.opens_in
            threading.Event().wait(max(0.0, min(began_at + pause, ends_at) - clock.elapsed()))


def attempts(database: Database, job_type: str) -> list[Row]:
    """The attempts of a type, the first one first, with the payloads of their runs."""
    return database.query(
        "SELECT a.started_at, a.finished_at, r.payload FROM job_attempts a JOIN job_runs r ON r.id = a.run_id"
        " WHERE r.job_type = ? ORDER BY a.started_at, a.id",
        [job_type],
    )


def most_at_once(database: Database, job_type: str, payload: Any = None) -> int:
    """How many attempts of the type, or of the payload, were at work at the same time."""
    chosen = [row for row in attempts(database, job_type) if payload is None or row["payload"] == payload]
    # An end comes before a beginning at the same instant.
    steps = sorted([(row["started_at"], 1) for row in chosen] + [(row["finished_at"], 0) for row in chosen])
    most = count = 0
    for _, begins in steps:
        count += 1 if begins else -1
        most = max(most, count)
    return most


def stretches(begun: Sequence[datetime]) -> Iterator[tuple[int, timedelta]]:
    """For any two instants: how many began from one to the other, and how long that took."""
    for first, began in enumerate(begun):
        for last in range(first, len(begun)):
            yield last - first + 1, begun[last] - began
