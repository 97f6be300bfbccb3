"""The arguments for which statements are compiled ahead, for those that write the statements and those that name them.

With other arguments a statement is compiled when it is needed, which takes SQLAlchemy.
"""

from __future__ import annotations

from functools import cache

PLAIN = ("job_type", "payload", "priority")
"""The columns that each enqueue gives. One that gives no others takes a tenth less time on SQLite for it."""


@cache
def enqueued() -> tuple[str, ...]:
    """What an enqueue can give (``NewRun.columns``). It gives a start deadline as a time after run_at only."""
    # Not at the top: a tick enqueues nothing, and claims import this module.
    from jobrunner.jobs.run_options import COLUMNS

    columns = ("expires_in" if name == "start_deadline_at" else name for name in COLUMNS.values())
    return tuple(dict.fromkeys((*PLAIN, "run_in", *columns, "traceparent")))
