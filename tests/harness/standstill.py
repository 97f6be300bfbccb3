"""A process that stalls at a failpoint, and special jobs for it."""

from harness import App, wait_for
from harness.processes import is_stopped

ASYNC = """
@job("asynchronous")
async def asynchronous(ctx: Context):
    leave_trace(ctx)
"""
COMMAND = """
[jobs.command]
command = ["/bin/sh", "-c", 'echo "$JOBRUNNER_RUN_ID $JOBRUNNER_ATTEMPT $$" >> "$TRACE_FILE"']
"""


def stopped_at(app: App) -> int:
    """The process that stands still at its fault point."""
    trace = app.path("faults")
    wait_for(trace.exists, 20, "the fault point")
    pid = int(wait_for(trace.read_text).split()[2])
    wait_for(lambda: is_stopped(pid), 20, "the process to stand still")
    return pid
