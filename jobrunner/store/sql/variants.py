"""The arguments for which statements are compiled ahead, for those that write the statements and those that name them.

With other arguments a statement is compiled when it is needed, which takes SQLAlchemy.
"""

from __future__ import annotations

from functools import cache

PLAIN = ("job_type", "payload", "priority")
"""The columns that each enqueue gives. One that gives no others takes a tenth less time on SQLite for it."""

EXPIRES = "expires_in"
"""The start deadline, as a time after run_at. Its column came later: a role of an application may not write it yet."""


@cache
def enqueued() -> tuple[str, ...]:
    """What an enqueue can give (``NewRun.columns``), without EXPIRES, which it gives beside them if it gives it."""
    # Not at the top: a tick enqueues nothing, and claims import this module.
    from jobrunner.jobs.run_options import COLUMNS

    columns = (name for name in COLUMNS.values() if name != "start_deadline_at")
    return tuple(dict.fromkeys((*PLAIN, "run_in", *columns, "traceparent")))
