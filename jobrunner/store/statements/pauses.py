"""What a person has paused. The views leave out the paused types; only a claim knows its host."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, exists, literal_column, or_, select

from jobrunner.store.schema import job_pauses

_COLUMNS = job_pauses.c
_HOST: ColumnElement[str] = literal_column("'host'")


def is_host_paused() -> ColumnElement[bool]:
    """Whether the host of the parameter ``host`` is paused."""
    return exists(select(_COLUMNS.kind).where(_COLUMNS.kind == _HOST, _is_host()))


def for_host(more: list[ColumnElement[Any]]) -> Select[Any]:
    """The pauses that the host of the parameter ``host`` must honour: their kinds, their names, and ``more``."""
    return select(_COLUMNS.kind, _COLUMNS.name, *more).where(or_(_COLUMNS.kind != _HOST, _is_host()))


def _is_host() -> ColumnElement[bool]:
    return _COLUMNS.name == bindparam("host", type_=_COLUMNS.name.type)
