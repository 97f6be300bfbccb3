"""Takes secrets out of what a run has written, when the payload goes by which they would be known later."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Table, select, update

from jobrunner.masking.secrets import Secrets
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.schema import job_attempts, job_runs
from jobrunner.store.sql.statement import Row

_OF_RUN = ("last_error", "output", "progress", "result")
_OF_ATTEMPT = ("error", "traceback", "output")
_AT_ONCE = 100
"""Attempts that are read together. Each may have a hundred thousand characters."""


def hide(connection: Connection, run_id: int, secrets: Secrets) -> None:
    """Write a mask in place of these secrets. Expects the write transaction that has locked the run."""
    runs, attempts = job_runs.c, job_attempts.c
    of_run = select(runs.id, *(runs[name] for name in _OF_RUN)).where(runs.id == run_id)
    _rewrite(connection, job_runs, connection.execute(of_run).one(), _OF_RUN, secrets)
    for row in _attempts(connection, select(attempts.id, *(attempts[name] for name in _OF_ATTEMPT)), run_id):
        _rewrite(connection, job_attempts, row, _OF_ATTEMPT, secrets)


def _attempts(connection: Connection, selected: Any, run_id: int) -> Iterator[Row]:
    columns, after = job_attempts.c, 0
    while True:
        some = selected.where(columns.run_id == run_id, columns.sequence > after).order_by(columns.sequence)
        found = connection.execute(some.add_columns(columns.sequence).limit(_AT_ONCE)).all()
        yield from found
        if len(found) < _AT_ONCE:
            return
        after = found[-1].sequence


def _rewrite(connection: Connection, table: Table, row: Row, names: tuple[str, ...], secrets: Secrets) -> None:
    told = {name: getattr(row, name) for name in names}
    shown = {name: _without(value, secrets) for name, value in told.items()}
    if changed := {name: value for name, value in shown.items() if value != told[name]}:
        connection.execute(update(table).where(table.c.id == row.id).values(changed))


def _without(value: Any, secrets: Secrets) -> Any:
    """A text, or a value of JSON, without them."""
    if isinstance(value, str):
        return secrets.hide(value)
    if isinstance(value, dict):
        return {secrets.hide(name): _without(each, secrets) for name, each in value.items()}
    return [_without(each, secrets) for each in value] if isinstance(value, list) else value
