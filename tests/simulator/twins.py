"""Broken twins: the real code with one known mistake, put back while a history runs. The simulator must find each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import Any, NamedTuple
from unittest.mock import patch

from jobrunner.children import begun_page
from jobrunner.children.begun_marks import BEGUN, ENTRY, HEADER_BYTES
from jobrunner.lifecycle import AttemptResult
from jobrunner.model import Lease, Owner
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.queue import dependants, finalize
from jobrunner.store.queue.holding import as_rows
from jobrunner.store.sql.compiled import postgresql, sqlite
from jobrunner.store.sql.statement import compiled
from jobrunner.worker import claimer, finalizer
from jobrunner.worker.heartbeat import Heartbeat

_HELD = "job_runs.lease_token IS NOT NULL"
_RUNNING = "(SELECT * FROM job_runs WHERE status = 'running') AS job_recoverable"


@contextmanager
def statements(*names: str, old: str, new: str) -> Iterator[None]:
    """Have these statements say something else."""
    with ExitStack() as stack:
        for module in (sqlite, postgresql):
            schema = "jobrunner_schema." if module is postgresql else ""
            before, after = (text.replace("job_", f"{schema}job_") for text in (old, new))
            changed = {
                key: (source[0].replace(before, after), *source[1:])
                for key, source in module.STATEMENTS.items()
                if key[0] in names
            }
            if module is sqlite:
                differ = {key[0] for key, source in changed.items() if source[0] != module.STATEMENTS[key][0]}
                assert differ == {name for name, _ in changed}, names
            stack.enter_context(patch.dict(module.STATEMENTS, changed))
        compiled.cache_clear()
        try:
            yield
        finally:
            compiled.cache_clear()


def _read_all(content: bytes) -> dict[str, list[int] | None]:
    found: dict[str, list[int]] = {}
    for state, run_id, token in ENTRY.iter_unpack(content[HEADER_BYTES:]):
        if state in (begun_page._WAITING, BEGUN) and run_id:
            found.setdefault(token.hex(), []).append(run_id)
    return {**found}


def _end_whoever_holds(
    connection: Connection, _: Owner, ends: Sequence[tuple[Lease, AttemptResult]], deploy_grace: timedelta
) -> list[Any]:
    given = as_rows(lease for lease, _ in ends)
    rows = {row.id: row for row in connection.execute(finalize._LOCKED, {"given": given})}
    found = [(rows.get(lease.run_id), result) for lease, result in ends]
    ended = iter(finalize.end(connection, [(row, result) for row, result in found if row is not None], deploy_grace))
    return [finalize.Refusal.LEASE_LOST if row is None else next(ended) for row, _ in found]


@contextmanager
def _without_fence() -> Iterator[None]:
    names = ("locked", "record", "leave", "record_success", "leave_as_succeeded", "succeed")
    old = "job_runs.lease_token = given.lease_token"
    with (
        statements(*(f"finalize.{name}" for name in names), old=old, new=_HELD),
        patch.object(finalize, "_end_locked", _end_whoever_holds),
    ):
        yield


class Twin(NamedTuple):
    """``broken`` makes a block in which the code has the mistake. The search for it begins with the seed ``first``."""

    broken: Callable[[], Any]
    first: int = 1


TWINS: dict[str, Twin] = {
    "a claim is returned whoever holds the run": Twin(
        lambda: statements("claims.return_unstarted", old="job_runs.lease_token = :token", new=_HELD), first=28
    ),
    "what has begun counts as never begun": Twin(lambda: patch.object(begun_page, "_read", _read_all)),
    "a result is written without the fence": Twin(_without_fence, first=1183),
    "an attempt ends without its checkpoint": Twin(lambda: patch.object(finalizer, "_unwritten_of", lambda _: {})),
    "a handler goes on without its lease": Twin(lambda: patch.object(Heartbeat, "_fence", lambda _: None), first=508),
    "a run begins however late": Twin(lambda: patch.object(claimer, "FENCE_SHARE", 1000.0), first=17),
    "recovery ends runs whose owner is alive": Twin(
        lambda: statements("expiries.expired", "expiries.locked", old="FROM job_recoverable", new=f"FROM {_RUNNING}")
    ),
    "a claim counts the runs of its own tick only": Twin(
        lambda: statements(
            "claims.held_by_type", old="job_runs.host = :host AND", new="job_runs.locked_by = :owner AND"
        )
    ),
    "a limit does not count what is at work": Twin(
        lambda: statements("limits.at_work", old=_HELD, new="job_runs.lease_token = 'none'")
    ),
    "a limit that is set does not count what is at work": Twin(
        lambda: statements("limits.all_at_work", old="job_runs.status = 'running'", new="job_runs.status = 'none'"),
        first=48,
    ),
    "the end of a parent is not followed": Twin(
        lambda: patch.object(dependants, "follow", lambda _: dependants.Followed(0, 0, may_be_more=False))
    ),
}
"""The mistakes."""
