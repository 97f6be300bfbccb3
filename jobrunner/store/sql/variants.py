"""The arguments for which statements are compiled ahead, for those that write the statements and those that name them.

With other arguments a statement is compiled when it is needed, which takes SQLAlchemy.
"""

from __future__ import annotations

from functools import cache

PLAIN = ("job_type", "payload", "priority")
"""The columns that each enqueue gives. One that gives no others takes a tenth less time on SQLite for it."""


@cache
def enqueued() -> tuple[str, ...]:
    """What each enqueue gives that gives more than PLAIN (``NewRun.columns``). Added options stand after these."""
    # Not at the top: a tick enqueues nothing, and claims import this module.
    from jobrunner.jobs.run_options import ADDED, COLUMNS

    columns = (column for name, column in COLUMNS.items() if name not in ADDED)
    return tuple(dict.fromkeys((*PLAIN, "run_in", *columns, "traceparent")))
