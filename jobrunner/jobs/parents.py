"""The runs that a new run waits for, as an application names them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeAlias

from jobrunner.errors import WrongOption

MOST_PARENTS = 1000


class _HasId(Protocol):
    """The answer of an enqueue."""

    @property
    def id(self) -> int | None: ...


After: TypeAlias = int | _HasId | Iterable[int | _HasId]
"""A run to wait for, by its id or by the answer of its enqueue, or several."""


def parent_ids(after: After) -> tuple[int, ...]:
    """The ids of the runs to wait for. Raises WrongOption for what names no run."""
    each = after if isinstance(after, Iterable) else (after,)
    ids = tuple(_id_of(one) for one in each)
    if not ids or len(ids) > MOST_PARENTS:
        raise WrongOption("after", f"must name from 1 to {MOST_PARENTS} runs, not {len(ids)}")
    return ids


def _id_of(one: object) -> int:
    found = one if isinstance(one, int) else getattr(one, "id", None)
    if isinstance(found, bool) or not isinstance(found, int) or not 0 < found < 2**63:
        raise WrongOption("after", f"must be the id of a run, or what its enqueue returned, not {one!r:.60}")
    return found
