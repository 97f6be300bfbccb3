"""Hides the secrets of runs in lists, which show the texts of their errors and not their payloads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from jobrunner.store import run_values
from jobrunner.store.connection import Connection
from jobrunner.web.masking import Masks
from jobrunner.web.texts import MASK

Row = TypeVar("Row", bound=Any)


class RunSecrets:
    """The secrets of these runs. Expects the transaction in which the list was read, and sends one statement."""

    def __init__(self, connection: Connection, masks: Masks, ids: Collection[int]) -> None:
        found = run_values.of_runs(connection, ids)
        self._hide = {id_: masks.hiding(found[id_]) if id_ in found else _see(id_) for id_ in ids}

    def hiding(self, run_id: int) -> Callable[[Any], Any]:
        """What hides the secrets of this run in a value, or in a text about it."""
        return self._hide[run_id]

    def hide(self, rows: Sequence[Row], name: str = "last_error", run_id: str = "id") -> list[Row]:
        """The rows without secrets in the column ``name``. ``run_id`` is the column with the id of the run."""
        return [
            replace(row, **{name: self.hiding(getattr(row, run_id))(value)}) if (value := getattr(row, name)) else row
            for row in rows
        ]


def without_secrets(
    connection: Connection, masks: Masks, rows: Sequence[Row], name: str = "last_error", run_id: str = "id"
) -> list[Row]:
    """The rows of a list without the secrets of their runs in the column ``name``, as ``RunSecrets.hide``."""
    ids = {getattr(row, run_id) for row in rows if getattr(row, name)}
    return RunSecrets(connection, masks, ids).hide(rows, name, run_id) if ids else list(rows)


def _see(run_id: int) -> Callable[[Any], Any]:
    return lambda value: f"{MASK} see run {run_id}: its payload is long"
