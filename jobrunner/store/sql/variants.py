"""The arguments for which statements are compiled ahead, for those that write the statements and those that name them.

With other arguments a statement is compiled when it is needed, which takes SQLAlchemy.
"""

from __future__ import annotations

from functools import cache

PLAIN = ("job_type", "payload", "priority")
"""The columns that each enqueue gives. One that gives no others takes a tenth less time on SQLite for it."""


@cache
def enqueued() -> tuple[str, ...]:
    """The columns of a run that an enqueue can give; ``run_in``, in seconds, stands for a run_at after now."""
    # Not at the top: a tick enqueues nothing, and claims import this module.
    from jobrunner.jobs.run_options import COLUMNS

    return tuple(dict.fromkeys((*PLAIN, "run_in", *COLUMNS.values(), "traceparent")))
