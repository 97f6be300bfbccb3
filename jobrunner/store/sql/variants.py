"""The arguments for which statements are compiled ahead, for those that write the statements and those that name them.

With other arguments a statement is compiled when it is needed, which takes SQLAlchemy.
"""

from __future__ import annotations

from functools import cache

PLAIN = ("job_type", "payload", "priority")
"""The columns that each enqueue gives. One that gives no others takes a tenth less time on SQLite for it."""
TYPE_COUNTS = (1, 2, 4, 8, 16)
"""For so many job types a claim is compiled ahead."""


@cache
def enqueued() -> tuple[str, ...]:
    """The columns of a run that an enqueue can give; ``run_in``, in seconds, stands for a run_at after now."""
    # Not at the top: a tick enqueues nothing, and claims import this module.
    from jobrunner.jobs.run_options import COLUMNS

    return tuple(dict.fromkeys((*PLAIN, "run_in", *COLUMNS.values(), "traceparent")))


def type_count_for(types: int) -> int:
    """For how many types the statement is that serves so many: the next power of two."""
    return 1 << (types - 1).bit_length()
