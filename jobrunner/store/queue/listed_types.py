"""The job types of a claim, as its statement takes them.

What stays the same from one claim to the next is made once. With 500 types it was most of a claim's processor time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache

from jobrunner.model import Policy
from jobrunner.store.sql.encoding import RowsText, to_json


class ListedTypes:
    """``have_former_names``: some of them are names of one type."""

    def __init__(self, policies: Sequence[Policy]) -> None:
        self.have_former_names = any(policy.current_name for policy in policies)
        self._names = [policy.job_type for policy in policies]
        self._rows = [_open_row(policy, self.have_former_names) for policy in policies]

    def rows(self, most: Sequence[int], together: Sequence[int], since: Mapping[str, datetime]) -> RowsText:
        """The list for a statement: of each type at most so many runs, and of all its names ``together``.

        ``since``: of these types only runs with a turn that is not before that. Only PostgreSQL reads it.
        """
        ends: Iterable[object] = most
        if together:
            ends = [f'{each},"together":{of_all}' for each, of_all in zip(most, together, strict=True)]
        if since:
            starts = [f',"since":"{since[name].isoformat()}"' if name in since else "" for name in self._names]
            ends = [f"{end}{start}" for end, start in zip(ends, starts, strict=True)]
        return RowsText(f"[{','.join([f'{row}{end}}}' for row, end in zip(self._rows, ends, strict=True)])}]")


@lru_cache(maxsize=16)
def listed(policies: tuple[Policy, ...]) -> ListedTypes:
    """These types. A tick has a few such lists, one for each of its pools."""
    return ListedTypes(policies)


def _open_row(policy: Policy, has_family: bool) -> str:
    """The row up to its number of runs."""
    timeout = 0.0 if policy.timeout is None else policy.timeout.total_seconds()
    row = {"job_type": policy.job_type, "max_attempts": policy.max_attempts, "timeout": timeout}
    if has_family:
        row["family"] = policy.family
    return f'{to_json(row)[:-1]},"most":'
